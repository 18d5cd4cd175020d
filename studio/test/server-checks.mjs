// Checks of the room with all databases.

import assert from "node:assert/strict";

/** Seconds of the chart in the picture. */
const SAMPLES_DRAWN = 4;

export const serverChecks = [
  ["all databases are shown with live numbers", databasesAreShown],
  ["a database is created, and deleted when its name was typed", databaseLives],
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

async function databaseLives(page, { url }) {
  const { raw } = page;
  const name = "studio-test-made";
  const names = async () => {
    const answer = await fetch(new URL("databases?namesOnly=true", url));
    return (await answer.json()).Databases;
  };
  await page.goto("#/databases");
  await raw.getByRole("button", { name: "New database" }).click();
  await raw.getByLabel("Name", { exact: true }).fill(name);
  await raw.getByRole("button", { name: "Create", exact: true }).click();
  await page.sees(`${name} is empty`);
  await page.goto("#/databases");
  await raw.getByRole("button", { name: `Delete ${name}`, exact: true }).click();
  const question = raw.getByRole("dialog", { name: `Delete the database ${name}?` });
  const remove = question.getByRole("button", { name: "Delete for good" });
  await question.getByLabel("Type the name to confirm").fill(name.slice(0, -1));
  assert.ok(await remove.isDisabled());
  await raw.keyboard.press("Enter");
  assert.ok(JSON.stringify(await names()).includes(name));
  await question.getByLabel("Type the name to confirm").fill(name);
  await page.picture("database-delete");
  await remove.click();
  await question.waitFor({ state: "detached" });
  await raw.getByRole("link", { name, exact: true }).waitFor({ state: "detached" });
  assert.ok(!JSON.stringify(await names()).includes(name));
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
