// One document: what it is called, when it changed, and its JSON as the server sent it.

import { useCallback, useEffect, useState, type ReactNode } from "react";
import { readDocument, type Row } from "../../api/documents";
import { formatBytes, formatMoment } from "../../format";
import { member } from "../../json/read";
import { CopyButton } from "../../parts/copy-button";
import { Icon } from "../../parts/icon";
import { JsonView } from "../../parts/json-view";
import { Notice } from "../../parts/notice";
import { useLoaded, valueOf } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";
import { DeleteDocument } from "./delete-document";

interface DocumentPanelProps {
  readonly database: string;
  readonly id: string;
  readonly onClose: () => void;
  readonly onEdit: (row: Row) => void;
  readonly onClone: (row: Row) => void;
  readonly onDeleted: () => void;
}

export function DocumentPanel(props: DocumentPanelProps): ReactNode {
  const { database, id, onClose, onEdit, onClone, onDeleted } = props;
  const [deleting, setDeleting] = useState(false);
  const load = useCallback(
    (signal: AbortSignal) => readDocument(database, id, signal),
    [database, id],
  );
  const [loaded, again] = useLoaded(load);
  const row = valueOf(loaded);
  useEscape(onClose);
  return (
    <aside className="document" aria-label={`Document ${visible(id)}`}>
      <div className="document-head">
        <h2 title={visible(id)}>{visible(id)}</h2>
        {row !== null && (
          <>
            <button type="button" className="button" onClick={() => onEdit(row)}>
              Edit
            </button>
            <button type="button" className="button" onClick={() => onClone(row)}>
              Clone
            </button>
            <button type="button" className="button" onClick={() => setDeleting(true)}>
              Delete
            </button>
          </>
        )}
        {row !== null && <CopyButton label="Copy JSON" text={() => sourceOf(row)} />}
        <button type="button" className="icon-button" onClick={again} title="Read again" aria-label="Read again">
          <Icon name="refresh" />
        </button>
        <button type="button" className="icon-button" onClick={onClose} title="Close (Esc)" aria-label="Close">
          <Icon name="close" />
        </button>
      </div>
      {deleting && row !== null && (
        <DeleteDocument
          database={database}
          row={row}
          onDeleted={onDeleted}
          onClose={() => setDeleting(false)}
        />
      )}
      {loaded.state === "failed" && (
        <Notice title="The document cannot be read" tone="bad">
          <p>{visibleLines(loaded.error.message)}</p>
        </Notice>
      )}
      {loaded.state === "ready" && loaded.value === null && (
        <Notice title="There is no such document">
          <p>It was deleted, or the id is spelled differently. Ids are compared without regard to case.</p>
        </Notice>
      )}
      {row !== null && <DocumentBody row={row} />}
    </aside>
  );
}

function DocumentBody({ row }: { readonly row: Row }): ReactNode {
  const source = sourceOf(row);
  const metadata = member(row.node, "@metadata");
  return (
    <>
      <dl className="document-facts">
        <Fact title="Collection" text={row.collection ?? "none"} />
        <Fact title="Changed" text={row.lastModified === null ? "" : formatMoment(row.lastModified)} />
        <Fact title="Change vector" text={row.changeVector ?? ""} />
        <Fact title="JSON" text={formatBytes(new TextEncoder().encode(source).length)} />
      </dl>
      <div className="document-json" tabIndex={0}>
        <JsonView
          key={row.changeVector}
          root={row.node}
          foldedAtFirst={metadata === undefined ? [] : [metadata.start]}
        />
      </div>
    </>
  );
}

/** The document as the server wrote it. */
function sourceOf(row: Row): string {
  return row.text.source.slice(row.node.start, row.node.end);
}

function Fact({ title, text }: { readonly title: string; readonly text: string }): ReactNode {
  return (
    <div className="fact">
      <dt>{title}</dt>
      <dd title={visible(text)}>{visible(text)}</dd>
    </div>
  );
}

function useEscape(onEscape: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") {
        onEscape();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [onEscape]);
}
