// Deletes or changes all documents that a query found: shows which and how many, then does it.

import { useState, type ReactNode } from "react";
import { runByQuery, type ByQuery } from "../../api/by-query";
import { formatCount, formatCounted } from "../../format";
import { Dialog } from "../../parts/dialog";
import { toError } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";
import type { Answer } from "./use-query";

interface ByQueryDialogProps {
  readonly database: string;
  readonly answer: Answer;
  readonly method: ByQuery;
  readonly onClose: () => void;
  /** Called when it is closed after documents changed. */
  readonly onDone: () => void;
}

type Progress =
  | { readonly state: "asking" }
  | { readonly state: "running"; readonly processed: number }
  | { readonly state: "done"; readonly processed: number };

const IDS_SHOWN = 5;

export function ByQueryDialog(props: ByQueryDialogProps): ReactNode {
  const { database, answer, method, onClose, onDone } = props;
  const [script, setScript] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [progress, setProgress] = useState<Progress>({ state: "asking" });
  const { total } = answer.first;
  const documents = formatCounted(total, "document", "documents");
  const title = method === "DELETE" ? `Delete ${documents}?` : `Change ${documents}?`;
  const text = method === "DELETE" ? answer.text : `${answer.text}\nupdate {\n${script}\n}`;
  const run = async (): Promise<void> => {
    setProblem(null);
    setProgress({ state: "running", processed: 0 });
    try {
      const tell = (processed: number): void => setProgress({ state: "running", processed });
      setProgress({ state: "done", processed: await runByQuery(database, method, text, tell) });
    } catch (error) {
      setProblem(toError(error).message);
      setProgress({ state: "asking" });
    }
  };
  const close = progress.state === "done" ? onDone : onClose;
  const left = total - Math.min(total, IDS_SHOWN);
  return (
    <Dialog title={title} onClose={close}>
      <p>
        All that the query finds when it runs. These were found last:
      </p>
      <ul className="by-query-ids">
        {answer.rows.slice(0, IDS_SHOWN).map(({ id }, slot) => (
          <li key={slot}>
            <code>{visible(id ?? "")}</code>
          </li>
        ))}
        {left > 0 && <li className="is-quiet">and {formatCount(left)} more</li>}
      </ul>
      {method === "PATCH" && (
        <p className="index-field">
          <label htmlFor="patch-script">Script, run for each of them as this</label>
          <textarea
            id="patch-script"
            value={script}
            rows={5}
            onChange={(event) => setScript(event.target.value)}
            placeholder="this.Genre = this.Genre.toLowerCase();"
            spellCheck={false}
            autoFocus
          />
        </p>
      )}
      <pre className="by-query-text" tabIndex={0}>
        {visibleLines(text)}
      </pre>
      {problem !== null && (
        <p className="is-bad" role="alert">
          {visibleLines(problem)}
        </p>
      )}
      <p role="status">
        {progress.state === "running" && `${formatCount(progress.processed)} so far\u2026`}
        {progress.state === "done" && `${formatCounted(progress.processed, "document", "documents")} done.`}
      </p>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={close}>
          {progress.state === "asking" ? "Cancel" : "Close"}
        </button>
        {progress.state !== "done" && (
          <button
            type="button"
            className="button is-danger"
            disabled={progress.state === "running" || (method === "PATCH" && script.trim() === "")}
            onClick={() => void run()}
          >
            {method === "DELETE" ? "Delete them" : "Change them"}
          </button>
        )}
      </div>
    </Dialog>
  );
}
