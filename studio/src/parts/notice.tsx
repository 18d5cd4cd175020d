// What stands where there is nothing to show: why, and what one can do.

import type { ReactNode } from "react";

interface NoticeProps {
  readonly title: string;
  /** What to do. */
  readonly children?: ReactNode;
  readonly tone?: "calm" | "bad";
}

export function Notice({ title, children, tone = "calm" }: NoticeProps): ReactNode {
  return (
    <div className={`notice is-${tone}`} role={tone === "bad" ? "alert" : undefined}>
      <h2>{title}</h2>
      <div className="notice-body">{children}</div>
    </div>
  );
}
