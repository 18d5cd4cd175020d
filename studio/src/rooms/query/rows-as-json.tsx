// The rows as JSON, one below the other. Long answers are shown a part at a time.

import { useState, type ReactNode } from "react";
import type { Row } from "../../api/documents";
import { formatCount } from "../../format";
import { member } from "../../json/read";
import { JsonView } from "../../parts/json-view";

const ROWS_AT_ONCE = 20;

export function RowsAsJson({ rows }: { readonly rows: readonly Row[] }): ReactNode {
  const [shown, setShown] = useState(ROWS_AT_ONCE);
  return (
    <div className="rows-json" tabIndex={0}>
      {rows.slice(0, shown).map((row, position) => (
        <JsonView key={position} root={row.node} foldedAtFirst={foldedOf(row)} />
      ))}
      {shown < rows.length && (
        <button type="button" className="button" onClick={() => setShown(shown + ROWS_AT_ONCE)}>
          Show more of {formatCount(rows.length - shown)}
        </button>
      )}
    </div>
  );
}

function foldedOf(row: Row): number[] {
  const metadata = member(row.node, "@metadata");
  return metadata === undefined ? [] : [metadata.start];
}
