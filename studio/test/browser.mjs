// The system's Chromium without a window, and a page of Studio in it that takes note of complaints.

import { chromium } from "playwright-core";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  // Where containers give shared memory of a few MiB, a page crashes.
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const VIEWPORT = { width: 1440, height: 900 };
/** A shared machine may be slow; a check that holds never waits so long. */
const TIMEOUT_MS = Number(process.env.STUDIO_TIMEOUT_MS ?? 20_000);

export async function launch() {
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGUMENTS });
  return {
    open: (context) => open(browser, context),
    close: () => browser.close(),
  };
}

async function open(browser, { url, theme, out }) {
  // Servers that are started for a check have certificates of their own making.
  const window = await browser.newContext({
    colorScheme: theme,
    viewport: VIEWPORT,
    ignoreHTTPSErrors: true,
  });
  window.setDefaultTimeout(TIMEOUT_MS);
  const page = await window.newPage();
  const complaints = [];
  /** Addresses whose failure a check provokes. */
  const provoked = [];
  page.on("console", (message) => {
    const from = message.location().url;
    const expected = provoked.some((part) => from.includes(part));
    if (message.type() === "error" && !expected) {
      complaints.push(`${message.text()} (${from})`);
    }
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) {
      complaints.push(`asked another server: ${request.url()}`);
    }
  });
  return {
    raw: page,
    complaints,
    provokes: (part) => provoked.push(part),
    /** A window of its own on another server, whose refusals are no complaints. */
    openElsewhere: (elsewhere) => open(browser, { url: elsewhere, theme, out }),
    goto: (hash) => page.goto(new URL(`studio/${hash}`, url).href),
    /** Waits until a text can be seen. */
    sees: (text) => page.getByText(text).first().waitFor({ state: "visible" }),
    // Hiding the caret would put a style element into the page, which its policy forbids.
    picture: (name) => page.screenshot({ path: `${out}${name}-${theme}.png`, caret: "initial" }),
    close: () => window.close(),
  };
}
