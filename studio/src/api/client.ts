// Requests to the server that Studio came from, and what can go wrong with them.
//
// Addresses are relative to the page, so that Studio also works behind a path of a proxy.

import { parseJson, type JsonText } from "../json/parse";
import { asText, member } from "../json/read";
import { encoded } from "../route";

/** The server's root: the page lies one folder below it. */
const ROOT = new URL("../", document.baseURI);

/** A place in a query text, both counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A request that was not answered as asked. `status` is 0 when there was no answer at all. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
    readonly place: Place | null = null,
  ) {
    super(message);
  }
}

let token: string | null = null;
const tokenListeners = new Set<() => void>();

/** The token that requests carry; see `session.ts`. */
export function currentToken(): string | null {
  return token;
}

export function setToken(given: string | null): void {
  token = given;
  tokenListeners.forEach((listener) => listener());
}

export function onToken(listener: () => void): () => void {
  tokenListeners.add(listener);
  return () => tokenListeners.delete(listener);
}

/** Whether the server does not let this browser in at all. */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

export interface RequestOptions {
  /** Headers of their own kind; the content's type and the token are added. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "RESET";
  readonly body?: string;
  readonly signal?: AbortSignal;
}

export function address(path: string): string {
  return new URL(path, ROOT).href;
}

/** The path of something in a database. */
export function databasePath(database: string, rest: string): string {
  return `databases/${encoded(database)}/${rest}`;
}

/** Asks and reads JSON; `null` when the server says 404 without a body: no such thing. */
export async function request(path: string, options: RequestOptions = {}): Promise<JsonText | null> {
  const response = await send(path, options);
  const text = await response.text();
  if (response.status === 404 && text === "") {
    return null;
  }
  if (!response.ok) {
    throw failure(response.status, text);
  }
  return parseJson(text);
}

/** As `request`, where 404 is a failure. */
export async function requestPresent(path: string, options: RequestOptions = {}): Promise<JsonText> {
  const answer = await request(path, options);
  if (answer === null) {
    throw new ApiError(404, "", "The server does not know this address. Is it older than Studio?");
  }
  return answer;
}

/** Asks for something to be done; what the answer says beside success is of no interest. */
export async function command(path: string, options: RequestOptions): Promise<void> {
  const response = await send(path, options);
  if (!response.ok) {
    throw failure(response.status, await response.text());
  }
}

/** An answer whose body is still to be read; failures are thrown. */
export async function stream(path: string, options: RequestOptions): Promise<Response> {
  const response = await send(path, options);
  if (!response.ok) {
    throw failure(response.status, await response.text());
  }
  return response;
}

async function send(path: string, options: RequestOptions): Promise<Response> {
  const headers: Record<string, string> = { ...options.headers };
  if (token !== null) {
    headers["authorization"] = `Bearer ${token}`;
  }
  const init: RequestInit = { method: options.method ?? "GET", headers };
  if (options.signal !== undefined) {
    init.signal = options.signal;
  }
  if (options.body !== undefined) {
    init.body = options.body;
    headers["content-type"] = "application/json";
  }
  try {
    return await fetch(address(path), init);
  } catch (error) {
    if (isAbort(error)) {
      throw error;
    }
    throw new ApiError(0, "", "The server does not answer. Is it still running?");
  }
}

/** Whether a request ended because Studio no longer wants its answer. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

function failure(status: number, text: string): ApiError {
  try {
    const { root } = parseJson(text);
    const kind = asText(member(root, "Type")) ?? "";
    const message = asText(member(root, "Message")) ?? `The server answered with status ${status}.`;
    return new ApiError(status, kind, withoutQuery(message), placeOf(message));
  } catch {
    return new ApiError(status, "", text.trim() || `The server answered with status ${status}.`);
  }
}

/** The message without the place before it and the query text behind it. */
function withoutQuery(message: string): string {
  const cut = message.search(/\r?\nQuery:/);
  return (cut < 0 ? message : message.slice(0, cut)).replace(/^\d+:\d+ /, "");
}

function placeOf(message: string): Place | null {
  const found = /^(\d+):(\d+) /.exec(message);
  return found === null ? null : { line: Number(found[1]), column: Number(found[2]) };
}
