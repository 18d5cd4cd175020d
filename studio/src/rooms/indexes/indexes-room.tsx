// The indexes of a database: a list that is read again while one looks, and one of them beside it.

import { useCallback, useEffect, useState, type ReactNode } from "react";
import { readIndexes, type IndexEntry } from "../../api/indexes";
import { formatCounted } from "../../format";
import { Icon } from "../../parts/icon";
import { Notice } from "../../parts/notice";
import { navigate } from "../../route";
import { useLoaded, valueOf, type Loaded } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";
import { IndexEditor } from "./index-editor";
import { IndexPanel } from "./index-panel";
import { IndexTable } from "./index-table";

interface IndexesRoomProps {
  readonly database: string;
  /** Name of the index that is open. */
  readonly open: string | null;
}

/** What is written: a new index, or a static one that is there. */
type Writing = { readonly of: IndexEntry | null } | null;

const READ_AGAIN_MS = 2000;

export function IndexesRoom({ database, open }: IndexesRoomProps): ReactNode {
  const load = useCallback((signal: AbortSignal) => readIndexes(database, signal), [database]);
  const [loaded, again] = useLoaded(load);
  const indexes = valueOf(loaded);
  const [writing, setWriting] = useState<Writing>(null);
  useEffect(() => {
    if (loaded.state !== "ready") {
      return undefined;
    }
    const timer = setTimeout(again, READ_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [loaded, again]);
  const show = useCallback(
    (index: string | null) => navigate({ room: "indexes", database, index }),
    [database],
  );

  const stopWriting = useCallback(() => setWriting(null), []);

  const opened = indexes?.find(({ name }) => name === open) ?? null;
  let beside: ReactNode = null;
  if (writing !== null) {
    // Shown whatever becomes of the list: a server that restarts costs nobody a text.
    beside = (
      <IndexEditor
        key={writing.of?.name ?? ""}
        database={database}
        of={writing.of}
        onClose={stopWriting}
        onSaved={(name) => {
          setWriting(null);
          again();
          show(name);
        }}
      />
    );
  } else if (open !== null && indexes !== null) {
    beside = (
      <IndexPanel
        key={open}
        database={database}
        name={open}
        index={opened}
        onChanged={again}
        onEdit={() => setWriting({ of: opened })}
        onClose={() => show(null)}
      />
    );
  }
  return (
    <div className={beside === null ? "indexes" : "indexes has-panel"}>
      <section className="index-list">
        <div className="toolbar">
          <h2>{indexes === null ? "Indexes" : formatCounted(indexes.length, "index", "indexes")}</h2>
          {indexes !== null && <Freshness indexes={indexes} />}
          <button
            type="button"
            className="button is-strong"
            disabled={writing !== null}
            onClick={() => setWriting({ of: null })}
          >
            <Icon name="plus" />
            New index
          </button>
        </div>
        {indexes !== null && indexes.length > 0 ? (
          <IndexTable indexes={indexes} open={open} onOpen={show} />
        ) : (
          <NoTable database={database} loaded={loaded} again={again} />
        )}
      </section>
      {beside}
    </div>
  );
}

interface NoTableProps {
  readonly database: string;
  readonly loaded: Loaded<IndexEntry[]>;
  readonly again: () => void;
}

function NoTable({ database, loaded, again }: NoTableProps): ReactNode {
  if (loaded.state === "failed") {
    return (
      <Notice title={`The indexes of ${visible(database)} cannot be shown`} tone="bad">
        <p>{visibleLines(loaded.error.message)}</p>
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
      </Notice>
    );
  }
  if (valueOf(loaded) === null) {
    return <p className="waiting">Asking for the indexes{"\u2026"}</p>;
  }
  return (
    <Notice title="There is no index yet">
      <p>
        A query makes the index it needs. Write one yourself to compute fields, to search texts, or to
        group documents.
      </p>
    </Notice>
  );
}

function Freshness({ indexes }: { readonly indexes: readonly IndexEntry[] }): ReactNode {
  const behind = indexes.filter(({ isStale }) => isStale).length;
  const ill = indexes.filter(({ mistakes, state }) => mistakes.length > 0 || state === "Error").length;
  if (ill > 0) {
    return <span className="badge is-warning">{formatCounted(ill, "has errors", "have errors")}</span>;
  }
  if (indexes.length === 0) {
    return null;
  }
  return behind === 0 ? (
    <span className="badge is-good">All fresh</span>
  ) : (
    <span className="badge is-warning">{formatCounted(behind, "behind", "behind")}</span>
  );
}
