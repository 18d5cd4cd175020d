// Which part of a document is the user's, and which the server writes itself.

const SERVERS = ["@change-vector", "@id", "@last-modified", "@flags", "@counters", "@attachments"];

/** Whether a member of the metadata is the user's. */
export function isOwn(path: readonly string[]): boolean {
  const [parent, name] = path;
  const isServers = name !== undefined && (SERVERS.includes(name) || name === "@timeseries");
  return !(path.length === 2 && parent === "@metadata" && isServers);
}
