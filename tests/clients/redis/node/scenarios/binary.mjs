// Keys and values of any bytes, and large ones.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { scenario } from "../harness.mjs";

const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const digest = bytes => createHash("sha256").update(bytes).digest("hex");

scenario("keys and values may be any bytes", async ({ redis }) => {
    const keys = [every, Buffer.alloc(0), Buffer.from("\r\n"), Buffer.from([255, 254]), Buffer.from("schl\u00fcssel")];
    for (const key of keys) {
        assert.equal(await redis.set(key, Buffer.concat([key, every])), "OK");
    }
    const got = await redis.mgetBuffer(...keys);
    got.forEach((value, at) => assert.deepEqual(value, Buffer.concat([keys[at], every])));
    assert.equal((await redis.keysBuffer("*")).length, keys.length);
    await redis.hset("h", every, every);
    assert.deepEqual(await redis.hgetBuffer("h", every), every);
    await redis.rpush("l", ...keys);
    assert.deepEqual(await redis.lrangeBuffer("l", 0, -1), keys);
    await redis.zadd("z", ...keys.flatMap(key => [1, key]));
    assert.deepEqual(await redis.zrangeBuffer("z", 0, -1), [...keys].sort(Buffer.compare));
    assert.deepEqual([await redis.set("empty", ""), await redis.get("empty"), await redis.strlen("empty")], ["OK", "", 0]);
});

scenario("a value of 64 mebibytes comes back whole", async ({ redis }) => {
    const value = Buffer.alloc(64 << 20, every);
    assert.equal(await redis.set("k", value), "OK");
    assert.equal(await redis.strlen("k"), value.length);
    assert.equal(digest(await redis.getBuffer("k")), digest(value));
    assert.deepEqual(await redis.getrangeBuffer("k", 255, 257), Buffer.from([255, 0, 1]));
    assert.equal(await redis.del("k"), 1);
});

scenario("long replies of a pipeline arrive whole", async ({ redis }) => {
    const values = Array.from({ length: 32 }, (_, number) => Buffer.alloc(1 << 20, String(number)));
    const writes = redis.pipeline();
    values.forEach((value, number) => writes.rpush("l", value).hset("h", `f${number}`, value));
    await writes.exec();
    const list = await redis.lrangeBuffer("l", 0, -1);
    assert.equal(list.length, 32);
    list.forEach((value, number) => assert.ok(value.equals(values[number]), `element ${number}`));
    const hash = await redis.hgetallBuffer("h");
    values.forEach((value, number) => assert.ok(hash[`f${number}`].equals(value), `field ${number}`));
});
