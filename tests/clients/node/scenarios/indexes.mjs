// Indexes that the user writes, and what the server says about them and about its work.

import assert from "node:assert/strict";
import {
    GetEssentialStatisticsOperation,
    GetIndexesOperation,
    GetIndexesStatisticsOperation,
    GetIndexStatisticsOperation,
    GetOngoingTaskInfoOperation,
    IndexDefinition,
    PutIndexesOperation,
} from "ravendb";
import { scenario } from "../harness.mjs";
import { Album, album, storeAlbums, title } from "./model.mjs";

/** Stores an index of one JavaScript map. */
async function putIndex(store, name, map, fields = {}) {
    const definition = new IndexDefinition();
    definition.name = name;
    definition.maps = new Set([map]);
    definition.fields = fields;
    await store.maintenance.send(new PutIndexesOperation(definition));
}

scenario("statistics of indexes use the client's enumerations", async store => {
    await storeAlbums(store);
    await store.openSession().query(Album).whereEquals("genre", "Jazz").waitForNonStaleResults().all();
    await putIndex(store, "Years", "map('Albums', a => ({ year: a.year }))");
    await store.openSession().query({ indexName: "Years" }).waitForNonStaleResults().all();
    const all = await store.maintenance.send(new GetIndexesStatisticsOperation());
    assert.deepEqual(all.map(one => one.name).sort(), ["Auto/Albums/Bygenre", "Years"]);
    for (const one of all) {
        assert.ok(["Lucene", "Corax"].includes(one.searchEngineType), one.searchEngineType);
        assert.ok(["AutoMap", "JavaScriptMap"].includes(one.type), one.type);
        assert.ok(["Normal", "Idle"].includes(one.state), one.state);
        assert.ok(["Unlock", "LockedIgnore"].includes(one.lockMode), one.lockMode);
        assert.equal(one.priority, "Normal");
        assert.equal(one.status, "Running");
        assert.equal(one.entriesCount, 20);
    }
    const years = await store.maintenance.send(new GetIndexStatisticsOperation("Years"));
    assert.equal(years.searchEngineType, all[0].searchEngineType);
    const definitions = await store.maintenance.send(new GetIndexesOperation(0, 10));
    assert.deepEqual(definitions.map(one => one.name).sort(), ["Auto/Albums/Bygenre", "Years"]);
});

scenario("essential statistics count documents and indexes", async store => {
    await storeAlbums(store, 5);
    await putIndex(store, "Years", "map('Albums', a => ({ year: a.year }))");
    const statistics = await store.maintenance.send(new GetEssentialStatisticsOperation());
    assert.equal(statistics.countOfDocuments, 8);
    assert.equal(statistics.countOfIndexes, 1);
    assert.equal(statistics.indexes[0].name, "Years");
});

scenario("a subscription is a task", async store => {
    const name = await store.subscriptions.create({ query: "from Albums", name: "all" });
    const task = await store.maintenance.send(new GetOngoingTaskInfoOperation(name, "Subscription"));
    assert.equal(task.subscriptionName, "all");
    assert.equal(task.taskType, "Subscription");
    assert.equal(task.query.trim(), "from Albums");
});

scenario("JavaScript maps make fields of any name", async store => {
    await storeAlbums(store, 6);
    const map =
        "map('Albums', a => ({ genre: a.genre, _: a.tracks.map((track, at) => createField('track' + at, track, { indexing: 'Exact', storage: true })) }))";
    await putIndex(store, "Tracks", map);
    const found = await store
        .openSession()
        .query({ indexName: "Tracks" })
        .whereEquals("track1", "Track 4-1")
        .waitForNonStaleResults()
        .all();
    assert.deepEqual(found.map(one => one.title), [title(4)]);
});

scenario("places of a static index are found and ordered by their field", async store => {
    const session = store.openSession();
    for (const [number, place] of [[59.3, 18.1], [48.9, 2.4], [52.5, 13.4]].entries()) {
        const one = album(number);
        [one.lat, one.lng] = place;
        await session.store(one, `albums/${number}`);
    }
    await session.saveChanges();
    await putIndex(store, "Places", "map('Albums', a => ({ place: createSpatialField(a.lat, a.lng) }))");
    const found = await store
        .openSession()
        .query({ indexName: "Places" })
        .spatial("place", criteria => criteria.withinRadius(1000, 52.4, 13.1))
        .orderByDistance("place", 52.4, 13.1)
        .waitForNonStaleResults()
        .all();
    assert.deepEqual(found.map(one => one.title), [title(2), title(0), title(1)]);
    const text = "from index 'Places' order by spatial.distance(place, spatial.point(52.4, 13.1)) desc";
    const ordered = store.openSession().advanced.rawQuery(text, Album).waitForNonStaleResults();
    assert.deepEqual((await ordered.all()).map(one => one.title), [title(1), title(0), title(2)]);
});

scenario("a bulk insert reports its progress", async store => {
    let progress;
    const bulk = store.bulkInsert();
    bulk.on("progress", event => (progress = event.progress));
    const text = "x".repeat(100_000);
    // The runner's time limit ends it when no progress is reported.
    for (let number = 0; !(progress?.documentsProcessed > 0); number++) {
        await bulk.store(Object.assign(album(number % 8000), { text }), `albums/${number}`);
        await new Promise(resolve => setTimeout(resolve, 5));
    }
    await bulk.finish();
    assert.ok(progress.total >= progress.documentsProcessed);
});
