// Settings, what the server tells of itself, and the words of errors.

import assert from "node:assert/strict";
import { pairs, scenario } from "../harness.mjs";

scenario("settings are read, changed together, and put back", async ({ redis }) => {
    assert.ok((await redis.config("GET", "*")).length > 40);
    const read = async () => Object.fromEntries(pairs(await redis.config("GET", "maxmemory", "timeout")));
    const before = await read();
    assert.ok(Number(before.maxmemory) > 0, "without --redis-memory, a share of the machine's memory");
    try {
        await assert.rejects(redis.config("SET", "maxmemory", "1mb", "timeout", "x"), /CONFIG SET failed .*'timeout'/);
        assert.deepEqual(await read(), before);
        assert.equal(await redis.config("SET", "maxmemory", "10mb", "timeout", "1000"), "OK");
        assert.deepEqual(await read(), { maxmemory: "10485760", timeout: "1000" });
    } finally {
        await redis.config("SET", "maxmemory", before.maxmemory, "timeout", "0");
    }
    await assert.rejects(redis.config("SET", "nothing", "1"), /ERR Unknown option/);
});

scenario("commands are described", async ({ redis }) => {
    const count = await redis.command("COUNT");
    assert.ok(count > 170, count);
    assert.equal((await redis.command("LIST")).length, count);
    assert.equal((await redis.command()).length, count);
    const [get, nothing] = await redis.command("INFO", "get", "nothing");
    assert.deepEqual([get[0], get[1], get[3], get[4], get[5]], ["get", 2, 1, 1, 1]);
    assert.equal(nothing, null);
    const [[name, docs]] = pairs(await redis.command("DOCS", "zadd"));
    assert.deepEqual([name, Object.fromEntries(pairs(docs)).group], ["zadd", "sorted-set"]);
    assert.deepEqual(await redis.command("GETKEYS", "ZUNIONSTORE", "d", "2", "a", "b"), ["d", "a", "b"]);
});

scenario("INFO counts what happened", async ({ redis }) => {
    await redis.mset("a", 1, "b", 2);
    await redis.expire("a", 100);
    assert.match(await redis.info("keyspace"), /db0:keys=2,expires=1/);
    await redis.config("RESETSTAT");
    await Promise.all([redis.get("a"), redis.get("absent"), redis.get("absent")]);
    const stats = await redis.info("stats");
    assert.match(stats, /keyspace_hits:1\r\n/);
    assert.match(stats, /keyspace_misses:2\r\n/);
    assert.match(await redis.info("server"), /redis_version:7\./);
    const [seconds] = await redis.time();
    assert.ok(Math.abs(Number(seconds) - Date.now() / 1000) < 5);
});

scenario("errors have the words that programs look for", async ({ redis }) => {
    await redis.set("text", "v");
    await redis.rpush("list", "a");
    const wrong = [
        ["LPUSH", "text", "x"], ["HGET", "text", "f"], ["SADD", "text", "x"], ["ZADD", "text", "1", "x"],
        ["GET", "list"], ["INCR", "list"], ["HSET", "list", "f", "v"], ["ZRANGE", "list", "0", "1"],
    ];
    for (const words of wrong) {
        await assert.rejects(redis.call(...words), /^ReplyError: WRONGTYPE Operation against a key holding the wrong kind of value$/);
    }
    await assert.rejects(redis.call("GET"), /ERR wrong number of arguments for 'get' command/);
    await assert.rejects(redis.call("NOTHING", "a"), /ERR unknown command 'NOTHING', with args beginning with: 'a'/);
    await assert.rejects(redis.call("SET", "k", "v", "PERHAPS"), /ERR syntax error/);
    await assert.rejects(redis.call("CLIENT", "NONSENSE"), /ERR unknown subcommand/);
    await assert.rejects(redis.eval("return 1", 0), /ERR unknown command 'eval'/i);
    assert.deepEqual([await redis.get("text"), await redis.lrange("list", 0, -1)], ["v", ["a"]]);
    assert.equal(await redis.dbsize(), 2);
});
