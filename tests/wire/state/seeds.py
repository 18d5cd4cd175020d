"""Documents and what lies beside them, read from recorded answers and put on a stage.

Called by the recipes of this folder. What stays true: documents are put in the order of their recorded change
vectors, so that they are answered in the same order.
"""

import re

from exchange import CUT
from stage import WRITTEN_BY_SERVER

ETAG = re.compile(r"(?:A|TRXN):(\d+)")
# A document that is only needed to be there.
SOME_DOCUMENT = {"Name": "before"}


def is_document(value):
    """Whether a value of an answer is a stored document, not a projection or a group."""
    if not isinstance(value, dict):
        return False
    metadata = value.get("@metadata")
    return isinstance(metadata, dict) and "@id" in metadata and not metadata.get("@projection")


def documents_in(value):
    """Every stored document inside an answer, by id; a later one does not replace an earlier one."""
    found = {}

    def visit(value):
        if is_document(value):
            found.setdefault(value["@metadata"]["@id"], value)
        elif isinstance(value, dict):
            for member in value.values():
                visit(member)
        elif isinstance(value, list):
            for element in value:
                visit(element)

    visit(value)
    return found


def etag_of(document):
    match = ETAG.search(document.get("@metadata", {}).get("@change-vector") or "")
    return int(match[1]) if match else 0


def bare(document):
    """A document as a client would put it."""
    metadata = {
        key: value
        for key, value in document.get("@metadata", {}).items()
        if key not in WRITTEN_BY_SERVER and key != CUT
    }
    body = {key: value for key, value in document.items() if key not in ("@metadata", CUT)}
    return {**body, "@metadata": metadata} if "@metadata" in document else body


def seed(stage, documents, counters=(), series=(), beside=True):
    """Puts documents by id, and the counters, time series, attachments and revisions their metadata names.

    `counters` and `series` hold (id, name) in lower case of those that are made elsewhere.
    """
    made_elsewhere = {(one.lower(), other.lower()) for one, other in [*counters, *series]}
    ordered = sorted(documents.items(), key=lambda pair: etag_of(pair[1]))
    for identifier, document in ordered:
        metadata = document.get("@metadata", {})
        stage.put(identifier, bare(document), "FromClusterTransaction" in metadata.get("@flags", ""))
    for identifier, document in ordered if beside else ():
        seed_beside(stage, identifier, document.get("@metadata", {}), made_elsewhere)


def seed_beside(stage, identifier, metadata, made_elsewhere):
    for name in metadata.get("@counters", []):
        if (identifier.lower(), name.lower()) not in made_elsewhere:
            stage.counter(identifier, name, 1)
    for name in metadata.get("@timeseries", []):
        if (identifier.lower(), name.lower()) not in made_elsewhere:
            stage.series(identifier, name, [{"Timestamp": "2020-01-01T00:00:00.0000000Z", "Values": [1]}])
    for one in metadata.get("@attachments", []):
        if "Hash" in one:
            stage.attachment(identifier, one["Name"], one["Hash"], one.get("ContentType", ""), one["Size"])
    if "HasRevisions" in metadata.get("@flags", "") and "DeleteRevision" not in metadata["@flags"]:
        stage.revision(identifier)


def seed_answer(stage, answer, extra=None):
    """Documents, included counters, time series and compare-exchange values of an answer.

    `extra` holds documents that the answer does not tell of; those of the answer come first.
    """
    documents = {**(extra or {}), **documents_in(answer)}
    # Compare-exchange values first: a cluster-wide document brings a guard of its own.
    for key, item in (answer.get("CompareExchangeValueIncludes") or {}).items():
        if isinstance(item, dict) and item.get("Value") is not None:
            stage.compare_exchange(key, item["Value"])
    counters = included_counters(answer)
    series = included_series(answer)
    for identifier, _ in [*counters, *series]:
        if identifier.lower() not in {known.lower() for known in documents}:
            documents[identifier] = SOME_DOCUMENT
    filled = [key for key, entries in series.items() if entries]
    seed(stage, documents, counters, filled)
    for (identifier, name), value in counters.items():
        stage.counter(identifier, name, value)
    for (identifier, name), entries in series.items():
        spelled = next(
            (
                known
                for known in documents[identifier].get("@metadata", {}).get("@timeseries", [])
                if known.lower() == name.lower()
            ),
            name,
        )
        if entries:
            stage.series(identifier, spelled, entries)
    return documents


def included_counters(answer):
    """Values by (id, name)."""
    found = {}
    for items in (answer.get("CounterIncludes") or {}).values():
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict) and "TotalValue" in item:
                found[item["DocumentId"], item["CounterName"]] = item["TotalValue"]
    return found


def included_series(answer):
    """Entries by (id, name), every entry once."""
    found = {}
    for identifier, by_name in (answer.get("TimeSeriesIncludes") or {}).items():
        for name, ranges in by_name.items() if isinstance(by_name, dict) else ():
            found[identifier, name] = entries_of(ranges)
    return found


def entries_of(ranges):
    entries = {}
    for one in ranges if isinstance(ranges, list) else []:
        for entry in one.get("Entries", []) if isinstance(one, dict) else []:
            if isinstance(entry, dict) and "Values" in entry and CUT not in entry["Values"]:
                entries[entry["Timestamp"]] = entry
    return [entries[time] for time in sorted(entries)]
