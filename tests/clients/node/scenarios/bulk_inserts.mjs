// Bulk inserts: documents, and what stands beside them.

import assert from "node:assert/strict";
import { GetStatisticsOperation } from "ravendb";
import { scenario } from "../harness.mjs";
import { Album, album, bytesOf, title } from "./model.mjs";

scenario("thousands of documents are inserted", async store => {
    const bulk = store.bulkInsert();
    for (let number = 0; number < 3000; number++) {
        await bulk.store(album(number), `albums/${number}`);
    }
    await bulk.finish();
    assert.equal((await store.maintenance.send(new GetStatisticsOperation())).countOfDocuments, 3000);
    assert.equal((await store.openSession().load("albums/2999", Album)).title, title(2999));
    assert.equal(await store.openSession().query(Album).waitForNonStaleResults().count(), 3000);
});

scenario("a compressed bulk insert is understood", async store => {
    const bulk = store.bulkInsert({ useCompression: true });
    for (let number = 0; number < 500; number++) {
        await bulk.store(album(number), `albums/${number}`);
    }
    await bulk.finish();
    assert.equal((await store.maintenance.send(new GetStatisticsOperation())).countOfDocuments, 500);
});

scenario("bulk inserts make ids", async store => {
    const bulk = store.bulkInsert();
    const albums = Array.from({ length: 40 }, (_, number) => album(number));
    for (const one of albums) {
        await bulk.store(one);
    }
    await bulk.finish();
    assert.equal(new Set(albums.map(one => one.id)).size, 40);
    assert.equal((await store.openSession().load(albums[7].id, Album)).title, title(7));
});

scenario("counters are inserted in bulk", async store => {
    const bulk = store.bulkInsert();
    for (let number = 0; number < 10; number++) {
        await bulk.store(album(number), `albums/${number}`);
        await bulk.countersFor(`albums/${number}`).increment("likes", number);
        await bulk.countersFor(`albums/${number}`).increment("plays", 100);
    }
    await bulk.finish();
    const counters = await store.openSession().countersFor("albums/7").getAll();
    assert.deepEqual({ ...counters }, { likes: 7, plays: 100 });
});

scenario("time series are inserted in bulk", async store => {
    const noon = Date.UTC(2024, 4, 17, 12);
    const bulk = store.bulkInsert();
    await bulk.store(album(1), "albums/1");
    const series = bulk.timeSeriesFor("albums/1", "plays");
    for (let minute = 0; minute < 500; minute++) {
        await series.append(new Date(noon + minute * 60_000), minute, "radio/1");
    }
    series.dispose();
    await bulk.finish();
    const entries = await store.openSession().timeSeriesFor("albums/1", "plays").get();
    assert.deepEqual([entries.length, entries[499].value], [500, 499]);
});

scenario("attachments are inserted in bulk", async store => {
    const bulk = store.bulkInsert();
    for (let number = 0; number < 5; number++) {
        await bulk.store(album(number), `albums/${number}`);
        await bulk.attachmentsFor(`albums/${number}`).store("front", Buffer.alloc(2000, number), "image/png");
    }
    await bulk.finish();
    const front = await store.openSession().advanced.attachments.get("albums/3", "front");
    assert.deepEqual(await bytesOf(front.data), Buffer.alloc(2000, 3));
});
