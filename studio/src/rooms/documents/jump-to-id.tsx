// Opens a document by its id. The key `/` leads here.

import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

export function JumpToId({ onJump }: { readonly onJump: (id: string) => void }): ReactNode {
  const [id, setId] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent): void => {
      const typing = event.target instanceof HTMLInputElement;
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        field.current?.focus();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && id.trim() !== "") {
      onJump(id.trim());
    }
  };
  return (
    <input
      ref={field}
      className="field jump"
      value={id}
      onChange={(event) => setId(event.target.value)}
      onKeyDown={onKey}
      placeholder="Open by id    /"
      aria-label="Open a document by its id"
      spellCheck={false}
    />
  );
}
