"""What stands beside documents: attachments, counters, time series, revisions."""

from datetime import datetime, timedelta

from harness import equal, raises, scenario
from ravendb import (
    DeleteAttachmentOperation,
    GetAttachmentOperation,
    PutAttachmentOperation,
    RevisionsCollectionConfiguration,
    RevisionsConfiguration,
)
from ravendb.documents.operations.attachments import AttachmentType
from ravendb.documents.operations.counters import (
    CounterBatch,
    CounterBatchOperation,
    CounterOperation,
    CounterOperationType,
    DocumentCountersOperation,
    GetCountersOperation,
)
from ravendb.documents.operations.revisions import ConfigureRevisionsOperation
from ravendb.documents.operations.time_series import (
    GetMultipleTimeSeriesOperation,
    GetTimeSeriesOperation,
    GetTimeSeriesStatisticsOperation,
    TimeSeriesBatchOperation,
    TimeSeriesOperation,
)
from ravendb.documents.session.time_series import TimeSeriesRange
from scenarios.model import Album, store_albums

NOON = datetime(2024, 5, 17, 12, 0, 0)
PICTURE = bytes(range(256)) * 300


@scenario()
def attachments_are_stored_read_and_deleted_by_operations(store):
    store_albums(store, 2)
    details = store.operations.send(PutAttachmentOperation("albums/1", "front.png", PICTURE, "image/png"))
    equal((details.name, details.content_type), ("front.png", "image/png"))
    with store.operations.send(
        GetAttachmentOperation("albums/1", "front.png", AttachmentType.document, None)
    ) as found:
        # This client wraps the content into a form of its own; the server keeps the body as it came.
        assert PICTURE in found.data
        equal(len(found.data), details.size)
        equal(found.details.content_type, "image/png")
        equal(found.details.hash, details.hash)
    store.operations.send(DeleteAttachmentOperation("albums/1", "front.png"))
    with store.open_session() as session:
        assert not session.advanced.attachments.exists("albums/1", "front.png")


@scenario()
def a_session_stores_copies_moves_and_deletes_attachments(store):
    store_albums(store, 3)
    with store.open_session() as session:
        one = session.load("albums/1", Album)
        session.advanced.attachments.store(one, "front", b"front", "text/plain")
        session.advanced.attachments.store(one, "back", b"back")
        session.save_changes()
    with store.open_session() as session:
        one = session.load("albums/1", Album)
        names = session.advanced.attachments.get_names(one)
        equal(sorted((name.name, name.size) for name in names), [("back", 4), ("front", 5)])
        session.advanced.attachments.copy("albums/1", "front", "albums/2", "cover")
        session.advanced.attachments.rename("albums/1", "back", "rear")
        session.save_changes()
    with store.open_session() as session:
        with session.advanced.attachments.get("albums/2", "cover") as cover:
            equal(cover.data, b"front")
        assert session.advanced.attachments.exists("albums/1", "rear")
        assert not session.advanced.attachments.exists("albums/1", "back")
        session.advanced.attachments.delete("albums/1", "rear")
        session.save_changes()
    with store.open_session() as session:
        names = session.advanced.attachments.get_names(session.load("albums/1", Album))
        equal([name.name for name in names], ["front"])


@scenario()
def an_attachment_goes_with_its_document(store):
    store_albums(store, 2)
    store.operations.send(PutAttachmentOperation("albums/1", "front", b"front", "text/plain"))
    with store.open_session() as session:
        session.delete("albums/1")
        session.save_changes()
    with store.open_session() as session:
        assert not session.advanced.attachments.exists("albums/1", "front")


@scenario()
def an_attachment_needs_a_document(store):
    with raises("does not exist", "DoesNotExist"):
        store.operations.send(PutAttachmentOperation("albums/none", "front", b"front", "text/plain"))


@scenario()
def counters_count_in_sessions(store):
    store_albums(store, 2)
    with store.open_session() as session:
        counters = session.counters_for("albums/1")
        counters.increment("likes", 10)
        counters.increment("plays")
        session.save_changes()
    with store.open_session() as session:
        session.counters_for("albums/1").increment("likes", -3)
        session.counters_for("albums/1").delete("plays")
        session.save_changes()
    with store.open_session() as session:
        equal(session.counters_for("albums/1").get_all(), {"likes": 7})
        equal(session.counters_for("albums/1").get("likes"), 7)
        equal(session.counters_for("albums/1").get("plays"), None)


@scenario()
def counters_count_in_batches(store):
    store_albums(store, 2)
    operations = [
        DocumentCountersOperation(
            f"albums/{n}", [CounterOperation("likes", CounterOperationType.INCREMENT, n + 1)]
        )
        for n in range(2)
    ]
    store.operations.send(CounterBatchOperation(CounterBatch(documents=operations)))
    details = store.operations.send(GetCountersOperation("albums/1", ["likes", "none"]))
    equal([(one.counter_name, one.total_value) for one in details.counters if one], [("likes", 2)])


@scenario()
def counters_come_with_documents(store):
    store_albums(store, 2)
    with store.open_session() as session:
        session.counters_for("albums/1").increment("likes", 4)
        session.save_changes()
    with store.open_session() as session:
        one = session.load("albums/1", Album, lambda includes: includes.include_counter("likes"))
        equal(session.counters_for_entity(one).get("likes"), 4)
        equal(session.advanced.number_of_requests, 1)


def _append(store, minutes):
    with store.open_session() as session:
        series = session.time_series_for("albums/1", "plays")
        for minute in range(minutes):
            series.append_single(NOON + timedelta(minutes=minute), float(minute), "radio/1")
        session.save_changes()


@scenario()
def time_series_are_appended_and_read_in_ranges(store):
    store_albums(store, 2)
    _append(store, 60)
    with store.open_session() as session:
        entries = session.time_series_for("albums/1", "plays").get()
        equal(len(entries), 60)
        equal((entries[59].value, entries[59].tag), (59.0, "radio/1"))
    with store.open_session() as session:
        series = session.time_series_for("albums/1", "plays")
        part = series.get(NOON + timedelta(minutes=10), NOON + timedelta(minutes=19))
        equal([entry.value for entry in part], [float(n) for n in range(10, 20)])
    with store.open_session() as session:
        equal(session.advanced.get_time_series_for(session.load("albums/1", Album)), ["plays"])


@scenario()
def entries_of_time_series_are_deleted_by_range(store):
    store_albums(store, 2)
    _append(store, 10)
    with store.open_session() as session:
        session.time_series_for("albums/1", "plays").delete(
            NOON + timedelta(minutes=2), NOON + timedelta(minutes=7)
        )
        session.save_changes()
    with store.open_session() as session:
        entries = session.time_series_for("albums/1", "plays").get()
        equal([entry.value for entry in entries], [0.0, 1.0, 8.0, 9.0])


@scenario()
def time_series_work_by_operations(store):
    store_albums(store, 2)
    operation = TimeSeriesOperation("heat")
    for hour in range(24):
        at = NOON + timedelta(hours=hour)
        operation.append(TimeSeriesOperation.AppendOperation(at, [hour, hour * 2.5], "sensor"))
    store.operations.send(TimeSeriesBatchOperation("albums/1", operation))
    found = store.operations.send(GetTimeSeriesOperation("albums/1", "heat", page_size=5))
    equal([entry.values for entry in found.entries], [[float(n), n * 2.5] for n in range(5)])
    statistics = store.operations.send(GetTimeSeriesStatisticsOperation("albums/1"))
    equal([(one.name, one.number_of_entries) for one in statistics.time_series], [("heat", 24)])
    ranges = [
        TimeSeriesRange("heat", NOON, NOON + timedelta(hours=1)),
        TimeSeriesRange("heat", NOON + timedelta(hours=20), NOON + timedelta(hours=30)),
    ]
    details = store.operations.send(GetMultipleTimeSeriesOperation("albums/1", ranges))
    equal([len(one.entries) for one in details.values["heat"]], [2, 4])


def _configure_revisions(store, keep):
    collection = RevisionsCollectionConfiguration(minimum_revisions_to_keep=keep)
    configuration = RevisionsConfiguration(collections={"Albums": collection})
    store.maintenance.send(ConfigureRevisionsOperation(configuration))


def _change_titles(store, times):
    for number in range(times):
        with store.open_session() as session:
            session.load("albums/1", Album).title = f"title {number}"
            session.save_changes()


@scenario()
def revisions_are_kept_newest_first(store):
    _configure_revisions(store, 100)
    store_albums(store, 2)
    _change_titles(store, 3)
    with store.open_session() as session:
        revisions = session.advanced.revisions.get_for("albums/1", Album)
        equal([one.title for one in revisions], ["title 2", "title 1", "title 0", "Album 001"])
        equal(session.advanced.revisions.get_count_for("albums/1"), 4)
        oldest = session.advanced.revisions.get_metadata_for("albums/1")[-1]["@change-vector"]
        equal(session.advanced.revisions.get_by_change_vector(oldest, Album).title, "Album 001")
        equal(len(session.advanced.revisions.get_for("albums/1", Album, 1, 2)), 2)


@scenario()
def old_revisions_go_beyond_the_limit(store):
    _configure_revisions(store, 2)
    store_albums(store, 2)
    _change_titles(store, 5)
    with store.open_session() as session:
        revisions = session.advanced.revisions.get_for("albums/1", Album)
        equal([one.title for one in revisions], ["title 4", "title 3"])


@scenario()
def a_revision_can_be_forced(store):
    store_albums(store, 2)
    with store.open_session() as session:
        session.advanced.revisions.force_revision_creation_for_id("albums/1")
        session.save_changes()
    with store.open_session() as session:
        equal(len(session.advanced.revisions.get_for("albums/1", Album)), 1)
