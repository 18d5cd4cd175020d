// One query at a time: its answer so far, and further rows when one scrolls to their end.

import { useCallback, useRef, useState } from "react";
import { isAbort } from "../../api/client";
import type { Row } from "../../api/documents";
import { runQuery, type QueryAnswer } from "../../api/queries";
import { toError } from "../../use-loaded";

export interface Answer {
  /** The text that was run; the editor may hold another one by now. */
  readonly text: string;
  readonly rows: readonly Row[];
  readonly first: QueryAnswer;
  /** From the click to the rows, in milliseconds. */
  readonly roundTripMs: number;
  /** No more rows are to be had. */
  readonly isWhole: boolean;
}

export type QueryState =
  | { readonly state: "idle" }
  | { readonly state: "running"; readonly text: string }
  | { readonly state: "failed"; readonly text: string; readonly error: Error }
  | { readonly state: "done"; readonly answer: Answer };

export interface QueryRunner {
  readonly now: QueryState;
  readonly run: (text: string, waitForFresh: boolean) => Promise<Answer | null>;
  readonly more: () => void;
}

const ROWS_AT_ONCE = 200;

export function useQuery(database: string): QueryRunner {
  const [now, setNow] = useState<QueryState>({ state: "idle" });
  const asking = useRef(new AbortController());
  const loadingMore = useRef(false);

  const run = useCallback(
    async (text: string, waitForFresh: boolean): Promise<Answer | null> => {
      asking.current.abort();
      asking.current = new AbortController();
      loadingMore.current = false;
      const { signal } = asking.current;
      setNow({ state: "running", text });
      const started = performance.now();
      try {
        const options = { start: 0, count: ROWS_AT_ONCE, waitForFresh };
        const first = await runQuery(database, text, options, signal);
        const roundTripMs = performance.now() - started;
        const isWhole = first.rows.length < ROWS_AT_ONCE;
        const answer: Answer = { text, rows: first.rows, first, roundTripMs, isWhole };
        setNow({ state: "done", answer });
        return answer;
      } catch (error) {
        if (!isAbort(error)) {
          setNow({ state: "failed", text, error: toError(error) });
        }
        return null;
      }
    },
    [database],
  );

  const more = useCallback(() => {
    if (now.state !== "done" || now.answer.isWhole || loadingMore.current) {
      return;
    }
    loadingMore.current = true;
    const { answer } = now;
    const { signal } = asking.current;
    const options = { start: answer.rows.length, count: ROWS_AT_ONCE, waitForFresh: false };
    runQuery(database, answer.text, options, signal)
      .then((next) => {
        const rows = [...answer.rows, ...next.rows];
        const isWhole = next.rows.length < ROWS_AT_ONCE;
        loadingMore.current = false;
        setNow({ state: "done", answer: { ...answer, rows, isWhole } });
      })
      .catch((error: unknown) => {
        if (!isAbort(error)) {
          setNow({ state: "failed", text: answer.text, error: toError(error) });
        }
      });
  }, [database, now]);

  return { now, run, more };
}
