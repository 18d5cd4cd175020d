// A JSON node as an indented text to edit. Names, strings and numbers keep their text.

import type { JsonNode } from "./parse";

const STEP = "  ";

/** `keeps` says of each member, by the names from the root down to it, whether it is written. */
export function prettyJson(root: JsonNode, keeps: (path: readonly string[]) => boolean): string {
  return `${write(root, [], keeps)}\n`;
}

function write(
  node: JsonNode,
  path: readonly string[],
  keeps: (path: readonly string[]) => boolean,
  indent = "",
): string {
  const inner = indent + STEP;
  switch (node.kind) {
    case "array": {
      const items = node.items.map((item) => inner + write(item, [...path, ""], keeps, inner));
      return items.length === 0 ? "[]" : `[\n${items.join(",\n")}\n${indent}]`;
    }
    case "object": {
      const members = node.members.flatMap(({ name, rawName, value }) => {
        const at = [...path, name];
        return keeps(at) ? [`${inner}${rawName}: ${write(value, at, keeps, inner)}`] : [];
      });
      return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n${indent}}`;
    }
    default:
      return node.raw;
  }
}
