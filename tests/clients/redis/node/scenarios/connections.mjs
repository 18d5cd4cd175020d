// Connections: names, the list of them, closing others, passwords.

import assert from "node:assert/strict";
import { scenario, until } from "../harness.mjs";

/** The members of a client's line in CLIENT LIST. */
async function listed(redis, name) {
    const lines = (await redis.client("LIST")).split("\n").filter(line => line.includes(` name=${name} `));
    return lines.map(line => Object.fromEntries(line.split(" ").map(member => member.split("="))));
}

scenario("clients have names and are listed", async place => {
    const own = place.connect({ connectionName: "worker-7", db: 2 });
    assert.equal(await own.client("GETNAME"), "worker-7");
    const [line] = await listed(place.redis, "worker-7");
    assert.deepEqual([line.id, line.db, line.resp], [String(await own.client("ID")), "2", String(place.protocol)]);
    assert.equal(await own.client("SETNAME", "other"), "OK");
    assert.deepEqual([(await listed(place.redis, "worker-7")).length, (await listed(place.redis, "other")).length], [0, 1]);
    await assert.rejects(own.client("SETNAME", "two words"), /cannot contain spaces/);
});

scenario("who is closed by another comes back", async place => {
    const own = place.connect({ connectionName: "victim", retryStrategy: () => 10 });
    await own.set("k", "v");
    const [line] = await listed(place.redis, "victim");
    const closed = new Promise(resolve => own.once("close", resolve));
    assert.equal(await place.redis.client("KILL", "ID", line.id), 1);
    await closed;
    assert.equal(await own.get("k"), "v");
    const [again] = await listed(place.redis, "victim");
    assert.ok(Number(again.id) > Number(line.id));
    assert.equal(await place.redis.client("NO-EVICT", "ON"), "OK");
    assert.match(await place.redis.client("INFO"), / flags=e /);
    assert.equal(await place.redis.client("NO-EVICT", "OFF"), "OK");
    await assert.rejects(place.redis.client("KILL", "127.0.0.1:1"), /ERR No such client/);
});

scenario("without the password nothing is answered, and with it everything", async place => {
    const password = "open sesame: \u00e4";
    const { port } = await place.server({ password });
    const stranger = place.connect({ port, enableReadyCheck: false });
    await assert.rejects(stranger.get("k"), /NOAUTH/);
    const wrong = place.connect({ port, password: "wrong", maxRetriesPerRequest: 0, enableReadyCheck: false });
    await assert.rejects(wrong.get("k"), /WRONGPASS|NOAUTH/);
    const own = place.connect({ port, password });
    assert.equal(await own.set("k", "v"), "OK");
    const named = place.connect({ port, username: "default", password, db: 1 });
    assert.equal(await named.get("k"), null);
    await assert.rejects(own.auth("somebody", password), /WRONGPASS/);
    assert.equal(await own.get("k"), "v");
});

scenario("a connection ends with QUIT and starts over with RESET", async place => {
    const own = place.connect({ db: 4, connectionName: "before" });
    await own.set("k", "v");
    assert.equal(await own.call("RESET"), "RESET");
    assert.deepEqual([await own.client("GETNAME"), await own.exists("k")], [null, 0]);
    assert.equal(await own.echo("a b"), "a b");
    assert.equal(await own.ping("text"), "text");
    const id = await own.client("ID");
    assert.equal(await own.quit(), "OK");
    await until(async () => !(await place.redis.client("LIST")).includes(`id=${id} `), "it is gone");
});
