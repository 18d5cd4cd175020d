// The few icons of Studio, drawn with strokes in the color of the text around them.

import type { ReactNode } from "react";

const PATHS = {
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  database: "M3 4.5c0-3 10-3 10 0s-10 3-10 0zM3 4.5v7c0 3 10 3 10 0v-7M3 8c0 3 10 3 10 0",
  down: "M4 6l4 4 4-4",
  moon: "M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.5 6.5z",
  play: "M5 3.5l7 4.5-7 4.5z",
  plus: "M8 3v10M3 8h10",
  refresh: "M13 3v3.5H9.5M12.7 6.5A5 5 0 1 0 13 9",
  right: "M6 4l4 4-4 4",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M7 7v3.5M9 7v3.5",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
