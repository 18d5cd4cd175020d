// The Changes API: documents, prefixes, collections, counters, time series, operations.

import assert from "node:assert/strict";
import { PatchByQueryOperation } from "ravendb";
import { scenario, within } from "../harness.mjs";
import { Album, album, storeAlbums } from "./model.mjs";

/** Collects what an observable tells; `next()` waits for one change. */
async function watch(observable) {
    const seen = [];
    const waiting = [];
    observable.on("data", change => {
        const taker = waiting.shift();
        taker ? taker(change) : seen.push(change);
    });
    await within(observable.ensureSubscribedNow(), "the server confirms the subscription");
    const one = () =>
        seen.length > 0 ? Promise.resolve(seen.shift()) : new Promise(resolve => waiting.push(resolve));
    return { next: () => within(one(), "a change is told") };
}

/** Runs a body with the Changes API of the scenario's database. */
function watching(name, body) {
    scenario(name, async store => {
        const changes = store.changes();
        await within(changes.ensureConnectedNow(), "the web socket opens");
        try {
            await body(store, changes);
        } finally {
            changes.dispose();
        }
    });
}

watching("changes of one document are told", async (store, changes) => {
    await storeAlbums(store, 3);
    const document = await watch(changes.forDocument("albums/1"));
    const session = store.openSession();
    (await session.load("albums/1", Album)).title = "changed";
    (await session.load("albums/2", Album)).title = "changed too";
    await session.saveChanges();
    await session.delete("albums/1");
    await session.saveChanges();
    const [first, second] = [await document.next(), await document.next()];
    assert.deepEqual([first.id, first.type, first.collectionName], ["albums/1", "Put", "Albums"]);
    assert.ok(first.changeVector);
    assert.deepEqual([second.id, second.type], ["albums/1", "Delete"]);
});

watching("changes of all documents, of a prefix and of a collection are told", async (store, changes) => {
    const everything = await watch(changes.forAllDocuments());
    const prefix = await watch(changes.forDocumentsStartingWith("records/"));
    const collection = await watch(changes.forDocumentsInCollection("Artists"));
    await storeAlbums(store, 0);
    const session = store.openSession();
    await session.store(album(1), "records/1");
    await session.saveChanges();
    const ids = [];
    for (let count = 0; count < 4; count++) {
        ids.push((await everything.next()).id);
    }
    assert.deepEqual(ids.sort(), ["artists/0", "artists/1", "artists/2", "records/1"]);
    assert.equal((await prefix.next()).id, "records/1");
    assert.match((await collection.next()).id, /^artists\//);
});

watching("changes of counters are told", async (store, changes) => {
    await storeAlbums(store, 2);
    const all = await watch(changes.forAllCounters());
    const one = await watch(changes.forCounterOfDocument("albums/1", "likes"));
    const session = store.openSession();
    session.countersFor("albums/0").increment("plays", 1);
    session.countersFor("albums/1").increment("likes", 5);
    await session.saveChanges();
    assert.deepEqual(
        new Set([(await all.next()).documentId, (await all.next()).documentId]),
        new Set(["albums/0", "albums/1"]),
    );
    const change = await one.next();
    assert.deepEqual([change.documentId, change.name, change.value], ["albums/1", "likes", 5]);
});

watching("changes of time series are told", async (store, changes) => {
    await storeAlbums(store, 2);
    const all = await watch(changes.forAllTimeSeries());
    const one = await watch(changes.forTimeSeriesOfDocument("albums/1", "plays"));
    const session = store.openSession();
    session.timeSeriesFor("albums/1", "plays").append(new Date(Date.UTC(2024, 4, 17)), 1);
    await session.saveChanges();
    for (const change of [await all.next(), await one.next()]) {
        assert.deepEqual([change.documentId, change.name], ["albums/1", "plays"]);
    }
});

watching("the end of an operation is told", async (store, changes) => {
    await storeAlbums(store, 10);
    const operations = await watch(changes.forAllOperations());
    await store.operations.send(new PatchByQueryOperation("from Albums update { this.seen = true }"));
    let change;
    do {
        change = await operations.next();
    } while (change.state.status === "InProgress");
    assert.equal(change.state.status, "Completed");
});
