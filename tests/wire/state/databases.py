"""Databases themselves: which exchanges find one, and its statistics, settings and sample data."""

import re

from . import seeds

NAME = re.compile(r"\bdb\d\b")
ABSENT = re.compile(r"Database 'db\d' does not exist|wasn't found|\"RaftCommandIndex\":-1")


def needed(exchange):
    """The databases that were there when the exchange was recorded."""
    if ABSENT.search(exchange.answer):
        return []
    if exchange.route == "PUT /admin/databases" and "already exists" not in exchange.answer:
        return []
    return sorted(set(NAME.findall(exchange.target) or NAME.findall(exchange.body)))


def lock(stage, exchange, fixtures):
    """A database that may not be deleted; the runner deletes it in the end."""
    if "lock mode" in exchange.answer:
        body = {"DatabaseNames": [stage.name("db1")], "Mode": "PreventDeletesError"}
        stage.must("POST", "/admin/databases/set-lock", body, database=None)


def enable(stage, exchange, fixtures):
    if exchange.status == 200:
        fixtures.disable(stage)


def counted(stage, exchange, fixtures):
    """As many documents of each collection as the answer counts, up to some."""
    answer = exchange.answered() or {}
    collections = answer.get("Collections", {})
    if not collections and answer.get("CountOfDocuments"):
        collections = {"Users": answer["CountOfDocuments"]}
    for collection, count in collections.items():
        number = count if isinstance(count, int) else count.get("CountOfDocuments", 0)
        for position in range(min(number, 30)):
            document = {**seeds.SOME_DOCUMENT, "@metadata": {"@collection": collection}}
            stage.put(f"{collection.lower()}/{position}", document)
    first = f"{next(iter(collections), 'users').lower()}/0"
    for position in range(min(answer.get("CountOfAttachments", 0), 5)):
        stage.attachment(first, f"file{position}", None, "", 3 + position)
    for position in range(answer.get("CountOfIdentities", 0)):
        stage.must("POST", f"/identity/next?name=u{position}|")
    for one in answer.get("Indexes", []):
        if isinstance(one, dict) and "Name" in one:
            maps = ["from d in docs.Users select new { d.Name }"]
            stage.index({"Name": one["Name"], "Maps": maps, "Fields": {}})
    if answer.get("Indexes"):
        stage.wait_for_indexes()


def client_configuration(stage, exchange, fixtures):
    configuration = (exchange.answered() or {}).get("Configuration")
    if configuration:
        stage.must("PUT", "/admin/configuration/client", configuration)


def listed(stage, exchange, fixtures):
    """One database where some are listed."""
    if (exchange.answered() or {}).get("Databases") and not stage.made:
        stage.create("db1")


def filled(stage, exchange, fixtures):
    """Sample data is refused where documents are."""
    if exchange.status == 500:
        stage.put("users/1", seeds.SOME_DOCUMENT)


RECIPES = {
    "DELETE /admin/databases": lock,
    "POST /admin/databases/enable": enable,
    "GET /databases/{db}/stats": counted,
    "GET /databases/{db}/stats/detailed": counted,
    "GET /databases/{db}/collections/stats": counted,
    "GET /databases/{db}/collections/stats/detailed": counted,
    "GET /databases/{db}/configuration/client": client_configuration,
    "GET /databases": listed,
    "POST /databases/{db}/studio/sample-data": filled,
}
