"""Policies of time series: configured, carried out, and read by typed sessions."""

from datetime import datetime, timedelta, timezone

from harness import equal, raises, scenario
from ravendb import GetDatabaseRecordOperation
from ravendb.documents.operations.time_series import (
    ConfigureTimeSeriesOperation,
    RawTimeSeriesPolicy,
    TimeSeriesCollectionConfiguration,
    TimeSeriesConfiguration,
    TimeSeriesPolicy,
)
from ravendb.documents.session.time_series import ITimeSeriesValuesBindable
from ravendb.primitives.time_series import TimeValue
from running import until
from scenarios.model import Album, store_albums


class Plays(ITimeSeriesValuesBindable):
    def __init__(self, count=None, seconds=None):
        self.count = count
        self.seconds = seconds

    def get_time_series_mapping(self):
        return {0: ("count", None), 1: ("seconds", None)}


def _record(store):
    record = store.maintenance.server.send(GetDatabaseRecordOperation(store.database))
    return record.time_series.collections["Albums"]


@scenario()
def policies_of_time_series_are_kept_by_their_spans(store):
    hours, days = TimeValue.of_hours, TimeValue.of_days
    store.time_series.set_policy_collection_name("Albums", "ByDay", days(1), TimeValue.of_years(1))
    store.time_series.set_policy_collection_name("Albums", "ByHour", hours(1), hours(48))
    store.time_series.set_raw_policy_collection_name("Albums", hours(5))
    albums = _record(store)
    equal([policy.name for policy in albums.policies], ["ByHour", "ByDay"])
    equal(albums.policies[0].retention_time, hours(48))
    equal(albums.raw_policy.retention_time, hours(5))
    with raises("has a retention time of '60 minutes' but should be aggregated"):
        store.time_series.set_policy_collection_name("Albums", "ByHour", hours(1), hours(1))
    store.time_series.remove_policy_collection_name("Albums", "ByHour2")
    with raises("should be aggregated by policy 'ByDay'"):
        store.time_series.remove_policy_collection_name("Albums", "byhour")
    store.time_series.remove_policy_collection_name("Albums", "ByDay")
    equal([policy.name for policy in _record(store).policies], ["ByHour"])


@scenario()
def time_series_are_rolled_up_and_old_entries_go(store):
    today = datetime.now(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    store_albums(store, 2)
    configuration = TimeSeriesConfiguration()
    configuration.policy_check_frequency = timedelta(seconds=1)
    configuration.collections["Albums"] = TimeSeriesCollectionConfiguration(
        policies=[
            TimeSeriesPolicy("ByDay", TimeValue.of_days(1)),
            TimeSeriesPolicy("ByHour", TimeValue.of_hours(1), TimeValue.of_days(20)),
        ],
        raw_policy=RawTimeSeriesPolicy(TimeValue.of_days(5)),
    )
    store.maintenance.send(ConfigureTimeSeriesOperation(configuration))
    first = today - timedelta(days=10)
    with store.open_session() as session:
        series = session.typed_time_series_for(Plays, "albums/1", "plays")
        for hour in range(72):
            series.append_single(first + timedelta(hours=hour), Plays(hour, 2.0), "radio/1")
            series.append_single(first + timedelta(hours=hour, minutes=30), Plays(100, 3.0), "radio/1")
        session.save_changes()

    def names():
        with store.open_session() as session:
            album = session.load("albums/1", Album)
            found = session.advanced.get_time_series_for(album)
            return found if found == ["plays@ByDay", "plays@ByHour"] else None

    until(names, "rolled up, and without entries older than five days")
    with store.open_session() as session:
        session.load("albums/1", Album)
        hours = session.time_series_rollup_for(Plays, "albums/1", "ByHour", "plays").get()
        equal(len(hours), 72)
        equal(hours[1].timestamp, first + timedelta(hours=1))
        equal((hours[1].first.count, hours[1].last.count, hours[1].sum.count), (1, 100, 101))
        equal((hours[1].min.seconds, hours[1].max.seconds, hours[1].average.seconds), (2, 3, 2.5))
        days = session.time_series_rollup_for(Plays, "albums/1", "ByDay", "plays")
        part = days.get(first + timedelta(days=1), first + timedelta(days=1))
        equal([day.count.count for day in part], [48])
    with store.open_session() as session:
        raw = session.time_series_for("albums/1", "plays@ByHour").get(None, first)
        equal([(entry.rollup, len(entry.values)) for entry in raw], [(True, 12)])

    with store.open_session() as session:
        session.time_series_for("albums/1", "plays").append_single(first + timedelta(minutes=1), 7.0)
        session.save_changes()

    def counted():
        with store.open_session() as session:
            days = session.time_series_rollup_for(Plays, "albums/1", "ByDay", "plays").get()
            return [day.count.count for day in days] == [49, 48, 48]

    until(counted, "the late entry is counted")
    with store.open_session() as session, raises("InvalidOperationException", "rolled up"):
        session.time_series_for("albums/0", "plays@ByHour").append_single(first, 1.0)
        session.save_changes()
