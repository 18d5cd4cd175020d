// Documents: a page of them, newest change first, or one by its id.

import type { JsonNode, JsonObject, JsonText } from "../json/parse";
import { asArray, asObject, asText, member } from "../json/read";
import { command, databasePath, request, requestPresent } from "./client";
import { encoded } from "../route";

/** A document, or a row of a query's answer. */
export interface Row {
  /** The answer that it is part of; its text is the document's text. */
  readonly text: JsonText;
  readonly node: JsonObject;
  /** Rows of a projection or group may have none. */
  readonly id: string | null;
  readonly collection: string | null;
  readonly changeVector: string | null;
  readonly lastModified: string | null;
  /** Names of members of which the server sent the beginning only. */
  readonly cut: readonly string[];
}

/** What is wanted of a list. */
export interface PageOptions {
  readonly start: number;
  readonly count: number;
  /** Members to read; the first ones of each document when there are none. */
  readonly fields: readonly string[];
}

/**
 * A page of a collection, or of all documents when `collection` is `null`. The server cuts long
 * values, so that a page is small however large its documents are.
 */
export async function readPage(
  database: string,
  collection: string | null,
  { start, count, fields }: PageOptions,
  signal: AbortSignal,
): Promise<Row[]> {
  const chosen = fields.map((name) => `&field=${encoded(name)}`).join("");
  const page = `start=${start}&pageSize=${count}&preview=true${chosen}`;
  const rest =
    collection === null
      ? `docs?${page}`
      : `collections/docs?name=${encoded(collection)}&${page}`;
  return rowsOf(await requestPresent(databasePath(database, rest), { signal }));
}

/** One document; `null` when there is none with this id. */
export async function readDocument(
  database: string,
  id: string,
  signal: AbortSignal,
): Promise<Row | null> {
  const path = databasePath(database, `docs?id=${encoded(id)}`);
  const answer = await request(path, { signal });
  return answer === null ? null : (rowsOf(answer)[0] ?? null);
}

/** In `If-Match`: the document must not be there. */
const NOT_THERE = '""';

/**
 * Stores a document and returns its id, which the server completes when it ends with a slash.
 * Fails with status 409 when the stored one is not that of the change vector; `null` is none.
 */
export async function putDocument(
  database: string,
  id: string,
  body: string,
  changeVector: string | null,
): Promise<string> {
  const path = databasePath(database, `docs?id=${encoded(id)}`);
  const headers = { "if-match": changeVector === null ? NOT_THERE : `"${changeVector}"` };
  const { root } = await requestPresent(path, { method: "PUT", body, headers });
  return asText(member(root, "Id")) ?? id;
}

/** Deletes a document; fails with status 409 when it has changed since. */
export async function deleteDocument(
  database: string,
  id: string,
  changeVector: string | null,
): Promise<void> {
  const path = databasePath(database, `docs?id=${encoded(id)}`);
  const headers: Record<string, string> = {};
  if (changeVector !== null) {
    headers["if-match"] = `"${changeVector}"`;
  }
  await command(path, { method: "DELETE", headers });
}

/** The objects in `Results`. */
export function rowsOf(text: JsonText): Row[] {
  const items = asArray(member(text.root, "Results"))?.items ?? [];
  return items.flatMap((node: JsonNode) => {
    const object = asObject(node);
    return object === undefined ? [] : [rowOf(text, object)];
  });
}

function rowOf(text: JsonText, node: JsonObject): Row {
  const metadata = member(node, "@metadata");
  return {
    text,
    node,
    id: asText(member(metadata, "@id")) ?? null,
    collection: asText(member(metadata, "@collection")) ?? null,
    changeVector: asText(member(metadata, "@change-vector")) ?? null,
    lastModified: asText(member(metadata, "@last-modified")) ?? null,
    cut: (asArray(member(metadata, "@cut"))?.items ?? []).map((name) => asText(name) ?? ""),
  };
}
