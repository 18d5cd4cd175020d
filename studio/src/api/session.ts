// Who asks: a certificate that the browser shows by itself, or a token for an API key.
//
// The token is kept in memory alone: a reload forgets it, and no other page can read it.

import { asText, member } from "../json/read";
import { command, requestPresent, setToken } from "./client";

/** Exchanges a key for a token, which every further request carries. */
export async function enter(apiKey: string): Promise<void> {
  const body = JSON.stringify({ ApiKey: apiKey });
  const { root } = await requestPresent("jackdaw/token", { method: "POST", body });
  setToken(asText(member(root, "Token")) ?? null);
}

/** Ends the token here and on the server. */
export async function leave(): Promise<void> {
  try {
    await command("jackdaw/token", { method: "DELETE" });
  } finally {
    setToken(null);
  }
}
