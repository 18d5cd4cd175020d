// Indexes: what they are made of, how far they have come, what went wrong in them.

import type { JsonMember, JsonNode } from "../json/parse";
import { asArray, asFlag, asNumber, asObject, asText, member } from "../json/read";
import { command, databasePath, requestPresent } from "./client";
import { encoded } from "../route";

/** A document that an index could not take in. */
export interface IndexMistake {
  readonly document: string | null;
  readonly message: string;
  readonly at: string | null;
}

export interface IndexField {
  readonly name: string;
  /** How it differs from a plain field: `Search`, `stored`, .. */
  readonly options: readonly string[];
}

export interface IndexEntry {
  readonly name: string;
  /** As the protocol names it: `AutoMap`, `Map`, `MapReduce`, `JavaScriptMap`, .. */
  readonly type: string;
  readonly maps: readonly string[];
  readonly reduce: string | null;
  readonly fields: readonly IndexField[];
  readonly entries: number;
  readonly bytes: number | null;
  readonly isStale: boolean;
  /** Changes that are not in it yet, at most. */
  readonly lag: number;
  /** `Normal`, `Disabled`, `Error`, .. */
  readonly state: string;
  /** `Running`, `Paused`, .. */
  readonly status: string;
  readonly lastIndexed: string | null;
  readonly lastQuery: string | null;
  readonly mistakes: readonly IndexMistake[];
  /** What else defines it, as the server wrote it: members of JSON to send back with a change. */
  readonly kept: readonly string[];
}

/** What a static index is made of. */
export interface IndexText {
  readonly name: string;
  readonly maps: readonly string[];
  readonly reduce: string | null;
  /** Of the index that it replaces; see `IndexEntry`. */
  readonly kept: readonly string[];
}

/** Members of a definition that are written anew, or that follow from the others. */
const NOT_KEPT = ["Name", "Maps", "Reduce", "Type", "SourceType", "ReduceOutputIndex"];

/** Times that say "never" in the protocol begin so. */
const NEVER = "0001-";

export function isAutomatic(index: IndexEntry): boolean {
  return index.type.startsWith("Auto");
}

/** Parts of an answer by the index they tell of, and the text they stand in. */
interface Named {
  readonly source: string;
  readonly nodes: ReadonlyMap<string, JsonNode>;
}

export async function readIndexes(database: string, signal: AbortSignal): Promise<IndexEntry[]> {
  const ask = async (rest: string): Promise<Named> => {
    const { source, root } = await requestPresent(databasePath(database, rest), { signal });
    const items = asArray(member(root, "Results"))?.items ?? [];
    return { source, nodes: new Map(items.map((item) => [asText(member(item, "Name")) ?? "", item])) };
  };
  const [definitions, numbers, mistakes] = await Promise.all([
    ask("indexes"),
    ask("indexes/stats"),
    ask("indexes/errors"),
  ]);
  const entries = [...definitions.nodes].map(([name, definition]) => ({
    ...entryOf(name, definition, numbers.nodes.get(name), mistakes.nodes.get(name)),
    kept: keptOf(definition, definitions.source),
  }));
  return entries.sort((left, right) => left.name.localeCompare(right.name));
}

function entryOf(
  name: string,
  definition: JsonNode,
  numbers: JsonNode | undefined,
  mistakes: JsonNode | undefined,
): Omit<IndexEntry, "kept"> {
  const positions = asObject(member(numbers, "Collections"))?.members ?? [];
  const lags = positions.map(({ value }) => asNumber(member(value, "DocumentLag")) ?? 0);
  return {
    name,
    type: asText(member(definition, "Type")) ?? "",
    maps: textsOf(member(definition, "Maps")),
    reduce: asText(member(definition, "Reduce")) ?? null,
    fields: fieldsOf(member(definition, "Fields")),
    entries: asNumber(member(numbers, "EntriesCount")) ?? 0,
    bytes: asNumber(member(numbers, "SizeInBytes")) ?? null,
    isStale: asFlag(member(numbers, "IsStale")) ?? false,
    lag: lags.reduce((sum, lag) => sum + Math.max(0, lag), 0),
    state: asText(member(numbers, "State")) ?? "Normal",
    status: asText(member(numbers, "Status")) ?? "Running",
    lastIndexed: momentOf(member(numbers, "LastIndexingTime")),
    lastQuery: momentOf(member(numbers, "LastQueryingTime")),
    mistakes: (asArray(member(mistakes, "Errors"))?.items ?? []).map(mistakeOf),
  };
}

function keptOf(definition: JsonNode, source: string): string[] {
  const members = asObject(definition)?.members ?? [];
  // A state that tells of an error is not one that can be set.
  const isKept = ({ name, value }: JsonMember): boolean =>
    !NOT_KEPT.includes(name) && !(name === "State" && asText(value) === "Error");
  return members
    .filter(isKept)
    .map(({ rawName, value }) => `${rawName}:${source.slice(value.start, value.end)}`);
}

function mistakeOf(node: JsonNode): IndexMistake {
  return {
    document: asText(member(node, "Document")) ?? null,
    message: asText(member(node, "Error")) ?? "",
    at: momentOf(member(node, "Timestamp")),
  };
}

function fieldsOf(node: JsonNode | undefined): IndexField[] {
  return (asObject(node)?.members ?? []).map(({ name, value }) => {
    const indexing = asText(member(value, "Indexing"));
    const isStored = asText(member(value, "Storage")) === "Yes";
    const analyzer = asText(member(value, "Analyzer"));
    const told = [
      indexing === undefined || indexing === "Default" ? [] : [indexing],
      isStored ? ["stored"] : [],
      analyzer === undefined ? [] : [analyzer],
    ];
    return { name, options: told.flat() };
  });
}

function textsOf(node: JsonNode | undefined): string[] {
  return (asArray(node)?.items ?? []).map((item) => asText(item) ?? "");
}

function momentOf(node: JsonNode | undefined): string | null {
  const moment = asText(node);
  return moment === undefined || moment.startsWith(NEVER) ? null : moment;
}

function named(database: string, rest: string, name: string): string {
  return databasePath(database, `${rest}?name=${encoded(name)}`);
}

/** Makes a static index, or replaces the one of that name. */
export async function putIndex(database: string, text: IndexText): Promise<void> {
  const written = { Name: text.name, Maps: text.maps, Reduce: text.reduce };
  const members = [JSON.stringify(written).slice(1, -1), ...text.kept];
  const body = `{"Indexes":[{${members.join(",")}}]}`;
  await command(databasePath(database, "admin/indexes"), { method: "PUT", body });
}

export async function deleteIndex(database: string, name: string): Promise<void> {
  await command(named(database, "indexes", name), { method: "DELETE" });
}

/** Makes it anew from the documents. */
export async function resetIndex(database: string, name: string): Promise<void> {
  await command(named(database, "indexes", name), { method: "RESET" });
}

/** Lets it take changes in again, or keeps it from doing so. */
export async function runIndex(database: string, name: string, running: boolean): Promise<void> {
  const path = named(database, `admin/indexes/${running ? "start" : "stop"}`, name);
  await command(path, { method: "POST" });
}
