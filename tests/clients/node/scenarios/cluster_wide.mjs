// Compare-exchange values and cluster-wide transactions.

import assert from "node:assert/strict";
import {
    DeleteCompareExchangeValueOperation,
    GetCompareExchangeValueOperation,
    GetCompareExchangeValuesOperation,
    PutCompareExchangeValueOperation,
} from "ravendb";
import { scenario } from "../harness.mjs";
import { Album, album, storeAlbums, title } from "./model.mjs";

const open = store => store.openSession({ transactionMode: "ClusterWide" });

scenario("compare-exchange sets and refuses", async store => {
    const put = await store.operations.send(new PutCompareExchangeValueOperation("owner", "me", 0));
    assert.equal(put.successful, true);
    const refused = await store.operations.send(new PutCompareExchangeValueOperation("owner", "you", 0));
    assert.equal(refused.successful, false);
    assert.equal(refused.value, "me");
    const changed = await store.operations.send(
        new PutCompareExchangeValueOperation("owner", "you", put.index),
    );
    assert.ok(changed.successful && changed.index > put.index);
    assert.equal((await store.operations.send(new GetCompareExchangeValueOperation("owner"))).value, "you");
});

scenario("compare-exchange deletes at its index", async store => {
    const put = await store.operations.send(new PutCompareExchangeValueOperation("owner", "me", 0));
    const stale = await store.operations.send(
        new DeleteCompareExchangeValueOperation("owner", put.index + 1000),
    );
    assert.equal(stale.successful, false);
    const deleted = await store.operations.send(new DeleteCompareExchangeValueOperation("owner", put.index));
    assert.equal(deleted.successful, true);
    assert.ok(!(await store.operations.send(new GetCompareExchangeValueOperation("owner"))));
});

scenario("compare-exchange values are listed by keys and by prefix", async store => {
    for (let number = 0; number < 5; number++) {
        await store.operations.send(new PutCompareExchangeValueOperation(`names/${number}`, { number }, 0));
    }
    await store.operations.send(new PutCompareExchangeValueOperation("other", 1, 0));
    const byKeys = await store.operations.send(
        new GetCompareExchangeValuesOperation({ keys: ["names/1", "other"] }),
    );
    assert.deepEqual(Object.keys(byKeys).sort(), ["names/1", "other"]);
    const byPrefix = await store.operations.send(
        new GetCompareExchangeValuesOperation({ startWith: "names/", start: 1, pageSize: 3 }),
    );
    assert.deepEqual(Object.keys(byPrefix), ["names/1", "names/2", "names/3"]);
    assert.equal(byPrefix["names/2"].value.number, 2);
});

scenario("cluster-wide transactions store documents and values", async store => {
    const first = open(store);
    first.advanced.clusterTransaction.createCompareExchangeValue("usernames/ayende", { user: "users/1" });
    await first.store(album(1), "albums/1");
    await first.saveChanges();

    const second = open(store);
    const value = await second.advanced.clusterTransaction.getCompareExchangeValue("usernames/ayende");
    assert.equal(value.value.user, "users/1");
    value.value = { user: "users/2" };
    (await second.load("albums/1", Album)).title = "changed";
    await second.saveChanges();

    const third = open(store);
    const changed = await third.advanced.clusterTransaction.getCompareExchangeValue("usernames/ayende");
    assert.equal(changed.value.user, "users/2");
    assert.equal((await third.load("albums/1", Album)).title, "changed");
    third.advanced.clusterTransaction.deleteCompareExchangeValue(changed);
    await third.saveChanges();
    assert.equal(
        await open(store).advanced.clusterTransaction.getCompareExchangeValue("usernames/ayende"),
        null,
    );
});

scenario("a cluster-wide transaction refuses a taken value, with all it holds", async store => {
    const write = async number => {
        const session = open(store);
        session.advanced.clusterTransaction.createCompareExchangeValue("unique", number);
        await session.store(album(number), `albums/${number}`);
        await session.saveChanges();
    };
    await write(0);
    await assert.rejects(write(1), { name: "ClusterTransactionConcurrencyException" });
    assert.equal(await store.openSession().load("albums/1", Album), null);
});

scenario("cluster-wide documents are guarded", async store => {
    const making = open(store);
    await making.store(album(1), "albums/1");
    await making.saveChanges();
    const first = open(store);
    const mine = await first.load("albums/1", Album);
    const second = open(store);
    (await second.load("albums/1", Album)).title = "theirs";
    await second.saveChanges();
    mine.title = "mine";
    await assert.rejects(first.saveChanges(), { name: "ClusterTransactionConcurrencyException" });
    assert.equal((await store.openSession().load("albums/1", Album)).title, "theirs");
});

scenario("documents of single-node sessions join cluster-wide ones", async store => {
    await storeAlbums(store, 2);
    const session = open(store);
    await session.store(album(7), "albums/7");
    await session.delete("albums/0");
    await session.saveChanges();
    const later = store.openSession();
    assert.equal((await later.load("albums/7", Album)).title, title(7));
    assert.equal(await later.load("albums/0", Album), null);
});
