"""Scenarios with the official Python client: each in a database of its own, one line of output each.

A scenario is a function over an open store, marked with `@scenario()`. What an older release of the
client lacks, or does wrongly whatever the server answers, is marked with the first release that
does it: `@scenario(since=7)`.

Against a secured server `JACKDAW_CERTIFICATE` and `JACKDAW_AUTHORITY` are the files of the
certificate that the client shows and of the one that it trusts.
"""

import importlib.metadata
import os
import sys
import time
from pathlib import Path

from ravendb import DocumentStore
from ravendb.serverwide.database_record import DatabaseRecord
from ravendb.serverwide.operations.common import CreateDatabaseOperation, DeleteDatabaseOperation

sys.path.append(str(Path(__file__).parents[1] / "shared"))
from running import (
    equal,
    raises,
    run_scenarios,
)  # noqa: E402, F401  scenarios import them from here

RELEASE = importlib.metadata.version("ravendb")
MAJOR = int(RELEASE.split(".")[0])
CERTIFICATE = os.environ.get("JACKDAW_CERTIFICATE")
AUTHORITY = os.environ.get("JACKDAW_AUTHORITY")

_scenarios = []


def scenario(since=5):
    def add(function):
        if MAJOR >= since:
            _scenarios.append((function.__name__, function))
        return function

    return add


def open_store(url, database):
    store = DocumentStore(url, database)
    if CERTIFICATE:
        store.certificate_pem_path = CERTIFICATE
        store.trust_store_path = AUTHORITY
    store.initialize()
    return store


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: main.py URL [PART OF A SCENARIO'S NAME]")
    url = sys.argv[1]
    print(f"Python client {RELEASE} against {url}", flush=True)

    def run(number, function):
        database = f"py{MAJOR}-{number}-{time.time_ns()}"
        with open_store(url, database) as store:
            store.maintenance.server.send(CreateDatabaseOperation(DatabaseRecord(database)))
            try:
                function(store)
            finally:
                store.maintenance.server.send(DeleteDatabaseOperation(database, hard_delete=True))

    failed = run_scenarios(_scenarios, sys.argv[2] if len(sys.argv) > 2 else "", run)
    sys.exit(1 if failed else 0)
