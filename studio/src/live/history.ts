// The rates of the last minute, by database, for small charts.

import type { DatabaseNumbers, Numbers } from "../api/live";

/** What is drawn as a chart. */
export type Measure = "writes" | "reads" | "queries";
export const MEASURES: readonly Measure[] = ["writes", "reads", "queries"];

export type Sample = Readonly<Record<Measure, number>>;
/** Oldest first; of each database by its name. */
export type History = ReadonlyMap<string, readonly Sample[]>;

/** A minute at one sample a second. */
export const SAMPLES_KEPT = 60;

export function sampleOf(database: DatabaseNumbers): Sample {
  return {
    writes: database.writesPerSecond,
    reads: database.readsPerSecond,
    queries: database.queriesPerSecond,
  };
}

/** The history with one more sample of each database; those that are gone are forgotten. */
export function extend(history: History, numbers: Numbers): History {
  return new Map(
    numbers.databases.map((database) => {
      const before = history.get(database.name) ?? [];
      return [database.name, [...before, sampleOf(database)].slice(-SAMPLES_KEPT)];
    }),
  );
}

/** One measure of all databases together, oldest first. */
export function totals(history: History, measure: Measure): number[] {
  const length = Math.max(0, ...[...history.values()].map((samples) => samples.length));
  const sums = new Array<number>(length).fill(0);
  for (const samples of history.values()) {
    const behind = length - samples.length;
    samples.forEach((sample, slot) => {
      sums[behind + slot] = (sums[behind + slot] ?? 0) + sample[measure];
    });
  }
  return sums;
}
