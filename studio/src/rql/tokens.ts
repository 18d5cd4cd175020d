// Splits RQL into pieces by color. It knows letters, not grammar: the server judges queries.

export type RqlKind = "keyword" | "string" | "number" | "parameter" | "comment" | "call" | "plain";

export interface RqlToken {
  readonly kind: RqlKind;
  readonly text: string;
}

const KEYWORDS = new Set(
  (
    "all and as asc between boost by declare desc distinct double exact exists false filter " +
    "filter_limit from function group in include index limit load long not null offset or order " +
    "select start string true update when where"
  ).split(" "),
);

const PIECES = new RegExp(
  [
    /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))/,
    /(?<string>'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?)/,
    /(?<parameter>\$\w+)/,
    /(?<number>\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b)/,
    /(?<call>[A-Za-z_][\w.]*(?=\s*\())/,
    /(?<word>[A-Za-z_@][\w.@[\]]*)/,
  ]
    .map((pattern) => pattern.source)
    .join("|"),
  "g",
);

export function rqlTokens(text: string): RqlToken[] {
  const tokens: RqlToken[] = [];
  let position = 0;
  for (const found of text.matchAll(PIECES)) {
    if (found.index > position) {
      tokens.push({ kind: "plain", text: text.slice(position, found.index) });
    }
    tokens.push({ kind: kindOf(found.groups ?? {}), text: found[0] });
    position = found.index + found[0].length;
  }
  tokens.push({ kind: "plain", text: text.slice(position) });
  return tokens;
}

function kindOf(groups: Readonly<Record<string, string | undefined>>): RqlKind {
  const word = groups["word"] ?? groups["call"];
  if (word !== undefined && KEYWORDS.has(word.toLowerCase())) {
    return "keyword";
  }
  for (const kind of ["comment", "string", "parameter", "number", "call"] as const) {
    if (groups[kind] !== undefined) {
      return kind;
    }
  }
  return "plain";
}

/** Clauses that choose or shape rows in a way that a change of documents does not know. */
const SHAPES = ["group", "include", "limit", "offset", "select", "load", "update", "declare", "explain"];

/** Whether a query says no more than which documents. */
export function isPlainQuery(text: string): boolean {
  const words = rqlTokens(text).filter(({ kind }) => kind !== "string" && kind !== "comment");
  const said = words.flatMap(({ text: word }) => word.toLowerCase().match(/[a-z_]+/g) ?? []);
  return said[0] === "from" && !said.some((word) => SHAPES.includes(word) || word === "filter_limit");
}
