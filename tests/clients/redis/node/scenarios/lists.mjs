// Lists, and waiting for their elements.

import assert from "node:assert/strict";
import { scenario, within } from "../harness.mjs";

scenario("both ends of a list are pushed and popped", async ({ redis }) => {
    assert.equal(await redis.rpush("l", "c", "d"), 2);
    assert.equal(await redis.lpush("l", "b", "a"), 4);
    assert.deepEqual(await redis.lrange("l", 0, -1), ["a", "b", "c", "d"]);
    assert.deepEqual([await redis.lpop("l"), await redis.rpop("l")], ["a", "d"]);
    assert.deepEqual(await redis.lpop("l", 5), ["b", "c"]);
    assert.deepEqual([await redis.exists("l"), await redis.lpop("l"), await redis.rpop("l", 2)], [0, null, null]);
    assert.equal(await redis.rpushx("l", "x"), 0);
});

scenario("elements are read, changed and removed by place", async ({ redis }) => {
    await redis.rpush("l", ..."abcabc");
    assert.deepEqual([await redis.lindex("l", -1), await redis.lindex("l", 6)], ["c", null]);
    assert.equal(await redis.lset("l", 0, "x"), "OK");
    await assert.rejects(redis.lset("l", 6, "x"), /ERR index out of range/);
    assert.equal(await redis.linsert("l", "BEFORE", "c", "y"), 7);
    assert.equal(await redis.linsert("l", "AFTER", "none", "y"), -1);
    assert.equal(await redis.lrem("l", -1, "b"), 1);
    assert.equal((await redis.lrange("l", 0, -1)).join(""), "xbycac");
    assert.equal(await redis.lpos("l", "c", "RANK", 2), 5);
    assert.deepEqual(await redis.lpos("l", "c", "COUNT", 0), [3, 5]);
    assert.equal(await redis.ltrim("l", 1, 2), "OK");
    assert.deepEqual(await redis.lrange("l", 0, -1), ["b", "y"]);
});

scenario("elements move between lists", async ({ redis }) => {
    await redis.rpush("from", "a", "b", "c");
    assert.equal(await redis.lmove("from", "to", "LEFT", "RIGHT"), "a");
    assert.equal(await redis.rpoplpush("from", "to"), "c");
    assert.deepEqual([await redis.lrange("from", 0, -1), await redis.lrange("to", 0, -1)], [["b"], ["c", "a"]]);
    assert.deepEqual(await redis.lmpop(2, "absent", "to", "RIGHT", "COUNT", 5), ["to", ["a", "c"]]);
    assert.equal(await redis.lmpop(1, "to", "LEFT"), null);
});

scenario("who waits gets what another pushes, first come first served", async place => {
    const { redis } = place;
    const first = await place.waiting(client => client.blpop("a", "b", 20));
    assert.equal(await redis.rpush("b", "1", "2"), 2);
    assert.deepEqual(await within(first.reply, "the reply"), ["b", "1"]);
    assert.deepEqual(await redis.lrange("b", 0, -1), ["2"]);
    const waiting = [];
    for (let number = 0; number < 3; number++) {
        waiting.push(await place.waiting(client => client.brpop("queue", 20)));
    }
    await redis.lpush("queue", "x", "y", "z");
    const got = await within(Promise.all(waiting.map(one => one.reply)), "three replies");
    assert.deepEqual(got, [["queue", "x"], ["queue", "y"], ["queue", "z"]]);
    assert.equal(await redis.exists("queue"), 0);
});

scenario("a wait ends with its time, by others, or moves what comes", async place => {
    const { redis } = place;
    assert.equal(await redis.blpop("absent", 0.02), null);
    assert.equal(await redis.blmove("absent", "to", "LEFT", "LEFT", 0.02), null);
    assert.equal(await redis.blmpop(0.02, 1, "absent", "LEFT"), null);
    const moved = await place.waiting(client => client.blmove("from", "to", "LEFT", "RIGHT", 20));
    await redis.rpush("from", "a");
    assert.equal(await within(moved.reply, "the element"), "a");
    assert.deepEqual(await redis.lrange("to", 0, -1), ["a"]);
    const ended = await place.waiting(client => client.blpop("nothing", 20));
    const id = /id=(\d+) [^\n]*cmd=blpop/.exec(await redis.client("LIST"))[1];
    assert.equal(await redis.client("UNBLOCK", id, "ERROR"), 1);
    await assert.rejects(within(ended.reply, "the error"), /UNBLOCKED/);
    await assert.rejects(redis.blpop("absent", -1), /ERR timeout is negative/);
});
