// Walks to the end, while what they walk over changes.

import assert from "node:assert/strict";
import { scenario } from "../harness.mjs";

/** Everything that the streams of ioredis give, with a change behind every part. */
async function walked(stream, change = async () => {}) {
    const seen = [];
    for await (const part of stream) {
        seen.push(...part);
        await change();
    }
    return seen;
}

scenario("a scan sees every key that stays, once, while others come and go", async ({ redis }) => {
    const staying = Array.from({ length: 2000 }, (_, number) => `stays:${number}`);
    await redis.mset(...staying.flatMap(key => [key, "v"]));
    await redis.mset(...Array.from({ length: 500 }, (_, number) => [`goes:${number}`, "v"]).flat());
    let step = 0;
    const seen = await walked(redis.scanStream({ count: 100 }), async () => {
        step += 1;
        await redis.mset(...Array.from({ length: 30 }, (_, more) => [`comes:${step}:${more}`, "v"]).flat());
        await redis.del(...Array.from({ length: 15 }, (_, more) => `goes:${step * 15 + more}`));
    });
    const kept = seen.filter(key => key.startsWith("stays:"));
    assert.deepEqual(kept.sort(), staying.sort());
});

scenario("scans choose by pattern and type", async ({ redis }) => {
    for (let number = 0; number < 30; number++) {
        await Promise.all([redis.set(`text:${number}`, "v"), redis.sadd(`set:${number}`, "m")]);
    }
    assert.equal(new Set(await walked(redis.scanStream({ match: "text:*" }))).size, 30);
    const sets = await walked(redis.scanStream({ type: "set", match: "*:1?", count: 3 }));
    assert.deepEqual(sets.sort(), Array.from({ length: 10 }, (_, number) => `set:1${number}`));
});

scenario("collections are walked over while others go", async ({ redis }) => {
    const numbers = Array.from({ length: 1000 }, (_, number) => number);
    const going = Array.from({ length: 200 }, (_, number) => `goes${number}`);
    await redis.hset("h", ...numbers.flatMap(n => [`f${n}`, `v${n}`]), ...going.flatMap(f => [f, "v"]));
    await redis.sadd("s", ...numbers.map(n => `f${n}`), ...going);
    await redis.zadd("z", ...numbers.flatMap(n => [n, `f${n}`]), ...going.flatMap(f => [0.5, f]));
    const removals = command => {
        const left = [...going];
        return async () => {
            const some = left.splice(0, 4);
            if (some.length > 0) {
                await command(some);
            }
        };
    };
    const fields = await walked(redis.hscanStream("h", { count: 20 }), removals(some => redis.hdel("h", ...some)));
    const values = new Map(fields.flatMap((one, at) => (at % 2 ? [] : [[one, fields[at + 1]]])));
    const members = await walked(redis.sscanStream("s", { count: 20 }), removals(some => redis.srem("s", ...some)));
    const scored = await walked(redis.zscanStream("z", { count: 20 }), removals(some => redis.zrem("z", ...some)));
    const scores = new Map(scored.flatMap((one, at) => (at % 2 ? [] : [[one, scored[at + 1]]])));
    for (const number of numbers) {
        assert.equal(values.get(`f${number}`), `v${number}`);
        assert.equal(scores.get(`f${number}`), String(number));
        assert.ok(members.includes(`f${number}`), `f${number}`);
    }
});
