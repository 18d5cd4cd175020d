// The state of all databases in one sentence.

import type { ReactNode } from "react";
import type { DatabaseNumbers } from "../../api/live";
import { formatBytes, formatCounted } from "../../format";

export function Health({ databases }: { readonly databases: readonly DatabaseNumbers[] }): ReactNode {
  const open = databases.filter((database) => database.isOpen);
  const failed = databases.filter((database) => database.error !== null);
  const resting = databases.length - open.length;
  const documents = open.reduce((sum, database) => sum + database.documents, 0);
  const bytes = open.reduce((sum, database) => sum + database.bytesOnDisk, 0);
  return (
    <p className="lead">
      {formatCounted(databases.length, "database", "databases")},{" "}
      {formatCounted(documents, "document", "documents")}, {formatBytes(bytes)} on disk.
      {resting > 0 && ` ${resting} not used since the server started.`}
      {failed.length > 0 && (
        <span className="is-bad"> {failed.length} cannot be read; see below.</span>
      )}
    </p>
  );
}
