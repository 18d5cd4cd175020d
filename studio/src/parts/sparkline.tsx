// A small chart of the last minute. The newest sample is at the right edge.

import type { ReactNode } from "react";
import { SAMPLES_KEPT } from "../live/history";

interface SparklineProps {
  /** Oldest first. */
  readonly values: readonly number[];
  readonly label: string;
}

const WIDTH = SAMPLES_KEPT - 1;
const HEIGHT = 32;
/** Room above the highest point, so that its stroke is not cut. */
const HEADROOM = 2;

export function Sparkline({ values, label }: SparklineProps): ReactNode {
  const top = Math.max(1, ...values);
  const left = WIDTH - (values.length - 1);
  const points = values.map((value, slot) => {
    const y = HEIGHT - (value / top) * (HEIGHT - HEADROOM);
    return `${left + slot},${y.toFixed(2)}`;
  });
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path className="sparkline-ground" d={`M0 ${HEIGHT}H${WIDTH}`} />
      {points.length > 1 && (
        <>
          <path
            className="sparkline-area"
            d={`M${left} ${HEIGHT}L${points.join("L")}L${WIDTH} ${HEIGHT}Z`}
          />
          <path className="sparkline-line" d={`M${points.join("L")}`} />
        </>
      )}
    </svg>
  );
}
