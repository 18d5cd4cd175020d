// One line a database: its size, and its rates with small charts.

import type { ReactNode } from "react";
import type { DatabaseNumbers } from "../../api/live";
import { formatBytes, formatCount, formatRate } from "../../format";
import { MEASURES, sampleOf, type History, type Sample } from "../../live/history";
import { Icon } from "../../parts/icon";
import { Sparkline } from "../../parts/sparkline";
import { href, navigate } from "../../route";
import { visible, visibleLines } from "../../visible";

interface DatabaseTableProps {
  readonly databases: readonly DatabaseNumbers[];
  readonly history: History;
}

export function DatabaseTable({ databases, history }: DatabaseTableProps): ReactNode {
  return (
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
        </tr>
      </thead>
      <tbody>
        {databases.map((database) => (
          <DatabaseLine
            key={database.name}
            database={database}
            samples={history.get(database.name) ?? []}
          />
        ))}
      </tbody>
    </table>
  );
}

interface DatabaseLineProps {
  readonly database: DatabaseNumbers;
  readonly samples: readonly Sample[];
}

function DatabaseLine({ database, samples }: DatabaseLineProps): ReactNode {
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
    </tr>
  );
}

function Figures({ database, samples }: DatabaseLineProps): ReactNode {
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
