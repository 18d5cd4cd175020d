// Messages by channels and patterns.

import assert from "node:assert/strict";
import { scenario, until } from "../harness.mjs";

/** Collects what a client hears. */
function heard(client) {
    const all = [];
    client.on("message", (channel, data) => all.push(["message", channel, data]));
    client.on("pmessage", (pattern, channel, data) => all.push([pattern, channel, data]));
    return all;
}

scenario("messages reach channels and patterns", async place => {
    const { redis } = place;
    const [first, second] = [place.connect(), place.connect()];
    const [firstHeard, secondHeard] = [heard(first), heard(second)];
    assert.equal(await first.subscribe("news", "weather"), 2);
    assert.equal(await second.psubscribe("n?ws"), 1);
    assert.deepEqual((await redis.pubsub("CHANNELS")).sort(), ["news", "weather"]);
    assert.deepEqual(await redis.pubsub("NUMSUB", "news", "none"), ["news", 1, "none", 0]);
    assert.equal(await redis.pubsub("NUMPAT"), 1);
    assert.equal(await redis.publish("news", "hello"), 2);
    assert.equal(await redis.publish("weather", "rain"), 1);
    assert.equal(await redis.publish("none", "x"), 0);
    await until(() => firstHeard.length === 2 && secondHeard.length === 1, "three messages");
    assert.deepEqual(firstHeard, [["message", "news", "hello"], ["message", "weather", "rain"]]);
    assert.deepEqual(secondHeard, [["n?ws", "news", "hello"]]);
    assert.equal(await first.unsubscribe("news"), 1);
    assert.equal(await redis.publish("news", "again"), 1);
    await until(() => secondHeard.length === 2, "the pattern still hears");
    assert.equal(firstHeard.length, 2);
    // A client that listens to nothing any more is like every other.
    assert.equal(await first.unsubscribe(), 0);
    assert.equal(await first.set("k", "v"), "OK");
});

scenario("thousands of messages keep their order", async place => {
    const listener = place.connect();
    const all = heard(listener);
    await listener.subscribe("flow");
    const pipeline = place.redis.pipeline();
    for (let number = 0; number < 5000; number++) {
        pipeline.publish("flow", number);
    }
    assert.ok((await pipeline.exec()).every(([error, count]) => error === null && count === 1));
    await until(() => all.length === 5000, "all of them");
    all.forEach(([, , data], at) => assert.equal(data, String(at)));
});

scenario("messages may be any bytes", async place => {
    const listener = place.connect();
    const data = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const got = new Promise(resolve => listener.on("messageBuffer", (channel, bytes) => resolve([channel, bytes])));
    const channel = Buffer.from([0, 13, 10, 255]);
    await listener.subscribe(channel);
    assert.equal(await place.redis.publish(channel, data), 1);
    assert.deepEqual(await got, [channel, data]);
});
