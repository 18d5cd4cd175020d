// Checks that no text of a database becomes markup, hides, or turns around what stands next to it.

import assert from "node:assert/strict";
import { HOSTILE_DATABASE, HOSTILE_IDS, MARKUP, TURNED, TURNED_SHOWN } from "./scene.mjs";

export const hostileChecks = [
  ["markup in ids, names, values and errors is drawn as text", markupIsText],
  ["what cannot be seen is drawn as escapes", unseenIsEscaped],
  ["ids with slashes, quotes and dots open their document", idsOpen],
  ["an address with markup is drawn as text", addressIsText],
];

/** Anything that a browser would not draw, or that turns text around. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

const at = (room, parameters = {}) => {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `#/databases/${HOSTILE_DATABASE}/${room}?${pairs.join("&")}`;
};

async function drawn(page) {
  assert.equal(await page.raw.evaluate(() => window.hacked), undefined, "a script ran");
  assert.equal(await page.raw.locator("main img").count(), 0, "markup was drawn");
  return page.raw.evaluate(() => {
    const attributes = [...document.querySelectorAll("[title], [aria-label]")].flatMap((element) => [
      element.getAttribute("title") ?? "",
      element.getAttribute("aria-label") ?? "",
    ]);
    return [document.body.innerText, document.title, ...attributes].join("\n");
  });
}

/** In any letter case: the digits of escapes are the server's. */
async function showsText(page, text) {
  const shown = (await drawn(page)).toLowerCase();
  assert.ok(shown.includes(text.toLowerCase()), `${text} is not in ${shown}`);
  const unseen = UNSEEN.exec(shown);
  const around = unseen === null ? "" : JSON.stringify(shown.slice(unseen.index - 40, unseen.index + 40));
  assert.equal(unseen, null, `drawn raw: ${around}`);
}

async function markupIsText(page) {
  await page.goto(at("documents", { collection: MARKUP, id: MARKUP }));
  const panel = page.raw.getByRole("complementary", { name: `Document ${MARKUP}` });
  await panel.locator(".json-string").first().waitFor();
  await page.raw.locator(".grid-row .cell.is-id").first().waitFor();
  await showsText(page, MARKUP);
  await page.picture("hostile-markup");
  await page.goto(at("query", { text: `from '${MARKUP}' where Title = '${MARKUP}'` }));
  await page.raw.locator(".grid-row .cell.is-id").first().waitFor();
  await showsText(page, MARKUP);
  page.provokes("/queries");
  await page.goto(at("query", { text: `from '${MARKUP}' where Title == = '${TURNED}'` }));
  await page.raw.getByRole("alert").getByText(TURNED_SHOWN).waitFor();
  assert.equal(await page.raw.evaluate(() => window.hacked), undefined, "a script ran");
  await page.goto(at("indexes", { index: "Hostile" }));
  await page.raw.locator(".index-mistakes a").first().waitFor();
  await showsText(page, MARKUP);
}

async function unseenIsEscaped(page) {
  await page.goto(at("documents", { collection: "Turned", id: "turned/1" }));
  const panel = page.raw.getByRole("complementary", { name: "Document turned/1" });
  await panel.locator(".json-string").first().waitFor();
  await page.raw.locator(".grid-row .cell.is-string").first().waitFor();
  await showsText(page, TURNED_SHOWN);
  const cell = page.raw.locator(".grid-row .cell.is-string").first();
  assert.equal(await cell.innerText(), TURNED_SHOWN);
  const inPanel = await panel.locator(".json-string").first().innerText();
  // The digits are those of the server.
  assert.equal(inPanel.toLowerCase(), `"${TURNED_SHOWN}"`.toLowerCase());
  await showsText(page, "turned/\\u202efdp");
  await page.picture("hostile-turned");
  await page.goto(at("query", { text: "from Turned" }));
  await page.raw.locator(".grid-row .cell.is-id").first().waitFor();
  await showsText(page, TURNED_SHOWN);
  await page.raw.getByRole("button", { name: "JSON", exact: true }).click();
  await page.raw.locator(".rows-json .json-string").first().waitFor();
  await showsText(page, TURNED_SHOWN);
  await page.goto(at("indexes", { index: "Hostile" }));
  await page.raw.locator(".index-mistakes a").first().waitFor();
  await showsText(page, "turned/\\u202efdp");
}

async function idsOpen(page) {
  for (const id of HOSTILE_IDS) {
    await page.goto(at("documents"));
    await page.raw.locator(".grid-row").first().waitFor();
    await page.raw.getByLabel("Open a document by its id").fill(id);
    await page.raw.keyboard.press("Enter");
    const panel = page.raw.getByRole("complementary", { name: `Document ${id.trim()}` });
    await panel.getByText(`"Title"`).waitFor();
    await page.raw.reload();
    await panel.getByText(`"Title"`).waitFor();
  }
}

async function addressIsText(page) {
  page.provokes("/databases/");
  await page.goto(`#/databases/${encodeURIComponent(MARKUP + TURNED)}/documents`);
  await page.sees(/cannot be shown/);
  await showsText(page, TURNED_SHOWN);
  await page.goto(at("documents", { id: MARKUP + TURNED }));
  await page.sees("There is no such document");
  await showsText(page, TURNED_SHOWN);
}
