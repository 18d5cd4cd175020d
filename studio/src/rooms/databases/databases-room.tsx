// The first room: all databases of the server, and what they do at this moment.

import { useState, type ReactNode } from "react";
import { Icon } from "../../parts/icon";
import { Notice } from "../../parts/notice";
import { useLive } from "../../live/live-provider";
import { DatabaseTable } from "./database-table";
import { Health } from "./health";
import { NewDatabase } from "./new-database";
import { NoDatabases } from "./no-databases";
import { Totals } from "./totals";

export function DatabasesRoom(): ReactNode {
  const { connection, numbers, history } = useLive();
  const [creating, setCreating] = useState(false);
  if (numbers === null) {
    return connection === "lost" ? (
      <Notice title="The server does not answer" tone="bad">
        <p>Studio asks again every two seconds. Is the server still running?</p>
      </Notice>
    ) : (
      <p className="waiting">Asking for the databases{"\u2026"}</p>
    );
  }
  const { databases } = numbers;
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h2>Databases</h2>
          <Health databases={databases} />
        </div>
        <button type="button" className="button is-strong" onClick={() => setCreating(true)}>
          <Icon name="plus" />
          New database
        </button>
      </div>
      {creating && <NewDatabase onDone={() => setCreating(false)} />}
      {databases.length === 0 ? (
        <NoDatabases />
      ) : (
        <>
          <Totals databases={databases} history={history} />
          <DatabaseTable databases={databases} history={history} />
        </>
      )}
    </div>
  );
}
