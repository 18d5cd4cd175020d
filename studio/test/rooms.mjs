// Every room in every state that can be reached by an address or a few clicks.

import { LONG, LONG_DATABASE, LONG_ID } from "./scene.mjs";

const at = (room, parameters = {}) => {
  const search = new URLSearchParams(parameters).toString().replaceAll("+", "%20");
  return `#/databases/${LONG_DATABASE}/${room}?${search}`;
};

const grid = (page) => page.raw.locator(".grid-row .cell").first().waitFor();
const answered = (page) => page.raw.locator(".query-facts").waitFor();

/** Name, address, and what to wait for or do until the room is as it is to be. */
export const ROOMS = [
  ["databases", "#/databases", (page) => page.raw.locator(".databases tbody a").first().waitFor()],
  ["new database", "#/databases", async (page) => {
    await page.raw.getByRole("button", { name: "New database" }).click();
    await page.raw.getByLabel("Name", { exact: true }).fill(LONG);
  }],
  ["a database that is deleted", "#/databases", async (page) => {
    await page.raw.getByRole("button", { name: `Delete ${LONG_DATABASE}` }).click();
    await page.raw.getByRole("dialog").waitFor();
  }],
  ["all documents", at("documents"), grid],
  ["a collection", at("documents", { collection: LONG }), grid],
  ["a document", at("documents", { collection: LONG, id: LONG_ID }), (page) =>
    page.raw.locator(".document .json-name").first().waitFor()],
  ["a document that is changed", at("documents", { collection: LONG, id: LONG_ID }), async (page) => {
    await page.raw.getByRole("button", { name: "Edit", exact: true }).click();
    await page.raw.getByRole("textbox", { name: "Document as JSON" }).waitFor();
  }],
  ["a document that is deleted", at("documents", { collection: LONG, id: LONG_ID }), async (page) => {
    await page.raw.getByRole("button", { name: "Delete", exact: true }).click();
    await page.raw.getByRole("dialog").waitFor();
  }],
  ["no document", at("documents", { id: `${LONG_ID}0` }), (page) =>
    page.sees("There is no such document")],
  ["an empty collection", at("documents", { collection: `${LONG}None` }), (page) =>
    page.sees(/is empty/)],
  ["no database", `#/databases/${LONG}/documents`, (page) => page.sees(/cannot be shown/)],
  ["no query", at("query"), (page) => page.raw.locator(".shelf-title").first().waitFor()],
  ["rows", at("query", { text: `from '${LONG}' where ${LONG} != 'x'` }), (page) =>
    answered(page).then(() => grid(page))],
  ["what is found is changed", at("query", { text: `from '${LONG}'` }), async (page) => {
    await page.raw.getByRole("button", { name: "Change all" }).click();
    await page.raw.getByRole("dialog").waitFor();
  }],
  ["a row", at("query", { text: `from '${LONG}'` }), async (page) => {
    await grid(page);
    await page.raw.locator(".grid-row").first().click({ position: { x: 4, y: 4 } });
    await page.raw.getByRole("complementary", { name: "Row" }).waitFor();
  }],
  ["rows as JSON", at("query", { text: `from '${LONG}'` }), async (page) => {
    await page.raw.getByRole("button", { name: "JSON", exact: true }).click();
    await page.raw.locator(".rows-json .json-name").first().waitFor();
  }],
  ["a plan", at("query", { text: `explain analyze from '${LONG}' where ${LONG} != 'x'` }), (page) =>
    page.raw.locator(".plan tbody tr").first().waitFor()],
  ["facets", at("query", { text: `from '${LONG}' select facet(${LONG})` }), (page) =>
    page.raw.locator(".facet tbody tr").first().waitFor()],
  ["a mistake", at("query", { text: `from '${LONG}' limit 1 select ${LONG}` }), (page) =>
    page.sees(/^Mistake in line/)],
  ["nothing found", at("query", { text: `from '${LONG}' where ${LONG} = 'none'` }), (page) =>
    page.sees("Nothing matches")],
  ["indexes", at("indexes"), (page) => page.raw.locator(".index-rows tbody button").first().waitFor()],
  ["an index", at("indexes", { index: LONG }), (page) =>
    page.raw.getByRole("heading", { name: "Map" }).waitFor()],
  ["an index with errors", at("indexes", { index: `${LONG}Wrong` }), (page) =>
    page.raw.locator(".index-mistakes a").first().waitFor()],
  ["an index that is changed", at("indexes", { index: LONG }), async (page) => {
    await page.raw.getByRole("button", { name: "Edit", exact: true }).click();
    await page.raw.getByLabel("Map", { exact: true }).waitFor();
  }],
];

/** Opens one of them. */
export async function openRoom(page, [, address, ready]) {
  page.provokes("/databases/");
  // A load of its own, so that no room sees what the one before left.
  await page.goto(address);
  await page.raw.reload();
  await ready(page);
}
