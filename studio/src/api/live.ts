// The numbers of all databases: `jackdaw/databases` once, `jackdaw/live` once a second.

import { parseJson, type JsonNode } from "../json/parse";
import { asArray, asFlag, asNumber, asText, member } from "../json/read";
import { isAbort, requestPresent, stream } from "./client";

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

/** Time between the end of the events and the next attempt. */
const FOLLOW_AGAIN_MS = 3000;

/**
 * Follows the numbers until the returned function is called. Not by `EventSource`, which cannot
 * carry a token.
 */
export function followNumbers(onNumbers: (numbers: Numbers) => void, onLost: () => void): () => void {
  const following = new AbortController();
  void follow(onNumbers, onLost, following.signal);
  return () => following.abort();
}

async function follow(
  onNumbers: (numbers: Numbers) => void,
  onLost: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await stream("jackdaw/live", { signal });
      await eachEvent(response, (data) => onNumbers(decodeNumbers(parseJson(data).root)));
    } catch (error) {
      if (isAbort(error)) {
        return;
      }
    }
    onLost();
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_AGAIN_MS));
  }
}

/** Calls with the data of each event until the stream ends. */
async function eachEvent(response: Response, onData: (data: string) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) {
      return;
    }
    const events = (rest + value).split(/\r?\n\r?\n/);
    rest = events.pop() ?? "";
    for (const event of events) {
      const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
      if (lines.length > 0) {
        onData(lines.map((line) => line.slice("data:".length).trimStart()).join("\n"));
      }
    }
  }
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
