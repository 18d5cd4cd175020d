// Two states of one document next to each other: what was written here, and what is stored now.

import type { ReactNode } from "react";
import type { Row } from "../../api/documents";
import { parseJson } from "../../json/parse";
import { prettyJson } from "../../json/pretty";
import { Dialog } from "../../parts/dialog";
import { visibleLines } from "../../visible";
import { isOwn } from "./own-metadata";

interface DocumentConflictProps {
  readonly mine: string;
  /** `null` when it was deleted. */
  readonly theirs: Row | null;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
  readonly onClose: () => void;
}

export function DocumentConflict(props: DocumentConflictProps): ReactNode {
  const { mine, theirs, onKeepMine, onTakeTheirs, onClose } = props;
  const stored = theirs === null ? "" : prettyJson(theirs.node, isOwn);
  // It was sent, so it is JSON.
  const written = prettyJson(parseJson(mine).root, isOwn);
  return (
    <Dialog title="Changed by someone else meanwhile" isWide onClose={onClose}>
      <p>Nothing was stored. Lines that the other text does not have are marked.</p>
      <div className="conflict">
        <Side title="What you have written" text={written} other={stored} />
        {theirs === null ? (
          <section>
            <h3>What is stored now</h3>
            <p>The document was deleted.</p>
          </section>
        ) : (
          <Side title="What is stored now" text={stored} other={written} />
        )}
      </div>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Keep writing
        </button>
        <button type="button" className="button" onClick={onTakeTheirs}>
          Discard mine
        </button>
        <button type="button" className="button is-danger" onClick={onKeepMine}>
          Store mine over it
        </button>
      </div>
    </Dialog>
  );
}

interface SideProps {
  readonly title: string;
  readonly text: string;
  readonly other: string;
}

function Side({ title, text, other }: SideProps): ReactNode {
  const lines = new Set(other.split("\n").map(bare));
  return (
    <section>
      <h3>{title}</h3>
      <pre tabIndex={0}>
        {text.split("\n").map((line, slot) => (
          <span key={slot} className={lines.has(bare(line)) ? undefined : "is-other"}>
            {visibleLines(line)}
            {"\n"}
          </span>
        ))}
      </pre>
    </section>
  );
}

/** A line without its indent and its comma, which say nothing. */
function bare(line: string): string {
  return line.trim().replace(/,$/, "");
}
