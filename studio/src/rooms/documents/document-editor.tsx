// Writes a document: a new one, a copy, or a change of one that is there.
//
// A change names the change vector that it was made from. When somebody else was faster, both
// texts are shown next to each other, and nothing is stored until one chooses.

import { lazy, Suspense, useCallback, useState, type ReactNode } from "react";
import { ApiError } from "../../api/client";
import { putDocument, readDocument, type Row } from "../../api/documents";
import { prettyJson } from "../../json/pretty";
import { parseJson } from "../../json/parse";
import { Icon } from "../../parts/icon";
import { useUnsaved } from "../../parts/unsaved";
import { UnsavedQuestion } from "../../parts/unsaved-question";
import { toError } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";
import { DocumentConflict } from "./document-conflict";
import { isOwn } from "./own-metadata";

/** Larger than the rest of Studio, and needed later than it. */
const CodeEditor = lazy(() => import("../../parts/code-editor"));

export interface Draft {
  /** `null` when the id is still to be written. */
  readonly id: string | null;
  readonly text: string;
  /** The state that it was made from; `null` for what must not be there yet. */
  readonly changeVector: string | null;
}

interface DocumentEditorProps {
  readonly database: string;
  readonly draft: Draft;
  readonly onClose: () => void;
  readonly onSaved: (id: string) => void;
}

interface Conflict {
  /** `null` when it was deleted. */
  readonly theirs: Row | null;
}

export function DocumentEditor(props: DocumentEditorProps): ReactNode {
  const { database, draft, onClose, onSaved } = props;
  const [id, setId] = useState(draft.id ?? "");
  const [text, setText] = useState(draft.text);
  const [base, setBase] = useState(draft.changeVector);
  const [problem, setProblem] = useState<string | null>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [busy, setBusy] = useState(false);
  const isChanged = text !== draft.text || id !== (draft.id ?? "");
  const unsaved = useUnsaved(isChanged, onClose);
  const close = (): void => unsaved.guard(onClose);

  const store = async (expected: string | null): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      parseJson(text);
      const stored = await putDocument(database, id.trim(), text, expected);
      unsaved.release();
      onSaved(stored);
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) {
        const theirs = await readDocument(database, id.trim(), new AbortController().signal);
        setConflict({ theirs });
      } else {
        setProblem(toError(error).message.replace("of the answer", "of the text"));
      }
    }
    setBusy(false);
  };
  const save = useCallback(() => void store(base), [text, id, base]);
  const title = draft.id === null ? "New document" : visible(draft.id);
  return (
    <aside className="document" aria-label="Document editor">
      <UnsavedQuestion unsaved={unsaved} />
      {conflict !== null && (
        <DocumentConflict
          mine={text}
          theirs={conflict.theirs}
          onKeepMine={() => {
            const vector = conflict.theirs?.changeVector ?? null;
            setBase(vector);
            setConflict(null);
            void store(vector);
          }}
          onTakeTheirs={() => {
            unsaved.release();
            setConflict(null);
            onSaved(id.trim());
          }}
          onClose={() => setConflict(null)}
        />
      )}
      <div className="document-head">
        <h2 title={title}>{title}</h2>
        <button
          type="button"
          className="button is-strong"
          disabled={busy || !isChanged}
          title="Save (Ctrl S)"
          onClick={save}
        >
          Save
        </button>
        <button type="button" className="icon-button" onClick={close} title="Close" aria-label="Close">
          <Icon name="close" />
        </button>
      </div>
      <div className="document-facts">
        {draft.id === null && (
          <p className="index-field">
            <label htmlFor="document-id">Id</label>
            <input
              id="document-id"
              className="field"
              value={id}
              onChange={(event) => setId(event.target.value)}
              placeholder="albums/1; albums/ numbers it"
              spellCheck={false}
            />
          </p>
        )}
        {problem !== null && (
          <p className="is-bad message" role="alert">
            {visibleLines(problem)}
          </p>
        )}
      </div>
      <Suspense fallback={<p className="waiting">Loading the editor{"\u2026"}</p>}>
        <CodeEditor label="Document as JSON" text={draft.text} onText={setText} onSave={save} />
      </Suspense>
    </aside>
  );
}

/** What is edited: the document without what the server writes itself. */
export function draftOf(row: Row): Draft {
  return { id: row.id, text: prettyJson(row.node, isOwn), changeVector: row.changeVector };
}

/** A copy has no id yet. */
export function copyOf(row: Row): Draft {
  return { ...draftOf(row), id: null, changeVector: null };
}

export function emptyDraft(collection: string | null): Draft {
  const metadata = collection === null ? "{}" : `{ "@collection": ${JSON.stringify(collection)} }`;
  return { id: null, text: `{\n  "@metadata": ${metadata}\n}\n`, changeVector: null };
}
