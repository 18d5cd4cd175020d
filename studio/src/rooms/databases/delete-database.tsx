// Deletes a database for good, when its name was typed.

import { useState, type FormEvent, type ReactNode } from "react";
import { deleteDatabase } from "../../api/databases";
import { formatCounted } from "../../format";
import { Dialog } from "../../parts/dialog";
import { toError } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";

interface DeleteDatabaseProps {
  readonly name: string;
  /** `null` when nobody has opened it. */
  readonly documents: number | null;
  readonly onClose: () => void;
}

export function DeleteDatabase({ name, documents, onClose }: DeleteDatabaseProps): ReactNode {
  const [typed, setTyped] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const remove = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (typed !== name || busy) {
      return;
    }
    setBusy(true);
    try {
      await deleteDatabase(name);
      onClose();
    } catch (error) {
      setProblem(toError(error).message);
      setBusy(false);
    }
  };
  const what =
    documents === null ? "Its documents" : formatCounted(documents, "document", "documents");
  return (
    <Dialog title={`Delete the database ${visible(name)}?`} onClose={onClose}>
      <p>
        {what}, with indexes, attachments and revisions, are removed from the disk. Only a backup
        brings them back.
      </p>
      <form className="dialog-form" onSubmit={(event) => void remove(event)}>
        <label htmlFor="typed-name">Type the name to confirm</label>
        <input
          id="typed-name"
          className="field"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          autoComplete="off"
          spellCheck={false}
          autoFocus
        />
        {problem !== null && (
          <p className="is-bad" role="alert">
            {visibleLines(problem)}
          </p>
        )}
        <div className="dialog-actions">
          <button type="button" className="button" onClick={onClose}>
            Keep
          </button>
          <button type="submit" className="button is-danger" disabled={busy || typed !== name}>
            Delete for good
          </button>
        </div>
      </form>
    </Dialog>
  );
}
