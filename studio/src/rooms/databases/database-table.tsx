// One line a database: its size, and its rates with small charts.

import { useState, type ReactNode } from "react";
import type { DatabaseNumbers } from "../../api/live";
import { formatBytes, formatCount, formatRate } from "../../format";
import { MEASURES, sampleOf, type History, type Sample } from "../../live/history";
import { Icon } from "../../parts/icon";
import { Sparkline } from "../../parts/sparkline";
import { href, navigate } from "../../route";
import { visible, visibleLines } from "../../visible";
import { DeleteDatabase } from "./delete-database";

interface DatabaseTableProps {
  readonly databases: readonly DatabaseNumbers[];
  readonly history: History;
}

export function DatabaseTable({ databases, history }: DatabaseTableProps): ReactNode {
  const [deleting, setDeleting] = useState<DatabaseNumbers | null>(null);
  return (
    <>
      {deleting !== null && (
        <DeleteDatabase
          name={deleting.name}
          documents={deleting.isOpen ? deleting.documents : null}
          onClose={() => setDeleting(null)}
        />
      )}
      <table className="databases">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="at-end">
              Documents
            </th>
            <th scope="col" className="at-end">
              On disk
            </th>
            <th scope="col" className="at-end is-detail">
              Journal
            </th>
            <th scope="col" className="is-detail">
              Writes/s
            </th>
            <th scope="col" className="is-detail">
              Reads/s
            </th>
            <th scope="col" className="is-detail">
              Queries/s
            </th>
            <th scope="col" className="database-actions">
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {databases.map((database) => (
            <DatabaseLine
              key={database.name}
              database={database}
              samples={history.get(database.name) ?? []}
              onDelete={() => setDeleting(database)}
            />
          ))}
        </tbody>
      </table>
    </>
  );
}

interface FiguresProps {
  readonly database: DatabaseNumbers;
  readonly samples: readonly Sample[];
}

type DatabaseLineProps = FiguresProps & { readonly onDelete: () => void };

function DatabaseLine({ database, samples, onDelete }: DatabaseLineProps): ReactNode {
  const label = `Delete ${visible(database.name)}`;
  const route = { room: "documents", database: database.name, collection: null, id: null } as const;
  return (
    <tr onClick={() => navigate(route)}>
      <th scope="row">
        <a href={href(route)} title={visible(database.name)}>
          <Icon name="database" />
          <span className="database-name">{visible(database.name)}</span>
        </a>
      </th>
      <Figures database={database} samples={samples} />
      <td className="database-actions" onClick={(event) => event.stopPropagation()}>
        <button
          type="button"
          className="icon-button"
          title={label}
          aria-label={label}
          onClick={onDelete}
        >
          <Icon name="trash" />
        </button>
      </td>
    </tr>
  );
}

function Figures({ database, samples }: FiguresProps): ReactNode {
  if (database.error !== null) {
    return (
      <td colSpan={6} className="is-bad is-text">
        {visibleLines(database.error)}
      </td>
    );
  }
  if (!database.isOpen) {
    return (
      <td colSpan={6} className="is-quiet is-text">
        Not used since the server started. Opening it reads its numbers.
      </td>
    );
  }
  const now = sampleOf(database);
  return (
    <>
      <td className="at-end">{formatCount(database.documents)}</td>
      <td className="at-end">{formatBytes(database.bytesOnDisk)}</td>
      <td className="at-end is-quiet is-detail">{formatBytes(database.journalBytes)}</td>
      {MEASURES.map((measure) => (
        <td key={measure} className="is-detail">
          <div className={`rate is-${measure}`}>
            <span className="rate-now">{formatRate(now[measure])}</span>
            <Sparkline
              values={samples.map((sample) => sample[measure])}
              label={`${measure} of the last minute`}
            />
          </div>
        </td>
      ))}
    </>
  );
}
