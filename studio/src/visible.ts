// Characters that are not seen, or that turn the text around them, as escapes.
//
// Ids, names, values and messages come from anyone. U+202E in one would let it read as another,
// and a control character would be no character at all. Joiners stay: scripts and emoji need them.

const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

/** A text for one line. */
export function visible(text: string): string {
  return text.replace(UNSEEN, escapeOf);
}

/** A text of several lines: breaks and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(UNSEEN, (found) => (found === "\n" || found === "\t" ? found : escapeOf(found)));
}

/** As in JSON, so that what is drawn can be pasted there. */
function escapeOf(found: string): string {
  switch (found) {
    case "\n":
      return "\\n";
    case "\r":
      return "\\r";
    case "\t":
      return "\\t";
    default:
      return unitsOf(found)
        .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
        .join("");
  }
}

function unitsOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}
