"""Operations: one that ended as the answer tells, by a patch or a deletion by query."""

import re
import time
from dataclasses import replace

from . import seeds

BULK = "Operations.BulkOperationResult, "


def state(stage, exchange, fixtures):
    """Runs an operation over as many documents as the answer counts, and asks for it."""
    answer = exchange.answered()
    if exchange.status == 404 or answer is None:
        return None
    result = answer.get("Result") or {}
    kind = result.get("$type", "")
    if "EnforceConfigurationResult" in kind:
        return enforced(stage, exchange)
    if "OperationExceptionResult" in kind:
        return asked(stage, exchange, "PATCH", "from Users group by name update { this.Z = 1 }")
    if BULK not in kind and kind:
        return None
    details = result.get("Details") or []
    ids = [one["Id"] for one in details if isinstance(one, dict)] or [
        f"users/{number}" for number in range(1, result.get("Total", 1) + 1)
    ]
    unchanged = any(one.get("Status") == "NotModified" for one in details if isinstance(one, dict))
    for identifier in ids:
        document = {**seeds.SOME_DOCUMENT, "@metadata": {"@collection": "Users"}}
        stage.put(identifier, {**document, "Z": 1} if unchanged else document)
    if any("DeleteDetails" in one.get("$type", "") for one in details if isinstance(one, dict)):
        return asked(stage, exchange, "DELETE", "from Users")
    return asked(stage, exchange, "PATCH", "from Users update { this.Z = 1 }", bool(details))


def asked(stage, exchange, method, text, with_details=True):
    query = {"Query": text}
    body = {"Query": query} if method == "PATCH" else query
    target = f"/queries?details={'true' if with_details else 'false'}&allowStale=true"
    number = stage.must(method, target, body).json["OperationId"]
    stage.wait_for_operation(number)
    return replace(exchange, target=re.sub(r"id=\d+", f"id={number}", exchange.target))


def enforced(stage, exchange):
    """One document with two revisions, whose configuration is enforced."""
    document = {**seeds.SOME_DOCUMENT, "@metadata": {"@collection": "Users"}}
    configuration = {"Disabled": False, "MinimumRevisionsToKeep": 2}
    stage.must("POST", "/admin/revisions/config", {"Collections": {"Users": configuration}})
    for value in (1, 2):
        stage.put("users/1", {**document, "Value": value})
    number = stage.must("POST", "/admin/revisions/config/enforce", {}).json["OperationId"]
    stage.wait_for_operation(number)
    return replace(exchange, target=re.sub(r"id=\d+", f"id={number}", exchange.target))


def listed(stage, exchange, fixtures):
    return enforced(stage, exchange)


def compacted(stage, exchange, fixtures):
    """A compaction of the database, which is an operation of the server."""
    if exchange.status == 404:
        return None
    stage.create("db1")
    body = {"DatabaseName": stage.name("db1"), "Documents": True}
    answer = stage.send("POST", "/admin/compact", body)
    if answer.status >= 400:
        return None
    number = answer.json["OperationId"]
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        answer = stage.must("GET", f"/operations/state?id={number}", database=None).json
        if answer["Status"] != "InProgress":
            break
        time.sleep(0.05)
    return replace(exchange, target=re.sub(r"id=\d+", f"id={number}", exchange.target))


def running(stage, exchange, fixtures):
    """Kills an operation that ended: it is known, and that is what counts."""
    if exchange.status == 204:
        return asked(stage, exchange, "PATCH", "from Users update { this.Z = 1 }")
    return None


def noted(stage, exchange, fixtures):
    """Makes the tasks and connection strings that `fixtures.json` knows of."""
    fixtures.apply(stage, exchange)


RECIPES = {
    "GET /databases/{db}/admin/connection-strings": noted,
    "GET /databases/{db}/tasks": noted,
    "GET /databases/{db}/operations/state": state,
    "POST /databases/{db}/operations/kill": running,
    "GET /databases/{db}/operations": listed,
    "GET /operations/state": compacted,
}
