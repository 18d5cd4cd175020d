// Something asked from the server, and asked again when its key changes.

import { useCallback, useEffect, useState } from "react";
import { isAbort } from "./api/client";

export type Loaded<T> =
  | { readonly state: "loading"; readonly before: T | null }
  | { readonly state: "ready"; readonly value: T }
  | { readonly state: "failed"; readonly error: Error };

/** `load` must be kept by `useCallback`: a new one means a new question. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>): [Loaded<T>, () => void] {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading", before: null });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const asking = new AbortController();
    setLoaded((now) => ({ state: "loading", before: now.state === "ready" ? now.value : null }));
    load(asking.signal).then(
      (value) => setLoaded({ state: "ready", value }),
      (error: unknown) => {
        if (!isAbort(error)) {
          setLoaded({ state: "failed", error: toError(error) });
        }
      },
    );
    return () => asking.abort();
  }, [load, round]);
  const again = useCallback(() => setRound((now) => now + 1), []);
  return [loaded, again];
}

/** The value, or the one before while it is asked again. */
export function valueOf<T>(loaded: Loaded<T>): T | null {
  switch (loaded.state) {
    case "ready":
      return loaded.value;
    case "loading":
      return loaded.before;
    case "failed":
      return null;
  }
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
