// Hashes.

import assert from "node:assert/strict";
import { pairs, scenario } from "../harness.mjs";

scenario("fields are set, read and removed", async ({ redis }) => {
    assert.equal(await redis.hset("h", { name: "Ada", city: "London", born: 1815 }), 3);
    assert.equal(await redis.hset("h", "name", "Eve", "new", "x"), 1);
    assert.deepEqual(await redis.hgetall("h"), { name: "Eve", city: "London", born: "1815", new: "x" });
    assert.deepEqual(await redis.hmget("h", "city", "none", "born"), ["London", null, "1815"]);
    assert.deepEqual((await redis.hkeys("h")).sort(), ["born", "city", "name", "new"]);
    assert.deepEqual((await redis.hvals("h")).sort(), ["1815", "Eve", "London", "x"]);
    assert.deepEqual([await redis.hlen("h"), await redis.hstrlen("h", "city")], [4, 6]);
    assert.deepEqual([await redis.hexists("h", "city"), await redis.hexists("h", "none")], [1, 0]);
    assert.deepEqual([await redis.hsetnx("h", "city", "y"), await redis.hget("h", "city")], [0, "London"]);
    assert.equal(await redis.hdel("h", "name", "city", "born", "new", "none"), 4);
    assert.deepEqual([await redis.exists("h"), await redis.hgetall("h")], [0, {}]);
});

scenario("fields count, exactly and with fractions", async ({ redis }) => {
    assert.equal(await redis.hincrby("h", "n", 5), 5);
    assert.equal(await redis.hincrby("h", "n", -7), -2);
    assert.equal(await redis.hincrbyfloat("h", "f", 2.5), "2.5");
    await redis.hset("h", "text", "x", "greatest", "9223372036854775807");
    await assert.rejects(redis.hincrby("h", "text", 1), /ERR hash value is not an integer/);
    await assert.rejects(redis.hincrby("h", "greatest", 1), /ERR increment or decrement would overflow/);
});

scenario("random fields are different unless they may repeat", async ({ redis }) => {
    const fields = Object.fromEntries(Array.from({ length: 20 }, (_, number) => [`f${number}`, `v${number}`]));
    await redis.hset("h", fields);
    assert.equal(new Set(await redis.hrandfield("h", 7)).size, 7);
    assert.deepEqual((await redis.hrandfield("h", 99)).sort(), Object.keys(fields).sort());
    const repeated = pairs(await redis.hrandfield("h", -50, "WITHVALUES"));
    assert.equal(repeated.length, 50);
    repeated.forEach(([field, value]) => assert.equal(fields[field], value));
    assert.equal(await redis.hrandfield("absent"), null);
});
