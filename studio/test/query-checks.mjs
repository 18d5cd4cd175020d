// Checks of the room with the query box.

import assert from "node:assert/strict";
import { ask as send } from "./scene.mjs";

export const queryChecks = [
  ["without a query, examples are offered", examplesAreOffered],
  ["a query runs by keyboard and shows how it was answered", queryRuns],
  ["every example finds something", examplesRun],
  ["a mistake is marked where it is", mistakeIsMarked],
  ["a plan is a tree with bars of time", planIsTree],
  ["facets are bars", facetsAreBars],
  ["what a query finds is changed and deleted, after its count was shown", foundIsChanged],
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

async function ask(page, context, text) {
  await page.goto(`${room(context)}?text=${encodeURIComponent(text)}`);
  await page.raw.locator(".query-facts").waitFor();
}

async function planIsTree(page, context) {
  const { raw } = page;
  await ask(page, context, `explain analyze from ${context.collection} where Year > 1990 and Genre = 'jazz'`);
  const rows = raw.locator(".plan tbody tr");
  await rows.first().waitFor();
  const count = await rows.count();
  assert.ok(count >= 5, `${count} steps`);
  const bar = async (row) => {
    const rect = raw.locator(".plan tbody tr").nth(row).locator(".plan-bar-time");
    return { x: Number(await rect.getAttribute("x")), width: Number(await rect.getAttribute("width")) };
  };
  assert.deepEqual(await bar(0), { x: 0, width: 100 });
  for (let row = 1; row < count; row += 1) {
    const { x, width } = await bar(row);
    assert.ok(x >= 0 && width < 100 && x + width <= 101, `bar ${row}: ${x}, ${width}`);
  }
  assert.match(await rows.first().innerText(), /\d (ms|\u00b5s)/);
  await page.picture("query-plan");
  await rows.first().getByRole("button", { name: "Fold" }).click();
  assert.equal(await rows.count(), 1);
  await raw.getByRole("button", { name: "Table", exact: true }).click();
  await raw.locator(".grid-row").first().waitFor();
  await ask(page, context, `explain from ${context.collection} where Year > 1990`);
  await page.sees(/Year > 1990/);
}

async function foundIsChanged(page, context) {
  const { raw } = page;
  const { url, database } = context;
  page.provokes("/queries?allowStale");
  const list = `databases/${database}/docs?startsWith=studio-test/found/`;
  const stored = async () => (await send(url, list, "GET")).Results;
  for (let at = 0; at < 7; at += 1) {
    const document = { Word: at < 6 ? "old" : "other", "@metadata": { "@collection": "StudioFound" } };
    await send(url, `databases/${database}/docs?id=studio-test/found/${at}`, "PUT", document);
  }
  const press = (scope, name) => scope.getByRole("button", { name, exact: true }).click();
  await ask(page, context, "from StudioFound where Word = 'old' limit 2");
  assert.equal(await raw.getByRole("button", { name: "Delete all" }).count(), 0, "a limit is no choice");
  await ask(page, context, "from StudioFound where Word = 'old'");
  await page.sees("6 results");
  await press(raw, "Change all");
  const change = raw.getByRole("dialog", { name: "Change 6 documents?" });
  await change.getByText("and 1 more").waitFor();
  await change.getByLabel(/^Script/).fill("this.Word = ");
  await press(change, "Change them");
  await change.getByRole("alert").waitFor();
  await change.getByLabel(/^Script/).fill("this.Word = 'new';");
  await page.picture("query-change");
  await press(change, "Change them");
  await change.getByText("6 documents done.").waitFor();
  await press(change, "Close");
  await page.sees("Nothing matches");
  assert.equal((await stored()).filter(({ Word }) => Word === "new").length, 6);
  await ask(page, context, "from StudioFound where Word = 'new'");
  await page.sees("6 results");
  await press(raw, "Delete all");
  const remove = raw.getByRole("dialog", { name: "Delete 6 documents?" });
  await press(remove, "Cancel");
  assert.equal((await stored()).length, 7);
  await press(raw, "Delete all");
  await press(remove, "Delete them");
  await remove.getByText("6 documents done.").waitFor();
  await press(remove, "Close");
  await page.sees("Nothing matches");
  assert.deepEqual((await stored()).map(({ Word }) => Word), ["other"]);
  await send(url, `databases/${database}/docs?id=studio-test/found/6`, "DELETE");
}

async function facetsAreBars(page, context) {
  const { raw } = page;
  await ask(page, context, `from ${context.collection} select facet(Genre, sum(Year)), facet(Year < 1990, Year >= 1990)`);
  const genre = raw.locator(".facet").first();
  await genre.getByRole("heading", { name: "Genre" }).waitFor();
  const widths = await genre.locator("rect").evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute("width"))));
  assert.equal(widths[0], 100);
  assert.ok(widths.length > 3);
  assert.deepEqual(widths, widths.toSorted((left, right) => right - left));
  await genre.getByText(/Sum of Year: \d+/).first().waitFor();
  await raw.locator(".facet").nth(1).getByText("Year >= 1990").waitFor();
  await page.picture("query-facets");
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
