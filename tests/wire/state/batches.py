"""Batches of commands and bulk inserts: what each command works on, read from its result."""

import json
import re
from dataclasses import replace

from . import documents, seeds

PART_NAME = re.compile(r'name="([^"]*)"')
ABSENT = re.compile(
    r"does not exist|was not saved|doesn't exits|Invalid command type|Cannot operate|must have|not supported"
)


def batch(stage, exchange, fixtures):
    text = exchange.body
    multipart = "multipart/form-data" in exchange.headers.get("Content-Type", "")
    if multipart:
        text = next((line for line in text.split("\n") if line.startswith("{")), "")
    try:
        asked = json.loads(text)
    except ValueError:
        return None
    commands = asked.get("Commands", []) if isinstance(asked, dict) else []
    results = (exchange.answered() or {}).get("Results") or [{}] * len(commands)
    for identifier, document in fixtures.documents(exchange).items():
        seeds.seed(stage, {identifier: document})
    if exchange.status >= 400:
        refused(stage, exchange, commands)
    else:
        prepare_commands(stage, asked, commands, results)
    fixtures.apply(stage, exchange)
    if "waitForIndexesTimeout" in exchange.target and exchange.status < 400:
        name = documents.first(exchange, "waitForSpecificIndex") or "Names"
        stage.index({"Name": name, "Maps": ["from d in docs select new { d.name }"], "Fields": {}})
    if exchange.status < 400:
        own_change_vectors(stage, commands)
    if multipart:
        return with_parts(stage, exchange, asked, results)
    return replace(exchange, body=json.dumps(asked, ensure_ascii=False)) if isinstance(asked, dict) else None


def prepare_commands(stage, asked, commands, results):
    """Makes what a batch that went well found. Documents that the batch itself puts are not there before."""
    in_cluster = asked.get("TransactionMode") == "ClusterWide"
    put_here = set()
    collections = {}
    for command in commands:
        collection = command.get("Document", {}).get("@metadata", {}).get("@collection")
        if command.get("Type") == "PUT" and collection:
            collections[command["Id"]] = collection
    for command, result in zip(commands, results):
        identifier = command.get("Id") or ""
        kind = command.get("Type")
        if kind == "PUT":
            flags = result.get("@flags", "")
            if command.get("ChangeVector") or command.get("OriginalChangeVector") or flags:
                in_guard = in_cluster or "FromCluster" in flags
                put_before(stage, identifier, flags, collections, in_guard)
            put_here.add(identifier)
        elif kind in PREPARERS:
            PREPARERS[kind](stage, command, result, put_here, collections)


def put_before(stage, identifier, flags, collections, in_cluster=False):
    if stage.has(identifier):
        return
    metadata = {"@collection": collections[identifier]} if identifier in collections else {}
    stage.put(identifier, {**seeds.SOME_DOCUMENT, "@metadata": metadata}, in_cluster)
    if "HasAttachments" in flags:
        stage.attachment(identifier, "file1", "EcDnm3HDl2zNDALRMQ4lFsCO3J2Lb1fM1oDWOk2Octo=", "", 3)
    if "HasRevisions" in flags:
        stage.revision(identifier)


def some(stage, identifier, put_here, collections):
    if identifier not in put_here and not stage.has(identifier):
        put_before(stage, identifier, "", collections)


def prepare_delete(stage, command, result, put_here, collections):
    if result.get("Deleted"):
        some(stage, command["Id"], put_here, collections)


def prepare_patch(stage, command, result, put_here, collections):
    status = result.get("PatchStatus")
    if status in ("DocumentDoesNotExist", "Created") or command["Id"] in put_here:
        return
    document = result.get("ModifiedDocument")
    if document is None:
        document = {"name": "before", "stuff": [{"key": 6}, None, None], "numbers": [1]}
    elif status == "Patched":
        document = documents.before(document, command.get("Patch", {}).get("Script", ""))
    if not stage.has(command["Id"]):
        seeds.seed(stage, {command["Id"]: document})


def prepare_json_patch(stage, command, result, put_here, collections):
    document = dict(result.get("ModifiedDocument") or seeds.SOME_DOCUMENT)
    for operation in command["JsonPatch"]["Operations"]:
        if operation["op"] == "replace":
            document[operation["path"].strip("/")] = "before"
    seeds.seed(stage, {command["Id"]: document})


def prepare_many(stage, command, result, put_here, collections):
    for one in command.get("Ids", []):
        some(stage, one["Id"], put_here, collections)


def prepare_counters(stage, command, result, put_here, collections):
    identifier = command["Id"]
    some(stage, identifier, put_here, collections)
    if identifier in put_here:
        return
    answered = result.get("CountersDetail", {}).get("Counters", [])
    totals = {one["CounterName"]: one["TotalValue"] for one in answered if one}
    for operation in command["Counters"]["Operations"]:
        name = operation["CounterName"]
        if operation["Type"] == "Delete":
            stage.counter(identifier, name, 1)
        elif operation["Type"] == "Increment":
            earlier = totals.get(name, operation["Delta"]) - operation["Delta"]
            # Without a change vector of the document nothing was added to its metadata.
            if earlier or result.get("DocumentChangeVector", "") is None:
                stage.counter(identifier, name, earlier)


def prepare_series(stage, command, result, put_here, collections):
    some(stage, command["Id"], put_here, collections)
    if command.get("DestinationId"):
        some(stage, command["DestinationId"], put_here, collections)
        entry = {"Timestamp": "2024-01-01T00:00:00.0000000Z", "Values": [1, 2], "Tag": "t"}
        stage.series(command["Id"], command["Name"], [entry])


def prepare_attachment(stage, command, result, put_here, collections):
    some(stage, command["Id"], put_here, collections)
    if command["Type"] == "AttachmentPUT":
        return
    if command["Type"] != "AttachmentDELETE" or result.get("DocumentChangeVector"):
        size = result.get("Size", 3)
        stage.attachment(command["Id"], command["Name"], result.get("Hash"), result.get("ContentType", ""), size)
    if command.get("DestinationId"):
        some(stage, command["DestinationId"], put_here, collections)


def prepare_revision(stage, command, result, put_here, collections):
    identifier = result.get("@id") or command["Id"]
    if identifier not in put_here:
        some(stage, identifier, put_here, collections)
        if not result.get("RevisionCreated"):
            stage.revision(identifier)


def prepare_exchange(stage, command, result, put_here, collections):
    """A value with an index other than 0 is there already; its index is that of this stage."""
    if command.get("Index"):
        command["Index"] = stage.compare_exchange(command["Id"], {"Object": "before"})


PREPARERS = {
    "DELETE": prepare_delete,
    "PATCH": prepare_patch,
    "JsonPatch": prepare_json_patch,
    "BatchPATCH": prepare_many,
    "Counters": prepare_counters,
    "TimeSeries": prepare_series,
    "TimeSeriesCopy": prepare_series,
    "TimeSeriesWithIncrements": prepare_series,
    "AttachmentPUT": prepare_attachment,
    "AttachmentCOPY": prepare_attachment,
    "AttachmentMOVE": prepare_attachment,
    "AttachmentDELETE": prepare_attachment,
    "ForceRevisionCreation": prepare_revision,
    "CompareExchangePUT": prepare_exchange,
    "CompareExchangeDELETE": prepare_exchange,
}


def own_change_vectors(stage, commands):
    """Recorded change vectors become those of this stage."""
    for command in commands:
        for key in ("ChangeVector", "OriginalChangeVector"):
            if command.get(key) and command.get("Id"):
                command[key] = stage.change_vector(command["Id"]) or command[key]


def refused(stage, exchange, commands):
    """What a batch that was refused met: documents it names, where their absence was not the reason."""
    mismatch = re.search(r"Changing '([^']+)' from '([^']+)'", exchange.answer)
    if mismatch:
        stage.put(mismatch[1], {"@metadata": {"@collection": mismatch[2]}})
        return
    if exchange.status == 408 and "waitForIndexes" in exchange.target:
        stage.index({"Name": "Slow", "Maps": ["from d in docs select new { d.F }"], "Fields": {}})
        stage.must("POST", "/admin/indexes/stop")
        return
    if ABSENT.search(exchange.answer.partition('"Error"')[0]):
        return
    for command in commands:
        identifier = command.get("Id")
        if not identifier or command.get("Type", "").startswith("CompareExchange"):
            if re.search(r"actual index: [1-9]", exchange.answer):
                stage.compare_exchange(identifier, {"Object": 1})
            continue
        collection = command.get("Document", {}).get("@metadata", {}).get("@collection")
        for one in filter(None, (identifier, command.get("DestinationId"))):
            if not stage.has(one) and exchange.status != 408:
                put_before(stage, one, "", {one: collection} if collection else {})
        if command.get("DestinationName"):
            stage.attachment(command["DestinationId"], command["DestinationName"])
            stage.attachment(identifier, command["Name"])


def with_parts(stage, exchange, asked, results):
    """A body of several parts made anew: recordings do not keep what was not text."""
    boundary = exchange.headers["Content-Type"].partition("boundary=")[2].strip('"')
    hashes = [
        (result.get("Hash"), result.get("Size", 3), command)
        for command, result in zip(asked["Commands"], results)
        if command["Type"] == "AttachmentPUT"
    ]
    lines = [f"--{boundary}", 'Content-Disposition: form-data; name="main"', "Content-Type: application/json", ""]
    body = "\r\n".join(lines).encode() + b"\r\n" + json.dumps(asked).encode() + b"\r\n"
    for number, (hash_text, size, command) in enumerate(hashes):
        kind = command.get("ContentType") or "application/octet-stream"
        lines = [
            f"--{boundary}",
            f'Content-Disposition: form-data; name="attachment_{number}"',
            f"Content-Type: {kind}",
            "Command-Type: AttachmentStream",
            "",
        ]
        body += "\r\n".join(lines).encode() + b"\r\n" + stage.contents(hash_text, size) + b"\r\n"
    return replace(exchange, body=body + f"--{boundary}--\r\n".encode())


def insert(stage, exchange, fixtures):
    """Bulk inserts work on documents that they name without putting them."""
    try:
        items = json.loads(exchange.body)
    except ValueError:
        return None
    put_here = {item["Id"] for item in items if item.get("Type") == "PUT"}
    for item in items if exchange.status < 400 else ():
        if item["Id"] not in put_here and not stage.has(item["Id"]):
            stage.put(item["Id"], seeds.SOME_DOCUMENT)
    return None


RECIPES = {
    "POST /databases/{db}/bulk_docs": batch,
    "POST /databases/{db}/bulk_insert": insert,
}
