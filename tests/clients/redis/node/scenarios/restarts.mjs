// A server that ends and starts again on the same port: clients come back, and find what is there.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scenario, until, within } from "../harness.mjs";

/** Runs a body with the arguments of a durable server, or with none when the suite is about memory. */
async function withKeys(place, body) {
    if (!(await place.isDurable())) {
        return body([], false);
    }
    const directory = await mkdtemp(join(tmpdir(), "jackdaw-redis-node-"));
    try {
        return await body(["--redis-data", join(directory, "keys")], true);
    } finally {
        await rm(directory, { recursive: true });
    }
}

scenario("after a restart durable keys are there and others are not", async place => {
    await withKeys(place, async (more, isDurable) => {
        const server = await place.server({ more });
        const redis = place.connect({ port: server.port, retryStrategy: () => 20, db: 2 });
        await redis.set("text", "v", "EX", 1000);
        await redis.hset("h", { f: "1", g: "2" });
        await redis.rpush("l", "a", "b", "c");
        await redis.lpop("l");
        await redis.sadd("s", "x");
        await redis.zadd("z", 1.5, "m", -1, "n");
        const moment = await redis.pexpiretime("text");
        const closed = new Promise(resolve => redis.once("close", resolve));
        assert.equal(await server.stop(), 0);
        await closed;
        // Asked while nobody is there: the client waits until somebody is.
        const pending = redis.get("text");
        await place.server({ more, port: server.port });
        assert.equal(await within(pending, "the client is back"), isDurable ? "v" : null);
        if (!isDurable) {
            assert.equal(await redis.dbsize(), 0);
            return;
        }
        assert.equal(await redis.pexpiretime("text"), moment);
        assert.deepEqual(await redis.hgetall("h"), { f: "1", g: "2" });
        assert.deepEqual([await redis.lrange("l", 0, -1), await redis.smembers("s")], [["b", "c"], ["x"]]);
        assert.deepEqual(await redis.zrange("z", 0, -1, "WITHSCORES"), ["n", "-1", "m", "1.5"]);
    });
});

scenario("acknowledged writes survive a kill", async place => {
    await withKeys(place, async (more, isDurable) => {
        const server = await place.server({ more });
        // One that does not connect again: what was under way fails instead of being sent twice.
        const redis = place.connect({ port: server.port, retryStrategy: () => null });
        let acknowledged = 0;
        const writing = (async () => {
            for (;;) {
                const [[error, count]] = await redis.multi().incr("n").rpush("l", "x").exec();
                assert.equal(error, null);
                acknowledged = count;
            }
        })();
        const failure = writing.catch(error => error);
        await until(() => acknowledged > 300, "300 transactions");
        await server.kill();
        assert.match((await failure).message, /Connection is closed|ECONNRESET|EPIPE/);
        const last = acknowledged;
        await place.server({ more, port: server.port });
        const fresh = place.connect({ port: server.port });
        const [count, length] = [Number(await fresh.get("n")), await fresh.llen("l")];
        assert.equal(count, length);
        // One may have been done that nobody was told of.
        assert.ok(isDurable ? count === last || count === last + 1 : count === 0, `${count} of ${last}`);
    });
});

scenario("a listener listens again after a restart", async place => {
    const server = await place.server();
    const listener = place.connect({ port: server.port, retryStrategy: () => 20 });
    const all = [];
    listener.on("message", (channel, data) => all.push([channel, data]));
    await listener.subscribe("news");
    await server.stop();
    await place.server({ port: server.port });
    const redis = place.connect({ port: server.port });
    await until(async () => (await redis.pubsub("NUMSUB", "news"))[1] === 1, "it listens again");
    assert.equal(await redis.publish("news", "hello"), 1);
    await until(() => all.length > 0, "the message");
    assert.deepEqual(all, [["news", "hello"]]);
});
