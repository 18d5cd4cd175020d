// Small things kept in this browser. A browser that keeps nothing is no reason to fail.

const PREFIX = "jackdaw.studio.";

export function recall(name: string): string | null {
  try {
    return window.localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string): void {
  try {
    window.localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage is full or switched off: what was to be kept is only a convenience.
  }
}
