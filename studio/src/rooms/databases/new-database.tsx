// Asks for a name and creates a database.

import { useState, type KeyboardEvent, type ReactNode } from "react";
import { createDatabase } from "../../api/databases";
import { navigate } from "../../route";
import { toError } from "../../use-loaded";
import { visibleLines } from "../../visible";

export function NewDatabase({ onDone }: { readonly onDone: () => void }): ReactNode {
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const create = async (): Promise<void> => {
    setBusy(true);
    try {
      await createDatabase(name.trim());
      navigate({ room: "documents", database: name.trim(), collection: null, id: null });
    } catch (error) {
      setProblem(toError(error).message);
      setBusy(false);
    }
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && name.trim() !== "") {
      void create();
    } else if (event.key === "Escape") {
      onDone();
    }
  };
  return (
    <div className="new-database">
      <label htmlFor="new-database-name">Name</label>
      <input
        id="new-database-name"
        className="field"
        value={name}
        onChange={(event) => setName(event.target.value)}
        onKeyDown={onKey}
        placeholder="letters, digits, _ - ."
        spellCheck={false}
        autoFocus
      />
      <button
        type="button"
        className="button is-strong"
        disabled={busy || name.trim() === ""}
        onClick={() => void create()}
      >
        Create
      </button>
      <button type="button" className="button" onClick={onDone}>
        Cancel
      </button>
      {problem !== null && (
        <span className="is-bad" role="alert">
          {visibleLines(problem)}
        </span>
      )}
    </div>
  );
}
