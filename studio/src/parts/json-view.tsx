// A JSON value, indented and colored, with parts one can fold. Texts are those of the server.

import { useMemo, useState, type ReactNode } from "react";
import { toLines, type Line } from "../json/lines";
import type { JsonNode } from "../json/parse";
import { Icon } from "./icon";

interface JsonViewProps {
  readonly root: JsonNode;
  /** Identities (places in the source) of what is folded at first. */
  readonly foldedAtFirst: readonly number[];
}

export function JsonView({ root, foldedAtFirst }: JsonViewProps): ReactNode {
  const [folded, setFolded] = useState<ReadonlySet<number>>(() => new Set(foldedAtFirst));
  const [shown, setShown] = useState<ReadonlyMap<number, number>>(() => new Map());
  const lines = useMemo(() => toLines(root, { folded, shown }), [root, folded, shown]);
  const toggle = (fold: number): void => {
    const next = new Set(folded);
    if (!next.delete(fold)) {
      next.add(fold);
    }
    setFolded(next);
  };
  const showMore = (of: number, next: number): void => setShown(new Map(shown).set(of, next));
  return (
    <div className="json">
      {lines.map((line, number) => (
        <JsonLine key={number} line={line} onFold={toggle} onMore={showMore} />
      ))}
    </div>
  );
}

interface JsonLineProps {
  readonly line: Line;
  readonly onFold: (fold: number) => void;
  readonly onMore: (of: number, next: number) => void;
}

function JsonLine({ line, onFold, onMore }: JsonLineProps): ReactNode {
  const { fold, more } = line;
  const text = line.tokens.map((token, slot) => (
    <span key={slot} className={`json-${token.kind}`}>
      {token.text}
    </span>
  ));
  return (
    <div className="json-line" style={{ paddingInlineStart: `min(${line.depth * 2}ch, 45%)` }}>
      {fold !== undefined && (
        <button
          type="button"
          className="json-fold"
          aria-expanded={line.isFolded !== true}
          aria-label={line.isFolded === true ? "Unfold" : "Fold"}
          onClick={() => onFold(fold)}
        >
          <Icon name={line.isFolded === true ? "right" : "down"} />
        </button>
      )}
      {more === undefined ? (
        <code>{text}</code>
      ) : (
        <button type="button" className="json-more" onClick={() => onMore(more.of, more.next)}>
          {text}
        </button>
      )}
    </div>
  );
}
