// Ends the token of an API key; shown to those who came with one.

import { useSyncExternalStore, type ReactNode } from "react";
import { currentToken, onToken } from "../api/client";
import { leave } from "../api/session";

export function LeaveButton(): ReactNode {
  const token = useSyncExternalStore(onToken, currentToken);
  return token === null ? null : (
    <button type="button" className="button" onClick={() => void leave().catch(() => undefined)}>
      Sign out
    </button>
  );
}
