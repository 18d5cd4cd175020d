// The pages of a long list that were asked for so far. Asks for what is in sight, and forgets what
// was not looked at for longest.
//
// Lives outside React: `usePages` draws again when the version changes.

import { isAbort } from "../../api/client";
import type { Row } from "../../api/documents";
import { toError } from "../../use-loaded";

export type LoadPage = (start: number, count: number, signal: AbortSignal) => Promise<Row[]>;

export const PAGE_ROWS = 100;
/** Pages kept: 6,000 rows, some megabytes. */
const PAGES_KEPT = 60;
/** A list that scrolls past faster than this asks for nothing. */
const SETTLE_MS = 60;

export class PageStore {
  private readonly pages = new Map<number, readonly Row[]>();
  private readonly asking = new Map<number, AbortController>();
  private readonly listeners = new Set<() => void>();
  private wanted: readonly number[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private version = 0;
  private failure: Error | null = null;

  constructor(private readonly load: LoadPage) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) {
        this.stop();
      }
    };
  };

  readonly snapshot = (): number => this.version;

  get problem(): Error | null {
    return this.failure;
  }

  /** The rows of the first page; `null` before they are there. */
  get head(): readonly Row[] | null {
    return this.pages.get(0) ?? null;
  }

  row(position: number): Row | undefined {
    return this.pages.get(Math.floor(position / PAGE_ROWS))?.[position % PAGE_ROWS];
  }

  /** Where a document stands among the rows that are there. */
  positionOf(id: string): number | null {
    for (const [page, rows] of this.pages) {
      const slot = rows.findIndex((row) => row.id === id);
      if (slot >= 0) {
        return page * PAGE_ROWS + slot;
      }
    }
    return null;
  }

  /** Says which rows are in sight; `end` is excluded. */
  readonly want = (first: number, end: number): void => {
    const firstPage = Math.floor(first / PAGE_ROWS);
    const lastPage = Math.floor(Math.max(first, end - 1) / PAGE_ROWS);
    this.wanted = Array.from({ length: lastPage - firstPage + 1 }, (_, at) => firstPage + at);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), this.pages.size === 0 ? 0 : SETTLE_MS);
  };

  private ask(): void {
    for (const [page, asking] of this.asking) {
      if (!this.wanted.includes(page)) {
        asking.abort();
        this.asking.delete(page);
      }
    }
    for (const page of this.wanted) {
      const kept = this.pages.get(page);
      if (kept !== undefined) {
        this.pages.delete(page);
        this.pages.set(page, kept);
      } else if (!this.asking.has(page)) {
        void this.fetch(page);
      }
    }
  }

  private async fetch(page: number): Promise<void> {
    const asking = new AbortController();
    this.asking.set(page, asking);
    try {
      const rows = await this.load(page * PAGE_ROWS, PAGE_ROWS, asking.signal);
      this.pages.set(page, rows);
      this.failure = null;
      this.forget();
    } catch (error) {
      if (isAbort(error)) {
        return;
      }
      this.failure = toError(error);
    }
    this.asking.delete(page);
    this.changed();
  }

  /** A map keeps the order of insertion: the first page is the one not looked at for longest. */
  private forget(): void {
    for (const page of this.pages.keys()) {
      if (this.pages.size <= PAGES_KEPT) {
        return;
      }
      if (page !== 0 && !this.wanted.includes(page)) {
        this.pages.delete(page);
      }
    }
  }

  private stop(): void {
    clearTimeout(this.timer);
    for (const asking of this.asking.values()) {
      asking.abort();
    }
    this.asking.clear();
  }

  private changed(): void {
    this.version += 1;
    for (const listener of this.listeners) {
      listener();
    }
  }
}
