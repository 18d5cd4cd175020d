// Databases as a whole: creating and deleting one, counting its collections.

import { asNumber, asObject, member } from "../json/read";
import { command, databasePath, requestPresent } from "./client";
import { encoded } from "../route";

export interface CollectionCount {
  readonly name: string;
  readonly count: number;
}

export interface Collections {
  /** Documents of all collections and of none. */
  readonly documents: number;
  readonly collections: readonly CollectionCount[];
}

export async function readCollections(database: string, signal: AbortSignal): Promise<Collections> {
  const path = databasePath(database, "collections/stats");
  const { root } = await requestPresent(path, { signal });
  const members = asObject(member(root, "Collections"))?.members ?? [];
  const collections = members.map(({ name, value }) => ({ name, count: asNumber(value) ?? 0 }));
  collections.sort((left, right) => right.count - left.count || left.name.localeCompare(right.name));
  return { documents: asNumber(member(root, "CountOfDocuments")) ?? 0, collections };
}

export async function createDatabase(name: string): Promise<void> {
  const path = `admin/databases?name=${encoded(name)}&replicationFactor=1`;
  await requestPresent(path, { method: "PUT", body: JSON.stringify({ DatabaseName: name }) });
}

/** Removes it with its files. */
export async function deleteDatabase(name: string): Promise<void> {
  const body = JSON.stringify({ DatabaseNames: [name], HardDelete: true });
  await command("admin/databases", { method: "DELETE", body });
}
