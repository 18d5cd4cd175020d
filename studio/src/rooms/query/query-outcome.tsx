// What became of a query: nothing yet, a mistake, or rows.

import type { ReactNode } from "react";
import { Notice } from "../../parts/notice";
import { QueryMistake } from "./query-mistake";
import { QueryResults } from "./query-results";
import type { QueryState } from "./use-query";

interface QueryOutcomeProps {
  readonly database: string;
  readonly now: QueryState;
  readonly onMore: () => void;
  readonly onAgain: () => void;
}

export function QueryOutcome({ database, now, onMore, onAgain }: QueryOutcomeProps): ReactNode {
  switch (now.state) {
    case "idle":
      return (
        <Notice title="No query was run yet">
          <p>Write one above, or choose an example.</p>
        </Notice>
      );
    case "running":
      return <p className="waiting">Running{"\u2026"}</p>;
    case "failed":
      return <QueryMistake text={now.text} error={now.error} />;
    case "done":
      return <QueryResults database={database} answer={now.answer} onMore={onMore} onAgain={onAgain} />;
  }
}
