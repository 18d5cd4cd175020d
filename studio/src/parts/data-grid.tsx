// A table that draws only the rows in sight, with a header that stays and a row one moves by keys.

import { useEffect, useRef, type KeyboardEvent, type ReactNode } from "react";
import { visible } from "../visible";
import { useVirtualRows } from "./use-virtual-rows";

export interface Column {
  readonly key: string;
  readonly title: string;
  /** Width in characters; that of texts may grow by half when there is room. */
  readonly width: number;
  /** Numbers stand at the end of their column. */
  readonly atEnd?: boolean;
}

interface DataGridProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly count: number;
  /** The row that is open or was moved to; `null` before one chose. */
  readonly selected: number | null;
  /** A cell's content; `undefined` while the row is not there yet. */
  readonly cell: (row: number, column: Column) => ReactNode | undefined;
  /** Called with the rows in sight, the second excluded. */
  readonly onSight?: (first: number, end: number) => void;
  readonly onSelect: (row: number) => void;
}

const ROW_HEIGHT = 28;
const HEAD_HEIGHT = 30;
/** Room at both ends of a row, in characters. */
const SIDE_PADDING = 2;
/** How much wider than asked for a column may grow. */
const GROWTH_MAX = 1.5;
/** Rows moved by Page Up and Page Down. */
const PAGE_ROWS = 15;

export function DataGrid(props: DataGridProps): ReactNode {
  const { label, columns, count, selected, cell, onSight, onSelect } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualRows(scroller, count, ROW_HEIGHT, HEAD_HEIGHT);
  const { sightFirst, sightEnd, reveal } = rows;
  useEffect(() => onSight?.(sightFirst, sightEnd), [onSight, sightFirst, sightEnd]);

  const move = (event: KeyboardEvent): void => {
    const target = targetOf(event.key, selected, count);
    if (target !== null) {
      event.preventDefault();
      reveal(target);
      onSelect(target);
    }
  };
  const template = { gridTemplateColumns: columns.map(trackOf).join(" ") };
  const least = columns.reduce((sum, column) => sum + column.width, SIDE_PADDING);
  const width = { width: `max(100%, ${least}ch)` };
  const drawn = Array.from({ length: Math.max(0, rows.end - rows.first) }, (_, at) => rows.first + at);
  return (
    <div
      ref={scroller}
      className="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={count}
      tabIndex={0}
      onKeyDown={move}
    >
      <div className="grid-head" role="row" style={{ ...template, ...width }}>
        {columns.map((column) => (
          <div
            key={column.key}
            role="columnheader"
            className={column.atEnd ? "at-end" : undefined}
            title={visible(column.title)}
          >
            {visible(column.title)}
          </div>
        ))}
      </div>
      <div className="grid-body" style={{ height: rows.bodyHeight }}>
        <div
          className="grid-rows"
          style={{ transform: `translateY(${rows.offset}px)`, ...width }}
        >
          {drawn.map((row) => (
            <div
              key={row}
              role="row"
              className="grid-row"
              aria-rowindex={row + 1}
              aria-selected={row === selected}
              style={template}
              onClick={() => onSelect(row)}
            >
              {columns.map((column) => (
                <Cell key={column.key} atEnd={column.atEnd ?? false} content={cell(row, column)} />
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function trackOf({ width, atEnd }: Column): string {
  return atEnd === true ? `${width}ch` : `minmax(${width}ch, ${width * GROWTH_MAX}ch)`;
}

interface CellProps {
  readonly atEnd: boolean;
  readonly content: ReactNode | undefined;
}

function Cell({ atEnd, content }: CellProps): ReactNode {
  return (
    <div role="gridcell" className={atEnd ? "at-end" : undefined}>
      {content === undefined ? <span className="grid-pending" /> : content}
    </div>
  );
}

/** The row a key leads to; `null` for other keys and empty tables. */
function targetOf(key: string, selected: number | null, count: number): number | null {
  if (count === 0) {
    return null;
  }
  const from = selected ?? -1;
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: from + 1,
    ArrowUp: from - 1,
    PageDown: from + PAGE_ROWS,
    PageUp: from - PAGE_ROWS,
    Home: 0,
    End: count - 1,
  };
  const target = steps[key];
  return target === undefined ? null : Math.min(count - 1, Math.max(0, target));
}
