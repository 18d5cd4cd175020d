// Scenarios with ioredis, each over RESP2 and over RESP3, on empty databases. Connections that are
// made through the place of a scenario are closed behind it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import Redis from "ioredis";
import { runScenarios, until } from "../../shared/running.mjs";
import { startRedis } from "./jackdaw.mjs";

export { scenario, until, within } from "../../shared/running.mjs";

/** What the names of scenarios begin with. */
const PROTOCOLS = { "RESP2: ": 2, "RESP3: ": 3 };

class Place {
    #clients = [];
    #servers = [];

    constructor(url, protocol) {
        const address = new URL(url);
        this.protocol = protocol;
        this.host = address.hostname;
        this.port = Number(address.port);
        this.redis = this.connect();
    }

    /** A client with a connection of its own. */
    connect(options = {}) {
        const client = new Redis({ host: this.host, port: this.port, protocol: this.protocol, ...options });
        // Scenarios hear of failures from their commands; without a listener they would be printed.
        client.on("error", () => {});
        this.#clients.push(client);
        return client;
    }

    /** A server of its own: see `startRedis`. */
    async server(options) {
        const server = await startRedis(options);
        this.#servers.push(server);
        return server;
    }

    async isDurable() {
        return /durable:1/.test(await this.redis.info("persistence"));
    }

    /**
     * Runs `command` with a client of its own, and goes on when the server holds it; its promise is
     * in a member, since one that is handed on would be waited for.
     */
    async waiting(command) {
        const blocked = async () => Number(/blocked_clients:(\d+)/.exec(await this.redis.info("clients"))[1]);
        const before = await blocked();
        const reply = command(this.connect());
        reply.catch(() => {});
        await until(async () => (await blocked()) > before, "the client waits");
        return { reply };
    }

    async close() {
        this.#clients.forEach(client => client.disconnect());
        await Promise.all(this.#servers.map(server => server.kill()));
    }
}

/** Members with their scores, from the flat list of RESP2. */
export function pairs(reply) {
    return reply.flatMap((one, at) => (at % 2 ? [] : [[one, reply[at + 1]]]));
}

/** Runs every scenario whose name holds `only`; gives the number of failed ones. */
export async function run(url, only) {
    const entry = createRequire(import.meta.url).resolve("ioredis/package.json");
    const release = JSON.parse(readFileSync(entry, "utf8")).version;
    console.log(`ioredis ${release} against ${url}`);
    const runOne = async (_number, body, variant) => {
        const place = new Place(url, PROTOCOLS[variant]);
        try {
            await place.redis.flushall();
            await body(place);
        } finally {
            await place.close();
        }
    };
    return runScenarios(only, runOne, Object.keys(PROTOCOLS));
}
