// One index: its text, its fields, what went wrong, and what can be done with it.

import { useState, type ReactNode } from "react";
import { deleteIndex, isAutomatic, resetIndex, runIndex, type IndexEntry } from "../../api/indexes";
import { formatCount, formatMoment } from "../../format";
import { Icon } from "../../parts/icon";
import { Notice } from "../../parts/notice";
import { href } from "../../route";
import { toError } from "../../use-loaded";
import { visible, visibleLines } from "../../visible";
import { IndexState, kindOf } from "./index-table";

interface IndexPanelProps {
  readonly database: string;
  readonly name: string;
  /** `null` when there is none of this name. */
  readonly index: IndexEntry | null;
  readonly onChanged: () => void;
  readonly onEdit: () => void;
  readonly onClose: () => void;
}

export function IndexPanel(props: IndexPanelProps): ReactNode {
  const { name, index, onClose } = props;
  return (
    <aside className="index-panel" aria-label={`Index ${visible(name)}`}>
      <div className="document-head">
        <h2 title={visible(name)}>{visible(name)}</h2>
        <button
          type="button"
          className="icon-button"
          onClick={onClose}
          title="Close"
          aria-label="Close"
        >
          <Icon name="close" />
        </button>
      </div>
      {index === null ? (
        <Notice title="There is no such index">
          <p>It was deleted, or a larger one took its place.</p>
        </Notice>
      ) : (
        <IndexBody {...props} index={index} />
      )}
    </aside>
  );
}

type IndexBodyProps = IndexPanelProps & { readonly index: IndexEntry };

function IndexBody({ database, index, onChanged, onEdit, onClose }: IndexBodyProps): ReactNode {
  const question = `from index '${index.name.replaceAll("'", "\\'")}'`;
  return (
    <div className="index-body">
      <p className="index-facts">
        <IndexState index={index} />
        <span className="is-quiet">{kindOf(index)}</span>
        <span className="is-quiet">{formatCount(index.entries)} entries</span>
        {index.lastIndexed !== null && (
          <span className="is-quiet">last change {formatMoment(index.lastIndexed)}</span>
        )}
      </p>
      <IndexActions
        database={database}
        index={index}
        onChanged={onChanged}
        onEdit={onEdit}
        onDeleted={onClose}
      />
      {index.maps.map((map, slot) => (
        <IndexText key={slot} title={index.maps.length > 1 ? `Map ${slot + 1}` : "Map"} text={map} />
      ))}
      {index.reduce !== null && <IndexText title="Reduce" text={index.reduce} />}
      {index.fields.length > 0 && <Fields index={index} />}
      {index.mistakes.length > 0 && <Mistakes database={database} index={index} />}
      <p>
        <a className="link" href={href({ room: "query", database, text: question })}>
          Query it
        </a>
      </p>
    </div>
  );
}

function IndexText({ title, text }: { readonly title: string; readonly text: string }): ReactNode {
  return (
    <section>
      <h3>{title}</h3>
      <pre tabIndex={0}>{visibleLines(text)}</pre>
    </section>
  );
}

function Fields({ index }: { readonly index: IndexEntry }): ReactNode {
  return (
    <section>
      <h3>Fields</h3>
      <ul className="index-fields">
        {index.fields.map(({ name, options }) => (
          <li key={name}>
            <code>{visible(name)}</code> <span className="is-quiet">{visible(options.join(", "))}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Mistakes({ database, index }: { readonly database: string; readonly index: IndexEntry }): ReactNode {
  return (
    <section>
      <h3>Errors</h3>
      <ul className="index-mistakes">
        {index.mistakes.map(({ document, message, at }, slot) => (
          <li key={slot}>
            {document !== null && (
              <a
                className="link"
                href={href({ room: "documents", database, collection: null, id: document })}
              >
                {visible(document)}
              </a>
            )}
            <span className="is-quiet">{at === null ? "" : formatMoment(at)}</span>
            <p>{visibleLines(message)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface IndexActionsProps {
  readonly database: string;
  readonly index: IndexEntry;
  readonly onChanged: () => void;
  readonly onEdit: () => void;
  readonly onDeleted: () => void;
}

function IndexActions(props: IndexActionsProps): ReactNode {
  const { database, index, onChanged, onEdit, onDeleted } = props;
  const [problem, setProblem] = useState<string | null>(null);
  const [deleting, setDeleting] = useState(false);
  const isRunning = index.status === "Running";
  const act = (action: () => Promise<void>, done: () => void = onChanged): void => {
    setProblem(null);
    action().then(done, (error: unknown) => setProblem(toError(error).message));
  };
  const remove = (): void =>
    act(
      () => deleteIndex(database, index.name),
      () => {
        onDeleted();
        onChanged();
      },
    );
  return (
    <>
      <div className="index-actions">
        {!isAutomatic(index) && (
          <button type="button" className="button" onClick={onEdit}>
            Edit
          </button>
        )}
        <button
          type="button"
          className="button"
          onClick={() => act(() => runIndex(database, index.name, !isRunning))}
        >
          {isRunning ? "Pause" : "Go on"}
        </button>
        <button
          type="button"
          className="button"
          title="Makes it anew from the documents"
          onClick={() => act(() => resetIndex(database, index.name))}
        >
          Reset
        </button>
        {deleting ? (
          <>
            <button type="button" className="button is-danger" onClick={remove}>
              Delete for good
            </button>
            <button type="button" className="button" onClick={() => setDeleting(false)}>
              Keep
            </button>
          </>
        ) : (
          <button type="button" className="button" onClick={() => setDeleting(true)}>
            Delete
          </button>
        )}
      </div>
      {problem !== null && (
        <p className="is-bad" role="alert">
          {visibleLines(problem)}
        </p>
      )}
    </>
  );
}
