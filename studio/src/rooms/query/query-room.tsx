// Asking questions in RQL: an editor, examples and past queries, and the answer.

import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { ApiError } from "../../api/client";
import { Icon } from "../../parts/icon";
import { navigate } from "../../route";
import { recallQueries, remember } from "../../rql/past-queries";
import { QueryEditor } from "./query-editor";
import { QueryOutcome } from "./query-outcome";
import { QueryShelf } from "./query-shelf";
import { useQuery } from "./use-query";

interface QueryRoomProps {
  readonly database: string;
  /** The query in the address; it is run at once, so that links show what their sender saw. */
  readonly text: string | null;
}

export function QueryRoom({ database, text: linked }: QueryRoomProps): ReactNode {
  const [text, setText] = useState(linked ?? "");
  const [waitForFresh, setWaitForFresh] = useState(false);
  const [past, setPast] = useState(() => recallQueries(database));
  const { now, run, more } = useQuery(database);
  const lastRun = useRef<string | null>(null);

  const start = useCallback(
    async (asked: string): Promise<void> => {
      if (asked.trim() === "") {
        return;
      }
      setText(asked);
      lastRun.current = asked;
      navigate({ room: "query", database, text: asked }, true);
      const answer = await run(asked, waitForFresh);
      if (answer !== null) {
        const { total, durationMs } = answer.first;
        const query = { text: asked, total, durationMs, at: Date.now() };
        setPast((before) => remember(database, before, query));
      }
    },
    [database, run, waitForFresh],
  );
  useEffect(() => {
    if (linked !== null && linked !== lastRun.current) {
      void start(linked);
    }
  }, [linked, start]);

  const failedHere = now.state === "failed" && now.text === text;
  const place = failedHere && now.error instanceof ApiError ? now.error.place : null;
  return (
    <div className={now.state === "idle" ? "query is-idle" : "query"}>
      <section className="query-main">
        <div className="query-box">
          <QueryEditor text={text} place={place} onText={setText} onRun={() => void start(text)} />
          <div className="query-actions">
            <button
              type="button"
              className="button is-strong"
              disabled={text.trim() === ""}
              onClick={() => void start(text)}
            >
              <Icon name="play" />
              Run
            </button>
            <kbd>Ctrl</kbd>
            <kbd>Enter</kbd>
            <label className="check">
              <input
                type="checkbox"
                checked={waitForFresh}
                onChange={(event) => setWaitForFresh(event.target.checked)}
              />
              Wait for fresh results
            </label>
          </div>
        </div>
        <QueryOutcome
          database={database}
          now={now}
          onMore={more}
          onAgain={() => void start(lastRun.current ?? text)}
        />
      </section>
      <QueryShelf database={database} past={past} onChoose={(chosen) => void start(chosen)} />
    </div>
  );
}
