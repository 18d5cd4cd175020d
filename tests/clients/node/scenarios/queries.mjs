// Queries: every clause, by the query builder and as text.

import assert from "node:assert/strict";
import { GroupByField } from "ravendb";
import { scenario } from "../harness.mjs";
import { Album, Artist, GENRES, storeAlbums, title } from "./model.mjs";

const titles = async query => (await query.waitForNonStaleResults().all()).map(one => one.title).sort();
const named = (...numbers) => numbers.map(title);
const albums = store => store.openSession().query(Album);

scenario("queries by equality and membership", async store => {
    await storeAlbums(store);
    assert.deepEqual(await titles(albums(store).whereEquals("genre", "Jazz")), named(0, 4, 8, 12, 16));
    assert.deepEqual(await titles(albums(store).whereEquals("genre", "jAZZ")), named(0, 4, 8, 12, 16));
    assert.deepEqual(await titles(albums(store).whereEquals("genre", "jAZZ", true)), []);
    assert.deepEqual(await titles(albums(store).whereEquals("year", 1973)), named(3));
    assert.deepEqual(await titles(albums(store).whereIn("year", [1970, 1975, 2040])), named(0, 5));
    assert.equal((await titles(albums(store).whereNotEquals("genre", "Jazz"))).length, 15);
    assert.deepEqual(
        await titles(albums(store).containsAny("tracks", ["Track 3-0", "Track 5-1"])),
        named(3, 5),
    );
    assert.deepEqual(await titles(albums(store).containsAll("tracks", ["Track 3-0", "Track 3-1"])), named(3));
});

scenario("queries by range, of numbers and of dates", async store => {
    await storeAlbums(store);
    assert.deepEqual(await titles(albums(store).whereGreaterThan("year", 1987)), named(18, 19));
    assert.deepEqual(await titles(albums(store).whereGreaterThanOrEqual("year", 1988)), named(18, 19));
    assert.deepEqual(await titles(albums(store).whereLessThan("price", 10.5)), named(0));
    assert.deepEqual(await titles(albums(store).whereLessThanOrEqual("price", 10.5)), named(0, 1));
    assert.deepEqual(await titles(albums(store).whereBetween("year", 1975, 1977)), named(5, 6, 7));
    const late = albums(store).whereGreaterThanOrEqual("released", new Date(Date.UTC(1987, 6, 1)));
    assert.deepEqual(await titles(late), named(18, 19));
});

scenario("queries by prefix, suffix and presence", async store => {
    await storeAlbums(store);
    assert.equal((await titles(albums(store).whereStartsWith("title", "Album 01"))).length, 10);
    assert.deepEqual(await titles(albums(store).whereEndsWith("title", "7")), named(7, 17));
    assert.equal((await titles(albums(store).whereExists("price"))).length, 20);
    assert.deepEqual(await titles(albums(store).whereExists("noSuchField")), []);
});

scenario("conditions combine", async store => {
    await storeAlbums(store);
    const either = albums(store)
        .whereEquals("genre", "Jazz")
        .andAlso()
        .openSubclause()
        .whereLessThan("year", 1972)
        .orElse()
        .whereGreaterThan("year", 1985)
        .closeSubclause();
    assert.deepEqual(await titles(either), named(0, 16));
    const not = albums(store).whereEquals("genre", "Jazz").andAlso().not().whereEquals("year", 1970);
    assert.deepEqual(await titles(not), named(4, 8, 12, 16));
});

scenario("results are ordered and paged", async store => {
    await storeAlbums(store);
    const rows = await albums(store)
        .waitForNonStaleResults()
        .orderBy("genre")
        .orderByDescending("year", "Long")
        .skip(3)
        .take(4)
        .all();
    assert.deepEqual(
        rows.map(one => one.title),
        named(7, 3, 18, 14),
    );
    let statistics;
    const page = await albums(store)
        .statistics(value => (statistics = value))
        .orderBy("price", "Double")
        .take(2)
        .all();
    assert.deepEqual(
        page.map(one => one.title),
        named(0, 1),
    );
    assert.equal(statistics.totalResults, 20);
    assert.equal(statistics.isStale, false);
    const shuffled = await albums(store).randomOrdering("a seed").all();
    assert.deepEqual(shuffled.map(one => one.title).sort(), named(...Array(20).keys()));
});

scenario("counts, firsts and singles", async store => {
    await storeAlbums(store);
    assert.equal(await albums(store).waitForNonStaleResults().whereEquals("genre", "Folk").count(), 5);
    assert.equal((await albums(store).orderByDescending("title").first()).title, title(19));
    assert.equal((await albums(store).whereEquals("title", title(4)).single()).year, 1974);
    assert.equal(await albums(store).whereEquals("title", "none").firstOrNull(), null);
    assert.equal(await albums(store).whereEquals("genre", "Folk").any(), true);
    await assert.rejects(albums(store).single());
});

scenario("the caller's own write is seen", async store => {
    await storeAlbums(store);
    await albums(store).whereEquals("genre", "Polka").all();
    const session = store.openSession();
    session.advanced.waitForIndexesAfterSaveChanges();
    await session.store(new Album({ title: "fresh", genre: "Polka" }), "albums/fresh");
    await session.saveChanges();
    const found = await albums(store).whereEquals("genre", "Polka").all();
    assert.deepEqual(
        found.map(one => one.title),
        ["fresh"],
    );
});

scenario("fields are projected", async store => {
    await storeAlbums(store, 5);
    const rows = await albums(store)
        .waitForNonStaleResults()
        .orderBy("title")
        .selectFields(["title", "year"])
        .take(2)
        .all();
    assert.deepEqual(
        rows.map(one => [one.title, one.year]),
        [
            ["Album 000", 1970],
            ["Album 001", 1971],
        ],
    );
    const genres = await store
        .openSession()
        .advanced.rawQuery("from Albums select distinct genre")
        .waitForNonStaleResults()
        .all();
    assert.deepEqual(genres.map(one => one.genre).sort(), ["Blues", "Folk", "Jazz", "Rock"]);
});

scenario("scripts project", async store => {
    await storeAlbums(store, 6);
    const text = `
        declare function line(album, artist) { return album.title + ' by ' + artist.name; }
        from Albums as a where a.year >= $from order by a.title load a.artist as artist
        select { name: line(a, artist), total: a.price * 2, count: a.tracks.length }`;
    const rows = await store
        .openSession()
        .advanced.rawQuery(text)
        .addParameter("from", 1974)
        .waitForNonStaleResults()
        .all();
    assert.deepEqual(
        rows.map(one => [one.name, one.total, one.count]),
        [
            ["Album 004 by Artist 1", 27, 3],
            ["Album 005 by Artist 2", 29, 3],
        ],
    );
});

scenario("groups are counted and summed", async store => {
    await storeAlbums(store);
    const counted = await albums(store)
        .waitForNonStaleResults()
        .groupBy("genre")
        .selectKey("genre")
        .selectCount()
        .all();
    assert.deepEqual(
        counted.map(one => [one.genre, one.count]).sort(),
        GENRES.map(genre => [genre, 5]).sort(),
    );
    const summed = await albums(store)
        .waitForNonStaleResults()
        .groupBy("genre")
        .selectKey("genre")
        .selectSum(new GroupByField("year", "total"))
        .all();
    const total = at => [0, 1, 2, 3, 4].reduce((sum, step) => sum + 1970 + at + step * 4, 0);
    assert.deepEqual(
        summed.map(one => [one.genre, one.total]).sort(),
        GENRES.map((genre, at) => [genre, total(at)]).sort(),
    );
    const text = "from Albums group by genre order by count() desc, genre select genre, count() as count";
    const rows = await store.openSession().advanced.rawQuery(text).waitForNonStaleResults().all();
    assert.deepEqual(
        rows.map(one => [one.genre, one.count]),
        [
            ["Blues", 5],
            ["Folk", 5],
            ["Jazz", 5],
            ["Rock", 5],
        ],
    );
});

scenario("queries include documents and counters", async store => {
    await storeAlbums(store, 6);
    const writing = store.openSession();
    writing.countersFor("albums/1").increment("likes", 3);
    await writing.saveChanges();
    const session = store.openSession();
    const [one] = await session
        .query(Album)
        .waitForNonStaleResults()
        .whereEquals("title", title(1))
        .include(includes => includes.includeDocuments("artist").includeCounter("likes"))
        .all();
    assert.equal((await session.load(one.artist, Artist)).name, "Artist 1");
    assert.equal(await session.countersFor("albums/1").get("likes"), 3);
    assert.equal(session.advanced.numberOfRequests, 1);
});

scenario("lazy queries share a request", async store => {
    await storeAlbums(store);
    const session = store.openSession();
    const jazz = session.query(Album).waitForNonStaleResults().whereEquals("genre", "Jazz").lazily();
    const rock = session.query(Album).waitForNonStaleResults().whereEquals("genre", "Rock").countLazily();
    assert.equal((await jazz.getValue()).length, 5);
    assert.equal(await rock.getValue(), 5);
    assert.equal(session.advanced.numberOfRequests, 1);
});

scenario("text queries take parameters", async store => {
    await storeAlbums(store);
    const text =
        "from Albums where genre in ($genres) and year between $from and $to order by year as long desc";
    const rows = await store
        .openSession()
        .advanced.rawQuery(text, Album)
        .waitForNonStaleResults()
        .addParameter("genres", ["Jazz", "Rock"])
        .addParameter("from", 1974)
        .addParameter("to", 1980)
        .all();
    assert.deepEqual(
        rows.map(one => one.title),
        named(9, 8, 5, 4),
    );
    const byId = await store
        .openSession()
        .advanced.rawQuery("from Albums where id() = $id", Album)
        .addParameter("id", "albums/3")
        .all();
    assert.deepEqual(
        byId.map(one => one.title),
        named(3),
    );
    const everything = await store
        .openSession()
        .advanced.rawQuery("from @all_docs where startsWith(id(), 'artists/')", Artist)
        .all();
    assert.equal(everything.length, 3);
});

scenario("a query is answered from the client's cache until something changes", async store => {
    await storeAlbums(store);
    const ask = async () =>
        (await albums(store).whereEquals("genre", "Jazz").waitForNonStaleResults().all()).length;
    assert.deepEqual([await ask(), await ask()], [5, 5]);
    const session = store.openSession();
    await session.delete("albums/4");
    await session.saveChanges();
    assert.equal(await ask(), 4);
});

scenario("a faulty query says what is wrong", async store => {
    await storeAlbums(store, 2);
    const query = store.openSession().advanced.rawQuery("from Albums where and", Album);
    await assert.rejects(query.all(), { name: "InvalidQueryException" });
});

scenario("full text is searched and ranked", async store => {
    await storeAlbums(store);
    assert.deepEqual(await titles(albums(store).search("title", "003 007")), named(3, 7));
    assert.deepEqual(await titles(albums(store).search("title", "album 003", "AND")), named(3));
    assert.equal((await titles(albums(store).search("title", "alb*"))).length, 20);
    const ranked = await albums(store)
        .search("title", "004")
        .boost(10)
        .orElse()
        .search("title", "005")
        .orderByScore()
        .waitForNonStaleResults()
        .all();
    assert.deepEqual(ranked.map(one => one.title), named(4, 5));
});
