// Why a query failed; when the server says where, the line with a mark below it.

import type { ReactNode } from "react";
import { ApiError } from "../../api/client";
import { Notice } from "../../parts/notice";
import { visible, visibleLines } from "../../visible";

interface QueryMistakeProps {
  readonly text: string;
  readonly error: Error;
}

export function QueryMistake({ text, error }: QueryMistakeProps): ReactNode {
  const place = error instanceof ApiError ? error.place : null;
  if (place === null) {
    return (
      <Notice title="The query failed" tone="bad">
        <p className="message">{visibleLines(error.message)}</p>
      </Notice>
    );
  }
  const line = text.split("\n")[place.line - 1] ?? "";
  const margin = `${place.line} | `;
  const mark = " ".repeat(margin.length + visible(line.slice(0, place.column - 1)).length);
  return (
    <Notice title={`Mistake in line ${place.line}, column ${place.column}`} tone="bad">
      <p className="message">{visibleLines(error.message)}</p>
      <pre tabIndex={0}>
        <span className="is-quiet">{margin}</span>
        {visible(line)}
        {"\n"}
        <strong>{mark}^</strong>
      </pre>
    </Notice>
  );
}
