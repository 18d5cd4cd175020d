// The documents of a collection, newest change first, in a list of any length.

import {
  useCallback,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { readPage } from "../../api/documents";
import { formatAgo, formatCounted, formatMoment } from "../../format";
import { member } from "../../json/read";
import { CellText } from "../../parts/cell-text";
import { guessColumns } from "../../parts/columns";
import { DataGrid, type Column } from "../../parts/data-grid";
import { Icon } from "../../parts/icon";
import { Notice } from "../../parts/notice";
import { encoded, href } from "../../route";
import { nameInRql } from "../../rql/examples";
import { visible, visibleLines } from "../../visible";
import { JumpToId } from "./jump-to-id";
import { PageStore } from "./page-store";

interface DocumentListProps {
  readonly database: string;
  readonly collection: string | null;
  /** How many there are now, by the server's count. */
  readonly count: number;
  readonly openId: string | null;
  readonly onOpen: (id: string, replace: boolean) => void;
  /** `null` while a document is written. */
  readonly onNew: (() => void) | null;
}

/** Columns between the id and the time. */
const FIELD_COLUMNS = 6;
const ID: Column = { key: "@id", title: "Id", width: 26 };
const COLLECTION: Column = { key: "@collection", title: "Collection", width: 14 };
const CHANGED: Column = { key: "@last-modified", title: "Changed", width: 14, atEnd: true };

export function DocumentList(props: DocumentListProps): ReactNode {
  const { database, collection, count, openId, onOpen, onNew } = props;
  const [round, setRound] = useState(0);
  const [listedCount, setListedCount] = useState(count);
  const store = useMemo(
    () => listOf(database, collection),
    // A new round is a new list of the same documents.
    [database, collection, round],
  );
  const version = useSyncExternalStore(store.subscribe, store.snapshot);
  const columns = useMemo(
    () => [
      ID,
      ...(collection === null ? [COLLECTION] : []),
      ...guessColumns(store.head ?? [], FIELD_COLUMNS),
      CHANGED,
    ],
    [store, collection, version > 0],
  );
  const [chosen, setChosen] = useState<number | null>(null);
  const selected = chosen ?? (openId === null ? null : store.positionOf(openId));
  useEffect(() => store.want(0, 1), [store]);

  const refresh = (): void => {
    setListedCount(count);
    setChosen(null);
    setRound((now) => now + 1);
  };
  const select = (position: number): void => {
    setChosen(position);
    const id = store.row(position)?.id;
    if (id !== undefined && id !== null) {
      onOpen(id, openId !== null);
    }
  };
  const cell = useCallback(
    (position: number, column: Column): ReactNode | undefined => cellOf(store, position, column),
    [store, version],
  );
  const title = collection === null ? "All documents" : visible(collection);
  return (
    <section className="document-list" aria-label={title}>
      <div className="toolbar">
        <h2 title={title}>{title}</h2>
        <span className="is-quiet">{formatCounted(count, "document", "documents")}</span>
        {count !== listedCount && <span className="is-warning">changed since listed</span>}
        <button type="button" className="icon-button" onClick={refresh} title="List again" aria-label="List again">
          <Icon name="refresh" />
        </button>
        <button
          type="button"
          className="button"
          disabled={onNew === null}
          onClick={() => onNew?.()}
        >
          <Icon name="plus" />
          New
        </button>
        <JumpToId onJump={(id) => onOpen(id, false)} />
        {collection !== null && (
          <a className="button" href={href({ room: "query", database, text: `from ${nameInRql(collection)}` })}>
            Query
          </a>
        )}
      </div>
      {store.problem !== null && (
        <Notice title="Documents cannot be listed" tone="bad">
          <p>{visibleLines(store.problem.message)}</p>
        </Notice>
      )}
      {count === 0 ? (
        <NoDocuments database={database} collection={collection} />
      ) : (
        <DataGrid
          label="Documents"
          columns={columns}
          count={listedCount === 0 ? count : listedCount}
          selected={selected}
          cell={cell}
          onSight={store.want}
          onSelect={select}
        />
      )}
    </section>
  );
}

/** The first page says which columns there are; further ones bring no more than these. */
function listOf(database: string, collection: string | null): PageStore {
  const store: PageStore = new PageStore((start, count, signal) => {
    const fields = guessColumns(store.head ?? [], FIELD_COLUMNS).map(({ key }) => key);
    return readPage(database, collection, { start, count, fields }, signal);
  });
  return store;
}

function cellOf(store: PageStore, position: number, column: Column): ReactNode | undefined {
  const row = store.row(position);
  if (row === undefined) {
    return undefined;
  }
  switch (column.key) {
    case ID.key:
      return <span className="cell is-id">{visible(row.id ?? "")}</span>;
    case COLLECTION.key:
      return <span className="cell is-quiet">{visible(row.collection ?? "")}</span>;
    case CHANGED.key:
      return row.lastModified === null ? null : (
        <span className="cell is-quiet" title={formatMoment(row.lastModified)}>
          {formatAgo(row.lastModified, Date.now())}
        </span>
      );
    default:
      return (
        <CellText
          text={row.text}
          node={member(row.node, column.key)}
          isCut={row.cut.includes(column.key)}
        />
      );
  }
}

function NoDocuments({ database, collection }: { database: string; collection: string | null }): ReactNode {
  if (collection !== null) {
    return (
      <Notice title={`${visible(collection)} is empty`}>
        <p>Its documents were deleted, or it was never there. Choose another collection at the left.</p>
      </Notice>
    );
  }
  const body = `{"Name":"Silver","@metadata":{"@collection":"Albums"}}`;
  return (
    <Notice title={`${visible(database)} is empty`}>
      <p>Store a document with any client, or with this line:</p>
      <pre>{`curl -X PUT '${window.location.origin}/databases/${encoded(database)}/docs?id=albums/1' \\\n  -d '${body}'`}</pre>
    </Notice>
  );
}

