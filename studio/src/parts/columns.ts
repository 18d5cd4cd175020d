// Guesses which members of documents make good columns, from the first rows.
//
// Members that most rows have come first in the order of the documents; lists and objects are
// taken only when there is room. Projections have few members and show them all.

import type { Row } from "../api/documents";
import { inOneLine } from "../json/lines";
import type { JsonNode } from "../json/parse";
import type { Column } from "./data-grid";

const ROWS_LOOKED_AT = 50;
const WIDTH_MIN_CH = 7;
const WIDTH_MAX_CH = 34;
/** Empty room at both sides of a cell. */
const PADDING_CH = 3;

interface Seen {
  readonly name: string;
  count: number;
  nested: number;
  numbers: number;
  characters: number;
}

/** At most `limit` columns; their keys are the names of members. */
export function guessColumns(rows: readonly Row[], limit: number): Column[] {
  const looked = rows.slice(0, ROWS_LOOKED_AT);
  const seen = [...look(looked).values()];
  const often = seen.filter((member) => member.count * 5 >= looked.length);
  const plain = often.filter((member) => member.nested * 2 < member.count);
  const nested = often.filter((member) => member.nested * 2 >= member.count);
  return [...plain, ...nested].slice(0, limit).map(columnOf);
}

function look(rows: readonly Row[]): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  for (const row of rows) {
    for (const { name, value } of row.node.members) {
      if (name === "@metadata") {
        continue;
      }
      const member = seen.get(name) ?? { name, count: 0, nested: 0, numbers: 0, characters: 0 };
      seen.set(name, member);
      member.count += 1;
      member.nested += isNested(value) ? 1 : 0;
      member.numbers += value.kind === "number" ? 1 : 0;
      member.characters += inOneLine(row.text, value, WIDTH_MAX_CH).length;
    }
  }
  return seen;
}

function isNested(node: JsonNode): boolean {
  return node.kind === "array" || node.kind === "object";
}

function columnOf(seen: Seen): Column {
  const average = seen.characters / Math.max(1, seen.count);
  const wanted = Math.max(seen.name.length * 1.15, average * 1.25) + PADDING_CH;
  const width = Math.round(Math.min(WIDTH_MAX_CH, Math.max(WIDTH_MIN_CH, wanted)));
  const atEnd = seen.numbers * 2 > seen.count;
  return { key: seen.name, title: seen.name, width, atEnd };
}
