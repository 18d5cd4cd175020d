// The question before a typed text is lost.

import type { ReactNode } from "react";
import { Dialog } from "./dialog";
import type { UnsavedGuard } from "./unsaved";

export function UnsavedQuestion({ unsaved }: { readonly unsaved: UnsavedGuard }): ReactNode {
  if (!unsaved.isAsking) {
    return null;
  }
  return (
    <Dialog title="Discard what you have written?" onClose={unsaved.stay}>
      <p>It was not saved, and cannot be brought back.</p>
      <div className="dialog-actions">
        <button type="button" className="button is-danger" onClick={unsaved.discard}>
          Discard
        </button>
        <button type="button" className="button is-strong" autoFocus onClick={unsaved.stay}>
          Keep writing
        </button>
      </div>
    </Dialog>
  );
}
