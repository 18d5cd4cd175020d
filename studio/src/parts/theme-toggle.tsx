// Switches between light and dark.

import type { ReactNode } from "react";
import { useTheme } from "../theme";
import { Icon } from "./icon";

export function ThemeToggle(): ReactNode {
  const [theme, toggle] = useTheme();
  const label = theme === "light" ? "Use dark colors" : "Use light colors";
  return (
    <button type="button" className="icon-button" onClick={toggle} title={label} aria-label={label}>
      <Icon name={theme === "light" ? "moon" : "sun"} />
    </button>
  );
}
