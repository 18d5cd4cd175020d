// Checks of what a secured server shows to a browser that it does not know.
//
// A secured server of their own is started from the binary that JACKDAW names, or from the one
// that was built last.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { violations } from "./access-checks.mjs";

export const entryChecks = [
  ["a secured server says who may come in, and takes an API key", strangersAreToldHow],
];

const BUILT = fileURLToPath(new URL("../../target/debug/jackdaw", import.meta.url));
const JACKDAW = process.env.JACKDAW ?? BUILT;
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Runs `check` with the address and a key of a secured server, which ends with it. */
async function withSecured(check) {
  const data = await mkdtemp(join(tmpdir(), "jackdaw-studio-"));
  const run = (...words) => execFileSync(JACKDAW, [...words, "--data", data], { encoding: "utf8" });
  run("setup", "--host", "localhost", "--listen", "127.0.0.1:0");
  const key = run("key", "create", "studio", "--access", "studio=ReadWrite").trim();
  const serve = ["serve", "--listen", "127.0.0.1:0", "--data", data];
  const server = spawn(JACKDAW, serve, { stdio: ["ignore", "pipe", "pipe"] });
  try {
    await check(await addressOf(server), key);
  } finally {
    server.kill();
    await rm(data, { recursive: true, force: true });
  }
}

/** The first address that it prints. */
function addressOf(server) {
  return new Promise((resolve, reject) => {
    let printed = "";
    const read = (bytes) => {
      printed += bytes;
      const found = /https:\/\/[^\s/]+/.exec(printed);
      if (found !== null) {
        resolve(`${found[0]}/`);
      }
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.on("exit", () => reject(new Error(`jackdaw serve ended: ${printed}`)));
  });
}

async function strangersAreToldHow(page, context) {
  await withSecured(async (url, key) => {
    const window = await page.openElsewhere(url);
    const { raw } = window;
    try {
      await window.goto("#/databases");
      await raw.getByRole("heading", { name: "This server lets in only those it knows" }).waitFor();
      await window.sees("Not let in");
      await window.sees("With a client certificate");
      assert.equal(await raw.getByText("still running").count(), 0);
      assert.deepEqual(await violations(window, await readFile(AXE, "utf8")), []);
      for (const width of [1280, 390]) {
        await raw.setViewportSize({ width, height: 844 });
        const wide = await raw.locator(".room").evaluate((room) => room.scrollWidth - room.clientWidth);
        assert.equal(wide, 0, `wider than ${width} pixels`);
        await window.picture(`entry-${width}`);
      }
      await raw.getByLabel("API key").fill("jdk_nonsense");
      await raw.getByRole("button", { name: "Sign in" }).click();
      await raw.getByRole("alert").waitFor();
      await raw.getByLabel("API key").fill(key);
      await raw.getByRole("button", { name: "Sign in" }).click();
      await window.sees("There is no database yet");
      const kept = await raw.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
      assert.ok(!kept.includes("jdk_"), "the key or its token is kept in the browser");
      await raw.getByRole("button", { name: "Sign out" }).click();
      await raw.getByRole("heading", { name: "This server lets in only those it knows" }).waitFor();
    } finally {
      await window.close();
    }
  });
}
