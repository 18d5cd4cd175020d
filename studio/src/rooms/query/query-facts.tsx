// The line above the rows: how many, how long, by which index, how fresh, shown how.

import type { ReactNode } from "react";
import type { ByQuery } from "../../api/by-query";
import { formatCount, formatCounted, formatDuration } from "../../format";
import { visible } from "../../visible";
import type { ResultView } from "./query-results";
import type { Answer } from "./use-query";

interface QueryFactsProps {
  readonly answer: Answer;
  /** Those that suit the answer. */
  readonly views: readonly ResultView[];
  readonly view: ResultView;
  readonly onView: (view: ResultView) => void;
  /** Asks to delete or change what was found; `null` when that is not what the query says. */
  readonly onChange: ((method: ByQuery) => void) | null;
}

const TITLES: Readonly<Record<ResultView, string>> = {
  table: "Table",
  json: "JSON",
  plan: "Plan",
  facets: "Facets",
};

export function QueryFacts({ answer, views, view, onView, onChange }: QueryFactsProps): ReactNode {
  const { first, rows, roundTripMs } = answer;
  return (
    <div className="toolbar query-facts">
      <strong>{formatCounted(first.total, "result", "results")}</strong>
      {rows.length < first.total && <span className="is-quiet">{formatCount(rows.length)} loaded</span>}
      <span title={`${formatDuration(roundTripMs)} with the way there and back`}>
        {formatDuration(first.durationMs)}
      </span>
      {first.index !== null && (
        <span className="index-name" title={`The index that answered: ${visible(first.index)}`}>
          {visible(first.index)}
        </span>
      )}
      {first.isStale ? (
        <span className="badge is-warning" title="The index has not seen every change yet.">
          Stale
        </span>
      ) : (
        <span className="badge is-good" title="The index has seen every change.">
          Fresh
        </span>
      )}
      {onChange !== null && (
        <>
          <button type="button" className="button" onClick={() => onChange("PATCH")}>
            Change all
          </button>
          <button type="button" className="button" onClick={() => onChange("DELETE")}>
            Delete all
          </button>
        </>
      )}
      <span className="segments" role="group" aria-label="Show as">
        {views.map((name) => (
          <button key={name} type="button" aria-pressed={view === name} onClick={() => onView(name)}>
            {TITLES[name]}
          </button>
        ))}
      </span>
    </div>
  );
}
