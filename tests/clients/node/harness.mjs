// Scenarios with the official client: each in a database of its own, one line of output each.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { CreateDatabaseOperation, DeleteDatabasesOperation, DocumentStore } from "ravendb";

// Longest time of one scenario; the usual one takes a fraction of a second.
const MILLISECONDS_MAX = 60_000;
const scenarios = [];

/** Registers a scenario: its name states the fact that it checks. */
export function scenario(name, body) {
    scenarios.push({ name, body });
}

/** A store for another database than the scenario's own. */
export function storeFor(url, database) {
    const store = new DocumentStore(url, database);
    store.initialize();
    return store;
}

/** Waits for a promise, but not forever. */
export async function within(promise, what, milliseconds = 20_000) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not within ${milliseconds} ms: ${what}`)), milliseconds);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

/** Runs every scenario whose name holds `only`; gives the number of failed ones. */
export async function run(url, only) {
    const entry = createRequire(import.meta.url).resolve("ravendb/package.json");
    const release = JSON.parse(readFileSync(entry, "utf8")).version;
    console.log(`Node.js client ${release} against ${url}`);
    const chosen = scenarios.filter(one => one.name.includes(only));
    let failed = 0;
    for (const [number, one] of chosen.entries()) {
        const started = performance.now();
        const error = await runOne(url, `node-${number}-${Date.now()}`, one.body);
        const seconds = ((performance.now() - started) / 1000).toFixed(2).padStart(6);
        console.log(`${error ? "FAILED" : "ok    "}  ${seconds} s  ${one.name}`);
        if (error) {
            failed += 1;
            console.log(error.stack ?? error);
        }
    }
    console.log(`${chosen.length - failed} passed, ${failed} failed`);
    return failed;
}

async function runOne(url, database, body) {
    const store = storeFor(url, database);
    const server = store.maintenance.server;
    try {
        await server.send(new CreateDatabaseOperation({ databaseName: database }));
        await within(body(store), "the whole scenario", MILLISECONDS_MAX);
        return null;
    } catch (error) {
        return error;
    } finally {
        await server
            .send(new DeleteDatabasesOperation({ databaseNames: [database], hardDelete: true }))
            .catch(error => console.log(`the database ${database} is left: ${error.message}`));
        store.dispose();
    }
}
