// Checks of the room with the indexes of a database.

import assert from "node:assert/strict";

export const indexChecks = [
  ["the index of a query is listed and opens", automaticIndexOpens],
  ["a static index is written, queried, changed and deleted", staticIndexLives],
  ["a change keeps what the editor does not show", changeKeepsTheRest],
  ["documents that an index could not take in are named", errorsAreNamed],
  ["a mistake in an index is told where it is written", mistakeIsTold],
  ["the room fits a narrow window", roomFitsNarrowWindow],
  ["a text that was not saved is asked about before it is lost", unsavedTextIsAskedAbout],
];

const NAME = "StudioTest/ByWord";
const NARROW = { width: 600, height: 800 };

function room({ database }) {
  return `#/databases/${database}/indexes`;
}

/** Makes an index as a client does, runs `check`, and deletes it whatever became of that. */
async function withIndex({ url, database }, definition, check) {
  const indexes = new URL(`databases/${database}/admin/indexes`, url);
  const body = JSON.stringify({ Indexes: [definition] });
  const put = await fetch(indexes, { method: "PUT", body });
  assert.ok(put.ok, await put.text());
  const named = new URL(`databases/${database}/indexes?name=${encodeURIComponent(definition.Name)}`, url);
  try {
    await check(async () => (await (await fetch(named)).json()).Results[0]);
  } finally {
    await fetch(named, { method: "DELETE" });
  }
}

async function automaticIndexOpens(page, context) {
  const { raw } = page;
  const body = JSON.stringify({ Query: `from '${context.collection}' where StudioTest = 'x'` });
  const queries = new URL(`databases/${context.database}/queries`, context.url);
  const asked = await fetch(queries, { method: "POST", body });
  const { IndexName: name } = await asked.json();
  await page.goto(room(context));
  await raw.getByRole("button", { name, exact: true }).click();
  const panel = raw.getByRole("complementary", { name: `Index ${name}` });
  await panel.getByRole("heading", { name: "Map" }).waitFor();
  await panel.getByText("StudioTest", { exact: true }).waitFor();
  assert.equal(await panel.getByRole("button", { name: "Edit" }).count(), 0);
  await page.picture("index-automatic");
}

async function staticIndexLives(page, context) {
  const { raw } = page;
  await page.goto(room(context));
  await raw.getByRole("button", { name: "New index" }).click();
  await raw.getByLabel("Name").fill(NAME);
  const map = `map('${context.collection}', d => ({ Word: 'studio', Count: 1 }))`;
  await raw.getByLabel("Map", { exact: true }).fill(map);
  await page.picture("index-editor");
  await raw.getByRole("button", { name: "Save" }).click();
  const panel = raw.getByRole("complementary", { name: `Index ${NAME}` });
  try {
    await panel.getByText(map).waitFor();
    await panel.getByText("Fresh", { exact: true }).waitFor();
    await page.picture("index-static");
    await panel.getByRole("button", { name: "Edit" }).click();
    const reduce = `groupBy(e => ({ Word: e.Word })).aggregate(g => ({
      Word: g.key.Word, Count: g.values.reduce((sum, e) => sum + e.Count, 0) }))`;
    await raw.getByLabel("Reduce, if groups are wanted").fill(reduce);
    await raw.getByRole("button", { name: "Save" }).click();
    await panel.getByRole("heading", { name: "Reduce" }).waitFor();
    await panel.getByText("map-reduce in JavaScript").waitFor();
    await panel.getByText("Fresh", { exact: true }).waitFor();
    await panel.getByRole("link", { name: "Query it" }).click();
    await page.sees("1 result");
  } finally {
    await page.goto(`${room(context)}?index=${encodeURIComponent(NAME)}`);
    await panel.getByRole("button", { name: "Delete", exact: true }).click();
    await panel.getByRole("button", { name: "Delete for good" }).click();
    await panel.waitFor({ state: "detached" });
  }
}

async function changeKeepsTheRest(page, context) {
  const { raw } = page;
  const definition = {
    Name: "StudioTest/Kept",
    Maps: [`map('${context.collection}', d => ({ Word: 'one' }))`],
    Fields: { Word: { Storage: "Yes", Indexing: "Exact" } },
    Priority: "Low",
  };
  await withIndex(context, definition, async (read) => {
    await page.goto(`${room(context)}?index=${encodeURIComponent(definition.Name)}`);
    const panel = raw.getByRole("complementary", { name: `Index ${definition.Name}` });
    await panel.getByText("Exact, stored").waitFor();
    await panel.getByRole("button", { name: "Edit" }).click();
    const changed = definition.Maps[0].replace("one", "two");
    await raw.getByLabel("Map", { exact: true }).fill(changed);
    await raw.getByRole("button", { name: "Save" }).click();
    await panel.getByText(changed).waitFor();
    const { Fields, Priority } = await read();
    assert.equal(Fields.Word.Storage, "Yes");
    assert.equal(Fields.Word.Indexing, "Exact");
    assert.equal(Priority, "Low");
  });
}

async function errorsAreNamed(page, context) {
  const { raw } = page;
  const definition = {
    Name: "StudioTest/Wrong",
    Maps: [`map('${context.collection}', d => { throw new Error('no word'); })`],
  };
  await withIndex(context, definition, async () => {
    await page.goto(`${room(context)}?index=${encodeURIComponent(definition.Name)}`);
    const panel = raw.getByRole("complementary", { name: `Index ${definition.Name}` });
    await panel.getByRole("heading", { name: "Errors" }).waitFor();
    await panel.locator(".index-mistakes a").first().waitFor();
    await page.picture("index-errors");
  });
}

async function roomFitsNarrowWindow(page, context) {
  const { raw } = page;
  await raw.setViewportSize(NARROW);
  await page.goto(room(context));
  const first = raw.locator(".index-rows tbody button").first();
  await first.waitFor();
  const width = () => raw.evaluate(() => document.documentElement.scrollWidth);
  assert.ok((await width()) <= NARROW.width, "the list is wider than the window");
  await page.picture("indexes-narrow");
  await first.click();
  await raw.getByRole("heading", { name: "Map" }).waitFor();
  assert.ok((await width()) <= NARROW.width, "the index is wider than the window");
  await page.picture("index-narrow");
}

async function unsavedTextIsAskedAbout(page, context) {
  const { raw } = page;
  const written = "map('Nothing', d => ({ Unsaved: 1 }))";
  const map = raw.getByLabel("Map", { exact: true });
  const question = raw.getByRole("dialog", { name: "Discard what you have written?" });
  const keep = async () => {
    await question.waitFor();
    await question.getByRole("button", { name: "Keep writing" }).click();
    await question.waitFor({ state: "detached" });
    assert.equal(await map.inputValue(), written);
  };
  await page.goto(room(context));
  await raw.getByRole("button", { name: "New index" }).click();
  await raw.getByRole("button", { name: "Cancel" }).click();
  await map.waitFor({ state: "detached" });
  await raw.getByRole("button", { name: "New index" }).click();
  await map.fill(written);
  await raw.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor();
  await page.picture("index-unsaved");
  await keep();
  await raw.getByRole("button", { name: "Close" }).click();
  await keep();
  await raw.getByRole("link", { name: "Query", exact: true }).click();
  await keep();
  await raw.goBack();
  await keep();
  let warned = 0;
  raw.once("dialog", async (dialog) => {
    warned += dialog.type() === "beforeunload" ? 1 : 0;
    await dialog.dismiss();
  });
  await raw.evaluate(() => void window.location.reload());
  while (warned === 0) {
    await raw.evaluate(() => new Promise(requestAnimationFrame));
  }
  await raw.getByRole("link", { name: "Query", exact: true }).click();
  await question.getByRole("button", { name: "Discard" }).click();
  await raw.getByRole("textbox", { name: "Query in RQL" }).waitFor();
  await page.goto(room(context));
  await raw.getByRole("button", { name: "New index" }).click();
  assert.equal(await map.inputValue(), "");
}

async function mistakeIsTold(page, context) {
  const { raw } = page;
  page.provokes("/admin/indexes");
  await page.goto(room(context));
  await raw.getByRole("button", { name: "New index" }).click();
  await raw.getByLabel("Name").fill("StudioTest/Wrong");
  await raw.getByLabel("Map", { exact: true }).fill("map('Albums', d => ({ Word: ");
  await raw.getByRole("button", { name: "Save" }).click();
  await raw.getByRole("alert").waitFor();
  await page.picture("index-mistake");
}
