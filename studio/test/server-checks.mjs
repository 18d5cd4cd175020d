// Checks of the room with all databases.

import assert from "node:assert/strict";

/** Seconds of the chart in the picture. */
const SAMPLES_DRAWN = 4;

export const serverChecks = [
  ["all databases are shown with live numbers", databasesAreShown],
  ["the server's root leads to Studio", rootLeadsToStudio],
  ["the theme can be switched and is kept", themeIsKept],
];

async function databasesAreShown(page, { url, database, documents }) {
  await page.goto("");
  await page.sees("Live");
  await page.sees("Writes per second");
  await page.raw.getByRole("link", { name: database, exact: true }).waitFor();
  await page.sees(new Intl.NumberFormat("en").format(documents));
  const line = page.raw.locator(".total.is-reads .sparkline-line");
  await line.waitFor({ state: "attached" });
  // Something to draw: reads until the chart has a few seconds of them.
  const list = new URL(`databases/${database}/docs?start=0&pageSize=20`, url);
  while ((await line.getAttribute("d")).split("L").length < SAMPLES_DRAWN) {
    await (await fetch(list)).arrayBuffer();
  }
  await page.picture("databases");
}

async function rootLeadsToStudio(page) {
  await page.goto("../");
  await page.sees("Databases");
  assert.match(page.raw.url(), /\/studio\//);
}

async function themeIsKept(page, { theme }) {
  await page.goto("");
  const other = theme === "light" ? "dark" : "light";
  await page.raw.getByRole("button", { name: `Use ${other} colors` }).click();
  await page.raw.reload();
  await page.raw.getByRole("button", { name: `Use ${theme} colors` }).waitFor();
  assert.equal(await page.raw.evaluate(() => document.documentElement.dataset.theme), other);
}
