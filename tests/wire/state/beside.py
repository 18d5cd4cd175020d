"""Counters, time series, attachments, revisions and compare-exchange values, asked for and written by themselves."""

import re
from dataclasses import replace
from urllib.parse import unquote

from . import seeds
from .documents import first, parameters, with_own_etag

MISSING_DOCUMENT = re.compile(r"missing document|non existent document")


def read_counters(stage, exchange, fixtures):
    """All answered counters, and those asked for and answered with null on a document without them."""
    answered = [one for one in exchange.answered()["Counters"] if one]
    identifier = unquote(first(exchange, "docId"))
    if answered or parameters(exchange).get("counter"):
        stage.put(identifier, seeds.SOME_DOCUMENT)
    for one in answered:
        stage.counter(identifier, one["CounterName"], one["TotalValue"])


def write_counters(stage, exchange, fixtures):
    answer = exchange.answered() or {}
    if MISSING_DOCUMENT.search(exchange.answer):
        return
    answered = [one for one in answer.get("Counters") or [] if isinstance(one, dict) and "TotalValue" in one]
    totals = {one["CounterName"].lower(): one["TotalValue"] for one in answered}
    overflow = re.search(r"with value '(\d+)'", exchange.answer)
    for document in exchange.asked()["Documents"]:
        identifier = document["DocumentId"]
        stage.put(identifier, seeds.SOME_DOCUMENT)
        for operation in document["Operations"]:
            name = operation.get("CounterName", "")
            total = totals.get(name.lower())
            if operation["Type"] == "Increment" and total is not None:
                earlier = total - operation["Delta"]
                if earlier:
                    stage.counter(identifier, name, earlier)
            elif operation["Type"] == "Increment" and overflow:
                stage.counter(identifier, name, int(overflow[1]))
            elif operation["Type"] == "Get" and total is not None:
                stage.counter(identifier, name, total)
            elif operation["Type"] == "Delete":
                stage.counter(identifier, name, 1)


def read_series(stage, exchange, fixtures):
    """The answered entries; one far away from them when a range of an existing series is answered empty."""
    identifier = unquote(first(exchange, "docId"))
    if exchange.status == 304:
        far = [{"Timestamp": "2020-01-01T00:00:00.0000000Z", "Values": [1]}]
        stage.put(identifier, seeds.SOME_DOCUMENT)
        stage.series(identifier, first(exchange, "name"), far)
        return with_own_etag(stage, exchange)
    if exchange.status >= 400:
        stage.put(identifier, seeds.SOME_DOCUMENT)
        return None
    answer = exchange.answered()
    by_name = {first(exchange, "name"): [answer]} if "Entries" in answer else answer["Values"]
    tagged = series_documents(exchange, answer)
    seeds.seed(stage, {**tagged, identifier: tagged.get(identifier, seeds.SOME_DOCUMENT)}, beside=False)
    for name in parameters(exchange)["name"]:
        ranges = by_name.get(name, [])
        entries = seeds.entries_of(ranges) + around(exchange, name, ranges)
        stage.series(identifier, name, sorted(entries, key=lambda entry: entry["Timestamp"]))
    return None


def around(exchange, name, ranges):
    """Entries that an answer does not hold, though it shows that they are there.

    Skipped ones come before the first, in the asked range; what the total counts besides them comes last. Without
    a total the asked range is not the whole series: something lies outside of it.
    """
    entries = seeds.entries_of(ranges)
    asked = parameters(exchange)
    empty = [""] * len(asked["name"])
    bounds = zip(asked["name"], asked.get("from", empty), asked.get("to", empty))
    asked_from, asked_to = next((one, other) for known, one, other in bounds if known == name)
    start = int(first(exchange, "start", "0"))
    total = ranges[0].get("TotalResults") if ranges else None
    base = unquote(asked_from)[:19] if asked_from else "2001-01-01T00:00:00"
    found = [entry_at(f"{base}.{number:03}0000Z") for number in range(start)]
    if total is not None:
        found += [entry_at(f"2031-01-01T00:00:00.{number:03}0000Z") for number in range(total - start - len(entries))]
        return found[:total] if not entries else found
    if asked_from or not entries:
        found.append(entry_at("2001-01-01T00:00:00.0000000Z"))
    if asked_to:
        found.append(entry_at(f"{unquote(asked_to)[:19]}.9990000Z"))
    return found


def entry_at(moment):
    return {"Timestamp": moment, "Values": [1]}


def series_documents(exchange, answer):
    """Documents included with entries: the one they belong to, and those that tags name."""
    found = {}
    for one in seeds.documents_in(answer).values():
        found[one["@metadata"]["@id"]] = one
    return found


def write_series(stage, exchange, fixtures):
    if MISSING_DOCUMENT.search(exchange.answer):
        return
    identifier = unquote(first(exchange, "docId"))
    stage.put(identifier, seeds.SOME_DOCUMENT)
    asked = exchange.asked() or {}
    if asked.get("Name") and exchange.status >= 400 and "@" not in asked["Name"]:
        entry = {"Timestamp": "2020-01-01T00:00:00.0000000Z", "Values": [1]}
        stage.series(identifier, asked["Name"], [entry])


def series_statistics(stage, exchange, fixtures):
    """As many entries as are told, the first and the last at the times that are told."""
    if exchange.status == 404:
        return
    answer = exchange.answered()
    stage.put(answer["DocumentId"], seeds.SOME_DOCUMENT)
    for one in answer["TimeSeries"]:
        times = [one["StartDate"], one["EndDate"]]
        day = one["StartDate"][:17]
        times += [f"{day}{second // 100:02}.{second % 100:02}00000Z" for second in range(1, 200)]
        entries = [{"Timestamp": moment, "Values": [1]} for moment in times[: one["NumberOfEntries"]]]
        stage.series(answer["DocumentId"], one["Name"], entries)


def attachment(stage, exchange, fixtures):
    """The attachment that is asked for, replaced or deleted, with the contents of the answer."""
    identifier, name = unquote(first(exchange, "id")), unquote(first(exchange, "name"))
    if MISSING_DOCUMENT.search(exchange.answer):
        return
    stage.put(identifier, seeds.SOME_DOCUMENT)
    is_new = exchange.method == "PUT" and exchange.status == 201
    if exchange.status == 404 or is_new:
        return
    hash_text = exchange.answer_headers.get("Attachment-Hash")
    size = int(exchange.answer_headers.get("Attachment-Size", 3))
    kind = exchange.answer_headers.get("Content-Type", "")
    stage.attachment(identifier, name, hash_text, kind, size)


def attachments(stage, exchange, fixtures):
    for one in exchange.asked()["Attachments"]:
        if not stage.has(one["DocumentId"]):
            stage.put(one["DocumentId"], seeds.SOME_DOCUMENT)
    metadata = re.search(r'"Name":"([^"]+)","Hash":"([^"]+)","ContentType":"([^"]*)","Size":(\d+)', exchange.answer)
    stage.attachment("a/1", metadata[1], metadata[2], metadata[3], int(metadata[4]))


def read_value(stage, exchange, fixtures):
    for item in (exchange.answered() or {}).get("Results", []):
        if isinstance(item, dict) and item.get("Index", -1) > 0 and not item["Key"].startswith("rvn-atomic/"):
            stage.compare_exchange(item["Key"], item["Value"])
        elif isinstance(item, dict) and item["Key"].startswith("rvn-atomic/"):
            stage.put(item["Key"].partition("/")[2], seeds.SOME_DOCUMENT, in_cluster=True)


def write_value(stage, exchange, fixtures):
    """A value that is deleted is there, with the index that is asked when the deletion went well."""
    answer = exchange.answered() or {}
    if exchange.method != "DELETE" or not answer.get("Value"):
        return None
    # No recorded index is that of this value.
    stage.compare_exchange("another", {"Object": 1})
    index = stage.compare_exchange(unquote(first(exchange, "key")), answer["Value"])
    if answer.get("Successful"):
        return replace(exchange, target=re.sub(r"index=\d+", f"index={index}", exchange.target))
    return None


def configure_revisions(stage, exchange, fixtures):
    configuration = exchange.answered()
    if configuration:
        stage.must("POST", "/admin/revisions/config", configuration)


def read_revisions(stage, exchange, fixtures):
    """Every answered revision written in its turn, with revisions kept for its collection."""
    extra = fixtures.documents(exchange)
    seeds.seed(stage, extra)
    if exchange.status == 304:
        stage.put(first(exchange, "id"), seeds.SOME_DOCUMENT)
        stage.revision(first(exchange, "id"))
        return with_own_etag(stage, exchange)
    revisions = [one for one in (exchange.answered() or {}).get("Results", []) if isinstance(one, dict)]
    if not revisions:
        return None
    forced = all("ForceCreated" in one["@metadata"].get("@flags", "") for one in revisions)
    collection = revisions[0]["@metadata"].get("@collection", "@empty")
    if not forced:
        keep(stage, collection, len(revisions))
    for one in reversed(revisions):
        identifier = one["@metadata"]["@id"]
        if "DeleteRevision" in one["@metadata"]["@flags"]:
            if not stage.has(identifier):
                stage.put(identifier, {"F": 1, "@metadata": {"@collection": collection}})
            stage.must("DELETE", f"/docs?id={identifier}")
            continue
        if not stage.has(identifier) and "HasCounters" in one["@metadata"]["@flags"]:
            complete(stage, identifier, one, collection)
        stage.put(identifier, {**seeds.bare(one), "@metadata": {**seeds.bare(one).get("@metadata", {})}})
        if forced:
            stage.revision(identifier)
    return None


def complete(stage, identifier, revision, collection):
    """A document with counters, time series and attachments before its first kept revision."""
    stage.must("POST", "/admin/revisions/config", {"Collections": {collection: {"Disabled": True}}})
    metadata = revision["@metadata"]
    stage.put(identifier, {"F": 1, "@metadata": {"@collection": collection}})
    for name, value in metadata.get("@counters-snapshot", {}).items():
        stage.counter(identifier, name, value)
    for name, told in metadata.get("@timeseries-snapshot", {}).items():
        times = sorted({told["Start"], told["End"]})
        stage.series(identifier, name, [{"Timestamp": moment, "Values": [1]} for moment in times])
    for one in metadata.get("@attachments", []):
        stage.attachment(identifier, one["Name"], one["Hash"], one["ContentType"], one["Size"])
    keep(stage, collection, 2)


def keep(stage, collection, count):
    configuration = {"Disabled": False, "MinimumRevisionsToKeep": count}
    stage.must("POST", "/admin/revisions/config", {"Collections": {collection: configuration}})


RECIPES = {
    "GET /databases/{db}/counters": read_counters,
    "POST /databases/{db}/counters": write_counters,
    "GET /databases/{db}/timeseries": read_series,
    "GET /databases/{db}/timeseries/ranges": read_series,
    "POST /databases/{db}/timeseries": write_series,
    "GET /databases/{db}/timeseries/stats": series_statistics,
    "GET /databases/{db}/attachments": attachment,
    "HEAD /databases/{db}/attachments": attachment,
    "PUT /databases/{db}/attachments": attachment,
    "DELETE /databases/{db}/attachments": attachment,
    "POST /databases/{db}/attachments/bulk": attachments,
    "GET /databases/{db}/cmpxchg": read_value,
    "DELETE /databases/{db}/cmpxchg": write_value,
    "GET /databases/{db}/revisions": read_revisions,
    "GET /databases/{db}/revisions/bin": read_revisions,
    "GET /databases/{db}/revisions/config": configure_revisions,
}
