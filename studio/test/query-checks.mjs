// Checks of the room with the query box.

import assert from "node:assert/strict";

export const queryChecks = [
  ["without a query, examples are offered", examplesAreOffered],
  ["a query runs by keyboard and shows how it was answered", queryRuns],
  ["every example finds something", examplesRun],
  ["a mistake is marked where it is", mistakeIsMarked],
];

function room({ database }) {
  return `#/databases/${database}/query`;
}

async function examplesAreOffered(page, context) {
  await page.goto(room(context));
  await page.sees("No query was run yet");
  await page.sees("Everything, in order of change");
  await page.picture("query-empty");
}

async function queryRuns(page, context) {
  const { raw } = page;
  await page.goto(room(context));
  await raw.getByRole("textbox", { name: "Query in RQL" }).fill(`from ${context.collection}`);
  await raw.keyboard.press("Control+Enter");
  await page.sees(`${new Intl.NumberFormat("en").format(context.count)} results`);
  await raw.locator(".grid-row .cell.is-id").first().waitFor();
  await page.sees(/^(Fresh|Stale)$/);
  await raw.locator(".index-name").waitFor();
  await raw.getByRole("row").nth(3).click();
  await raw.getByRole("complementary", { name: "Row" }).getByText(`"@metadata"`).waitFor();
  await page.picture("query-table");
  await raw.getByRole("button", { name: "JSON", exact: true }).click();
  await raw.locator(".rows-json .json-name").first().waitFor();
  await page.picture("query-json");
  await raw.reload();
  await page.sees(`${new Intl.NumberFormat("en").format(context.count)} results`);
  const past = await raw.locator(".shelf-facts").count();
  assert.equal(past, 1, "the query is kept once");
}

async function examplesRun(page, context) {
  const { raw } = page;
  await page.goto(room(context));
  const examples = raw.locator(".shelf-title");
  await examples.first().waitFor();
  const titles = await examples.allTextContents();
  for (const title of titles) {
    await page.goto(room(context));
    await raw.reload();
    await examples.getByText(title, { exact: true }).click();
    await page.sees(/^[1-9][\d,]* results?$/);
    await raw.locator(".grid-row").first().waitFor();
  }
  assert.ok(titles.length >= 4, `only ${titles.length} examples`);
  await page.picture("query-example");
}

async function mistakeIsMarked(page, context) {
  page.provokes("/queries");
  await page.goto(room(context));
  const text = `from ${context.collection}\nlimit 1 select Id`;
  await page.raw.getByRole("textbox", { name: "Query in RQL" }).fill(text);
  await page.raw.keyboard.press("Control+Enter");
  await page.sees(/^Mistake in line 2, column \d+$/);
  assert.equal(await page.raw.locator(".editor-mark mark").innerText(), "select");
  await page.picture("query-mistake");
}
