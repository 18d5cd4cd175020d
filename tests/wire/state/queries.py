"""Queries: the documents that their answers hold, and the index they name.

An index is defined as elsewhere in the recordings, or, where no recording defines it, by a map of the fields that
the query names. What a projection hides is in `fixtures.json`.
"""

import json
import re

from . import seeds, sorters
from .documents import more_documents, with_own_etag

COLLECTION = re.compile(r"\bfrom\s+(?:'([^']+)'|\"([^\"]+)\"|(@?\w+))", re.IGNORECASE)
INDEX = re.compile(r"\bfrom\s+index\s+(?:'([^']+)'|\"([^\"]+)\")", re.IGNORECASE)
FIELD = re.compile(r"(?<![$'\w.@])([A-Za-z_]\w*)(?![\w(']|\s*\()")
WORDS = {
    "from", "index", "where", "select", "order", "by", "group", "and", "or", "not", "in", "all", "as", "include",
    "limit", "offset", "null", "true", "false", "long", "double", "desc", "asc", "between", "filter",
    "filter_limit", "distinct", "load", "update", "alphaNumeric", "string",
}  # fmt: skip
UNSET = "0001-01-01"
PROJECTED_TYPES = "__PROJECTED_NESTED_OBJECT_TYPES__"


def text_of(exchange):
    asked = exchange.asked() or {}
    query = asked.get("Query", "")
    return query.get("Query", "") if isinstance(query, dict) else query


def query(stage, exchange, fixtures):
    text = text_of(exchange)
    answer = exchange.answered() if exchange.status == 200 else None
    answer = answer if isinstance(answer, dict) else {}
    sorters.before_query(stage, exchange, text)
    documents = {**fixtures.documents(exchange)}
    for document in projected(text, answer):
        documents.setdefault(document["@metadata"]["@id"], document)
    if exchange.status == 503:
        fixtures.disable(stage)
        return None
    seeds.seed_answer(stage, answer, documents)
    if answer and not fixtures.documents(exchange) and "intersect(" not in text:
        more_documents(stage, text, answer, next(iter(documents.values()), None))
    if exchange.method == "POST":
        define(stage, exchange, fixtures, text)
    if answer.get("TotalResults") == 0 and not answer.get("IndexTimestamp", UNSET).startswith(UNSET):
        # The index had seen documents, though none that matches.
        stage.put("zz/none", {"@metadata": {"@collection": collection_behind(exchange, text, fixtures)}})
    fixtures.apply(stage, exchange, besides=documents)
    if exchange.status == 404 or "Index" in exchange.answer and "IndexDoesNotExist" in exchange.answer:
        return None
    if "WaitForNonStale" not in exchange.body and exchange.status == 200:
        stage.wait_for_indexes()
    if exchange.status == 304:
        return with_own_etag(stage, exchange)
    if '"IndexName":"Auto/' in exchange.answer and '"AutoIndexCreationRaftIndex"' not in exchange.answer:
        # The automatic index was there already.
        stage.send("POST", stage.outgoing(exchange.target), stage.outgoing(exchange.body))
    return None


def collection_of(text):
    names = [match for match in COLLECTION.finditer(text) if match[3] != "index"]
    match = names[-1] if names else None
    return next(filter(None, match.groups()), None) if match else None


def collection_behind(exchange, text, fixtures):
    """The collection that is queried, or that the queried index maps first."""
    match = INDEX.search(text)
    if not match:
        return collection_of(text)
    definition = fixtures.definition(match[1] or match[2], fields_of(text), exchange) or {}
    mapped = re.search(r"docs\.(\w+)|map\('(\w+)'", " ".join(definition.get("Maps", [])))
    return (mapped[1] or mapped[2]) if mapped else "Users"


def fields_of(text):
    return [field for field in FIELD.findall(INDEX.sub("", text)) if field.lower() not in WORDS]


def projected(text, answer):
    """Documents behind a projection of plain fields: they have these fields, and maybe others."""
    if re.search(r"select\s*\{|group\s+by|timeseries\(|select\s+\w+\(", text):
        return
    collection = collection_of(text)
    for row in answer.get("Results", []):
        metadata = row.get("@metadata", {}) if isinstance(row, dict) else {}
        if metadata.get("@projection") and metadata.get("@id"):
            types = {"@nested-object-types": row[PROJECTED_TYPES]} if PROJECTED_TYPES in row else {}
            body = {key: value for key, value in row.items() if key not in ("@metadata", PROJECTED_TYPES)}
            kept = {key: metadata[key] for key in ("@id", "@change-vector", "@flags") if key in metadata}
            yield {**body, "@metadata": {"@collection": collection, **types, **kept}}


def define(stage, exchange, fixtures, text):
    """Defines the index that a query names, unless the answer says that there is none."""
    match = INDEX.search(text)
    refused = exchange.status == 404 or "does not exist" in exchange.answer
    if not match or refused or '"StatusCode":404' in exchange.answer:
        return
    name = match[1] or match[2]
    fields = fields_of(text)
    definition = fixtures.definition(name, fields, exchange)
    if definition is None:
        collection = next(
            (
                one["@metadata"]["@collection"]
                for one in seeds.documents_in(exchange.answered() or {}).values()
                if "@collection" in one["@metadata"]
            ),
            "Users",
        )
        mapped = ", ".join(f"d.{field}" for field in sorted(set(fields))) or "d.name"
        definition = {"Name": name, "Maps": [f"from d in docs.{collection} select new {{ {mapped} }}"], "Fields": {}}
    answered = re.search(rf'"IndexName":"({re.escape(name)})"', exchange.answer, re.IGNORECASE)
    stage.index({**definition, "Name": answered[1] if answered else name})


def several(stage, exchange, fixtures):
    """`multi_get`: what its answers hold; a change vector that was asked with stays unknown here."""
    extra = fixtures.documents(exchange)
    answers = (exchange.answered() or {}).get("Results", [])
    results = [one["Result"] for one in answers if isinstance(one, dict) and isinstance(one.get("Result"), dict)]
    for result in results:
        for item in result.get("Results") or []:
            if isinstance(item, dict) and {"Key", "Value"} <= item.keys():
                stage.compare_exchange(item["Key"], item["Value"])
    merged = {"Results": results}
    seeds.seed_answer(stage, merged, extra)
    for request in (exchange.asked() or {}).get("Requests", []):
        if request.get("Url", "").endswith("/queries"):
            define(stage, exchange, fixtures, query_in(request))
    for result in results:
        more_documents(stage, exchange.body, result)
    fixtures.apply(stage, exchange, besides=seeds.documents_in(merged))


def query_in(request):
    """The text of a query inside `multi_get`, whose content is JSON or the text of JSON."""
    content = request.get("Content") or {}
    if isinstance(content, str):
        content = json.loads(content)
    return content.get("Query", "")


RECIPES = {
    "POST /databases/{db}/multi_get": several,
    "POST /databases/{db}/queries": query,
    "GET /databases/{db}/queries": query,
    "PATCH /databases/{db}/queries": query,
    "DELETE /databases/{db}/queries": query,
    "POST /databases/{db}/streams/queries": query,
    "GET /databases/{db}/streams/queries": query,
    "POST /databases/{db}/subscriptions/try": query,
}
