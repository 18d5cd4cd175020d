// The rows of a query as a table or as JSON, plans as trees and facets as bars, and how they were
// found.

import { useCallback, useMemo, useState, type ReactNode } from "react";
import type { ByQuery } from "../../api/by-query";
import { facetsOf, planOf } from "../../api/plans";
import { member } from "../../json/read";
import { CellText } from "../../parts/cell-text";
import { guessColumns } from "../../parts/columns";
import { DataGrid, type Column } from "../../parts/data-grid";
import { Notice } from "../../parts/notice";
import { href } from "../../route";
import { isPlainQuery } from "../../rql/tokens";
import { visible } from "../../visible";
import { ByQueryDialog } from "./by-query-dialog";
import { FacetBars } from "./facet-bars";
import { PlanTree } from "./plan-tree";
import { QueryFacts } from "./query-facts";
import { RowPanel } from "./row-panel";
import { RowsAsJson } from "./rows-as-json";
import type { Answer } from "./use-query";

interface QueryResultsProps {
  readonly database: string;
  readonly answer: Answer;
  readonly onMore: () => void;
  /** Runs the query again. */
  readonly onAgain: () => void;
}

export type ResultView = "table" | "json" | "plan" | "facets";

const FIELD_COLUMNS = 10;
const ID: Column = { key: "@id", title: "Id", width: 26 };
/** Rows from the end at which further ones are asked for. */
const MORE_AHEAD = 100;

export function QueryResults({ database, answer, onMore, onAgain }: QueryResultsProps): ReactNode {
  const [chosen, setChosen] = useState<ResultView | null>(null);
  const [selected, setSelected] = useState<number | null>(null);
  const { rows, first } = answer;
  const columns = useMemo(() => {
    const withId = first.rows.some((row) => row.id !== null);
    return [...(withId ? [ID] : []), ...guessColumns(first.rows, FIELD_COLUMNS)];
  }, [first]);
  const cell = useCallback(
    (position: number, column: Column): ReactNode | undefined => {
      const row = rows[position];
      if (row === undefined) {
        return undefined;
      }
      if (column.key !== ID.key) {
        return <CellText text={row.text} node={member(row.node, column.key)} />;
      }
      return row.id === null ? null : (
        <a
          className="cell is-id"
          href={href({ room: "documents", database, collection: row.collection, id: row.id })}
        >
          {visible(row.id)}
        </a>
      );
    },
    [rows, database],
  );
  const onSight = useCallback(
    (_first: number, end: number) => {
      if (end > rows.length - MORE_AHEAD) {
        onMore();
      }
    },
    [rows, onMore],
  );
  const [changing, setChanging] = useState<ByQuery | null>(null);
  const isChangeable = first.total > 0 && rows[0]?.id != null && isPlainQuery(answer.text);
  const plan = useMemo(() => planOf(first.rows), [first]);
  const facets = useMemo(() => facetsOf(first.rows), [first]);
  const views: ResultView[] = [
    ...(plan === null ? [] : (["plan"] as const)),
    ...(facets === null ? [] : (["facets"] as const)),
    "table",
    "json",
  ];
  const view = chosen !== null && views.includes(chosen) ? chosen : (views[0] ?? "table");
  const row = selected === null ? undefined : rows[selected];
  return (
    <div className="results">
      <QueryFacts
        answer={answer}
        views={views}
        view={view}
        onView={setChosen}
        onChange={isChangeable ? setChanging : null}
      />
      {changing !== null && (
        <ByQueryDialog
          database={database}
          answer={answer}
          method={changing}
          onClose={() => setChanging(null)}
          onDone={onAgain}
        />
      )}
      {rows.length === 0 && (
        <Notice title="Nothing matches">
          <p>The query ran and found no documents. Loosen its conditions, or check how names are spelled.</p>
        </Notice>
      )}
      {view === "plan" && plan !== null && <PlanTree plan={plan} />}
      {view === "facets" && facets !== null && <FacetBars facets={facets} />}
      {rows.length > 0 && view === "json" && <RowsAsJson rows={rows} />}
      {rows.length > 0 && view === "table" && (
        <div className={row === undefined ? "results-table" : "results-table has-panel"}>
          <DataGrid
            label="Results"
            columns={columns}
            count={rows.length}
            selected={selected}
            cell={cell}
            onSight={onSight}
            onSelect={setSelected}
          />
          {row !== undefined && <RowPanel key={selected} row={row} onClose={() => setSelected(null)} />}
        </div>
      )}
    </div>
  );
}
