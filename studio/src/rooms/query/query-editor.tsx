// A text area for RQL, with colors drawn below its letters and the mistake underlined.
//
// Both layers have the same font, padding and wrapping, so that letters stand on each other.

import { useRef, type KeyboardEvent, type ReactNode } from "react";
import type { Place } from "../../api/client";
import { rqlTokens } from "../../rql/tokens";

interface QueryEditorProps {
  readonly text: string;
  /** Where the server found a mistake in this text. */
  readonly place: Place | null;
  readonly onText: (text: string) => void;
  readonly onRun: () => void;
}

const LINES_MIN = 5;
const LINES_MAX = 14;

export function QueryEditor({ text, place, onText, onRun }: QueryEditorProps): ReactNode {
  const colors = useRef<HTMLDivElement>(null);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onRun();
    }
  };
  const lines = Math.min(LINES_MAX, Math.max(LINES_MIN, text.split("\n").length + 1));
  return (
    <div className="editor">
      <div ref={colors} className="editor-colors" aria-hidden="true">
        {place !== null && (
          <div className="editor-mark">
            {textBefore(text, place)}
            <mark>{wordAt(text, place)}</mark>
          </div>
        )}
        <div>
          {rqlTokens(text).map((token, slot) => (
            <span key={slot} className={`rql-${token.kind}`}>
              {token.text}
            </span>
          ))}
        </div>
      </div>
      <textarea
        value={text}
        rows={lines}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKey}
        onScroll={(event) => colors.current?.scrollTo(0, event.currentTarget.scrollTop)}
        placeholder="from Albums where Year > 1990"
        aria-label="Query in RQL"
        aria-invalid={place !== null}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        autoFocus
      />
    </div>
  );
}

function offsetOf(text: string, place: Place): number {
  const lines = text.split("\n");
  const before = lines.slice(0, place.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  return Math.min(text.length, before + place.column - 1);
}

function textBefore(text: string, place: Place): string {
  return text.slice(0, offsetOf(text, place));
}

/** What stands at the mistake: a word or a sign; a blank at the end of the text. */
function wordAt(text: string, place: Place): string {
  const rest = text.slice(offsetOf(text, place));
  return /^(?:[\w.@]+|\S)/.exec(rest)?.[0] ?? " ";
}
