// The rows of a query as a table or as JSON, and how they were found.

import { useCallback, useMemo, useState, type ReactNode } from "react";
import { member } from "../../json/read";
import { CellText } from "../../parts/cell-text";
import { guessColumns } from "../../parts/columns";
import { DataGrid, type Column } from "../../parts/data-grid";
import { Notice } from "../../parts/notice";
import { href } from "../../route";
import { QueryFacts } from "./query-facts";
import { RowPanel } from "./row-panel";
import { RowsAsJson } from "./rows-as-json";
import type { Answer } from "./use-query";

interface QueryResultsProps {
  readonly database: string;
  readonly answer: Answer;
  readonly onMore: () => void;
}

export type ResultView = "table" | "json";

const FIELD_COLUMNS = 10;
const ID: Column = { key: "@id", title: "Id", width: 26 };
/** Rows from the end at which further ones are asked for. */
const MORE_AHEAD = 100;

export function QueryResults({ database, answer, onMore }: QueryResultsProps): ReactNode {
  const [view, setView] = useState<ResultView>("table");
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
          {row.id}
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
  const row = selected === null ? undefined : rows[selected];
  return (
    <div className="results">
      <QueryFacts answer={answer} view={view} onView={setView} />
      {rows.length === 0 && (
        <Notice title="Nothing matches">
          <p>The query ran and found no documents. Loosen its conditions, or check how names are spelled.</p>
        </Notice>
      )}
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
