// Queries to choose from: examples for this database, and those run before.

import { useCallback, type ReactNode } from "react";
import { readCollections } from "../../api/databases";
import { readPage } from "../../api/documents";
import { formatAgo, formatCount, formatDuration } from "../../format";
import { examplesFor, type Example } from "../../rql/examples";
import type { PastQuery } from "../../rql/past-queries";
import { useLoaded, valueOf } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";

interface QueryShelfProps {
  readonly database: string;
  readonly past: readonly PastQuery[];
  readonly onChoose: (text: string) => void;
}

/** Documents that examples are made from. */
const ROWS_LOOKED_AT = 50;

export function QueryShelf({ database, past, onChoose }: QueryShelfProps): ReactNode {
  const load = useCallback((signal: AbortSignal) => loadExamples(database, signal), [database]);
  const [loaded] = useLoaded(load);
  const examples = valueOf(loaded);
  return (
    <aside className="shelf" aria-label="Queries to choose from">
      <h2>Examples</h2>
      {loaded.state === "failed" && <p className="is-bad">{visibleLines(loaded.error.message)}</p>}
      {examples?.length === 0 && <p className="is-quiet">They appear when there are documents.</p>}
      <ul>
        {examples?.map(({ title, text }) => (
          <li key={text}>
            <button type="button" onClick={() => onChoose(text)}>
              <span className="shelf-title">{visible(title)}</span>
              <code>{visibleLines(text)}</code>
            </button>
          </li>
        ))}
      </ul>
      <h2>Last queries</h2>
      {past.length === 0 && <p className="is-quiet">Those you run are kept in this browser.</p>}
      <ul>
        {past.map(({ text, total, durationMs, at }) => (
          <li key={text}>
            <button type="button" onClick={() => onChoose(text)}>
              <code>{visibleLines(text)}</code>
              <span className="shelf-facts">
                {formatCount(total)} in {formatDuration(durationMs)},{" "}
                {formatAgo(new Date(at).toISOString(), Date.now())}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </aside>
  );
}

/** Examples for the largest collection that is not the server's own. */
async function loadExamples(database: string, signal: AbortSignal): Promise<Example[]> {
  const { collections } = await readCollections(database, signal);
  const largest = collections.find(({ name, count }) => count > 0 && !name.startsWith("@"));
  if (largest === undefined) {
    return [];
  }
  const page = { start: 0, count: ROWS_LOOKED_AT, fields: [] };
  const rows = await readPage(database, largest.name, page, signal);
  return examplesFor(largest.name, rows);
}
