// Patches: of one document, of many at once, deferred in batches, by query.

import assert from "node:assert/strict";
import {
    BatchPatchCommandData,
    DeleteByQueryOperation,
    DeleteCommandData,
    PatchByQueryOperation,
    PatchCommandData,
    PatchOperation,
    PatchRequest,
    PutCommandDataWithJson,
} from "ravendb";
import { scenario } from "../harness.mjs";
import { Album, storeAlbums, title } from "./model.mjs";

const patch = (script, values = {}) => Object.assign(PatchRequest.forScript(script), { values });
const load = (store, id) => store.openSession().load(id, Album);

scenario("a script patches one document", async store => {
    await storeAlbums(store, 3);
    const request = patch("this.title = args.prefix + this.title; this.tracks.push('bonus')", {
        prefix: "The ",
    });
    const result = await store.operations.send(new PatchOperation("albums/1", null, request));
    assert.equal(result.status, "Patched");
    const one = await load(store, "albums/1");
    assert.equal(one.title, "The Album 001");
    assert.equal(one.tracks.at(-1), "bonus");
});

scenario("a patch that changes nothing says so", async store => {
    await storeAlbums(store, 2);
    const same = await store.operations.send(new PatchOperation("albums/1", null, patch("this.year = 1971")));
    assert.equal(same.status, "NotModified");
    const missing = await store.operations.send(
        new PatchOperation("albums/none", null, patch("this.year = 1")),
    );
    assert.equal(missing.status, "DocumentDoesNotExist");
});

scenario("a patch of what is missing can create it", async store => {
    const create = patch("this.title = 'made'; this['@metadata'] = { '@collection': 'Albums' }");
    const operation = new PatchOperation("albums/new", null, patch("this.title = 'patched'"), create);
    assert.equal((await store.operations.send(operation)).status, "Created");
    assert.equal((await load(store, "albums/new")).title, "made");
});

scenario("a script reads, stores and deletes other documents", async store => {
    await storeAlbums(store, 3);
    const script = `var artist = load(this.artist);
        put('notes/1', { text: this.title + ' by ' + artist.name, '@metadata': { '@collection': 'Notes' } });
        del('albums/2');`;
    await store.operations.send(new PatchOperation("albums/1", null, patch(script)));
    assert.equal((await store.openSession().load("notes/1")).text, "Album 001 by Artist 1");
    assert.equal(await load(store, "albums/2"), null);
});

scenario("a faulty script says what is wrong", async store => {
    await storeAlbums(store, 2);
    const throwing = new PatchOperation("albums/1", null, patch("throw new Error('no such genre')"));
    await assert.rejects(store.operations.send(throwing), /no such genre/);
    const unfinished = new PatchOperation("albums/1", null, patch("this.x = "));
    await assert.rejects(store.operations.send(unfinished), /parse/);
});

scenario("the session patches fields, arrays and objects", async store => {
    await storeAlbums(store, 3);
    const session = store.openSession();
    session.advanced.increment("albums/1", "year", 10);
    session.advanced.patch("albums/1", "title", "patched");
    session.advanced.patchArray("albums/2", "tracks", tracks => tracks.push("bonus", "more"));
    session.advanced.addOrIncrement("albums/9", new Album({ year: 5 }), "year", 1);
    session.advanced.addOrPatch("albums/0", new Album({ title: "unused" }), "title", "replaced");
    await session.saveChanges();
    const one = await load(store, "albums/1");
    assert.deepEqual([one.title, one.year], ["patched", 1981]);
    assert.deepEqual((await load(store, "albums/2")).tracks.slice(-2), ["bonus", "more"]);
    assert.equal((await load(store, "albums/9")).year, 5);
    assert.equal((await load(store, "albums/0")).title, "replaced");
});

scenario("a batch mixes puts, patches of many and deletes", async store => {
    await storeAlbums(store, 4);
    const session = store.openSession();
    session.advanced.defer(
        new PutCommandDataWithJson("albums/40", null, null, {
            title: "deferred",
            "@metadata": { "@collection": "Albums" },
        }),
        new PatchCommandData("albums/1", null, patch("this.year = 1"), null),
        new BatchPatchCommandData(patch("this.genre = 'Noise'"), null, "albums/2", "albums/3"),
        new DeleteCommandData("albums/0", null),
    );
    await session.saveChanges();
    assert.equal((await load(store, "albums/40")).title, "deferred");
    assert.equal((await load(store, "albums/1")).year, 1);
    assert.equal((await load(store, "albums/2")).genre, "Noise");
    assert.equal((await load(store, "albums/3")).genre, "Noise");
    assert.equal(await load(store, "albums/0"), null);
});

scenario("a query patches what it finds", async store => {
    await storeAlbums(store, 12);
    const query = "from Albums as a where a.genre = 'Rock' update { a.price = a.price * 2; }";
    const operation = await store.operations.send(new PatchByQueryOperation(query));
    await operation.waitForCompletion();
    for (let number = 0; number < 12; number++) {
        const factor = number % 4 === 1 ? 2 : 1;
        assert.equal((await load(store, `albums/${number}`)).price, (9.5 + number) * factor, title(number));
    }
});

scenario("a whole collection is patched", async store => {
    await storeAlbums(store, 12);
    await (
        await store.operations.send(new PatchByQueryOperation("from Albums update { this.seen = true }"))
    ).waitForCompletion();
    const seen = await store
        .openSession()
        .advanced.rawQuery("from Albums where seen = true", Album)
        .waitForNonStaleResults()
        .all();
    assert.equal(seen.length, 12);
});

scenario("a query deletes what it finds", async store => {
    await storeAlbums(store, 12);
    await (
        await store.operations.send(new DeleteByQueryOperation("from Albums where year >= 1975"))
    ).waitForCompletion();
    const left = await store.openSession().query(Album).waitForNonStaleResults().count();
    assert.equal(left, 5);
});
