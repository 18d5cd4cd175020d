"""Documents by id, by prefix and by page; writing, deleting and patching one; identities and HiLo ranges."""

import re
from dataclasses import replace
from urllib.parse import parse_qs, unquote

from exchange import CUT

from . import seeds

# Documents that are only counted: no more than these are made.
MORE_MAX = 200
ASSIGNED = re.compile(r"this\.(\w+)\s*=(?!=)|(?:Object\.assign\(this, ?\{|[,{])(\w+):")


def parameters(exchange):
    """Parameters of the target, each with all its values."""
    return parse_qs(exchange.target.partition("?")[2], keep_blank_values=True)


def first(exchange, name, default=""):
    return parameters(exchange).get(name, [default])[0]


def read(stage, exchange, fixtures):
    answer = exchange.answered() or {}
    if exchange.status == 304:
        return not_modified(stage, exchange)
    extra = fixtures.documents(exchange)
    if exchange.status == 503:
        fixtures.disable(stage)
        return None
    documents = seeds.seed_answer(stage, answer, extra)
    if "start" in parameters(exchange) and not first(exchange, "startsWith"):
        # Documents by page come newest first: what the page skips was written later.
        for number in range(int(first(exchange, "start"))):
            stage.put(f"later/{number}", seeds.SOME_DOCUMENT)
    if not documents and "ETag" in exchange.answer_headers:
        stage.put("elsewhere/1", seeds.SOME_DOCUMENT)
    fixtures.apply(stage, exchange, besides=documents)
    return None


def head(stage, exchange, fixtures):
    if exchange.status == 404:
        return None
    stage.put(first(exchange, "id"), seeds.SOME_DOCUMENT)
    return with_own_etag(stage, exchange) if exchange.status == 304 else None


def not_modified(stage, exchange):
    """Writes what is asked for, asks for it, and sends the etag that this gave."""
    include = first(exchange, "include")
    for number, identifier in enumerate(parameters(exchange).get("id", [])):
        stage.put(identifier, {"Name": str(number), **({include: "beside/1"} if include else {})})
    if include:
        stage.put("beside/1", seeds.SOME_DOCUMENT)
    if first(exchange, "startsWith"):
        stage.put(first(exchange, "startsWith") + "1", seeds.SOME_DOCUMENT)
    return with_own_etag(stage, exchange)


def with_own_etag(stage, exchange):
    """The exchange with the etag that the same request without it is answered with."""
    body = stage.outgoing(exchange.body) if exchange.body else None
    answer = stage.send(exchange.method, stage.outgoing(exchange.target), body)
    return replace(exchange, headers={**exchange.headers, "If-None-Match": answer.headers.get("etag", "")})


def write(stage, exchange, fixtures):
    identifier = first(exchange, "id")
    if exchange.status == 409 and "does not exist" not in exchange.answer:
        stage.put(identifier, seeds.SOME_DOCUMENT)
    mismatch = re.search(r"Changing '([^']+)' from '([^']+)'", exchange.answer)
    if mismatch:
        stage.put(mismatch[1], {"@metadata": {"@collection": mismatch[2]}})
    return None


def delete(stage, exchange, fixtures):
    if "does not exist" not in exchange.answer:
        stage.put(first(exchange, "id"), seeds.SOME_DOCUMENT)


def patch(stage, exchange, fixtures):
    identifier = unquote(first(exchange, "id"))
    answer = exchange.answered() or {}
    script = ((exchange.asked() or {}).get("Patch") or {}).get("Script", "")
    known = fixtures.documents(exchange).get(identifier)
    if answer.get("Status") == "Created" or exchange.status == 404:
        return
    if known is not None:
        document = known
    elif "OriginalDocument" in answer:
        document = answer["OriginalDocument"]
    elif "ModifiedDocument" in answer:
        document = answer["ModifiedDocument"]
        if answer["Status"] == "Patched":
            document = before(document, script)
    else:
        document = seeds.SOME_DOCUMENT
    seeds.seed(stage, {identifier: document})
    fixtures.apply(stage, exchange, besides={identifier: document})


def before(document, script):
    """The document without what a script assigned; with another value where it did not change the shape."""
    assigned = {name for names in ASSIGNED.findall(script) for name in names if name}
    return {key: ("before" if key in assigned else value) for key, value in document.items()}


def json_patch(stage, exchange, fixtures):
    answer = exchange.answered() or {}
    document = dict(answer.get("ModifiedDocument") or seeds.SOME_DOCUMENT)
    for operation in (exchange.asked() or {}).get("Operations", []):
        if operation["op"] == "add":
            document.pop(operation["path"].strip("/"), None)
    seeds.seed(stage, {first(exchange, "id"): document})


def size(stage, exchange, fixtures):
    stage.put(first(exchange, "id"), seeds.SOME_DOCUMENT)


def identities(stage, exchange, fixtures):
    for name, value in (exchange.answered() or {}).items():
        stage.must("POST", f"/identity/seed?name={name}&value={value}")


def next_identity(stage, exchange, fixtures):
    value = exchange.answered()["NewIdentityValue"]
    if value > 1:
        stage.must("POST", f"/identity/seed?name={first(exchange, 'name')}|&value={value - 1}")


def seed_identity(stage, exchange, fixtures):
    value = exchange.answered()["NewSeedValue"]
    if value != int(first(exchange, "value")):
        stage.must("POST", f"/identity/seed?name={first(exchange, 'name')}&value={value}")


def next_range(stage, exchange, fixtures):
    """Takes the ranges that were taken before."""
    if exchange.status >= 400:
        return
    low = exchange.answered()["Low"]
    for _ in range(low // 32):
        tag = first(exchange, "tag")
        stage.must("GET", f"/hilo/next?tag={tag}&lastBatchSize=0&lastRangeAt=&identityPartsSeparator=/&lastMax=0")


def return_range(stage, exchange, fixtures):
    if exchange.status < 400:
        for _ in range(int(first(exchange, "end")) // 32):
            stage.must("GET", f"/hilo/next?tag={first(exchange, 'tag')}&lastBatchSize=0&lastMax=0")


def more_documents(stage, text, answer, like=None):
    """Documents that an answer counts and does not hold: like its first, or of the asked collection."""
    rows = answer.get("Results")
    if not isinstance(rows, list) or CUT in rows or "IndexName" not in answer:
        return
    like = next((row for row in rows if seeds.is_document(row)), like)
    collection = re.search(r"from '?(\w+)", text)
    if like is None and not (collection and answer["IndexName"].startswith("collection/")):
        return
    like = like or {**seeds.SOME_DOCUMENT, "@metadata": {"@collection": collection[1]}}
    for number in range(min(answer.get("TotalResults", 0) - len(rows), MORE_MAX)):
        stage.put(f"zz/{number:03}", seeds.bare(like))


RECIPES = {
    "GET /databases/{db}/docs": read,
    "HEAD /databases/{db}/docs": head,
    "POST /databases/{db}/docs": read,
    "PUT /databases/{db}/docs": write,
    "DELETE /databases/{db}/docs": delete,
    "PATCH /databases/{db}/docs": patch,
    "PATCH /databases/{db}/json-patch": json_patch,
    "GET /databases/{db}/docs/size": size,
    "GET /databases/{db}/debug/identities": identities,
    "POST /databases/{db}/identity/next": next_identity,
    "POST /databases/{db}/identity/seed": seed_identity,
    "GET /databases/{db}/hilo/next": next_range,
    "PUT /databases/{db}/hilo/return": return_range,
    "GET /databases/{db}/streams/docs": read,
}
