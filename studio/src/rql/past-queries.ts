// The last queries of each database, kept in this browser.

import { parseJson } from "../json/parse";
import { asArray, asNumber, asText, member } from "../json/read";
import { keep, recall } from "../storage";

export interface PastQuery {
  readonly text: string;
  readonly total: number;
  readonly durationMs: number;
  /** When it was run, in milliseconds of the epoch. */
  readonly at: number;
}

const KEPT_MAX = 30;

export function recallQueries(database: string): PastQuery[] {
  const kept = recall(keptAs(database));
  if (kept === null) {
    return [];
  }
  try {
    const items = asArray(parseJson(kept).root)?.items ?? [];
    return items.map((item) => ({
      text: asText(member(item, "text")) ?? "",
      total: asNumber(member(item, "total")) ?? 0,
      durationMs: asNumber(member(item, "durationMs")) ?? 0,
      at: asNumber(member(item, "at")) ?? 0,
    }));
  } catch {
    return [];
  }
}

/** The list with this query first, once; also kept. */
export function remember(database: string, past: readonly PastQuery[], query: PastQuery): PastQuery[] {
  const others = past.filter(({ text }) => text !== query.text);
  const queries = [query, ...others].slice(0, KEPT_MAX);
  keep(keptAs(database), JSON.stringify(queries));
  return queries;
}

function keptAs(database: string): string {
  return `queries.${database}`;
}
