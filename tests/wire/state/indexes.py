"""Definitions, states and errors of indexes, and subscriptions: what is listed or changed is made first."""

import re
from dataclasses import replace
from urllib.parse import unquote

from .documents import first, parameters

SIMPLE = "from d in docs.Users select new { d.name }"


def simple(stage, name):
    stage.index({"Name": name, "Maps": [SIMPLE], "Fields": {}})


def named(stage, exchange, fixtures):
    """An index of the name in the target or the body."""
    if exchange.status in (404, 500):
        if "IndexDoesNotExist" not in exchange.answer and exchange.status == 500:
            for name in (exchange.asked() or {}).get("IndexNames", []):
                simple(stage, name)
        return
    asked = exchange.asked() or {}
    names = parameters(exchange).get("name", []) or asked.get("IndexNames", [])
    for name in names or ["Users"]:
        simple(stage, unquote(name))


def listed(stage, exchange, fixtures):
    """The definitions that the answer holds."""
    for one in (exchange.answered() or {}).get("Results", []):
        if isinstance(one, str):
            simple(stage, one)
        elif isinstance(one, dict) and "Maps" in one:
            definition = {key: value for key, value in one.items() if value is not None}
            definition.pop("\u2026cut", None)
            stage.index(definition)
        elif isinstance(one, dict) and "Name" in one:
            simple(stage, one["Name"])
    stage.wait_for_indexes()


def statistics(stage, exchange, fixtures):
    """Indexes of the answered kind, over as many documents as they have entries."""
    for one in (exchange.answered() or {}).get("Results", []):
        collection = next(iter(one.get("Collections", {})), "Users")
        is_script = one["Type"].startswith("JavaScript")
        mapped = f"map('{collection}', d => ({{ name: d.name }}))"
        maps = [mapped if is_script else f"from d in docs.{collection} select new {{ d.name }}"]
        kept = {key: one[key] for key in ("Name", "Priority", "LockMode")}
        for number in range(1 if one["LastIndexingTime"] and not one["EntriesCount"] else 0):
            stage.put(f"others/{number}", {"@metadata": {"@collection": "Others"}})
        for number in range(one["EntriesCount"]):
            stage.put(f"users/{number}", {"name": str(number), "@metadata": {"@collection": collection}})
        stage.index({**kept, "Maps": maps, "Fields": {}})
        stage.wait_for_indexes()
        if one["LastQueryingTime"]:
            stage.must("POST", "/queries", {"Query": f"from index '{one['Name']}'"})


def failing(stage, exchange, fixtures):
    """An index whose map fails, for every one that is answered with errors."""
    for one in (exchange.answered() or {}).get("Results", []):
        if one.get("Errors") and one["Errors"][0]["Document"]:
            identifier = one["Errors"][0]["Document"]
            stage.put(identifier, {"age": 0, "@metadata": {"@collection": "Users"}})
            maps = ["from u in docs.Users select new { a = 5 / u.age }"]
            stage.index({"Name": one["Name"], "Maps": maps, "Fields": {}})
        else:
            simple(stage, one["Name"])
    stage.wait_for_indexes()


def status(stage, exchange, fixtures):
    answer = exchange.answered()
    for one in answer["Indexes"]:
        simple(stage, one["Name"])
    if answer["Status"] == "Paused":
        stage.must("POST", "/admin/indexes/stop")


def changed(stage, exchange, fixtures):
    """Another definition of the same name."""
    simple(stage, exchange.asked()["Name"])


def put(stage, exchange, fixtures):
    fixtures.apply(stage, exchange)


def terms(stage, exchange, fixtures):
    """Documents of which the asked index has the answered terms."""
    fixtures.apply(stage, exchange)
    name, field = unquote(first(exchange, "name")), first(exchange, "field")
    if stage.send("GET", stage.below(f"/indexes?name={name}")).status == 404:
        stage.index({"Name": name, "Maps": [f"from d in docs.Users select new {{ d.{field} }}"], "Fields": {}})
        for number, term in enumerate(exchange.answered()["Terms"]):
            value = int(term) if re.fullmatch(r"\d+", term) else term
            stage.put(f"users/{number}", {field: value, "@metadata": {"@collection": "Users"}})
    stage.wait_for_indexes()


def made(stage, exchange, fixtures):
    """Subscriptions that are listed, asked for or dropped; ids become those of this stage."""
    answer = exchange.answered() or {}
    asked = exchange.asked() or {}
    if exchange.status >= 400 and "already in use" not in exchange.answer:
        return None
    wanted = [
        {"Name": one["SubscriptionName"], "Query": one["Query"]}
        for one in answer.get("Results", [answer] if "SubscriptionName" in answer else [])
        if isinstance(one, dict) and "SubscriptionName" in one
    ]
    name = first(exchange, "name") or first(exchange, "taskName")
    if not wanted and exchange.method in ("GET", "POST") and name:
        wanted = [{"Name": name, "Query": "from Users"}]
    if exchange.method == "PUT" and exchange.status == 409:
        wanted = [{"Name": asked["Name"], "Query": "from Users"}]
    if exchange.path.endswith("/update") and not asked.get("CreateNew"):
        wanted = [{"Name": asked.get("Name") or answer.get("Name"), "Query": asked["Query"]}]
        if exchange.status != 304:
            wanted[0]["Query"] = "from Users"
    if "already in use" in exchange.answer:
        wanted = [{"Name": asked["Name"], "Query": "from Users"}]
    number = None
    for one in wanted:
        number = stage.must("PUT", "/subscriptions", one).json.get("RaftCommandIndex")
    if first(exchange, "key") not in ("", "0") and exchange.status == 200:
        number = stage.must("PUT", "/subscriptions", {"Query": "from Users"}).json["RaftCommandIndex"]
        return replace(exchange, target=re.sub(r"key=\d+", f"key={number}", exchange.target))
    if asked.get("Id") and number is not None:
        body = re.sub(r'"Id": ?\d+', f'"Id":{number}', exchange.body)
        return replace(exchange, body=body)
    return None


RECIPES = {
    "DELETE /databases/{db}/indexes": named,
    "RESET /databases/{db}/indexes": named,
    "POST /databases/{db}/admin/indexes/disable": named,
    "POST /databases/{db}/admin/indexes/enable": named,
    "POST /databases/{db}/admin/indexes/start": named,
    "POST /databases/{db}/admin/indexes/stop": named,
    "DELETE /databases/{db}/indexes/errors": named,
    "POST /databases/{db}/indexes/set-lock": named,
    "POST /databases/{db}/indexes/set-priority": named,
    "GET /databases/{db}/indexes/staleness": named,
    "GET /databases/{db}/indexes": listed,
    "GET /databases/{db}/indexes/errors": failing,
    "GET /databases/{db}/indexes/stats": statistics,
    "GET /databases/{db}/indexes/status": status,
    "POST /databases/{db}/indexes/has-changed": changed,
    "GET /databases/{db}/indexes/terms": terms,
    "PUT /databases/{db}/indexes": put,
    "PUT /databases/{db}/admin/indexes": put,
    "GET /databases/{db}/subscriptions": made,
    "PUT /databases/{db}/subscriptions": made,
    "DELETE /databases/{db}/subscriptions": made,
    "POST /databases/{db}/subscriptions/update": made,
    "POST /databases/{db}/subscriptions/drop": made,
    "GET /databases/{db}/subscriptions/state": made,
    "GET /databases/{db}/task": made,
    "POST /databases/{db}/admin/tasks/state": made,
}
