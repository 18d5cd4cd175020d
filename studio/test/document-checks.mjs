// Checks of the room with the documents of one database.

import assert from "node:assert/strict";

export const documentChecks = [
  ["collections and documents are listed", documentsAreListed],
  ["a long list is drawn in part and scrolls to its end", longListScrolls],
  ["a document opens, closes and survives a reload", documentOpens],
  ["numbers keep the text they were stored with", numbersAreExact],
  ["a document that is not there is said to be missing", documentIsMissing],
  ["a database that is not there is said to be missing", databaseIsMissing],
];

function format(count) {
  return new Intl.NumberFormat("en").format(count);
}

function listOf({ database, collection }) {
  return `#/databases/${database}/documents?collection=${encodeURIComponent(collection)}`;
}

async function documentsAreListed(page, context) {
  await page.goto(`#/databases/${context.database}/documents`);
  await page.sees("All documents");
  await page.raw.getByRole("navigation", { name: "Collections" }).getByText(context.collection).click();
  await page.sees(`${format(context.count)} documents`);
  await page.raw.locator(".grid-row .cell.is-id").first().waitFor();
  await page.picture("documents");
}

async function longListScrolls(page, context) {
  await page.goto(listOf(context));
  await page.raw.locator(".grid-row .cell.is-id").first().waitFor();
  await page.raw.getByRole("grid").evaluate((grid) => grid.scrollTo(0, grid.scrollHeight));
  const last = page.raw.locator(`.grid-row[aria-rowindex="${context.count}"] .cell.is-id`);
  await last.waitFor();
  const drawn = await page.raw.locator(".grid-row").count();
  assert.ok(drawn < 100, `${drawn} rows are drawn`);
  await page.picture("documents-end");
}

async function documentOpens(page, context) {
  await page.goto(listOf(context));
  const first = page.raw.locator(".grid-row .cell.is-id").first();
  const id = await first.innerText();
  await first.click();
  const panel = page.raw.getByRole("complementary", { name: `Document ${id}` });
  await panel.getByText(`"@metadata"`).waitFor();
  await page.raw.getByRole("grid").focus();
  await page.raw.keyboard.press("ArrowDown");
  await panel.waitFor({ state: "detached" });
  await page.raw.keyboard.press("ArrowUp");
  await panel.getByText(`"@metadata"`).waitFor();
  await page.raw.reload();
  await panel.getByText(`"@metadata"`).waitFor();
  await page.picture("document");
  await panel.getByRole("button", { name: "Unfold" }).click();
  await panel.getByText(`"@change-vector"`).waitFor();
  await page.raw.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
}

async function numbersAreExact(page, { url, database }) {
  const id = "studio-test/exact";
  const stored = new URL(`databases/${database}/docs?id=${encodeURIComponent(id)}`, url);
  const body = '{"Long":9223372036854775807,"Price":1.10,"Small":1e-7,"Text":"a \\"b\\" \\u2028 c"}';
  const put = await fetch(stored, { method: "PUT", body });
  assert.ok(put.ok, await put.text());
  const written = await (await fetch(stored)).text();
  try {
    await page.goto(`#/databases/${database}/documents`);
    await page.sees("All documents");
    await page.raw.keyboard.press("/");
    await page.raw.keyboard.type(id);
    await page.raw.keyboard.press("Enter");
    const panel = page.raw.getByRole("complementary", { name: `Document ${id}` });
    await panel.getByText("9223372036854775807").waitFor();
    const price = /"Price":([^,]*)/.exec(written)[1];
    await panel.getByText(price, { exact: true }).waitFor();
    const text = /"Text":("(?:[^"\\]|\\.)*")/.exec(written)[1].replace("\u2028", "\\u2028");
    const shown = await panel.locator(".json-string").allTextContents();
    assert.ok(shown.includes(text), `${text} is not among ${shown}`);
  } finally {
    await fetch(stored, { method: "DELETE" });
  }
}

async function documentIsMissing(page, { database }) {
  page.provokes("/docs?id=");
  await page.goto(`#/databases/${database}/documents?id=studio-test%2Fnone`);
  await page.sees("There is no such document");
}

async function databaseIsMissing(page) {
  page.provokes("/databases/no-such-database/");
  await page.goto("#/databases/no-such-database/documents");
  await page.sees("no-such-database cannot be shown");
  await page.sees(/does not exist/);
  await page.picture("no-database");
}
