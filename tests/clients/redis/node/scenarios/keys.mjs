// Keys whatever they hold, and databases.

import assert from "node:assert/strict";
import { scenario } from "../harness.mjs";

/** A key of every type, with what reads it. */
const types = {
    string: { make: redis => redis.set("k", "v"), read: (redis, key) => redis.get(key) },
    list: { make: redis => redis.rpush("k", "a", "b"), read: (redis, key) => redis.lrange(key, 0, -1) },
    hash: { make: redis => redis.hset("k", { f: "1", g: "2" }), read: (redis, key) => redis.hgetall(key) },
    set: { make: redis => redis.sadd("k", "a"), read: (redis, key) => redis.smembers(key) },
    zset: { make: redis => redis.zadd("k", 1, "a", 2, "b"), read: (redis, key) => redis.zrange(key, 0, -1, "WITHSCORES") },
};

scenario("keys of every type are renamed and copied", async ({ redis }) => {
    for (const [type, { make, read }] of Object.entries(types)) {
        await make(redis);
        assert.equal(await redis.type("k"), type);
        const value = await read(redis, "k");
        assert.equal(await redis.rename("k", "renamed"), "OK");
        assert.equal(await redis.copy("renamed", "copied"), 1);
        assert.equal(await redis.copy("renamed", "copied"), 0);
        assert.equal(await redis.copy("renamed", "copied", "REPLACE"), 1);
        assert.equal(await redis.renamenx("renamed", "copied"), 0);
        assert.deepEqual([await read(redis, "renamed"), await read(redis, "copied")], [value, value]);
        await redis.flushdb();
    }
    await assert.rejects(redis.rename("absent", "k"), /ERR no such key/);
    await assert.rejects(redis.copy("k", "k"), /source and destination objects are the same/);
});

scenario("keys are found by pattern, counted and deleted", async ({ redis }) => {
    await redis.mset("hello", 1, "hallo", 2, "hxllo", 3, "h*llo", 4);
    assert.deepEqual((await redis.keys("h[ae]llo")).sort(), ["hallo", "hello"]);
    assert.deepEqual(await redis.keys("h\\*llo"), ["h*llo"]);
    assert.deepEqual((await redis.keys("h[^a]llo")).sort(), ["h*llo", "hello", "hxllo"]);
    assert.deepEqual([await redis.dbsize(), await redis.exists("hello", "none", "hello")], [4, 2]);
    assert.deepEqual([await redis.touch("hello", "none"), await redis.unlink("hello", "hallo")], [1, 2]);
    assert.equal(await redis.del("hxllo", "h*llo"), 2);
    assert.equal(await redis.randomkey(), null);
});

scenario("databases are apart", async place => {
    const { redis } = place;
    const other = place.connect({ db: 3 });
    await redis.set("k", "zero");
    assert.equal(await other.get("k"), null);
    assert.deepEqual([await redis.move("k", 3), await redis.exists("k"), await other.get("k")], [1, 0, "zero"]);
    assert.equal(await other.select(0), "OK");
    assert.equal(await other.exists("k"), 0);
    assert.equal(await redis.swapdb(0, 3), "OK");
    assert.equal(await redis.get("k"), "zero");
    await assert.rejects(redis.select(16), /ERR DB index is out of range/);
    assert.equal(await redis.get("k"), "zero");
});

scenario("how a value is held is told", async ({ redis }) => {
    await redis.mset("int", 12, "short", "a".repeat(44), "long", "a".repeat(45));
    const encodings = await Promise.all(["int", "short", "long"].map(key => redis.object("ENCODING", key)));
    assert.deepEqual(encodings, ["int", "embstr", "raw"]);
    assert.equal(await redis.object("REFCOUNT", "int"), 1);
    assert.ok((await redis.object("IDLETIME", "int")) <= 30);
    assert.ok((await redis.memory("USAGE", "long")) >= 45);
    assert.deepEqual([await redis.object("ENCODING", "absent"), await redis.memory("USAGE", "absent")], [null, null]);
});
