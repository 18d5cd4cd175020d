// Entry: applies the kept theme, then draws Studio.

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { applyKeptTheme } from "./theme";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/grid.css";
import "./styles/json.css";
import "./styles/databases.css";
import "./styles/documents.css";
import "./styles/query.css";
import "./styles/indexes.css";
import "./styles/entry.css";
import "./styles/dialog.css";
import "./styles/plan.css";

applyKeptTheme();
const place = document.getElementById("studio");
if (place === null) {
  throw new Error("index.html holds the element that Studio is drawn into");
}
createRoot(place).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
