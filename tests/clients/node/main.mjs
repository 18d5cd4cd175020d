// The official Node.js client against a server: `node main.mjs URL [PART OF A SCENARIO'S NAME]`.

import { run } from "./harness.mjs";
import "./scenarios/batches.mjs";
import "./scenarios/beside_documents.mjs";
import "./scenarios/bulk_inserts.mjs";
import "./scenarios/cluster_wide.mjs";
import "./scenarios/databases.mjs";
import "./scenarios/indexes.mjs";
import "./scenarios/notifications.mjs";
import "./scenarios/queries.mjs";
import "./scenarios/series_policies.mjs";
import "./scenarios/sessions.mjs";
import "./scenarios/streams.mjs";
import "./scenarios/vectors.mjs";

const [url, only = ""] = process.argv.slice(2);
if (!url) {
    console.error("usage: node main.mjs URL [PART OF A SCENARIO'S NAME]");
    process.exit(2);
}
process.exit((await run(url, only)) === 0 ? 0 : 1);
