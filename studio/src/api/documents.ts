// Documents: a page of them, newest change first, or one by its id.

import type { JsonNode, JsonObject, JsonText } from "../json/parse";
import { asArray, asObject, asText, member } from "../json/read";
import { databasePath, request, requestPresent } from "./client";

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
}

/** A page of a collection, or of all documents when `collection` is `null`. */
export async function readPage(
  database: string,
  collection: string | null,
  start: number,
  count: number,
  signal: AbortSignal,
): Promise<Row[]> {
  const page = `start=${start}&pageSize=${count}`;
  const rest =
    collection === null
      ? `docs?${page}`
      : `collections/docs?name=${encodeURIComponent(collection)}&${page}`;
  return rowsOf(await requestPresent(databasePath(database, rest), { signal }));
}

/** One document; `null` when there is none with this id. */
export async function readDocument(
  database: string,
  id: string,
  signal: AbortSignal,
): Promise<Row | null> {
  const path = databasePath(database, `docs?id=${encodeURIComponent(id)}`);
  const answer = await request(path, { signal });
  return answer === null ? null : (rowsOf(answer)[0] ?? null);
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
  };
}
