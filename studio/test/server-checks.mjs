// Checks of the room with all databases.

import assert from "node:assert/strict";

export const serverChecks = [
  ["all databases are shown with live numbers", databasesAreShown],
  ["the server's root leads to Studio", rootLeadsToStudio],
  ["the theme can be switched and is kept", themeIsKept],
];

async function databasesAreShown(page, { database, documents }) {
  await page.goto("");
  await page.sees("Live");
  await page.sees("Writes per second");
  // The second event comes a second later; asking opens a database that rested.
  await page.raw.getByRole("link", { name: database, exact: true }).waitFor();
  await page.sees(new Intl.NumberFormat("en").format(documents));
  await page.raw.locator(".rate .sparkline-line").first().waitFor({ state: "attached" });
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
