// What stands beside documents: attachments, counters, time series, revisions.

import assert from "node:assert/strict";
import {
    AppendOperation,
    ConfigureRevisionsOperation,
    CounterBatch,
    CounterBatchOperation,
    CounterOperation,
    DeleteAttachmentOperation,
    DocumentCountersOperation,
    GetAttachmentOperation,
    GetCountersOperation,
    GetMultipleTimeSeriesOperation,
    GetTimeSeriesOperation,
    GetTimeSeriesStatisticsOperation,
    PutAttachmentOperation,
    RevisionsCollectionConfiguration,
    RevisionsConfiguration,
    TimeSeriesBatchOperation,
    TimeSeriesOperation,
} from "ravendb";
import { scenario } from "../harness.mjs";
import { Album, bytesOf, storeAlbums } from "./model.mjs";

const NOON = Date.UTC(2024, 4, 17, 12);
const MINUTE = 60_000;
const PICTURE = Buffer.from(Array.from({ length: 76_800 }, (_, at) => at % 251));

scenario("attachments are stored, read and deleted by operations", async store => {
    await storeAlbums(store, 2);
    const put = new PutAttachmentOperation("albums/1", "front \u00e9.png", PICTURE, "image/png");
    const details = await store.operations.send(put);
    assert.deepEqual(
        [details.name, details.size, details.contentType],
        ["front \u00e9.png", PICTURE.length, "image/png"],
    );
    const found = await store.operations.send(
        new GetAttachmentOperation("albums/1", "front \u00e9.png", "Document", null),
    );
    assert.deepEqual(await bytesOf(found.data), PICTURE);
    assert.equal(found.details.contentType, "image/png");
    assert.equal(found.details.hash, details.hash);
    found.dispose();
    await store.operations.send(new DeleteAttachmentOperation("albums/1", "front \u00e9.png"));
    assert.equal(await store.openSession().advanced.attachments.get("albums/1", "front \u00e9.png"), null);
});

scenario("a session stores, copies, moves and deletes attachments", async store => {
    await storeAlbums(store, 3);
    const first = store.openSession();
    const one = await first.load("albums/1", Album);
    first.advanced.attachments.store(one, "front", Buffer.from("front"), "text/plain");
    first.advanced.attachments.store(one, "back", Buffer.from("back"));
    await first.saveChanges();

    const second = store.openSession();
    const names = second.advanced.attachments.getNames(await second.load("albums/1", Album));
    assert.deepEqual(names.map(name => [name.name, name.size]).sort(), [
        ["back", 4],
        ["front", 5],
    ]);
    second.advanced.attachments.copy("albums/1", "front", "albums/2", "cover");
    second.advanced.attachments.rename("albums/1", "back", "rear");
    await second.saveChanges();

    const third = store.openSession();
    const cover = await third.advanced.attachments.get("albums/2", "cover");
    assert.equal((await bytesOf(cover.data)).toString(), "front");
    assert.equal(await third.advanced.attachments.exists("albums/1", "rear"), true);
    assert.equal(await third.advanced.attachments.exists("albums/1", "back"), false);
    third.advanced.attachments.delete("albums/1", "rear");
    third.advanced.attachments.move("albums/2", "cover", "albums/0", "moved");
    await third.saveChanges();

    const last = store.openSession();
    const left = last.advanced.attachments.getNames(await last.load("albums/1", Album));
    assert.deepEqual(
        left.map(name => name.name),
        ["front"],
    );
    assert.equal(await last.advanced.attachments.exists("albums/0", "moved"), true);
});

scenario("one batch carries documents and several attachments", async store => {
    const session = store.openSession();
    const contents = [PICTURE, Buffer.alloc(0), Buffer.from("third")];
    await session.store(new Album({ title: "with attachments" }), "albums/1");
    contents.forEach((content, at) => session.advanced.attachments.store("albums/1", `part ${at}`, content));
    await session.saveChanges();
    for (const [at, content] of contents.entries()) {
        const found = await store.openSession().advanced.attachments.get("albums/1", `part ${at}`);
        assert.deepEqual(await bytesOf(found.data), content);
    }
});

scenario("a part of an attachment is read by a range", async store => {
    await storeAlbums(store, 2);
    await store.operations.send(new PutAttachmentOperation("albums/1", "front.png", PICTURE, "image/png"));
    const url = `${store.urls[0]}/databases/${store.database}/attachments?id=albums/1&name=front.png`;
    const part = await fetch(url, { headers: { Range: "bytes=1000-1999" } });
    assert.equal(part.status, 206);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), PICTURE.subarray(1000, 2000));
    assert.equal(part.headers.get("content-range"), `bytes 1000-1999/${PICTURE.length}`);
    const head = await fetch(url, { method: "HEAD" });
    assert.equal(head.status, 200);
});

scenario("an attachment goes with its document", async store => {
    await storeAlbums(store, 2);
    await store.operations.send(new PutAttachmentOperation("albums/1", "front", PICTURE));
    const session = store.openSession();
    await session.delete("albums/1");
    await session.saveChanges();
    assert.equal(await store.openSession().advanced.attachments.exists("albums/1", "front"), false);
});

scenario("an attachment needs a document", async store => {
    await assert.rejects(store.operations.send(new PutAttachmentOperation("albums/none", "front", PICTURE)), {
        name: "DocumentDoesNotExistException",
    });
});

scenario("counters count in sessions", async store => {
    await storeAlbums(store, 2);
    const first = store.openSession();
    first.countersFor("albums/1").increment("likes", 10);
    first.countersFor("albums/1").increment("plays");
    await first.saveChanges();
    const second = store.openSession();
    second.countersFor("albums/1").increment("likes", -3);
    second.countersFor("albums/1").delete("plays");
    await second.saveChanges();
    const counters = store.openSession().countersFor("albums/1");
    assert.deepEqual({ ...(await counters.getAll()) }, { likes: 7 });
    assert.equal(await store.openSession().countersFor("albums/1").get("likes"), 7);
    assert.equal(await store.openSession().countersFor("albums/1").get("plays"), null);
});

scenario("counters count in batches", async store => {
    await storeAlbums(store, 3);
    const batch = new CounterBatch();
    batch.documents = [0, 1, 2].map(number =>
        Object.assign(new DocumentCountersOperation(), {
            documentId: `albums/${number}`,
            operations: [
                CounterOperation.create("likes", "Increment", number + 1),
                CounterOperation.create("plays", "Increment", 5),
            ],
        }),
    );
    await store.operations.send(new CounterBatchOperation(batch));
    const details = await store.operations.send(new GetCountersOperation("albums/2", ["likes", "plays"]));
    assert.deepEqual(
        details.counters.map(one => [one.counterName, one.totalValue]),
        [
            ["likes", 3],
            ["plays", 5],
        ],
    );
});

scenario("the document names its counters and time series", async store => {
    await storeAlbums(store, 2);
    const writing = store.openSession();
    writing.countersFor("albums/1").increment("likes");
    writing.timeSeriesFor("albums/1", "plays").append(new Date(NOON), 1);
    await writing.saveChanges();
    const session = store.openSession();
    const one = await session.load("albums/1", Album);
    assert.deepEqual(session.advanced.getCountersFor(one), ["likes"]);
    assert.deepEqual(session.advanced.getTimeSeriesFor(one), ["plays"]);
});

async function appendMinutes(store, minutes) {
    const session = store.openSession();
    const series = session.timeSeriesFor("albums/1", "plays");
    for (let minute = 0; minute < minutes; minute++) {
        series.append(new Date(NOON + minute * MINUTE), minute, "radio/1");
    }
    await session.saveChanges();
}

scenario("time series are appended and read in ranges", async store => {
    await storeAlbums(store, 2);
    await appendMinutes(store, 60);
    const all = await store.openSession().timeSeriesFor("albums/1", "plays").get();
    assert.equal(all.length, 60);
    assert.deepEqual([all[59].value, all[59].tag], [59, "radio/1"]);
    const part = await store
        .openSession()
        .timeSeriesFor("albums/1", "plays")
        .get(new Date(NOON + 10 * MINUTE), new Date(NOON + 19 * MINUTE));
    assert.deepEqual(
        part.map(entry => entry.value),
        [10, 11, 12, 13, 14, 15, 16, 17, 18, 19],
    );
    const page = await store.openSession().timeSeriesFor("albums/1", "plays").get(50, 3);
    assert.deepEqual(
        page.map(entry => entry.value),
        [50, 51, 52],
    );
});

scenario("entries of time series are replaced and deleted", async store => {
    await storeAlbums(store, 2);
    await appendMinutes(store, 10);
    const session = store.openSession();
    session.timeSeriesFor("albums/1", "plays").append(new Date(NOON), 100);
    session
        .timeSeriesFor("albums/1", "plays")
        .delete(new Date(NOON + 2 * MINUTE), new Date(NOON + 7 * MINUTE));
    await session.saveChanges();
    const left = await store.openSession().timeSeriesFor("albums/1", "plays").get();
    assert.deepEqual(
        left.map(entry => entry.value),
        [100, 1, 8, 9],
    );
    const deleting = store.openSession();
    deleting.timeSeriesFor("albums/1", "plays").delete();
    await deleting.saveChanges();
    assert.equal(await store.openSession().timeSeriesFor("albums/1", "plays").get(), null);
});

scenario("time series work by operations", async store => {
    await storeAlbums(store, 2);
    const operation = new TimeSeriesOperation("heat");
    for (let hour = 0; hour < 24; hour++) {
        operation.append(
            new AppendOperation(new Date(NOON + hour * 60 * MINUTE), [hour, hour * 2.5], "sensor"),
        );
    }
    await store.operations.send(new TimeSeriesBatchOperation("albums/1", operation));
    const found = await store.operations.send(
        new GetTimeSeriesOperation("albums/1", "heat", null, null, 0, 5),
    );
    assert.deepEqual(
        found.entries.map(entry => entry.values),
        [0, 1, 2, 3, 4].map(n => [n, n * 2.5]),
    );
    const statistics = await store.operations.send(new GetTimeSeriesStatisticsOperation("albums/1"));
    assert.deepEqual(
        statistics.timeSeries.map(one => [one.name, one.numberOfEntries]),
        [["heat", 24]],
    );
    const range = (from, to) => ({
        name: "heat",
        from: new Date(NOON + from * 60 * MINUTE),
        to: new Date(NOON + to * 60 * MINUTE),
    });
    const details = await store.operations.send(
        new GetMultipleTimeSeriesOperation("albums/1", [range(0, 1), range(20, 30)]),
    );
    assert.deepEqual(
        details.values.get("heat").map(one => one.entries.length),
        [2, 4],
    );
});

async function configureRevisions(store, keep) {
    const configuration = new RevisionsConfiguration();
    const albums = new RevisionsCollectionConfiguration();
    albums.minimumRevisionsToKeep = keep;
    configuration.collections = new Map([["Albums", albums]]);
    await store.maintenance.send(new ConfigureRevisionsOperation(configuration));
}

async function changeTitles(store, times) {
    for (let number = 0; number < times; number++) {
        const session = store.openSession();
        (await session.load("albums/1", Album)).title = `title ${number}`;
        await session.saveChanges();
    }
}

scenario("revisions are kept, newest first", async store => {
    await configureRevisions(store, 100);
    await storeAlbums(store, 2);
    await changeTitles(store, 3);
    const { revisions } = store.openSession().advanced;
    const titles = (await revisions.getFor("albums/1", { documentType: Album })).map(one => one.title);
    assert.deepEqual(titles, ["title 2", "title 1", "title 0", "Album 001"]);
    assert.equal(await revisions.getCountFor("albums/1"), 4);
    const oldest = (await revisions.getMetadataFor("albums/1")).at(-1)["@change-vector"];
    assert.equal((await revisions.get(oldest, Album)).title, "Album 001");
    assert.equal((await revisions.getFor("albums/1", { start: 1, pageSize: 2 })).length, 2);
});

scenario("old revisions go beyond the limit", async store => {
    await configureRevisions(store, 2);
    await storeAlbums(store, 2);
    await changeTitles(store, 5);
    const titles = (await store.openSession().advanced.revisions.getFor("albums/1")).map(one => one.title);
    assert.deepEqual(titles, ["title 4", "title 3"]);
});

scenario("a revision is found by time", async store => {
    await configureRevisions(store, 2);
    await storeAlbums(store, 2);
    const session = store.openSession();
    const stored = session.advanced.getLastModifiedFor(await session.load("albums/1", Album));
    // The client's dates have milliseconds: the next one lies behind the first version for certain.
    const between = new Date(stored.getTime() + 1);
    while (new Date() <= new Date(between.getTime() + 1)) {
        await new Promise(resolve => setImmediate(resolve));
    }
    await changeTitles(store, 1);
    const found = await store.openSession().advanced.revisions.get("albums/1", between);
    assert.equal(found.title, "Album 001");
});

scenario("a deleted document leaves a revision", async store => {
    await configureRevisions(store, 2);
    await storeAlbums(store, 2);
    const session = store.openSession();
    await session.delete("albums/1");
    await session.saveChanges();
    const metadata = await store.openSession().advanced.revisions.getMetadataFor("albums/1");
    assert.equal(metadata.length, 2);
    assert.match(metadata[0]["@flags"], /DeleteRevision/);
});

scenario("a revision can be forced", async store => {
    await storeAlbums(store, 2);
    const session = store.openSession();
    session.advanced.revisions.forceRevisionCreationFor("albums/1");
    await session.saveChanges();
    assert.equal((await store.openSession().advanced.revisions.getFor("albums/1")).length, 1);
});
