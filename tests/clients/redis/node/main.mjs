// ioredis against a Redis server of Jackdaw: `node main.mjs redis://HOST:PORT [PART OF A SCENARIO'S NAME]`.

import { run } from "./harness.mjs";
import "./scenarios/strings.mjs";
import "./scenarios/expiry.mjs";
import "./scenarios/hashes.mjs";
import "./scenarios/lists.mjs";
import "./scenarios/sets.mjs";
import "./scenarios/sorted_sets.mjs";
import "./scenarios/scans.mjs";
import "./scenarios/keys.mjs";
import "./scenarios/transactions.mjs";
import "./scenarios/pipelines.mjs";
import "./scenarios/messages.mjs";
import "./scenarios/connections.mjs";
import "./scenarios/server.mjs";
import "./scenarios/binary.mjs";
import "./scenarios/restarts.mjs";

const [url, only = ""] = process.argv.slice(2);
if (!url) {
    console.error("usage: node main.mjs redis://HOST:PORT [PART OF A SCENARIO'S NAME]");
    process.exit(2);
}
process.exit((await run(url, only)) === 0 ? 0 : 1);
