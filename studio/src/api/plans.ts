// Answers that are no rows of documents: the steps of `explain`, the counts of facets.

import { asArray, asFlag, asNumber, asText, member } from "../json/read";
import type { Row } from "./documents";

/** A step of a query, with the steps it consists of. */
export interface PlanStep {
  readonly name: string;
  /** What came out of it, in words; `null` for steps that find nothing. */
  readonly found: { readonly count: number; readonly unit: string } | null;
  /** With its parts. */
  readonly nanoseconds: number;
  /** Of these, those in which nothing was done. */
  readonly waited: number;
  readonly pages: number;
  readonly pageBytes: number;
  readonly documents: number;
  readonly parts: readonly PlanStep[];
}

export interface Plan {
  readonly index: string | null;
  readonly isStale: boolean;
  /** As the server writes it for people. */
  readonly text: string;
  /** `null` when the query was not run. */
  readonly root: PlanStep | null;
}

/** The plan that an answer consists of; `null` when it has other rows. */
export function planOf(rows: readonly Row[]): Plan | null {
  const row = rows[0]?.node;
  const text = asText(member(row, "Text"));
  const isPlan = rows.length === 1 && rows[0]?.id === null && member(row, "Lag") !== undefined;
  if (!isPlan || text === undefined) {
    return null;
  }
  return {
    index: asText(member(row, "IndexName")) ?? null,
    isStale: asFlag(member(row, "IsStale")) ?? false,
    text,
    root: treeOf(asArray(member(row, "Steps"))?.items ?? []),
  };
}

type Growing = PlanStep & { readonly parts: Growing[] };

/** Steps come in order, each with its depth. */
function treeOf(items: readonly Parameters<typeof member>[0][]): PlanStep | null {
  let root: Growing | null = null;
  const open: Growing[] = [];
  for (const item of items) {
    const number = (name: string): number => asNumber(member(item, name)) ?? 0;
    const unit = asText(member(item, "Unit"));
    const step: Growing = {
      name: asText(member(item, "Step")) ?? "",
      found: unit === undefined ? null : { count: number("Found"), unit },
      nanoseconds: number("Nanoseconds"),
      waited: number("WaitedNanoseconds"),
      pages: number("PagesFromScratch") + number("PagesFromFile"),
      pageBytes: number("PageBytes"),
      documents: number("DocumentsRead"),
      parts: [],
    };
    open.length = Math.min(open.length, number("Depth"));
    open.at(-1)?.parts.push(step);
    root ??= step;
    open.push(step);
  }
  return root;
}

export interface FacetValue {
  readonly range: string;
  readonly count: number;
  /** What else was asked of the group: names and numbers as the server wrote them. */
  readonly sums: readonly (readonly [string, string])[];
}

export interface Facet {
  readonly name: string;
  readonly values: readonly FacetValue[];
  /** Values that were not sent, and documents that have them. */
  readonly termsLeft: number;
  readonly hitsLeft: number;
}

const SUMS = ["Sum", "Average", "Min", "Max"];

/** The facets that an answer consists of; `null` when it has other rows. */
export function facetsOf(rows: readonly Row[]): Facet[] | null {
  const isFacet = ({ id, node }: Row): boolean =>
    id === null &&
    asArray(member(node, "Values")) !== undefined &&
    member(node, "RemainingHits") !== undefined;
  if (rows.length === 0 || !rows.every(isFacet)) {
    return null;
  }
  return rows.map(({ node }) => ({
    name: asText(member(node, "Name")) ?? "",
    values: mergedValues(asArray(member(node, "Values"))?.items ?? []),
    termsLeft: asNumber(member(node, "RemainingTermsCount")) ?? 0,
    hitsLeft: asNumber(member(node, "RemainingHits")) ?? 0,
  }));
}

/** A range has an item for each field that is summed up. */
function mergedValues(items: readonly Parameters<typeof member>[0][]): FacetValue[] {
  const values = new Map<string, FacetValue>();
  for (const item of items) {
    const range = asText(member(item, "Range")) ?? "";
    const field = asText(member(item, "Name")) ?? "";
    const sums = SUMS.flatMap((name) => {
      const node = member(item, name);
      return node?.kind === "number" ? [[`${name} of ${field}`, node.raw] as const] : [];
    });
    const before = values.get(range)?.sums ?? [];
    values.set(range, { range, count: asNumber(member(item, "Count")) ?? 0, sums: [...before, ...sums] });
  }
  return [...values.values()];
}
