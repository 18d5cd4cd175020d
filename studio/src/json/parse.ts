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
const BACKSLASH = 0x5c;

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

/** At most `limit` characters from the beginning of the text between the quotes. */
export function decodeStart(raw: string, limit: number): string {
  let end = 1;
  for (let count = 0; count < limit && end < raw.length - 1; count += 1) {
    if (raw.charCodeAt(end) !== BACKSLASH) {
      end += 1;
    } else {
      end += raw[end + 1] === "u" ? 6 : 2;
    }
  }
  return decodeString(`${raw.slice(0, end)}"`);
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d;
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
        return this.scalar("string", this.string("a string"));
      case "t":
        return this.scalar("boolean", this.word("true"));
      case "f":
        return this.scalar("boolean", this.word("false"));
      case "n":
        return this.scalar("null", this.word("null"));
      default:
        return this.scalar("number", this.number());
    }
  }

  private object(depth: number): JsonObject {
    const start = this.position;
    const members: JsonMember[] = [];
    this.sequence("}", () => {
      const rawName = this.string("a name");
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

  // No regular expressions here: an engine may keep a place to return to for each character, and
  // fails at some millions of them.

  private string(what: string): string {
    const start = this.position;
    if (this.source[start] !== '"') {
      throw this.mistake(what);
    }
    let end = this.source.indexOf('"', start + 1);
    while (end >= 0 && this.isEscaped(end)) {
      end = this.source.indexOf('"', end + 1);
    }
    if (end < 0) {
      throw this.mistake("the end of a string");
    }
    this.position = end + 1;
    return this.source.slice(start, this.position);
  }

  /** Whether an odd number of backslashes stands before a place. */
  private isEscaped(place: number): boolean {
    let first = place;
    while (this.source.charCodeAt(first - 1) === BACKSLASH) {
      first -= 1;
    }
    return (place - first) % 2 === 1;
  }

  private number(): string {
    const start = this.position;
    if (this.source[this.position] === "-") {
      this.position += 1;
    }
    this.digits();
    if (this.source[this.position] === ".") {
      this.position += 1;
      this.digits();
    }
    if (this.source[this.position] === "e" || this.source[this.position] === "E") {
      this.position += 1;
      if (this.source[this.position] === "+" || this.source[this.position] === "-") {
        this.position += 1;
      }
      this.digits();
    }
    return this.source.slice(start, this.position);
  }

  private digits(): void {
    const first = this.position;
    while (isDigit(this.source.charCodeAt(this.position))) {
      this.position += 1;
    }
    if (this.position === first) {
      throw this.mistake("a value");
    }
  }

  private skipBlank(): void {
    while (isBlank(this.source.charCodeAt(this.position))) {
      this.position += 1;
    }
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
