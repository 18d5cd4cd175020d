// Queries to start from, made for the documents that are there.

import type { Row } from "../api/documents";
import { decodeString } from "../json/parse";

export interface Example {
  readonly title: string;
  readonly text: string;
}

/** Examples for a collection, by its first documents. */
export function examplesFor(collection: string, rows: readonly Row[]): Example[] {
  const source = `from ${nameInRql(collection)}`;
  const words = fieldsOf(rows, "string");
  const numbers = fieldsOf(rows, "number");
  const examples: Example[] = [{ title: "Everything, in order of change", text: source }];
  const number = numbers[0];
  if (number !== undefined) {
    const { name, middle } = number;
    const text = `${source}\nwhere ${name} >= ${middle}\norder by ${name} as long desc`;
    examples.push({ title: `From a ${name} on, largest first`, text });
  }
  const kind = [...words].sort((left, right) => left.distinct - right.distinct)[0];
  if (kind !== undefined) {
    const value = kind.middle.replaceAll("'", "\\'");
    const further = number === undefined ? "" : `\n  and ${number.name} >= ${number.middle}`;
    const text = `${source}\nwhere ${kind.name} = '${value}'${further}`;
    examples.push({ title: `Only ${kind.name} ${kind.middle}`, text });
  }
  const word = words[0];
  if (word !== undefined) {
    const start = word.middle.slice(0, 2).replaceAll("'", "");
    const text = `${source}\nwhere startsWith(${word.name}, '${start}')\nlimit 20`;
    examples.push({ title: `${word.name} that begins with ${start}`, text });
    const picked = [...words.slice(0, 2), ...numbers.slice(0, 1)].map(({ name }) => name);
    examples.push({ title: "A few fields only", text: `${source}\nselect ${picked.join(", ")}` });
  }
  return examples;
}

interface Field {
  readonly name: string;
  /** How many different values were seen. */
  readonly distinct: number;
  /** The value in the middle of those seen, as RQL text without quotes. */
  readonly middle: string;
}

function fieldsOf(rows: readonly Row[], kind: "string" | "number"): Field[] {
  const values = new Map<string, string[]>();
  for (const row of rows) {
    for (const { name, value } of row.node.members) {
      if (value.kind === kind && /^[A-Za-z_]\w*$/.test(name)) {
        const text = kind === "string" ? decodeString(value.raw) : value.raw;
        values.set(name, [...(values.get(name) ?? []), text]);
      }
    }
  }
  const often = [...values].filter(([, texts]) => texts.length * 2 >= rows.length);
  return often.map(([name, texts]) => ({
    name,
    distinct: new Set(texts).size,
    middle: middleOf(texts, kind),
  }));
}

function middleOf(texts: readonly string[], kind: "string" | "number"): string {
  const sorted = kind === "string" ? texts.toSorted() : texts.toSorted((a, b) => Number(a) - Number(b));
  return sorted[Math.floor(sorted.length / 2)] ?? "";
}

/** A collection's name as RQL wants it. */
export function nameInRql(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `'${name.replaceAll("'", "\\'")}'`;
}
