// A database: its collections at the left, documents in the middle, one of them at the right.

import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { readCollections } from "../../api/databases";
import { useLive } from "../../live/live-provider";
import { Notice } from "../../parts/notice";
import { navigate, type Route } from "../../route";
import { useLoaded, valueOf } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";
import { CollectionList } from "./collection-list";
import { DocumentList } from "./document-list";
import { copyOf, DocumentEditor, draftOf, emptyDraft, type Draft } from "./document-editor";
import { DocumentPanel } from "./document-panel";

type DocumentsRoute = Extract<Route, { room: "documents" }>;

/** Counts are read again at most so often while documents change. */
const RECOUNT_MS = 2000;

export function DocumentsRoom({ route }: { readonly route: DocumentsRoute }): ReactNode {
  const { database, collection, id } = route;
  const load = useCallback((signal: AbortSignal) => readCollections(database, signal), [database]);
  const [loaded, again] = useLoaded(load);
  const collections = valueOf(loaded);
  useRecount(database, collections?.documents ?? null, again);
  const [draft, setDraft] = useState<Draft | null>(null);
  const [round, setRound] = useState(0);
  const stopWriting = useCallback(() => setDraft(null), []);
  const show = (opened: string | null): void => {
    setDraft(null);
    setRound((now) => now + 1);
    again();
    navigate({ room: "documents", database, collection, id: opened }, opened === null);
  };
  const open = useCallback(
    (opened: string | null, replace: boolean) =>
      navigate({ room: "documents", database, collection, id: opened }, replace),
    [database, collection],
  );

  if (loaded.state === "failed") {
    return (
      <Notice title={`${visible(database)} cannot be shown`} tone="bad">
        <p>{visibleLines(loaded.error.message)}</p>
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
      </Notice>
    );
  }
  if (collections === null) {
    return <p className="waiting">Counting documents{"\u2026"}</p>;
  }
  const count =
    collection === null
      ? collections.documents
      : (collections.collections.find(({ name }) => name === collection)?.count ?? 0);
  return (
    <div className={id === null && draft === null ? "documents" : "documents has-panel"}>
      <CollectionList database={database} collections={collections} selected={collection} />
      <DocumentList
        key={`${round} ${collection ?? ""}`}
        database={database}
        collection={collection}
        onNew={draft === null ? () => setDraft(emptyDraft(collection)) : null}
        count={count}
        openId={id}
        onOpen={open}
      />
      {draft !== null && (
        <DocumentEditor database={database} draft={draft} onClose={stopWriting} onSaved={show} />
      )}
      {draft === null && id !== null && (
        <DocumentPanel
          key={`${round} ${id}`}
          database={database}
          id={id}
          onClose={() => open(null, false)}
          onEdit={(row) => setDraft(draftOf(row))}
          onClone={(row) => setDraft(copyOf(row))}
          onDeleted={() => show(null)}
        />
      )}
    </div>
  );
}

/** Counts again when the live numbers tell of another count. */
function useRecount(database: string, known: number | null, again: () => void): void {
  const { numbers } = useLive();
  const last = useRef(0);
  const live = numbers?.databases.find(({ name, isOpen }) => isOpen && name === database);
  const differs = live !== undefined && known !== null && live.documents !== known;
  useEffect(() => {
    if (differs && Date.now() - last.current >= RECOUNT_MS) {
      last.current = Date.now();
      again();
    }
  }, [differs, numbers, again]);
}
