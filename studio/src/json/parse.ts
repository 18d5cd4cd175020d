// A JSON reader that keeps the text: every number stays as the server wrote it.
//
// `JSON.parse` turns 9223372036854775807 into 9223372036854775808 and 1.10 into 1.1. Documents are
// therefore read by this parser alone; a node knows where it stands in the source.

/** Where a node stands in its source, in UTF-16 units; `end` is exclusive. */
interface Span {
  readonly start: number;
  readonly end: number;
}

export interface JsonMember {
  readonly name: string;
  /** The name with quotes and escapes, as it stands in the source. */
  readonly rawName: string;
  readonly value: JsonNode;
}

export interface JsonObject extends Span {
  readonly kind: "object";
  readonly members: readonly JsonMember[];
}

export interface JsonArray extends Span {
  readonly kind: "array";
  readonly items: readonly JsonNode[];
}

export interface JsonScalar extends Span {
  readonly kind: "string" | "number" | "boolean" | "null";
  /** The text as it stands in the source; of a string with its quotes. */
  readonly raw: string;
}

export type JsonNode = JsonObject | JsonArray | JsonScalar;

/** A text and what it says. */
export interface JsonText {
  readonly source: string;
  readonly root: JsonNode;
}

const DEPTH_MAX = 500;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\]|\\.)*"/y;
const BLANK = /[ \t\r\n]*/y;

/** Reads a whole text. Throws a `SyntaxError` that names the place. */
export function parseJson(source: string): JsonText {
  const parser = new Parser(source);
  return { source, root: parser.whole() };
}

/** The text between the quotes, escapes resolved. */
export function decodeString(raw: string): string {
  if (!raw.includes("\\")) {
    return raw.slice(1, -1);
  }
  const decoded: unknown = JSON.parse(raw);
  return typeof decoded === "string" ? decoded : raw;
}

class Parser {
  private position = 0;

  constructor(private readonly source: string) {}

  whole(): JsonNode {
    this.skipBlank();
    const root = this.value(0);
    this.skipBlank();
    if (this.position < this.source.length) {
      throw this.mistake("the end");
    }
    return root;
  }

  private value(depth: number): JsonNode {
    if (depth > DEPTH_MAX) {
      throw this.mistake("less nesting");
    }
    switch (this.source[this.position]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.scalar("string", this.match(STRING, "a string"));
      case "t":
        return this.scalar("boolean", this.word("true"));
      case "f":
        return this.scalar("boolean", this.word("false"));
      case "n":
        return this.scalar("null", this.word("null"));
      default:
        return this.scalar("number", this.match(NUMBER, "a value"));
    }
  }

  private object(depth: number): JsonObject {
    const start = this.position;
    const members: JsonMember[] = [];
    this.sequence("}", () => {
      const rawName = this.match(STRING, "a name");
      this.skipBlank();
      this.expect(":");
      this.skipBlank();
      members.push({ name: decodeString(rawName), rawName, value: this.value(depth + 1) });
    });
    return { kind: "object", start, end: this.position, members };
  }

  private array(depth: number): JsonArray {
    const start = this.position;
    const items: JsonNode[] = [];
    this.sequence("]", () => items.push(this.value(depth + 1)));
    return { kind: "array", start, end: this.position, items };
  }

  /** From the opening bracket to behind the closing one. */
  private sequence(closing: string, part: () => void): void {
    this.position += 1;
    this.skipBlank();
    if (this.source[this.position] === closing) {
      this.position += 1;
      return;
    }
    for (;;) {
      part();
      this.skipBlank();
      if (this.source[this.position] === closing) {
        this.position += 1;
        return;
      }
      this.expect(",");
      this.skipBlank();
    }
  }

  private scalar(kind: JsonScalar["kind"], raw: string): JsonScalar {
    return { kind, raw, start: this.position - raw.length, end: this.position };
  }

  private word(word: string): string {
    if (!this.source.startsWith(word, this.position)) {
      throw this.mistake(word);
    }
    this.position += word.length;
    return word;
  }

  private match(pattern: RegExp, what: string): string {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.source);
    if (found === null) {
      throw this.mistake(what);
    }
    this.position = pattern.lastIndex;
    return found[0];
  }

  private skipBlank(): void {
    BLANK.lastIndex = this.position;
    BLANK.exec(this.source);
    this.position = BLANK.lastIndex;
  }

  private expect(letter: string): void {
    if (this.source[this.position] !== letter) {
      throw this.mistake(`'${letter}'`);
    }
    this.position += 1;
  }

  private mistake(expected: string): SyntaxError {
    return new SyntaxError(`Expected ${expected} at position ${this.position} of the answer.`);
  }
}
