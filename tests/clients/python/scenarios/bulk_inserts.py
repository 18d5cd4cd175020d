"""Bulk inserts: documents, and what stands beside them."""

from datetime import datetime, timedelta

from harness import equal, scenario
from ravendb import GetAttachmentOperation, GetStatisticsOperation
from ravendb.documents.operations.attachments import AttachmentType
from scenarios.model import Album, album

NOON = datetime(2024, 5, 17, 12, 0, 0)


@scenario()
def thousands_of_documents_are_inserted(store):
    with store.bulk_insert() as bulk:
        for number in range(3000):
            bulk.store_as(album(number), f"albums/{number}")
    equal(store.maintenance.send(GetStatisticsOperation()).count_of_documents, 3000)
    with store.open_session() as session:
        equal(session.load("albums/2999", Album).title, "Album 2999")
        equal(session.query(object_type=Album).wait_for_non_stale_results().count(), 3000)


@scenario()
def bulk_inserts_make_ids(store):
    with store.bulk_insert() as bulk:
        ids = [bulk.store(album(number)) for number in range(40)]
    equal(len(set(ids)), 40)
    with store.open_session() as session:
        equal(session.load(ids[7], Album).title, "Album 007")


@scenario()
def counters_are_inserted_in_bulk(store):
    with store.bulk_insert() as bulk:
        for number in range(10):
            bulk.store_as(album(number), f"albums/{number}")
            bulk.counters_for(f"albums/{number}").increment("likes", number)
            bulk.counters_for(f"albums/{number}").increment("plays", 100)
    with store.open_session() as session:
        equal(session.counters_for("albums/7").get_all(), {"likes": 7, "plays": 100})


@scenario()
def time_series_are_inserted_in_bulk(store):
    with store.bulk_insert() as bulk:
        bulk.store_as(album(1), "albums/1")
        with bulk.time_series_for("albums/1", "plays") as series:
            for minute in range(500):
                series.append_single(NOON + timedelta(minutes=minute), minute, "radio/1")
    with store.open_session() as session:
        entries = session.time_series_for("albums/1", "plays").get()
        equal((len(entries), entries[499].value), (500, 499.0))


@scenario(since=7)
def attachments_are_inserted_in_bulk(store):
    with store.bulk_insert() as bulk:
        for number in range(5):
            bulk.store_as(album(number), f"albums/{number}")
            bulk.attachments_for(f"albums/{number}").store("front", bytes([number]) * 2000, "image/png")
    with store.operations.send(
        GetAttachmentOperation("albums/3", "front", AttachmentType.document, None)
    ) as front:
        equal(front.data, bytes([3]) * 2000)
