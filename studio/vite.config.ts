// How Studio is built: into dist/, with relative paths, for browsers that know `light-dark()`.
//
// The policy below is written into the built page: no script, style or request but the server's
// own. The development server needs an inline script for reloading and therefore runs without it.

import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const contentPolicy: Plugin = {
  name: "content-policy",
  apply: "build",
  transformIndexHtml: () => [
    {
      tag: "meta",
      attrs: { "http-equiv": "Content-Security-Policy", content: POLICY },
      injectTo: "head-prepend",
    },
  ],
};

// Where `npm run dev` finds a running server.
const SERVER = "http://127.0.0.1:8080";

export default defineConfig({
  base: "./",
  plugins: [react(), contentPolicy],
  build: {
    target: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: { proxy: { "/databases": SERVER, "/jackdaw": SERVER, "/admin": SERVER } },
});
