// The frame around all rooms, and which room is shown.

import { useEffect, type ReactNode } from "react";
import { LiveProvider, useLive } from "./live/live-provider";
import { TopBar } from "./parts/top-bar";
import { DatabasesRoom } from "./rooms/databases/databases-room";
import { DocumentsRoom } from "./rooms/documents/documents-room";
import { EntryRoom } from "./rooms/entry/entry-room";
import { IndexesRoom } from "./rooms/indexes/indexes-room";
import { QueryRoom } from "./rooms/query/query-room";
import { useRoute, type Route } from "./route";
import { visible } from "./visible";

export function App(): ReactNode {
  const route = useRoute();
  return (
    <LiveProvider>
      <TopBar route={route} />
      <Room route={route} />
    </LiveProvider>
  );
}

function Room({ route }: { readonly route: Route }): ReactNode {
  const { connection, refusal } = useLive();
  const title = titleOf(route);
  useEffect(() => {
    document.title = `${title} - Jackdaw Studio`;
  }, [title]);
  const isRefused = connection === "refused";
  return (
    <main className="room">
      <h1 className="unseen">{title}</h1>
      {isRefused && <EntryRoom reason={refusal} />}
      {/* What is being written there outlives a token that ended. */}
      <div className="room-body" hidden={isRefused}>
        {roomOf(route)}
      </div>
    </main>
  );
}

function titleOf(route: Route): string {
  if (route.room === "databases") {
    return "All databases";
  }
  const names = { documents: "Documents", query: "Query", indexes: "Indexes" } as const;
  return `${names[route.room]} of ${visible(route.database)}`;
}

function roomOf(route: Route): ReactNode {
  switch (route.room) {
    case "databases":
      return <DatabasesRoom />;
    case "documents":
      return <DocumentsRoom key={route.database} route={route} />;
    case "query":
      return <QueryRoom key={route.database} database={route.database} text={route.text} />;
    case "indexes":
      return <IndexesRoom key={route.database} database={route.database} open={route.index} />;
  }
}
