// The bar above every room: where one is, where one can go, and whether the server answers.

import type { ReactNode } from "react";
import { href, type Route } from "../route";
import { visible } from "../visible";
import { LeaveButton } from "./leave-button";
import { LiveBadge } from "./live-badge";
import { Logo } from "./logo";
import { ThemeToggle } from "./theme-toggle";

export function TopBar({ route }: { readonly route: Route }): ReactNode {
  return (
    <header className="top-bar">
      <a className="brand" href={href({ room: "databases" })} title="Jackdaw">
        <Logo />
        <span className="brand-name">Jackdaw</span>
      </a>
      <nav className="trail" aria-label="Where you are">
        <a
          href={href({ room: "databases" })}
          aria-current={route.room === "databases" ? "page" : undefined}
        >
          Databases
        </a>
        {route.room !== "databases" && <InDatabase route={route} />}
      </nav>
      <div className="top-bar-end">
        <LiveBadge />
        <LeaveButton />
        <ThemeToggle />
      </div>
    </header>
  );
}

type DatabaseRoute = Exclude<Route, { room: "databases" }>;

function InDatabase({ route }: { readonly route: DatabaseRoute }): ReactNode {
  const { database, room } = route;
  const documents = href({ room: "documents", database, collection: null, id: null });
  const query = href({ room: "query", database, text: null });
  const indexes = href({ room: "indexes", database, index: null });
  return (
    <>
      <span className="trail-step" aria-hidden="true">
        /
      </span>
      <strong className="trail-database" title={visible(database)}>
        {visible(database)}
      </strong>
      <span className="tabs">
        <a href={documents} aria-current={room === "documents" ? "page" : undefined}>
          Documents
        </a>
        <a href={query} aria-current={room === "query" ? "page" : undefined}>
          Query
        </a>
        <a href={indexes} aria-current={room === "indexes" ? "page" : undefined}>
          Indexes
        </a>
      </span>
    </>
  );
}
