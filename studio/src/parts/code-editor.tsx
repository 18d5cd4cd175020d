// An editor for JSON: colors, folding, search, undo, and what cannot be seen as escapes.
//
// It lives in a shadow tree: there its styles are constructed sheets, which the page's policy
// allows, and not style elements, which it forbids.

import { json } from "@codemirror/lang-json";
import { EditorView, highlightSpecialChars, keymap } from "@codemirror/view";
import { basicSetup } from "codemirror";
import { useEffect, useRef, type ReactNode } from "react";
import { visible } from "../visible";

interface CodeEditorProps {
  readonly label: string;
  /** The text at first; later changes of it are not taken over. */
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Ctrl and S. */
  readonly onSave: () => void;
}

const THEME = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "12px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "19px" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--quiet)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft) !important",
  },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-line span": { color: "inherit" },
});

const UNSEEN = highlightSpecialChars({
  addSpecialChars: /[\u0300\u2000-\u200b\u2060-\u2064\u3164]/u,
  render: (code, description) => {
    const shown = document.createElement("span");
    shown.className = "cm-specialChar";
    shown.textContent = visible(String.fromCodePoint(code));
    shown.title = description ?? "";
    return shown;
  },
});

export default function CodeEditor({ label, text, onText, onSave }: CodeEditorProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const first = useRef(text);
  const latest = useRef({ onText, onSave });
  latest.current = { onText, onSave };
  useEffect(() => {
    const host = place.current;
    if (host === null) {
      return undefined;
    }
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const save = (): boolean => {
      latest.current.onSave();
      return true;
    };
    const view = new EditorView({
      doc: first.current,
      parent: root,
      root,
      extensions: [
        UNSEEN,
        keymap.of([{ key: "Mod-s", run: save, preventDefault: true }]),
        basicSetup,
        json(),
        THEME,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) {
            latest.current.onText(update.state.doc.toString());
          }
        }),
      ],
    });
    view.focus();
    return () => view.destroy();
  }, [label]);
  return <div ref={place} className="code-editor" />;
}
