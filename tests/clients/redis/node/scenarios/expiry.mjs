// When keys end.

import assert from "node:assert/strict";
import { scenario, until } from "../harness.mjs";

scenario("a key is gone for every command when its time is over", async ({ redis }) => {
    await redis.set("text", "v", "PX", 60);
    await redis.hset("hash", "f", "v");
    await redis.pexpire("hash", 60);
    await until(async () => (await redis.exists("text", "hash")) === 0, "both are over");
    assert.deepEqual([await redis.get("text"), await redis.hgetall("hash")], [null, {}]);
    assert.deepEqual([await redis.ttl("text"), await redis.pexpiretime("hash")], [-2, -2]);
    assert.deepEqual([await redis.keys("*"), await redis.dbsize()], [[], 0]);
    assert.equal(await redis.incr("text"), 1);
    assert.equal(await redis.ttl("text"), -1);
});

scenario("times are told as they were given", async ({ redis }) => {
    const moment = Math.floor(Date.now() / 1000) + 1000;
    await redis.set("k", "v", "EXAT", moment);
    assert.equal(await redis.expiretime("k"), moment);
    await redis.pexpireat("k", moment * 1000 + 7);
    assert.equal(await redis.pexpiretime("k"), moment * 1000 + 7);
    assert.equal(await redis.persist("k"), 1);
    assert.deepEqual([await redis.ttl("k"), await redis.expiretime("k")], [-1, -1]);
});

scenario("conditions decide whether a time is taken", async ({ redis }) => {
    await redis.set("k", "v");
    assert.equal(await redis.expire("k", 100, "XX"), 0);
    assert.equal(await redis.expire("k", 100, "NX"), 1);
    assert.equal(await redis.expire("k", 50, "GT"), 0);
    assert.equal(await redis.expire("k", 50, "LT"), 1);
    assert.equal(await redis.expire("absent", 50), 0);
    assert.equal(await redis.expire("k", -1), 1);
    assert.equal(await redis.exists("k"), 0);
    await assert.rejects(redis.set("k", "v", "EX", 0), /ERR invalid expire time in 'set' command/);
    await assert.rejects(redis.setex("k", -5, "v"), /ERR invalid expire time in 'setex' command/);
});

scenario("changes of a value keep its time and a new value has none", async ({ redis }) => {
    await redis.setex("k", 100, "1");
    await redis.incr("k");
    await redis.append("k", "0");
    await redis.set("k", "3", "KEEPTTL");
    await redis.rename("k", "renamed");
    const left = await redis.ttl("renamed");
    assert.ok(left > 90 && left <= 100, left);
    assert.equal(await redis.getex("renamed", "PERSIST"), "3");
    assert.equal(await redis.ttl("renamed"), -1);
    await redis.expire("renamed", 100);
    await redis.set("renamed", "new");
    assert.equal(await redis.ttl("renamed"), -1);
});
