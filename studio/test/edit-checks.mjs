// Checks that documents can be written, changed, copied and deleted, and that nobody's change is lost.

import assert from "node:assert/strict";
import { ask, HOSTILE_DATABASE, TURNED_SHOWN } from "./scene.mjs";

export const editChecks = [
  ["a document is created, changed, cloned and deleted", documentLives],
  ["a change of someone else meanwhile is shown next to one's own", conflictIsShown],
  ["what is no JSON is not stored, and unsaved texts are asked about", textIsKept],
  ["the editor draws what cannot be seen as escapes, and keeps it", editorEscapes],
];

const LIST = (database) => `#/databases/${database}/documents?collection=StudioTests`;
const DOCS = (database, id) => `databases/${database}/docs?id=${encodeURIComponent(id)}`;

const editor = (page) => page.raw.getByRole("textbox", { name: "Document as JSON" });
const panelOf = (page, id) => page.raw.getByRole("complementary", { name: `Document ${id}`, exact: true });
const press = (scope, name) => scope.getByRole("button", { name, exact: true }).click();

async function stored({ url, database }, id) {
  const answer = await fetch(new URL(DOCS(database, id), url));
  return answer.status === 404 ? null : answer.text();
}

/** Runs `check`, and deletes these documents whatever became of it. */
async function cleaningUp({ url, database }, ids, check) {
  try {
    await check();
  } finally {
    for (const id of ids) {
      await ask(url, DOCS(database, id), "DELETE");
    }
  }
}

const TEXT = `{"Exact": 9223372036854775807, "Price": 1.10, "@metadata": {"@collection": "StudioTests"}}`;

async function documentLives(page, context) {
  const [id, copy] = ["studio-test/new", "studio-test/copy"];
  await cleaningUp(context, [id, copy], async () => {
    await page.goto(`#/databases/${context.database}/documents`);
    await press(page.raw, "New");
    await page.raw.getByLabel("Id", { exact: true }).fill(id);
    await editor(page).fill(TEXT);
    await page.picture("document-new");
    await page.raw.keyboard.press("Control+s");
    await panelOf(page, id).getByText("9223372036854775807").waitFor();
    await press(panelOf(page, id), "Edit");
    assert.match(await editor(page).innerText(), /1\.1/);
    await editor(page).fill(TEXT.replace("1.10", "2.50"));
    await press(page.raw, "Save");
    await panelOf(page, id).getByText(/^2\.50?$/).waitFor();
    assert.match(await stored(context, id), /9223372036854775807/);
    await press(panelOf(page, id), "Clone");
    await page.raw.getByLabel("Id", { exact: true }).fill(copy);
    await press(page.raw, "Save");
    await panelOf(page, copy).getByText("9223372036854775807").waitFor();
    await press(panelOf(page, copy), "Delete");
    const question = page.raw.getByRole("dialog", { name: "Delete this document?" });
    await page.picture("document-delete");
    await press(question, "Delete");
    await panelOf(page, copy).waitFor({ state: "detached" });
    assert.equal(await stored(context, copy), null);
    assert.notEqual(await stored(context, id), null);
  });
}

async function conflictIsShown(page, context) {
  const id = "studio-test/conflict";
  const { url, database } = context;
  page.provokes("/docs?id=");
  const write = (text) =>
    ask(url, DOCS(database, id), "PUT", { Text: text, "@metadata": { "@collection": "StudioTests" } });
  await cleaningUp(context, [id], async () => {
    await write("before");
    await page.goto(`${LIST(database)}&id=${encodeURIComponent(id)}`);
    await press(panelOf(page, id), "Edit");
    await editor(page).fill(`{"Text": "mine", "@metadata": {"@collection": "StudioTests"}}`);
    await write("theirs");
    await press(page.raw, "Save");
    const conflict = page.raw.getByRole("dialog", { name: "Changed by someone else meanwhile" });
    await conflict.getByText(/"mine"/).waitFor();
    const marked = await conflict.locator(".is-other").allInnerTexts();
    assert.deepEqual(marked.map((line) => line.trim()), [`"Text": "mine",`, `"Text": "theirs",`]);
    await page.picture("document-conflict");
    assert.match(await stored(context, id), /theirs/);
    await press(conflict, "Keep writing");
    assert.match(await editor(page).innerText(), /mine/);
    await press(page.raw, "Save");
    await press(conflict, "Store mine over it");
    await panelOf(page, id).getByText(`"mine"`).waitFor();
    assert.match(await stored(context, id), /mine/);
    await press(panelOf(page, id), "Delete");
    await write("again theirs");
    const question = page.raw.getByRole("dialog", { name: "Delete this document?" });
    await press(question, "Delete");
    await question.getByRole("alert").getByText(/changed meanwhile/).waitFor();
    assert.match(await stored(context, id), /again theirs/);
  });
}

async function textIsKept(page, context) {
  const id = "studio-test/kept";
  await cleaningUp(context, [id], async () => {
    await page.goto(`#/databases/${context.database}/documents`);
    await press(page.raw, "New");
    await page.raw.getByLabel("Id", { exact: true }).fill(id);
    await editor(page).fill(`{"Text": `);
    await press(page.raw, "Save");
    await page.raw.getByRole("alert").waitFor();
    assert.equal(await stored(context, id), null);
    await page.raw.getByRole("link", { name: "Indexes" }).click();
    await press(page.raw.getByRole("dialog"), "Keep writing");
    assert.match(await editor(page).innerText(), /"Text"/);
    await press(page.raw, "Close");
    await press(page.raw.getByRole("dialog"), "Discard");
    await editor(page).waitFor({ state: "detached" });
  });
}

async function editorEscapes(page, { url }) {
  const before = await (await fetch(new URL(DOCS(HOSTILE_DATABASE, "turned/1"), url))).json();
  await page.goto(`#/databases/${HOSTILE_DATABASE}/documents?id=turned%2F1`);
  await press(panelOf(page, "turned/1"), "Edit");
  const shown = await editor(page).innerText();
  assert.ok(shown.toLowerCase().includes(TURNED_SHOWN.toLowerCase()), shown);
  await editor(page).press("Control+End");
  await page.raw.keyboard.type(" ");
  await press(page.raw, "Save");
  await panelOf(page, "turned/1").getByText(`"Title"`).waitFor();
  const after = await (await fetch(new URL(DOCS(HOSTILE_DATABASE, "turned/1"), url))).json();
  assert.equal(after.Results[0].Title, before.Results[0].Title);
}
