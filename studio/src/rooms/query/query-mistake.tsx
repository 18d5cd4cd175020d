// Why a query failed; when the server says where, the line with a mark below it.

import type { ReactNode } from "react";
import { ApiError } from "../../api/client";
import { Notice } from "../../parts/notice";

interface QueryMistakeProps {
  readonly text: string;
  readonly error: Error;
}

export function QueryMistake({ text, error }: QueryMistakeProps): ReactNode {
  const place = error instanceof ApiError ? error.place : null;
  if (place === null) {
    return (
      <Notice title="The query failed" tone="bad">
        <p className="message">{error.message}</p>
      </Notice>
    );
  }
  const line = text.split("\n")[place.line - 1] ?? "";
  const margin = `${place.line} | `;
  const mark = " ".repeat(margin.length + place.column - 1);
  return (
    <Notice title={`Mistake in line ${place.line}, column ${place.column}`} tone="bad">
      <p className="message">{error.message}</p>
      <pre>
        <span className="is-quiet">{margin}</span>
        {line}
        {"\n"}
        <strong>{mark}^</strong>
      </pre>
    </Notice>
  );
}
