// One row of an answer, whole.

import type { ReactNode } from "react";
import type { Row } from "../../api/documents";
import { member } from "../../json/read";
import { CopyButton } from "../../parts/copy-button";
import { Icon } from "../../parts/icon";
import { JsonView } from "../../parts/json-view";
import { visible } from "../../visible";

interface RowPanelProps {
  readonly row: Row;
  readonly onClose: () => void;
}

export function RowPanel({ row, onClose }: RowPanelProps): ReactNode {
  const metadata = member(row.node, "@metadata");
  return (
    <aside className="document" aria-label="Row">
      <div className="document-head">
        <h2 title={visible(row.id ?? "Row")}>{visible(row.id ?? "Row")}</h2>
        <CopyButton label="Copy JSON" text={() => row.text.source.slice(row.node.start, row.node.end)} />
        <button type="button" className="icon-button" onClick={onClose} title="Close" aria-label="Close">
          <Icon name="close" />
        </button>
      </div>
      <div className="document-json" tabIndex={0}>
        <JsonView root={row.node} foldedAtFirst={metadata === undefined ? [] : [metadata.start]} />
      </div>
    </aside>
  );
}
