// Light or dark: the system's choice until one chooses; the choice is kept in this browser.

import { useState } from "react";
import { keep, recall } from "./storage";

export type Theme = "light" | "dark";

const KEPT_AS = "theme";

/** Applies a choice made earlier. Called once, before anything is drawn. */
export function applyKeptTheme(): void {
  const kept = recall(KEPT_AS);
  if (kept === "light" || kept === "dark") {
    document.documentElement.dataset["theme"] = kept;
  }
}

export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(currentTheme);
  const toggle = (): void => {
    const next = theme === "light" ? "dark" : "light";
    document.documentElement.dataset["theme"] = next;
    keep(KEPT_AS, next);
    setTheme(next);
  };
  return [theme, toggle];
}

function currentTheme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "light" || chosen === "dark") {
    return chosen;
  }
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
