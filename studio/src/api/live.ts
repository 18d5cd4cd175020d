// The numbers of all databases: `jackdaw/databases` once, `jackdaw/live` once a second.

import { parseJson, type JsonNode } from "../json/parse";
import { asArray, asFlag, asNumber, asText, member } from "../json/read";
import { address, requestPresent } from "./client";

/** One database at one moment. */
export interface DatabaseNumbers {
  readonly name: string;
  /** Whether anyone used it since the server started; other numbers are 0 when not. */
  readonly isOpen: boolean;
  /** Why its numbers could not be read. */
  readonly error: string | null;
  readonly documents: number;
  /** Bytes of its files, journal included. */
  readonly bytesOnDisk: number;
  readonly journalBytes: number;
  readonly indexes: number;
  /** Changes that the slowest index has not seen yet. */
  readonly indexLag: number;
  readonly writesPerSecond: number;
  readonly readsPerSecond: number;
  readonly queriesPerSecond: number;
}

export interface Numbers {
  readonly uptimeSeconds: number;
  readonly databases: readonly DatabaseNumbers[];
}

export async function readNumbers(signal: AbortSignal): Promise<Numbers> {
  const { root } = await requestPresent("jackdaw/databases", { signal });
  return decodeNumbers(root);
}

/** Follows the numbers until the returned function is called. */
export function followNumbers(onNumbers: (numbers: Numbers) => void, onLost: () => void): () => void {
  const source = new EventSource(address("jackdaw/live"));
  source.addEventListener("live", (event: MessageEvent<string>) => {
    onNumbers(decodeNumbers(parseJson(event.data).root));
  });
  source.addEventListener("error", onLost);
  return () => source.close();
}

function decodeNumbers(root: JsonNode): Numbers {
  const databases = asArray(member(root, "Databases"))?.items ?? [];
  return {
    uptimeSeconds: asNumber(member(root, "UptimeInSec")) ?? 0,
    databases: databases.map(decodeDatabase),
  };
}

function decodeDatabase(node: JsonNode): DatabaseNumbers {
  const number = (name: string): number => asNumber(member(node, name)) ?? 0;
  return {
    name: asText(member(node, "Name")) ?? "",
    isOpen: asFlag(member(node, "IsOpen")) ?? true,
    error: asText(member(node, "Error")) ?? null,
    documents: number("DocumentsCount"),
    bytesOnDisk: number("SizeOnDisk"),
    journalBytes: number("JournalBytes"),
    indexes: number("IndexesCount"),
    indexLag: number("IndexLag"),
    writesPerSecond: number("WritesPerSec"),
    readsPerSecond: number("ReadsPerSec"),
    queriesPerSecond: number("QueriesPerSec"),
  };
}
