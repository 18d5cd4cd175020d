// Checks that documents of any size can be listed and opened.

import assert from "node:assert/strict";
import { LARGE_DATABASE } from "./scene.mjs";

export const largeChecks = [
  ["a list brings the beginning of documents only", listIsSmall],
  ["a text of 8.5 million characters is listed and opens", longTextOpens],
  ["a document of 10,000 fields is listed and opens", wideDocumentOpens],
  ["a document of 100 levels opens", deepDocumentOpens],
];

/** A page of a list, whatever the documents. */
const PAGE_BYTES_MAX = 200_000;

const at = (collection, id) =>
  `#/databases/${LARGE_DATABASE}/documents?collection=${collection}${id === undefined ? "" : `&id=${id}`}`;

async function listIsSmall(page) {
  const sizes = [];
  page.raw.on("response", async (response) => {
    if (/\/docs\?/.test(response.url()) && !response.url().includes("?id=")) {
      sizes.push((await response.body()).length);
    }
  });
  for (const collection of ["Large", "Texts", "Wide", "Deep"]) {
    const answered = page.raw.waitForResponse((response) => response.url().includes("collections/docs?"));
    await page.goto(at(collection));
    await (await answered).finished();
    await page.raw.locator(".grid-row .cell.is-id").first().waitFor();
  }
  await page.goto(`#/databases/${LARGE_DATABASE}/documents`);
  await page.raw.locator(".grid-row .cell.is-id").nth(20).waitFor();
  assert.ok(sizes.length >= 5, `${sizes.length} pages were seen`);
  assert.ok(Math.max(...sizes) < PAGE_BYTES_MAX, `pages of ${sizes} bytes`);
  await page.picture("large-list");
}

async function longTextOpens(page) {
  await page.goto(at("Texts"));
  await page.raw.locator(".grid-row .cell.is-id").first().click();
  const panel = page.raw.getByRole("complementary", { name: "Document texts/1" });
  await panel.getByText("one long text").waitFor();
  const more = panel.getByRole("button", { name: /show more of [\d,]+ characters/ });
  const before = (await panel.locator(".json-string").last().innerText()).length;
  await more.click();
  const after = (await panel.locator(".json-string").last().innerText()).length;
  assert.ok(before < after && after < 1_000_000, `${before}, then ${after} characters`);
  await page.picture("large-text");
  await page.goto(`#/databases/${LARGE_DATABASE}/query?text=from%20Texts`);
  await page.raw.locator(".grid-row .cell.is-id").first().waitFor();
}

async function wideDocumentOpens(page) {
  await page.goto(at("Wide", "wide/1"));
  await page.raw.locator(".grid-row .cell.is-id").first().waitFor();
  const panel = page.raw.getByRole("complementary", { name: "Document wide/1" });
  await panel.getByText(`"Field0"`, { exact: true }).waitFor();
  assert.ok((await panel.locator(".json-line").count()) < 300);
  await panel.getByRole("button", { name: /show more of/ }).click();
  await panel.getByText(`"Field399"`, { exact: true }).waitFor();
}

async function deepDocumentOpens(page) {
  await page.goto(at("Deep", "deep/1"));
  const panel = page.raw.getByRole("complementary", { name: "Document deep/1" });
  await panel.getByText(`"Bottom"`).waitFor();
  const line = await panel.getByText(`"Bottom"`).boundingBox();
  assert.ok(line.height < 40, `the deepest line is ${line.height} pixels high`);
}
