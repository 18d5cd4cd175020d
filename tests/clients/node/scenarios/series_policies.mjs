// Policies of time series: configured, carried out, and read as rollups.

import assert from "node:assert/strict";
import {
    ConfigureTimeSeriesOperation,
    GetDatabaseRecordOperation,
    RawTimeSeriesPolicy,
    TimeSeriesCollectionConfiguration,
    TimeSeriesConfiguration,
    TimeSeriesPolicy,
    TimeValue,
} from "ravendb";
import { until } from "../../shared/running.mjs";
import { scenario } from "../harness.mjs";
import { Album, storeAlbums } from "./model.mjs";

const HOUR = 3_600_000;

class Plays {
    static TIME_SERIES_VALUES = ["count", "seconds"];

    constructor(count, seconds) {
        this.count = count;
        this.seconds = seconds;
    }
}

async function policiesOf(store) {
    const record = await store.maintenance.server.send(new GetDatabaseRecordOperation(store.database));
    const collections = record.timeSeries.collections;
    const albums = collections instanceof Map ? collections.get("Albums") : collections.Albums;
    return albums.policies.map(policy => policy.name);
}

scenario("policies of time series are kept by their spans", async store => {
    const { timeSeries } = store;
    await timeSeries.setPolicy("Albums", "ByDay", TimeValue.ofDays(1), TimeValue.ofYears(1));
    await timeSeries.setPolicy("Albums", "ByHour", TimeValue.ofHours(1), TimeValue.ofHours(48));
    await timeSeries.setRawPolicy("Albums", TimeValue.ofHours(5));
    assert.deepEqual(await policiesOf(store), ["ByHour", "ByDay"]);
    await assert.rejects(
        timeSeries.setPolicy("Albums", "ByHour", TimeValue.ofHours(1), TimeValue.ofHours(1)),
        /has a retention time of '60 minutes' but should be aggregated/,
    );
    await assert.rejects(timeSeries.removePolicy("Albums", "byhour"), /should be aggregated by policy 'ByDay'/);
    await timeSeries.removePolicy("Albums", "ByDay");
    assert.deepEqual(await policiesOf(store), ["ByHour"]);
});

scenario("time series are rolled up and old entries go", async store => {
    await storeAlbums(store, 2);
    const albums = new TimeSeriesCollectionConfiguration();
    albums.policies = [
        new TimeSeriesPolicy("ByDay", TimeValue.ofDays(1)),
        new TimeSeriesPolicy("ByHour", TimeValue.ofHours(1), TimeValue.ofDays(20)),
    ];
    albums.rawPolicy = new RawTimeSeriesPolicy(TimeValue.ofDays(5));
    const configuration = new TimeSeriesConfiguration();
    configuration.collections = new Map([["Albums", albums]]);
    configuration.policyCheckFrequencyInMs = 1_000;
    await store.maintenance.send(new ConfigureTimeSeriesOperation(configuration));

    const first = new Date();
    first.setUTCHours(0, 0, 0, 0);
    first.setUTCDate(first.getUTCDate() - 10);
    const writing = store.openSession();
    const series = writing.timeSeriesFor("albums/1", "plays", Plays);
    for (let hour = 0; hour < 72; hour++) {
        series.append(new Date(first.getTime() + hour * HOUR), new Plays(hour, 2));
        series.append(new Date(first.getTime() + (hour + 0.5) * HOUR), new Plays(100, 3));
    }
    await writing.saveChanges();
    await until(async () => {
        const session = store.openSession();
        const names = session.advanced.getTimeSeriesFor(await session.load("albums/1", Album));
        return names.join() === "plays@ByDay,plays@ByHour";
    }, "rolled up, and without entries older than five days");

    const rollups = policy => store.openSession().timeSeriesRollupFor("albums/1", policy, "plays", Plays);
    const hours = await rollups("ByHour").get();
    assert.equal(hours.length, 72);
    assert.equal(hours[1].timestamp.getTime(), first.getTime() + HOUR);
    assert.deepEqual([hours[1].first.count, hours[1].last.count, hours[1].sum.count], [1, 100, 101]);
    assert.deepEqual(
        [hours[1].min.seconds, hours[1].max.seconds, hours[1].average.seconds],
        [2, 3, 2.5],
    );
    const days = await rollups("ByDay").get();
    assert.deepEqual(
        days.map(day => day.count.count),
        [48, 48, 48],
    );
    const refused = store.openSession();
    refused.timeSeriesFor("albums/0", "plays@ByHour").append(first, 1);
    await assert.rejects(refused.saveChanges(), /rolled up/);
});
