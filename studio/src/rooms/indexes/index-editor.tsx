// Writes a static index: its name, its maps, and a reduce where groups are wanted.

import { useId, useState, type ReactNode } from "react";
import { putIndex, type IndexEntry } from "../../api/indexes";
import { Icon } from "../../parts/icon";
import { useUnsaved } from "../../parts/unsaved";
import { UnsavedQuestion } from "../../parts/unsaved-question";
import { toError } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";

interface IndexEditorProps {
  readonly database: string;
  /** The index to change; `null` for a new one. */
  readonly of: IndexEntry | null;
  readonly onClose: () => void;
  readonly onSaved: (name: string) => void;
}

const LINES_MIN = 6;
const MAP_EXAMPLE = `map('Albums', album => ({
    Artist: album.Artist,
    Decade: Math.floor(album.Year / 10) * 10,
    Count: 1
}))`;
const REDUCE_EXAMPLE = `groupBy(entry => ({ Artist: entry.Artist, Decade: entry.Decade }))
    .aggregate(group => ({
        Artist: group.key.Artist,
        Decade: group.key.Decade,
        Count: group.values.reduce((sum, entry) => sum + entry.Count, 0)
    }))`;

export function IndexEditor({ database, of, onClose, onSaved }: IndexEditorProps): ReactNode {
  const [name, setName] = useState(of?.name ?? "");
  const [maps, setMaps] = useState<readonly string[]>(of?.maps ?? [""]);
  const [reduce, setReduce] = useState(of?.reduce ?? "");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const isUnsaved =
    name !== (of?.name ?? "") ||
    reduce !== (of?.reduce ?? "") ||
    maps.join("\0") !== (of?.maps ?? [""]).join("\0");
  const unsaved = useUnsaved(isUnsaved, onClose);
  const close = (): void => unsaved.guard(onClose);
  const filled = maps.filter((map) => map.trim() !== "");
  const save = async (): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      const grouping = reduce.trim() === "" ? null : reduce;
      const text = { name: name.trim(), maps: filled, reduce: grouping, kept: of?.kept ?? [] };
      await putIndex(database, text);
      unsaved.release();
      onSaved(text.name);
    } catch (error) {
      setProblem(toError(error).message);
      setBusy(false);
    }
  };
  const setMap = (slot: number, text: string): void =>
    setMaps(maps.map((map, at) => (at === slot ? text : map)));
  return (
    <aside className="index-panel" aria-label="Index editor">
      <UnsavedQuestion unsaved={unsaved} />
      <div className="document-head">
        <h2 className="is-plain">{of === null ? "New index" : `Change ${visible(of.name)}`}</h2>
        <button type="button" className="icon-button" onClick={close} title="Close" aria-label="Close">
          <Icon name="close" />
        </button>
      </div>
      <div className="index-body">
        <p className="is-quiet">
          Maps and reduces are JavaScript or C# LINQ. Queries name the index:{" "}
          <code>from index &apos;{visible(name.trim() || "Name")}&apos;</code>
        </p>
        <p className="index-field">
          <label htmlFor="index-name">Name</label>
          <input
            id="index-name"
            className="field"
            value={name}
            disabled={of !== null}
            onChange={(event) => setName(event.target.value)}
            placeholder="Albums/ByDecade"
            spellCheck={false}
            autoFocus={of === null}
          />
        </p>
        {maps.map((map, slot) => (
          <CodeField
            key={slot}
            label={maps.length > 1 ? `Map ${slot + 1}` : "Map"}
            text={map}
            example={MAP_EXAMPLE}
            onText={(text) => setMap(slot, text)}
          />
        ))}
        <p>
          <button type="button" className="button" onClick={() => setMaps([...maps, ""])}>
            <Icon name="plus" />
            Another map
          </button>
        </p>
        <CodeField
          label="Reduce, if groups are wanted"
          text={reduce}
          example={REDUCE_EXAMPLE}
          onText={setReduce}
        />
        {problem !== null && (
          <p className="is-bad" role="alert">
            {visibleLines(problem)}
          </p>
        )}
        <div className="index-actions">
          <button
            type="button"
            className="button is-strong"
            disabled={busy || name.trim() === "" || filled.length === 0}
            onClick={() => void save()}
          >
            Save
          </button>
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
        </div>
      </div>
    </aside>
  );
}

interface CodeFieldProps {
  readonly label: string;
  readonly text: string;
  readonly example: string;
  readonly onText: (text: string) => void;
}

function CodeField({ label, text, example, onText }: CodeFieldProps): ReactNode {
  const id = useId();
  const shown = text === "" ? example : text;
  return (
    <p className="index-field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        value={text}
        rows={Math.max(LINES_MIN, shown.split("\n").length + 1)}
        onChange={(event) => onText(event.target.value)}
        placeholder={example}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
      />
    </p>
  );
}
