// Scenarios with the official client: each in a database of its own, one line of output each.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { CreateDatabaseOperation, DeleteDatabasesOperation, DocumentStore } from "ravendb";
import { runScenarios } from "../shared/running.mjs";

export { scenario, within } from "../shared/running.mjs";

/** A store for another database than the scenario's own. */
export function storeFor(url, database) {
    const store = new DocumentStore(url, database);
    store.initialize();
    return store;
}

/** Runs every scenario whose name holds `only`; gives the number of failed ones. */
export async function run(url, only) {
    const entry = createRequire(import.meta.url).resolve("ravendb/package.json");
    const release = JSON.parse(readFileSync(entry, "utf8")).version;
    console.log(`Node.js client ${release} against ${url}`);
    return runScenarios(only, (number, body) => runOne(url, `node-${number}-${Date.now()}`, body));
}

async function runOne(url, database, body) {
    const store = storeFor(url, database);
    const server = store.maintenance.server;
    try {
        await server.send(new CreateDatabaseOperation({ databaseName: database }));
        await body(store);
    } finally {
        await server
            .send(new DeleteDatabasesOperation({ databaseNames: [database], hardDelete: true }))
            .catch(error => console.log(`the database ${database} is left: ${error.message}`));
        store.dispose();
    }
}
