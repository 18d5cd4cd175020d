// Drives Studio in a real browser against a running server, and takes pictures of its rooms.
//
//   JACKDAW_URL=http://127.0.0.1:8080 JACKDAW_DATABASE=music node test/screenshots.mjs
//
// The server must hold the demo's database (or any with documents in collections). Documents named
// `studio-test/..` are stored and deleted again, and so are databases named `studio-test-..`. Pictures go to test/out. Each check says what
// it proves; the run fails when one does not hold, or when the browser's console has an error
// that no check provoked.

import assert from "node:assert/strict";
import { mkdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { accessChecks } from "./access-checks.mjs";
import { documentChecks } from "./document-checks.mjs";
import { editChecks } from "./edit-checks.mjs";
import { entryChecks } from "./entry-checks.mjs";
import { fitChecks } from "./fit-checks.mjs";
import { hostileChecks } from "./hostile-checks.mjs";
import { indexChecks } from "./index-checks.mjs";
import { largeChecks } from "./large-checks.mjs";
import { queryChecks } from "./query-checks.mjs";
import { clean, prepare } from "./scene.mjs";
import { serverChecks } from "./server-checks.mjs";

const url = process.env.JACKDAW_URL;
const database = process.env.JACKDAW_DATABASE ?? "music";
const out = fileURLToPath(new URL("out/", import.meta.url));

if (url === undefined) {
  console.error("Set JACKDAW_URL to the address of a running server.");
  process.exit(2);
}

const stats = await (await fetch(new URL(`databases/${database}/collections/stats`, url))).json();
const collections = Object.entries(stats.Collections ?? {}).filter(([name]) => !name.startsWith("@"));
collections.sort(([, left], [, right]) => right - left);
if (collections.length === 0) {
  console.error(`The database '${database}' holds no collections: ${JSON.stringify(stats)}`);
  process.exit(2);
}
const [collection, count] = collections[0];

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await prepare(url);
const all = [
  ...serverChecks,
  ...documentChecks,
  ...queryChecks,
  ...indexChecks,
  ...editChecks,
  ...entryChecks,
  ...hostileChecks,
  ...accessChecks,
];
// What does not depend on colors is checked once.
const once = [...fitChecks, ...largeChecks];
/** `node test/screenshots.mjs TEXT` runs the checks with this text in their title. */
const wanted = process.argv[2] ?? "";
const browser = await launch();
let passed = 0;
let failed = 0;
for (const theme of ["light", "dark"]) {
  const context = { url, database, collection, count, documents: stats.CountOfDocuments, theme, out };
  const checks = theme === "light" ? [...all, ...once] : all;
  for (const [title, run] of checks.filter(([title]) => title.includes(wanted))) {
    const started = performance.now();
    const page = await browser.open(context);
    try {
      await run(page, context);
      assert.deepEqual(page.complaints, [], "the browser complained");
      passed += 1;
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      console.log(`ok      ${theme}: ${title} (${seconds} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${theme}: ${title}\n${error.stack}`);
      await page.picture("failed-" + title.replace(/\W+/g, "-")).catch(() => {});
    } finally {
      await page.close();
    }
  }
}
await browser.close();
await clean(url);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
