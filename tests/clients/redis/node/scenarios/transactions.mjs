// Transactions.

import assert from "node:assert/strict";
import { scenario } from "../harness.mjs";

scenario("a transaction answers every command and goes on after an error", async ({ redis }) => {
    const replies = await redis.multi().set("k", "1").incr("k").lpush("k", "x").rpush("l", "a", "b").exec();
    assert.deepEqual([replies[0], replies[1], replies[3]], [[null, "OK"], [null, 2], [null, 2]]);
    assert.match(replies[2][0].message, /^WRONGTYPE /);
    assert.equal(await redis.get("k"), "2");
});

scenario("a change of a watched key stops the transaction", async place => {
    const { redis } = place;
    const other = place.connect();
    for (const change of [
        () => other.set("k", "other"),
        () => other.del("k"),
        () => other.expire("k", 100),
        () => other.rename("k", "away"),
        () => other.flushall(),
    ]) {
        await redis.set("k", "1");
        await redis.watch("k", "absent");
        await change();
        assert.equal(await redis.multi().set("result", "x").exec(), null);
        assert.equal(await redis.exists("result"), 0);
    }
    await redis.set("k", "1");
    await redis.watch("k");
    await other.get("k");
    assert.deepEqual(await redis.multi().incr("k").exec(), [[null, 2]]);
    await redis.watch("k");
    await other.incr("k");
    await redis.unwatch();
    assert.deepEqual(await redis.multi().incr("k").exec(), [[null, 4]]);
});

scenario("a refused command discards the transaction", async ({ redis }) => {
    await assert.rejects(redis.multi().set("k", "v").call("NOTHING").exec(), /EXECABORT Transaction discarded/);
    assert.equal(await redis.exists("k"), 0);
    // Without the pipeline of the client, command by command.
    await redis.multi({ pipeline: false });
    assert.equal(await redis.set("k", "v"), "QUEUED");
    assert.equal(await redis.discard(), "OK");
    assert.equal(await redis.exists("k"), 0);
    await redis.multi({ pipeline: false });
    await redis.incr("n");
    assert.deepEqual(await redis.exec(), [[null, 1]]);
    await assert.rejects(redis.call("EXEC"), /ERR EXEC without MULTI/);
});

scenario("transactions of many clients lose nothing", async place => {
    await place.redis.mset("one", 1000, "two", 0);
    const transfer = async client => {
        for (let done = 0; done < 30; ) {
            await client.watch("one", "two");
            const [one, two] = (await client.mget("one", "two")).map(Number);
            const replies = await client.multi().mset("one", one - 1, "two", two + 1).exec();
            done += replies === null ? 0 : 1;
        }
    };
    await Promise.all(Array.from({ length: 5 }, () => transfer(place.connect())));
    assert.deepEqual(await place.redis.mget("one", "two"), ["850", "150"]);
});
