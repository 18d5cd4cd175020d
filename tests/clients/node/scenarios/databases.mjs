// Databases and the server: create, list, switch off, drop, statistics, topology, errors.

import assert from "node:assert/strict";
import {
    CreateDatabaseOperation,
    DeleteDatabasesOperation,
    GetBuildNumberOperation,
    GetCollectionStatisticsOperation,
    GetDatabaseNamesOperation,
    GetDatabaseRecordOperation,
    GetDatabaseTopologyCommand,
    GetDetailedStatisticsOperation,
    GetStatisticsOperation,
    ToggleDatabasesStateOperation,
} from "ravendb";
import { scenario, storeFor } from "../harness.mjs";
import { Album, storeAlbums } from "./model.mjs";

scenario("databases are created, listed and dropped", async store => {
    const server = store.maintenance.server;
    const name = `made-${Date.now()}`;
    const made = await server.send(new CreateDatabaseOperation({ databaseName: name }));
    assert.equal(made.name, name);
    assert.ok((await server.send(new GetDatabaseNamesOperation(0, 1000))).includes(name));
    await assert.rejects(server.send(new CreateDatabaseOperation({ databaseName: name })), {
        name: "ConcurrencyException",
    });
    await server.send(new DeleteDatabasesOperation({ databaseNames: [name], hardDelete: true }));
    assert.ok(!(await server.send(new GetDatabaseNamesOperation(0, 1000))).includes(name));
});

scenario("a missing database is reported as such", async store => {
    const missing = storeFor(store.urls[0], "no-such-database");
    try {
        await assert.rejects(missing.openSession().load("albums/1"), {
            name: "DatabaseDoesNotExistException",
        });
    } finally {
        missing.dispose();
    }
});

scenario("a record tells what the database was made with", async store => {
    const record = await store.maintenance.server.send(new GetDatabaseRecordOperation(store.database));
    assert.equal(record.databaseName, store.database);
    assert.equal(record.disabled, false);
});

scenario("a database is switched off and on again", async store => {
    await storeAlbums(store, 2);
    const server = store.maintenance.server;
    await server.send(new ToggleDatabasesStateOperation(store.database, true));
    await assert.rejects(store.openSession().load("albums/1"), { name: "DatabaseDisabledException" });
    await server.send(new ToggleDatabasesStateOperation(store.database, false));
    assert.equal((await store.openSession().load("albums/1", Album)).title, "Album 001");
});

scenario("statistics count documents by collection", async store => {
    await storeAlbums(store, 5);
    const statistics = await store.maintenance.send(new GetStatisticsOperation());
    assert.equal(statistics.countOfDocuments, 8);
    const collections = await store.maintenance.send(new GetCollectionStatisticsOperation());
    assert.equal(collections.collections.Albums, 5);
    assert.equal(collections.collections.Artists, 3);
    const detailed = await store.maintenance.send(new GetDetailedStatisticsOperation());
    assert.equal(detailed.countOfDocuments, 8);
    assert.equal(detailed.countOfCompareExchange, 0);
});

scenario("the topology names this server", async store => {
    const command = new GetDatabaseTopologyCommand();
    await store.getRequestExecutor().execute(command);
    assert.deepEqual(
        command.result.nodes.map(node => node.url),
        store.urls,
    );
    assert.equal(command.result.nodes[0].database, store.database);
});

scenario("the build number is told", async store => {
    const build = await store.maintenance.server.send(new GetBuildNumberOperation());
    assert.ok(build.productVersion);
    assert.ok(build.buildVersion);
});
