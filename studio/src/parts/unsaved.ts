// Asks before a text that was typed is lost: by a link, the browser's back, a reload, a button.
//
// One text at a time is guarded.

import { useEffect, useState } from "react";
import { setGuard } from "../route";

export interface UnsavedGuard {
  /** Does it, or asks first when there is something to lose. */
  readonly guard: (leave: () => void) => void;
  /** Asks no more: it was saved. */
  readonly release: () => void;
  /** Whether the question is open. */
  readonly isAsking: boolean;
  readonly discard: () => void;
  readonly stay: () => void;
}

/** `onDiscard` forgets the text when one leaves by an address. */
export function useUnsaved(isUnsaved: boolean, onDiscard: () => void): UnsavedGuard {
  const [leaving, setLeaving] = useState<{ readonly leave: () => void } | null>(null);
  useEffect(() => {
    if (!isUnsaved) {
      return undefined;
    }
    const onUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
    setGuard((there) =>
      setLeaving({
        leave: () => {
          setGuard(null);
          onDiscard();
          window.location.hash = there;
        },
      }),
    );
    window.addEventListener("beforeunload", onUnload);
    return () => {
      setGuard(null);
      window.removeEventListener("beforeunload", onUnload);
    };
  }, [isUnsaved, onDiscard]);
  return {
    guard: (leave) => (isUnsaved ? setLeaving({ leave }) : leave()),
    release: () => setGuard(null),
    isAsking: leaving !== null,
    discard: () => {
      setLeaving(null);
      leaving?.leave();
    },
    stay: () => setLeaving(null),
  };
}
