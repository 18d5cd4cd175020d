// Strings, their bits, and numbers in them.

import assert from "node:assert/strict";
import { scenario } from "../harness.mjs";

scenario("SET keeps its conditions and gives the old value", async ({ redis }) => {
    assert.equal(await redis.set("k", "one"), "OK");
    assert.equal(await redis.set("k", "two", "NX"), null);
    assert.equal(await redis.set("absent", "x", "XX"), null);
    assert.equal(await redis.set("k", "two", "XX", "GET"), "one");
    assert.equal(await redis.set("k", "three", "EX", 100, "GET"), "two");
    assert.equal(await redis.ttl("k"), 100);
    assert.equal(await redis.setnx("k", "four"), 0);
    assert.equal(await redis.getset("k", "four"), "three");
    assert.equal(await redis.getdel("k"), "four");
    assert.equal(await redis.exists("k", "absent"), 0);
});

scenario("parts of strings are read and written", async ({ redis }) => {
    assert.equal(await redis.append("text", "Hello "), 6);
    assert.equal(await redis.append("text", "World"), 11);
    assert.equal(await redis.getrange("text", -5, -1), "World");
    assert.equal(await redis.setrange("text", 6, "Redis"), 11);
    assert.equal(await redis.get("text"), "Hello Redis");
    assert.equal(await redis.strlen("text"), 11);
    assert.equal(await redis.setrange("padded", 2, "x"), 3);
    assert.deepEqual(await redis.getBuffer("padded"), Buffer.from([0, 0, 120]));
    await redis.mset("a", "ohmytext", "b", "mynewtext");
    assert.equal(await redis.lcs("a", "b"), "mytext");
    assert.equal(await redis.lcs("a", "b", "LEN"), 6);
});

scenario("many strings are set and read at once", async ({ redis }) => {
    const values = new Map(Array.from({ length: 500 }, (_, number) => [`k${number}`, String(number)]));
    assert.equal(await redis.mset(values), "OK");
    assert.deepEqual(await redis.mget([...values.keys()]), [...values.values()]);
    await redis.rpush("list", "a");
    assert.deepEqual(await redis.mget("k1", "absent", "list"), ["1", null, null]);
    assert.equal(await redis.msetnx({ fresh: "1", k1: "2" }), 0);
    assert.equal(await redis.msetnx({ fresh: "1", fresher: "2" }), 1);
    assert.deepEqual(await redis.mget("fresh", "k1", "fresher"), ["1", "1", "2"]);
});

scenario("bits are set, counted, found and combined", async ({ redis }) => {
    assert.equal(await redis.setbit("b", 7, 1), 0);
    assert.equal(await redis.setbit("b", 7, 1), 1);
    assert.equal(await redis.getbit("b", 7), 1);
    assert.equal(await redis.getbit("b", 1000), 0);
    await redis.set("text", "foobar");
    assert.equal(await redis.bitcount("text"), 26);
    assert.equal(await redis.bitcount("text", 5, 30, "BIT"), 17);
    assert.equal(await redis.bitpos("text", 1), 1);
    assert.equal(await redis.bitpos("b", 1), 7);
    await redis.set("other", "abcdef");
    assert.equal(await redis.bitop("AND", "both", "text", "other"), 6);
    assert.equal(await redis.get("both"), "`bc`ab");
    assert.equal(await redis.bitop("NOT", "inverted", "b"), 1);
    assert.deepEqual(await redis.getBuffer("inverted"), Buffer.from([0xfe]));
    await assert.rejects(redis.setbit("b", -1, 1), /bit offset is not an integer or out of range/);
});

scenario("numbers count to their bounds and no further", async ({ redis }) => {
    assert.equal(await redis.incr("n"), 1);
    assert.equal(await redis.incrby("n", 41), 42);
    assert.equal(await redis.decrby("n", 52), -10);
    const greatest = "9223372036854775807";
    await redis.set("n", greatest);
    await assert.rejects(redis.incr("n"), /ERR increment or decrement would overflow/);
    assert.equal(await redis.get("n"), greatest);
    assert.equal(await redis.incrbyfloat("f", 10.5), "10.5");
    assert.equal(await redis.incrbyfloat("f", "0.1"), "10.6");
    await assert.rejects(redis.incrbyfloat("f", "inf"), /NaN or Infinity/);
    await redis.set("text", "1.0");
    await assert.rejects(redis.incr("text"), /ERR value is not an integer or out of range/);
});

scenario("whole numbers beyond doubles arrive as text when they are asked for so", async place => {
    const redis = place.connect({ stringNumbers: true });
    await redis.set("n", "9007199254740993");
    assert.equal(await redis.incr("n"), "9007199254740994");
    assert.equal(await redis.incrby("n", "9000000000000000000"), "9009007199254740994");
});

scenario("counts of many clients at once add up", async place => {
    const count = async client => {
        for (let step = 0; step < 100; step++) {
            await Promise.all([client.incr("n"), client.hincrby("h", "n", 2)]);
        }
    };
    await Promise.all(Array.from({ length: 10 }, () => count(place.connect())));
    assert.equal(await place.redis.get("n"), "1000");
    assert.equal(await place.redis.hget("h", "n"), "2000");
});
