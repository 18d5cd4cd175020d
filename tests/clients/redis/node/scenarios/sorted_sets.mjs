// Sorted sets.

import assert from "node:assert/strict";
import { pairs, scenario, within } from "../harness.mjs";

const fill = redis => redis.zadd("z", 1, "a", 2, "b", 3, "c", 4, "d", 5, "e");

scenario("scores are set under conditions", async ({ redis }) => {
    assert.equal(await redis.zadd("z", 1, "a", 2, "b"), 2);
    assert.equal(await redis.zadd("z", "NX", 5, "a", 3, "c"), 1);
    assert.equal(await redis.zadd("z", "XX", "CH", 6, "a", 1, "none"), 1);
    assert.equal(await redis.zadd("z", "GT", "CH", 5, "a"), 0);
    assert.equal(await redis.zadd("z", "INCR", 1.5, "b"), "3.5");
    assert.equal(await redis.zincrby("z", -0.5, "b"), "3");
    assert.deepEqual(await redis.zmscore("z", "a", "none", "c"), ["6", null, "3"]);
    assert.deepEqual([await redis.zcard("z"), await redis.zrem("z", "a", "none")], [3, 1]);
    await redis.zadd("inf", "+inf", "up", "-inf", "down");
    assert.deepEqual([await redis.zscore("inf", "up"), await redis.zscore("inf", "down")], ["inf", "-inf"]);
    await assert.rejects(redis.zincrby("inf", "-inf", "up"), /not a number \(NaN\)/);
    await assert.rejects(redis.zadd("z", "nan", "a"), /ERR value is not a valid float/);
});

scenario("members have ranks from both ends", async ({ redis }) => {
    await fill(redis);
    assert.deepEqual([await redis.zrank("z", "b"), await redis.zrevrank("z", "b")], [1, 3]);
    assert.equal(await redis.zrank("z", "none"), null);
    assert.deepEqual(await redis.zrange("z", 0, 1, "REV"), ["e", "d"]);
    assert.deepEqual(pairs(await redis.zrevrange("z", 3, -1, "WITHSCORES")), [["b", "2"], ["a", "1"]]);
    assert.equal(await redis.zremrangebyrank("z", 1, -2), 3);
    assert.deepEqual(await redis.zrange("z", 0, -1), ["a", "e"]);
});

scenario("ranges by score and by text are open, closed and cut", async ({ redis }) => {
    await fill(redis);
    assert.deepEqual(await redis.zrangebyscore("z", "(2", 4), ["c", "d"]);
    assert.deepEqual(await redis.zrangebyscore("z", "-inf", "+inf", "LIMIT", 1, 2), ["b", "c"]);
    assert.deepEqual(await redis.zrevrangebyscore("z", "(4", 2, "WITHSCORES"), ["c", "3", "b", "2"]);
    assert.deepEqual(await redis.zrange("z", 2, "+inf", "BYSCORE", "LIMIT", 0, 1), ["b"]);
    assert.equal(await redis.zcount("z", "(2", "+inf"), 3);
    assert.equal(await redis.zrangestore("kept", "z", 2, 3, "BYSCORE"), 2);
    assert.deepEqual(await redis.zrange("kept", 0, -1), ["b", "c"]);
    assert.equal(await redis.zremrangebyscore("z", "(1", "(5"), 3);
    await redis.zadd("l", 0, "a", 0, "ab", 0, "b", 0, "c");
    assert.deepEqual(await redis.zrangebylex("l", "[ab", "(c"), ["ab", "b"]);
    assert.deepEqual(await redis.zrevrangebylex("l", "+", "(a"), ["c", "b", "ab"]);
    assert.deepEqual([await redis.zlexcount("l", "-", "+"), await redis.zremrangebylex("l", "-", "(b")], [4, 2]);
    await assert.rejects(redis.zrangebyscore("z", "low", 1), /ERR min or max is not a float/);
});

scenario("sorted sets are united, intersected and subtracted", async ({ redis }) => {
    await redis.zadd("a", 1, "x", 2, "y");
    await redis.zadd("b", 10, "y", 20, "z");
    assert.deepEqual(await redis.zunion(2, "a", "b", "WITHSCORES"), ["x", "1", "y", "12", "z", "20"]);
    assert.deepEqual(await redis.zinter(2, "a", "b", "AGGREGATE", "MAX", "WITHSCORES"), ["y", "10"]);
    assert.deepEqual(await redis.zdiff(2, "a", "b"), ["x"]);
    assert.equal(await redis.zunionstore("u", 2, "a", "b", "WEIGHTS", 2, 0.5), 3);
    assert.deepEqual(await redis.zrange("u", 0, -1, "WITHSCORES"), ["x", "2", "y", "9", "z", "10"]);
    assert.equal(await redis.zintercard(2, "a", "b"), 1);
    assert.equal(await redis.zdiffstore("u", 2, "a", "a"), 0);
    assert.equal(await redis.exists("u"), 0);
});

scenario("the ends are taken out, also by who waits", async place => {
    const { redis } = place;
    await fill(redis);
    assert.deepEqual(await redis.zpopmin("z"), ["a", "1"]);
    assert.deepEqual(await redis.zpopmax("z", 2), ["e", "5", "d", "4"]);
    assert.deepEqual(await redis.zmpop(2, "absent", "z", "MIN", "COUNT", 9), ["z", [["b", "2"], ["c", "3"]]]);
    assert.equal(await redis.exists("z"), 0);
    const least = await place.waiting(client => client.bzpopmin("first", "second", 20));
    await redis.zadd("second", 2, "two", 1, "one");
    assert.deepEqual(await within(least.reply, "the least"), ["second", "one", "1"]);
    assert.deepEqual(await redis.bzpopmax("second", 1), ["second", "two", "2"]);
    assert.equal(await redis.bzpopmax("second", 0.02), null);
});
