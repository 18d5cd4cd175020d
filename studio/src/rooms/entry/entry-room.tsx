// What a secured server shows to a browser that it does not know: who may come in, and how.

import { useState, type FormEvent, type ReactNode } from "react";
import { enter } from "../../api/session";
import { toError } from "../../use-loaded";
import { visibleLines } from "../../visible";

const CREATE_KEY = "jackdaw key create my-laptop --access music=ReadWrite --data DIR";
const CREATE_CERTIFICATE = "jackdaw certificate create my-name --access music=ReadWrite --data DIR";
const FOR_BROWSERS = "openssl pkcs12 -export -in my-name.pem -out my-name.p12";

interface EntryRoomProps {
  /** The server's words. */
  readonly reason: string | null;
}

export function EntryRoom({ reason }: EntryRoomProps): ReactNode {
  return (
    <div className="page entry">
      <h2>This server lets in only those it knows</h2>
      <p className="lead">
        It runs, and it answers over TLS. It knows people and programs by a client certificate or by
        an API key, and this browser has shown neither.
      </p>
      {reason !== null && reason !== "" && <p className="entry-reason">{visibleLines(reason)}</p>}
      <KeyForm />
      <section>
        <h3>With a client certificate</h3>
        <ol>
          <li>
            An operator makes one on the server&apos;s machine. The administrator has one since{" "}
            <code>jackdaw setup</code>: <code>DIR/security/admin.pem</code>.
            <pre tabIndex={0}>{CREATE_CERTIFICATE}</pre>
          </li>
          <li>
            Browsers read certificates as PKCS #12:
            <pre tabIndex={0}>{FOR_BROWSERS}</pre>
          </li>
          <li>
            Import <code>my-name.p12</code> in the settings of the browser, under certificates, then
            load this page again. The browser asks which certificate to show.
          </li>
        </ol>
      </section>
      <section>
        <h3>Neither at hand?</h3>
        <p>Ask those who run the server. Who may do what is set for each certificate and key.</p>
      </section>
    </div>
  );
}

function KeyForm(): ReactNode {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await enter(key.trim());
    } catch (error) {
      setProblem(toError(error).message);
    }
    setBusy(false);
  };
  return (
    <section>
      <h3>With an API key</h3>
      <form className="entry-form" onSubmit={(event) => void submit(event)}>
        <label htmlFor="api-key">API key</label>
        <input
          id="api-key"
          className="field"
          type="password"
          value={key}
          onChange={(event) => setKey(event.target.value)}
          placeholder="jdk_"
          autoComplete="off"
          spellCheck={false}
        />
        <button type="submit" className="button is-strong" disabled={busy || key.trim() === ""}>
          Sign in
        </button>
      </form>
      {problem !== null && (
        <p className="is-bad" role="alert">
          {visibleLines(problem)}
        </p>
      )}
      <p className="is-quiet">
        An operator makes one with the line below. Studio keeps what it gets for the key in memory
        only: a reload asks again.
      </p>
      <pre tabIndex={0}>{CREATE_KEY}</pre>
    </section>
  );
}
