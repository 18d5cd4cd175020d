// Sessions: store, load, change, delete, includes, lazy loads, prefixes, ids, concurrency.

import assert from "node:assert/strict";
import { GetIdentitiesOperation, NextIdentityForOperation, SeedIdentityForOperation } from "ravendb";
import { scenario } from "../harness.mjs";
import { Album, Artist, album, storeAlbums, title } from "./model.mjs";

const CONCURRENCY = { name: "ConcurrencyException" };

scenario("documents keep every kind of value", async store => {
    const values = {
        text: 'k\u00f6nnen \u65e5\u672c \u{1f3b5} "quoted" \\ back',
        empty: "",
        int: Number.MAX_SAFE_INTEGER,
        float: 0.1,
        tiny: 5e-324,
        yes: true,
        nothing: null,
        list: [1, [2, []], {}],
        object: { a: { b: { c: [null] } } },
    };
    const session = store.openSession();
    await session.store(new Album({ values }), "albums/values");
    await session.saveChanges();
    const found = await store.openSession().load("albums/values", Album);
    assert.deepEqual(found.values, values);
});

scenario("dates keep their milliseconds", async store => {
    const released = new Date(Date.UTC(1999, 11, 31, 23, 59, 59, 987));
    const session = store.openSession();
    await session.store(new Album({ released }), "albums/1");
    await session.saveChanges();
    const found = await store.openSession().load("albums/1", Album);
    assert.equal(new Date(found.released).getTime(), released.getTime());
});

scenario("a change is stored, and only then seen", async store => {
    await storeAlbums(store, 2);
    const session = store.openSession();
    const one = await session.load("albums/1", Album);
    one.title = "changed";
    assert.ok(session.advanced.hasChanged(one));
    assert.equal((await store.openSession().load("albums/1", Album)).title, title(1));
    await session.saveChanges();
    assert.equal((await store.openSession().load("albums/1", Album)).title, "changed");
});

scenario("several documents are loaded in one request", async store => {
    await storeAlbums(store, 5);
    const session = store.openSession();
    const found = await session.load(["albums/1", "albums/2", "albums/none"], Album);
    assert.equal(found["albums/2"].title, title(2));
    assert.equal(found["albums/none"], null);
    assert.equal(session.advanced.numberOfRequests, 1);
});

scenario("hundreds of documents are loaded in one request", async store => {
    await storeAlbums(store, 400);
    const ids = Array.from({ length: 400 }, (_, number) => `albums/${number}`);
    const found = await store.openSession().load(ids, Album);
    assert.equal(Object.values(found).filter(one => one !== null).length, 400);
});

scenario("documents are deleted by id and by entity", async store => {
    await storeAlbums(store, 3);
    const session = store.openSession();
    await session.delete("albums/0");
    await session.delete(await session.load("albums/1", Album));
    await session.saveChanges();
    const later = store.openSession();
    assert.equal(await later.load("albums/0", Album), null);
    assert.equal(await later.load("albums/1", Album), null);
    assert.equal(await later.advanced.exists("albums/0"), false);
    assert.equal(await later.advanced.exists("albums/2"), true);
});

scenario("metadata travels with the document", async store => {
    const session = store.openSession();
    const one = album(1);
    await session.store(one, "albums/1");
    session.advanced.getMetadataFor(one).Shelf = "B 12";
    await session.saveChanges();
    const later = store.openSession();
    const found = await later.load("albums/1", Album);
    const metadata = later.advanced.getMetadataFor(found);
    assert.equal(metadata.Shelf, "B 12");
    assert.equal(metadata["@collection"], "Albums");
    assert.ok(later.advanced.getChangeVectorFor(found));
    assert.ok(later.advanced.getLastModifiedFor(found) <= new Date(Date.now() + 1000));
});

scenario("included documents come with the first request", async store => {
    await storeAlbums(store, 4);
    const session = store.openSession();
    const one = await session.include("artist").load("albums/1", Album);
    assert.equal((await session.load(one.artist, Artist)).name, "Artist 1");
    assert.equal(session.advanced.numberOfRequests, 1);
});

scenario("an include builder includes documents, counters and time series", async store => {
    await storeAlbums(store, 2);
    const writing = store.openSession();
    writing.countersFor("albums/1").increment("likes", 4);
    writing.timeSeriesFor("albums/1", "plays").append(new Date(Date.UTC(2024, 4, 17)), 7);
    await writing.saveChanges();
    const session = store.openSession();
    const one = await session.load("albums/1", {
        documentType: Album,
        includes: includes =>
            includes.includeDocuments("artist").includeCounter("likes").includeTimeSeries("plays"),
    });
    assert.equal((await session.load(one.artist, Artist)).name, "Artist 1");
    assert.equal(await session.countersFor(one).get("likes"), 4);
    assert.deepEqual(
        (await session.timeSeriesFor(one, "plays").get()).map(entry => entry.value),
        [7],
    );
    assert.equal(session.advanced.numberOfRequests, 1);
});

scenario("lazy loads share a request", async store => {
    await storeAlbums(store, 12);
    const session = store.openSession();
    const one = session.advanced.lazily.load("albums/1", Album);
    const several = session.advanced.lazily.load(["albums/2", "albums/3"], Album);
    const prefix = session.advanced.lazily.loadStartingWith("albums/1", Album);
    await session.advanced.eagerly.executeAllPendingLazyOperations();
    assert.equal((await one.getValue()).title, title(1));
    assert.equal((await several.getValue())["albums/3"].title, title(3));
    assert.equal(Object.keys(await prefix.getValue()).length, 3);
    assert.equal(session.advanced.numberOfRequests, 1);
});

scenario("loads by prefix match, page, exclude and go on", async store => {
    await storeAlbums(store, 15);
    const titles = async options =>
        (await store.openSession().advanced.loadStartingWith(options.prefix ?? "albums/", options)).map(
            one => one.title,
        );
    assert.equal((await titles({})).length, 15);
    assert.deepEqual((await titles({ matches: "1*" })).sort(), [1, 10, 11, 12, 13, 14].map(title));
    assert.deepEqual((await titles({ matches: "?" })).length, 10);
    assert.equal((await titles({ start: 10, pageSize: 3 })).length, 3);
    assert.deepEqual(
        (await titles({ prefix: "albums/1", exclude: "*0|*1" })).sort(),
        [1, 12, 13, 14].map(title),
    );
    assert.deepEqual(await titles({ startAfter: "albums/8" }), [title(9)]);
});

scenario("ids are made by HiLo and never twice", async store => {
    const ids = new Set();
    for (let round = 0; round < 2; round++) {
        const session = store.openSession();
        for (let number = 0; number < 40; number++) {
            const one = album(number);
            await session.store(one);
            ids.add(session.advanced.getDocumentId(one));
        }
        await session.saveChanges();
    }
    assert.equal(ids.size, 80);
    assert.ok(
        [...ids].every(id => /^albums\/\d+-A$/.test(id)),
        [...ids].join(),
    );
});

scenario("the server completes ids that end in | or /", async store => {
    const session = store.openSession();
    await session.store(album(1), "albums|");
    await session.store(album(2), "shelf/");
    await session.saveChanges();
    const later = store.openSession();
    assert.equal((await later.load("albums/1", Album)).title, title(1));
    const [found] = await later.advanced.loadStartingWith("shelf/", { documentType: Album });
    assert.equal(found.title, title(2));
    assert.match(later.advanced.getDocumentId(found), /^shelf\/\d+-A$/);
});

scenario("identities count and can be set", async store => {
    const { maintenance } = store;
    assert.equal(await maintenance.send(new NextIdentityForOperation("albums|")), 1);
    assert.equal(await maintenance.send(new NextIdentityForOperation("albums|")), 2);
    assert.equal(await maintenance.send(new SeedIdentityForOperation("albums|", 100)), 100);
    assert.equal(await maintenance.send(new SeedIdentityForOperation("albums|", 5)), 100);
    assert.equal(await maintenance.send(new SeedIdentityForOperation("albums|", 5, true)), 5);
    assert.deepEqual({ ...(await maintenance.send(new GetIdentitiesOperation())) }, { "albums|": 5 });
});

scenario("optimistic concurrency refuses the second writer", async store => {
    await storeAlbums(store, 2);
    const first = store.openSession();
    first.advanced.useOptimisticConcurrency = true;
    const mine = await first.load("albums/1", Album);
    const second = store.openSession();
    (await second.load("albums/1", Album)).title = "theirs";
    await second.saveChanges();
    mine.title = "mine";
    await assert.rejects(first.saveChanges(), CONCURRENCY);
    assert.equal((await store.openSession().load("albums/1", Album)).title, "theirs");
});

scenario("a document is stored and deleted at its change vector only", async store => {
    await storeAlbums(store, 2);
    const session = store.openSession();
    const old = session.advanced.getChangeVectorFor(await session.load("albums/1", Album));
    (await session.load("albums/1", Album)).title = "newer";
    await session.saveChanges();
    const storing = store.openSession();
    await storing.store(album(9), "albums/1", { documentType: Album, changeVector: old });
    await assert.rejects(storing.saveChanges(), CONCURRENCY);
    const deleting = store.openSession();
    await deleting.delete("albums/1", old);
    await assert.rejects(deleting.saveChanges(), CONCURRENCY);
});

scenario("a refused batch leaves nothing behind", async store => {
    await storeAlbums(store, 2);
    const session = store.openSession();
    await session.store(album(30), "albums/30");
    await session.store(album(1), "albums/1", { documentType: Album, changeVector: "" });
    await session.delete("albums/0");
    await assert.rejects(session.saveChanges(), CONCURRENCY);
    const later = store.openSession();
    assert.equal(await later.load("albums/30", Album), null);
    assert.ok(await later.load("albums/0", Album));
});

scenario("refresh and evict follow the server", async store => {
    await storeAlbums(store, 2);
    const session = store.openSession();
    const one = await session.load("albums/1", Album);
    const other = store.openSession();
    (await other.load("albums/1", Album)).title = "theirs";
    await other.saveChanges();
    await session.advanced.refresh(one);
    assert.equal(one.title, "theirs");
    session.advanced.evict(one);
    assert.equal(session.advanced.isLoaded("albums/1"), false);
});

scenario("conditional loads save unchanged documents", async store => {
    await storeAlbums(store, 2);
    const session = store.openSession();
    const known = session.advanced.getChangeVectorFor(await session.load("albums/1", Album));
    const same = await store.openSession().advanced.conditionalLoad("albums/1", known, Album);
    assert.equal(same.entity, null);
    (await session.load("albums/1", Album)).title = "newer";
    await session.saveChanges();
    const changed = await store.openSession().advanced.conditionalLoad("albums/1", known, Album);
    assert.equal(changed.entity.title, "newer");
});

scenario("unusual ids are kept", async store => {
    const ids = [
        "a b/c?d=e&f",
        "\u65e5\u672c/\u00e9",
        "quote'\"/1",
        "percent%20/1",
        "plus+/1",
        "a".repeat(500),
    ];
    const session = store.openSession();
    for (const [number, id] of ids.entries()) {
        await session.store(album(number), id);
    }
    await session.saveChanges();
    for (const [number, id] of ids.entries()) {
        assert.equal((await store.openSession().load(id, Album)).title, title(number), id);
    }
});

scenario("ids ignore case", async store => {
    await storeAlbums(store, 2);
    assert.equal((await store.openSession().load("ALBUMS/1", Album)).title, title(1));
});
