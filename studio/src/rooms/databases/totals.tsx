// Writes, reads and queries of the whole server over the last minute.

import type { ReactNode } from "react";
import type { DatabaseNumbers } from "../../api/live";
import { formatRate } from "../../format";
import { MEASURES, sampleOf, totals, type History, type Measure } from "../../live/history";
import { Sparkline } from "../../parts/sparkline";

interface TotalsProps {
  readonly databases: readonly DatabaseNumbers[];
  readonly history: History;
}

const TITLES: Readonly<Record<Measure, string>> = {
  writes: "Writes",
  reads: "Reads",
  queries: "Queries",
};

export function Totals({ databases, history }: TotalsProps): ReactNode {
  return (
    <section className="totals" aria-label="The whole server">
      {MEASURES.map((measure) => {
        const now = databases.reduce((sum, database) => sum + sampleOf(database)[measure], 0);
        const past = totals(history, measure);
        return (
          <div key={measure} className={`total is-${measure}`}>
            <div className="total-title">{TITLES[measure]} per second</div>
            <div className="total-now">{formatRate(now)}</div>
            <div className="total-peak">peak {formatRate(Math.max(0, ...past))}</div>
            <Sparkline values={past} label={`${TITLES[measure]} of the last minute`} />
          </div>
        );
      })}
    </section>
  );
}
