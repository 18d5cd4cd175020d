// Sets.

import assert from "node:assert/strict";
import { scenario } from "../harness.mjs";

const sorted = list => [...list].sort();

scenario("members are added, asked for and removed", async ({ redis }) => {
    assert.equal(await redis.sadd("s", "a", "b", "a", "c"), 3);
    assert.deepEqual(sorted(await redis.smembers("s")), ["a", "b", "c"]);
    assert.deepEqual([await redis.sismember("s", "a"), await redis.sismember("s", "z")], [1, 0]);
    assert.deepEqual(await redis.smismember("s", "a", "z", "c"), [1, 0, 1]);
    assert.deepEqual([await redis.smove("s", "other", "a"), await redis.smove("s", "other", "a")], [1, 0]);
    assert.deepEqual([await redis.scard("s"), await redis.scard("other")], [2, 1]);
    assert.equal(await redis.srem("s", "b", "c", "none"), 2);
    assert.deepEqual([await redis.exists("s"), await redis.smembers("s")], [0, []]);
});

scenario("sets are united, intersected and subtracted", async ({ redis }) => {
    await redis.sadd("a", ..."abcd");
    await redis.sadd("b", ..."bcde");
    assert.deepEqual(sorted(await redis.sunion("a", "b", "absent")), [..."abcde"]);
    assert.deepEqual(sorted(await redis.sinter("a", "b")), [..."bcd"]);
    assert.deepEqual(await redis.sdiff("a", "b"), ["a"]);
    assert.equal(await redis.sintercard(2, "a", "b", "LIMIT", 2), 2);
    assert.equal(await redis.sunionstore("u", "a", "b"), 5);
    assert.equal(await redis.sinterstore("a", "a", "b"), 3);
    assert.deepEqual(sorted(await redis.smembers("a")), [..."bcd"]);
    assert.equal(await redis.sdiffstore("u", "a", "b"), 0);
    assert.equal(await redis.exists("u"), 0);
});

scenario("random members stay or are taken out", async ({ redis }) => {
    const members = Array.from({ length: 30 }, (_, number) => `m${number}`);
    await redis.sadd("s", ...members);
    assert.equal(new Set(await redis.srandmember("s", 10)).size, 10);
    assert.equal((await redis.srandmember("s", -100)).length, 100);
    const taken = [await redis.spop("s"), ...(await redis.spop("s", 9))];
    assert.equal(new Set(taken).size, 10);
    assert.deepEqual(sorted([...taken, ...(await redis.smembers("s"))]), sorted(members));
    assert.equal((await redis.spop("s", 100)).length, 20);
    assert.deepEqual([await redis.exists("s"), await redis.spop("s")], [0, null]);
});
