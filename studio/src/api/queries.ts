// Queries: RQL in, rows and how they were found out.

import { asFlag, asNumber, asText, member } from "../json/read";
import { databasePath, requestPresent } from "./client";
import { rowsOf, type Row } from "./documents";

export interface QueryOptions {
  readonly start: number;
  readonly count: number;
  /** Wait for indexes that have not seen every change yet. */
  readonly waitForFresh: boolean;
}

export interface QueryAnswer {
  readonly rows: readonly Row[];
  /** All rows there are, not only those of this page. */
  readonly total: number;
  /** What the server took, in milliseconds. */
  readonly durationMs: number;
  readonly index: string | null;
  readonly isStale: boolean;
}

export async function runQuery(
  database: string,
  text: string,
  options: QueryOptions,
  signal: AbortSignal,
): Promise<QueryAnswer> {
  const body = JSON.stringify({
    Query: text,
    Start: options.start,
    PageSize: options.count,
    WaitForNonStaleResults: options.waitForFresh,
  });
  const path = databasePath(database, "queries");
  const answer = await requestPresent(path, { method: "POST", body, signal });
  const rows = rowsOf(answer);
  return {
    rows,
    total: asNumber(member(answer.root, "TotalResults")) ?? rows.length,
    durationMs: asNumber(member(answer.root, "DurationInMs")) ?? 0,
    index: asText(member(answer.root, "IndexName")) ?? null,
    isStale: asFlag(member(answer.root, "IsStale")) ?? false,
  };
}
