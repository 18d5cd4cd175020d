// The collections of a database with their counts.

import type { ReactNode } from "react";
import type { Collections } from "../../api/databases";
import { formatCount } from "../../format";
import { href } from "../../route";
import { visible } from "../../visible";

interface CollectionListProps {
  readonly database: string;
  readonly collections: Collections;
  /** `null` is all documents. */
  readonly selected: string | null;
}

export function CollectionList({ database, collections, selected }: CollectionListProps): ReactNode {
  const entries = [
    { name: null, title: "All documents", count: collections.documents },
    ...collections.collections.map(({ name, count }) => ({ name, title: name, count })),
  ];
  const most = Math.max(1, ...collections.collections.map(({ count }) => count));
  return (
    <nav className="collections" aria-label="Collections">
      <h2>Collections</h2>
      <ul>
        {entries.map(({ name, title, count }) => (
          <li key={name ?? ""}>
            <a
              href={href({ room: "documents", database, collection: name, id: null })}
              aria-current={name === selected ? "page" : undefined}
            >
              <span className="collection-name" title={visible(title)}>
                {visible(title)}
              </span>
              <span className="collection-count">{formatCount(count)}</span>
              {name !== null && <progress className="collection-share" max={most} value={count} />}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
