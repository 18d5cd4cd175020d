// One line an index: what kind it is, how large, and whether it has seen every change.

import type { ReactNode } from "react";
import { isAutomatic, type IndexEntry } from "../../api/indexes";
import { formatAgo, formatBytes, formatCount } from "../../format";
import { visible } from "../../visible";

interface IndexTableProps {
  readonly indexes: readonly IndexEntry[];
  readonly open: string | null;
  readonly onOpen: (name: string) => void;
}

export function IndexTable({ indexes, open, onOpen }: IndexTableProps): ReactNode {
  return (
    <div className="index-rows">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="index-kind">
              Kind
            </th>
            <th scope="col" className="index-entries at-end">
              Entries
            </th>
            <th scope="col" className="index-size at-end">
              On disk
            </th>
            <th scope="col" className="index-asked">
              Last query
            </th>
            <th scope="col" className="index-state">
              State
            </th>
          </tr>
        </thead>
        <tbody>
          {indexes.map((index) => (
            <tr
              key={index.name}
              aria-selected={index.name === open}
              onClick={() => onOpen(index.name)}
            >
              <th scope="row">
                <button type="button" title={visible(index.name)}>
                  {visible(index.name)}
                </button>
              </th>
              <td className="index-kind is-quiet">{kindOf(index)}</td>
              <td className="index-entries at-end">{formatCount(index.entries)}</td>
              <td className="index-size at-end is-quiet">
                {index.bytes === null ? "" : formatBytes(index.bytes)}
              </td>
              <td className="index-asked is-quiet">
                {index.lastQuery === null ? "never" : formatAgo(index.lastQuery, Date.now())}
              </td>
              <td className="index-state">
                <IndexState index={index} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** In words. */
export function kindOf(index: IndexEntry): string {
  const does = index.type.includes("MapReduce") ? "map-reduce" : "map";
  if (isAutomatic(index)) {
    return `automatic ${does}`;
  }
  return index.type.startsWith("JavaScript") ? `${does} in JavaScript` : does;
}

export function IndexState({ index }: { readonly index: IndexEntry }): ReactNode {
  if (index.state === "Error") {
    return <span className="badge is-bad">Stopped by an error</span>;
  }
  if (index.state === "Disabled" || index.status !== "Running") {
    return <span className="badge is-warning">{index.state === "Disabled" ? "Disabled" : index.status}</span>;
  }
  if (index.isStale) {
    return <span className="badge is-warning">{`${formatCount(index.lag)} behind`}</span>;
  }
  return index.mistakes.length > 0 ? (
    <span className="badge is-warning">Fresh, with errors</span>
  ) : (
    <span className="badge is-good">Fresh</span>
  );
}
