// Thousands of commands that are on their way at once.

import assert from "node:assert/strict";
import { scenario } from "../harness.mjs";

scenario("replies of a long pipeline come in order", async ({ redis }) => {
    const pipeline = redis.pipeline();
    for (let number = 0; number < 20_000; number++) {
        pipeline.set(`k${number % 1000}`, number).get(`k${number % 1000}`);
    }
    const replies = await pipeline.exec();
    assert.equal(replies.length, 40_000);
    replies.forEach(([error, reply], at) => {
        assert.equal(error, null);
        assert.equal(reply, at % 2 ? String((at - 1) / 2) : "OK");
    });
});

scenario("an error in a pipeline is one reply of it", async ({ redis }) => {
    const pipeline = redis.pipeline();
    for (let number = 0; number < 1000; number++) {
        pipeline.rpush("list", number).incr("list");
    }
    const replies = await pipeline.exec();
    replies.forEach(([error, reply], at) => {
        if (at % 2) {
            assert.match(error.message, /^WRONGTYPE /);
        } else {
            assert.deepEqual([error, reply], [null, at / 2 + 1]);
        }
    });
});

scenario("commands that are not awaited share the connection in order", async place => {
    for (const enableAutoPipelining of [false, true]) {
        const redis = place.connect({ enableAutoPipelining });
        await redis.del("n");
        const replies = await Promise.all(Array.from({ length: 5000 }, () => redis.incr("n")));
        assert.deepEqual(replies, Array.from({ length: 5000 }, (_, number) => number + 1));
    }
});
