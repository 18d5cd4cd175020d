// A JSON value in a table cell, in the color of its kind, with its text unchanged but for
// what cannot be seen.

import type { ReactNode } from "react";
import { inOneLine } from "../json/lines";
import type { JsonNode, JsonText } from "../json/parse";

interface CellTextProps {
  readonly text: JsonText;
  /** Absent members show nothing. */
  readonly node: JsonNode | undefined;
  /** Whether this is only the beginning of what is stored. */
  readonly isCut?: boolean;
}

/** More is never seen in a cell. */
const CHARACTERS_MAX = 200;

export function CellText({ text, node, isCut }: CellTextProps): ReactNode {
  if (node === undefined) {
    return null;
  }
  const shown = inOneLine(text, node, CHARACTERS_MAX);
  return (
    <span className={`cell is-${node.kind}`} title={shown}>
      {shown}
      {isCut === true && "\u2026"}
    </span>
  );
}
