// Streams: of a prefix, of a collection, of a query.

import assert from "node:assert/strict";
import { scenario } from "../harness.mjs";
import { Album, storeAlbums, title } from "./model.mjs";

async function all(stream) {
    const found = [];
    for await (const one of await stream) {
        found.push(one);
    }
    return found;
}

scenario("a query is streamed", async store => {
    await storeAlbums(store, 40);
    const session = store.openSession();
    await session.query(Album).waitForNonStaleResults().whereGreaterThan("year", 1999).all();
    let statistics;
    const query = session.query(Album).whereGreaterThan("year", 1999).orderByDescending("title");
    const found = await all(session.advanced.stream(query, value => (statistics = value)));
    assert.deepEqual(
        found.map(one => one.document.title),
        [39, 38, 37, 36, 35, 34, 33, 32, 31, 30].map(title),
    );
    assert.ok(found.every(one => one.id && one.changeVector));
    assert.equal(statistics.totalResults, 10);
});

scenario("a raw query with a projection is streamed", async store => {
    await storeAlbums(store, 40);
    const session = store.openSession();
    const query = session.advanced.rawQuery("from Albums as a select { name: a.title + '!' }");
    const found = await all(session.advanced.stream(query));
    assert.equal(found.length, 40);
    assert.ok(found.every(one => one.document.name.endsWith("!")));
});

scenario("a prefix is streamed", async store => {
    await storeAlbums(store, 40);
    const found = await all(store.openSession().advanced.stream("albums/3", { documentType: Album }));
    assert.deepEqual(
        found.map(one => one.id),
        ["albums/3", ...Array.from({ length: 10 }, (_, n) => `albums/3${n}`)],
    );
});
