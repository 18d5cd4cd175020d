// Reading members of parsed JSON, without trusting its shape.

import { decodeString, type JsonArray, type JsonNode, type JsonObject } from "./parse";

/** A member of an object; `undefined` when it is absent or the node is no object. */
export function member(node: JsonNode | undefined, name: string): JsonNode | undefined {
  if (node?.kind !== "object") {
    return undefined;
  }
  return node.members.find((candidate) => candidate.name === name)?.value;
}

export function asObject(node: JsonNode | undefined): JsonObject | undefined {
  return node?.kind === "object" ? node : undefined;
}

export function asArray(node: JsonNode | undefined): JsonArray | undefined {
  return node?.kind === "array" ? node : undefined;
}

export function asText(node: JsonNode | undefined): string | undefined {
  return node?.kind === "string" ? decodeString(node.raw) : undefined;
}

/** A number for counting and drawing; documents show `raw` instead. */
export function asNumber(node: JsonNode | undefined): number | undefined {
  return node?.kind === "number" ? Number(node.raw) : undefined;
}

export function asFlag(node: JsonNode | undefined): boolean | undefined {
  return node?.kind === "boolean" ? node.raw === "true" : undefined;
}
