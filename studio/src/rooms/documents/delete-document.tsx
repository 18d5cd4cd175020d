// Asks before a document is deleted. One that changed meanwhile is left alone.

import { useState, type ReactNode } from "react";
import { ApiError } from "../../api/client";
import { deleteDocument, type Row } from "../../api/documents";
import { Dialog } from "../../parts/dialog";
import { toError } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";

interface DeleteDocumentProps {
  readonly database: string;
  readonly row: Row;
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

const CHANGED = "It was changed meanwhile, and is still there. Read it again before you delete it.";

export function DeleteDocument({ database, row, onDeleted, onClose }: DeleteDocumentProps): ReactNode {
  const [problem, setProblem] = useState<string | null>(null);
  const remove = async (): Promise<void> => {
    try {
      await deleteDocument(database, row.id ?? "", row.changeVector);
      onDeleted();
    } catch (error) {
      const isChanged = error instanceof ApiError && error.status === 409;
      setProblem(isChanged ? CHANGED : toError(error).message);
    }
  };
  return (
    <Dialog title="Delete this document?" onClose={onClose}>
      <p>
        <code>{visible(row.id ?? "")}</code>, with its attachments, counters and time series.
      </p>
      {problem !== null && (
        <p className="is-bad" role="alert">
          {visibleLines(problem)}
        </p>
      )}
      <div className="dialog-actions">
        <button type="button" className="button is-strong" autoFocus onClick={onClose}>
          Keep
        </button>
        <button type="button" className="button is-danger" onClick={() => void remove()}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}
