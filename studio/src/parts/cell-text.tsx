// A JSON value in a table cell, in the color of its kind, with its text unchanged.

import type { ReactNode } from "react";
import { inOneLine } from "../json/lines";
import type { JsonNode, JsonText } from "../json/parse";

interface CellTextProps {
  readonly text: JsonText;
  /** Absent members show nothing. */
  readonly node: JsonNode | undefined;
}

/** More is never seen in a cell. */
const CHARACTERS_MAX = 200;

export function CellText({ text, node }: CellTextProps): ReactNode {
  if (node === undefined) {
    return null;
  }
  const shown = inOneLine(text, node).slice(0, CHARACTERS_MAX);
  return (
    <span className={`cell is-${node.kind}`} title={shown}>
      {shown}
    </span>
  );
}
