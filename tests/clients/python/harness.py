"""Scenarios with the official Python client: each in a database of its own, one line of output each.

A scenario is a function over an open store, marked with `@scenario()`. What an older release of the
client lacks, or does wrongly whatever the server answers, is marked with the first release that
does it: `@scenario(since=7)`. Nothing is
skipped otherwise: a scenario passes or fails.

Against a secured server `JACKDAW_CERTIFICATE` and `JACKDAW_AUTHORITY` are the files of the
certificate that the client shows and of the one that it trusts.
"""

import importlib.metadata
import os
import signal
import sys
import time
import traceback

from ravendb import DocumentStore
from ravendb.serverwide.database_record import DatabaseRecord
from ravendb.serverwide.operations.common import CreateDatabaseOperation, DeleteDatabaseOperation

RELEASE = importlib.metadata.version("ravendb")
MAJOR = int(RELEASE.split(".")[0])
# Longest time of one scenario; the usual one takes a fraction of a second.
SECONDS_MAX = 60
CERTIFICATE = os.environ.get("JACKDAW_CERTIFICATE")
AUTHORITY = os.environ.get("JACKDAW_AUTHORITY")

_scenarios = []


def scenario(since=5):
    def add(function):
        if MAJOR >= since:
            _scenarios.append(function)
        return function

    return add


class raises:
    """Asserts that a block raises an error whose class name or text holds one of the given words."""

    def __init__(self, *words):
        self.words = words

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _traceback):
        assert error is not None, f"nothing was raised, expected one of {self.words}"
        text = f"{kind.__name__}: {error}"
        if not any(word in text for word in self.words):
            return False  # the unexpected error itself says more
        self.error = error
        return True


def equal(actual, expected):
    assert actual == expected, f"expected {expected!r}, got {actual!r}"


def open_store(url, database):
    store = DocumentStore(url, database)
    if CERTIFICATE:
        store.certificate_pem_path = CERTIFICATE
        store.trust_store_path = AUTHORITY
    store.initialize()
    return store


def run_all(url, only):
    """Runs every scenario whose name holds `only`; gives the number of failed ones."""
    chosen = [one for one in _scenarios if only in one.__name__]
    failed = 0
    for number, function in enumerate(chosen):
        name = function.__name__.replace("_", " ")
        started = time.monotonic()
        error = _run(url, f"py{MAJOR}-{number}-{time.time_ns()}", function)
        seconds = time.monotonic() - started
        if error is None:
            print(f"ok      {seconds:6.2f} s  {name}", flush=True)
        else:
            failed += 1
            print(f"FAILED  {seconds:6.2f} s  {name}\n{error}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed", flush=True)
    return failed


def _run(url, database, function):
    def too_long(_signal, _frame):
        raise TimeoutError(f"took longer than {SECONDS_MAX} s")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS_MAX)
    try:
        with open_store(url, database) as store:
            store.maintenance.server.send(CreateDatabaseOperation(DatabaseRecord(database)))
            try:
                function(store)
            finally:
                store.maintenance.server.send(DeleteDatabaseOperation(database, hard_delete=True))
    except Exception:  # whatever a scenario raises is its failure, and the next one runs
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    return None


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: main.py URL [PART OF A SCENARIO'S NAME]")
    print(f"Python client {RELEASE} against {sys.argv[1]}", flush=True)
    failed = run_all(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    sys.exit(1 if failed else 0)
