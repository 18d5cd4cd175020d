// The frame around all rooms, and which room is shown.

import type { ReactNode } from "react";
import { LiveProvider } from "./live/live-provider";
import { TopBar } from "./parts/top-bar";
import { DatabasesRoom } from "./rooms/databases/databases-room";
import { DocumentsRoom } from "./rooms/documents/documents-room";
import { IndexesRoom } from "./rooms/indexes/indexes-room";
import { QueryRoom } from "./rooms/query/query-room";
import { useRoute, type Route } from "./route";

export function App(): ReactNode {
  const route = useRoute();
  return (
    <LiveProvider>
      <TopBar route={route} />
      <main className="room">{roomOf(route)}</main>
    </LiveProvider>
  );
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
