// Numbers, sizes and times for people. Documents are never passed through here.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const DATE = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const BYTE_UNITS = ["KB", "MB", "GB", "TB"] as const;

export function formatCount(count: number): string {
  return WHOLE.format(count);
}

/** `1 document`, `2 documents`. */
export function formatCounted(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Events per second: tenths while they tell something. */
export function formatRate(rate: number): string {
  return rate === 0 || rate >= 100 ? WHOLE.format(rate) : TENTHS.format(rate);
}

export function formatBytes(bytes: number): string {
  let amount = bytes;
  let unit = "B";
  for (const larger of BYTE_UNITS) {
    if (amount < 1000) {
      break;
    }
    amount /= 1024;
    unit = larger;
  }
  return `${unit === "B" || amount >= 100 ? WHOLE.format(amount) : TENTHS.format(amount)} ${unit}`;
}

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1) {
    return "< 1 ms";
  }
  return milliseconds < 1000
    ? `${WHOLE.format(milliseconds)} ms`
    : `${TENTHS.format(milliseconds / 1000)} s`;
}

/** The time of a step, which may be short. */
export function formatNanoseconds(nanoseconds: number): string {
  const units: readonly [number, string][] = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "\u00b5s"],
  ];
  const [size, unit] = units.find(([least]) => nanoseconds >= least) ?? [1, "ns"];
  const amount = nanoseconds / size;
  return `${amount >= 100 || size === 1 ? WHOLE.format(amount) : TENTHS.format(amount)} ${unit}`;
}

/** Whole time since something started: its two largest units. */
export function formatUptime(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  if (days > 0) {
    return `${days} d ${hours} h`;
  }
  if (hours > 0) {
    return `${hours} h ${minutes} min`;
  }
  return minutes > 0 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(seconds)} s`;
}

/** A moment as the server wrote it, in local time; the text itself when it is no moment. */
export function formatMoment(moment: string): string {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? moment : DATE.format(date);
}

/** How long ago, roughly. */
export function formatAgo(moment: string, now: number): string {
  const seconds = Math.max(0, (now - new Date(moment).getTime()) / 1000);
  if (Number.isNaN(seconds)) {
    return moment;
  }
  if (seconds < 60) {
    return "just now";
  }
  const steps: readonly [number, string][] = [
    [86_400, "d"],
    [3_600, "h"],
    [60, "min"],
  ];
  const [size, unit] = steps.find(([step]) => seconds >= step) ?? [60, "min"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}
