// Deleting and changing all documents that a query finds. The server does it as an operation, which
// is asked about until it ends.

import { asNumber, asText, member } from "../json/read";
import { databasePath, requestPresent } from "./client";

export type ByQuery = "DELETE" | "PATCH";

const ASK_AGAIN_MS = 300;

/** Returns how many documents it processed; `onProgress` gets the number so far. */
export async function runByQuery(
  database: string,
  method: ByQuery,
  text: string,
  onProgress: (processed: number) => void,
): Promise<number> {
  const query = { Query: text };
  const body = JSON.stringify(method === "PATCH" ? { Query: query } : query);
  const path = databasePath(database, "queries?allowStale=false");
  const { root } = await requestPresent(path, { method, body });
  const id = asNumber(member(root, "OperationId")) ?? 0;
  for (;;) {
    const state = await requestPresent(databasePath(database, `operations/state?id=${id}`));
    const result = member(state.root, "Result");
    switch (asText(member(state.root, "Status"))) {
      case "Completed":
        return asNumber(member(result, "Total")) ?? 0;
      case "InProgress":
        onProgress(asNumber(member(member(state.root, "Progress"), "Processed")) ?? 0);
        break;
      default:
        throw new Error(asText(member(result, "Message")) ?? "The operation was ended.");
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}
