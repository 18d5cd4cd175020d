// A JSON node as indented lines, with folded parts left out.
//
// Only white space is ours: names, strings and numbers are copied from the source, what cannot be
// seen in them as escapes. Long ones are cut, and shown a part at a time.

import { visible } from "../visible";
import { decodeStart, type JsonNode, type JsonText } from "./parse";

export type TokenKind = "name" | "string" | "number" | "boolean" | "null" | "mark" | "note";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

export interface Line {
  readonly depth: number;
  readonly tokens: readonly Token[];
  /** Set on a line that opens something: where it stands in the source, its identity. */
  readonly fold?: number;
  readonly isFolded?: boolean;
  /** Set on a line that stands for what is not shown: what it is part of, how much to show next. */
  readonly more?: { readonly of: number; readonly next: number };
}

export interface LineOptions {
  /** Identities of what is folded. */
  readonly folded: ReadonlySet<number>;
  /**
   * How many parts of an array or object are shown, `PARTS_SHOWN` unless said otherwise, and how
   * many characters of a text, `CHARACTERS_SHOWN` unless said otherwise.
   */
  readonly shown: ReadonlyMap<number, number>;
}

/** Parts of one array or object that are shown before one asks for more. */
export const PARTS_SHOWN = 200;

/** Characters of one text that are shown before one asks for more. */
const CHARACTERS_SHOWN = 10_000;
/** How much more of a text is shown at each step. */
const CHARACTERS_GROW = 10;
/** Characters of a name. */
const NAME_SHOWN = 500;
/** Characters of a name in what stands for something folded. */
const SUMMARY_SHOWN = 30;

const COMMA: Token = { kind: "mark", text: "," };

export function toLines(root: JsonNode, options: LineOptions): Line[] {
  const lines: Line[] = [];
  write(root, 0, [], [], options, lines);
  return lines;
}

function write(
  node: JsonNode,
  depth: number,
  before: readonly Token[],
  after: readonly Token[],
  options: LineOptions,
  lines: Line[],
): void {
  if (node.kind !== "object" && node.kind !== "array") {
    const shown = options.shown.get(node.start) ?? CHARACTERS_SHOWN;
    const token: Token = { kind: node.kind, text: shorten(node.raw, shown) };
    lines.push({ depth, tokens: [...before, token, ...after] });
    if (node.raw.length > shown) {
      const text = `show more of ${node.raw.length - shown} characters`;
      const more = { of: node.start, next: shown * CHARACTERS_GROW };
      lines.push({ depth: depth + 1, tokens: [{ kind: "note", text }], more });
    }
    return;
  }
  const [open, close] = node.kind === "object" ? ["{", "}"] : ["[", "]"];
  const length = node.kind === "object" ? node.members.length : node.items.length;
  if (length === 0) {
    lines.push({ depth, tokens: [...before, { kind: "mark", text: open + close }, ...after] });
    return;
  }
  const fold = node.start;
  if (options.folded.has(fold)) {
    const tokens: Token[] = [
      ...before,
      { kind: "mark", text: open },
      { kind: "note", text: summary(node) },
      { kind: "mark", text: close },
      ...after,
    ];
    lines.push({ depth, tokens, fold, isFolded: true });
    return;
  }
  lines.push({ depth, tokens: [...before, { kind: "mark", text: open }], fold, isFolded: false });
  const shown = Math.min(length, options.shown.get(fold) ?? PARTS_SHOWN);
  for (let slot = 0; slot < shown; slot += 1) {
    const last = slot === length - 1;
    const [name, value] = part(node, slot);
    write(value, depth + 1, name, last ? [] : [COMMA], options, lines);
  }
  if (shown < length) {
    const tokens: Token[] = [{ kind: "note", text: `show more of ${length - shown}` }];
    lines.push({ depth: depth + 1, tokens, more: { of: fold, next: shown + PARTS_SHOWN } });
  }
  lines.push({ depth, tokens: [{ kind: "mark", text: close }, ...after] });
}

type Container = Extract<JsonNode, { kind: "object" | "array" }>;

function part(node: Container, slot: number): [Token[], JsonNode] {
  if (node.kind === "array") {
    const item = node.items[slot];
    if (item === undefined) {
      throw new RangeError("a slot below the length holds an item");
    }
    return [[], item];
  }
  const found = node.members[slot];
  if (found === undefined) {
    throw new RangeError("a slot below the length holds a member");
  }
  return [
    [
      { kind: "name", text: shorten(found.rawName, NAME_SHOWN) },
      { kind: "mark", text: ": " },
    ],
    found.value,
  ];
}

function summary(node: Container): string {
  if (node.kind === "array") {
    return ` ${node.items.length} ${node.items.length === 1 ? "item" : "items"} `;
  }
  const names = node.members.slice(0, 4).map(({ name }) => shorten(name, SUMMARY_SHOWN));
  return ` ${names.join(", ")}${node.members.length > 4 ? ", \u2026" : ""} `;
}

function shorten(text: string, limit: number): string {
  return visible(text.length <= limit ? text : `${text.slice(0, limit)}\u2026`);
}

/** The beginning of a node in one line for a table cell; strings without quotes. */
export function inOneLine(text: JsonText, node: JsonNode, limit: number): string {
  if (node.kind === "string") {
    return visible(decodeStart(node.raw, limit));
  }
  return visible(text.source.slice(node.start, Math.min(node.end, node.start + limit)));
}
