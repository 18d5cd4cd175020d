// Checks that people who see little, or not at all, can use every room: axe finds nothing serious.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { openRoom, ROOMS } from "./rooms.mjs";

export const accessChecks = [
  ["axe finds nothing serious in any room", axeIsContent],
  ["every room has one first heading and a title", roomsHaveHeadings],
];

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const SERIOUS = ["serious", "critical"];

async function axeIsContent(page) {
  const axe = await readFile(AXE, "utf8");
  const found = [];
  for (const room of ROOMS) {
    await openRoom(page, room);
    found.push(...(await violations(page, axe)).map((violation) => `${room[0]}: ${violation}`));
  }
  assert.deepEqual(found, []);
}

/** What axe calls serious on the page as it is. */
export async function violations(page, axe) {
  // The page's policy forbids scripts in the page; the debugger's way is another one.
  await page.raw.evaluate(axe);
  const { violations } = await page.raw.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => SERIOUS.includes(impact))
    .flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ html, any }) => `${id}: ${html.slice(0, 160)} ${any[0]?.message ?? ""}`),
    );
}

async function roomsHaveHeadings(page) {
  const titles = new Set();
  for (const room of ROOMS) {
    await openRoom(page, room);
    assert.equal(await page.raw.locator("h1").count(), 1, room[0]);
    titles.add(await page.raw.title());
  }
  assert.ok(titles.size >= 4, `titles: ${[...titles]}`);
}
