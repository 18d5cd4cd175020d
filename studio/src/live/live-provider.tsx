// Keeps the live numbers for all who show them: by server-sent events, by asking when those fail.

import {
  createContext,
  useContext,
  useEffect,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { currentToken, isAbort, isRefusal, onToken } from "../api/client";
import { followNumbers, readNumbers, type Numbers } from "../api/live";
import { extend, type History } from "./history";

/** How the numbers arrive. */
export type Connection = "connecting" | "live" | "polling" | "lost" | "refused";

export interface Live {
  readonly connection: Connection;
  /** The last numbers; they stay when the connection is lost. */
  readonly numbers: Numbers | null;
  readonly history: History;
  /** What the server said when it refused. */
  readonly refusal: string | null;
}

/** Time between two questions while events do not arrive. */
const POLL_MS = 2000;
const NOTHING: Live = {
  connection: "connecting",
  numbers: null,
  history: new Map(),
  refusal: null,
};
const LiveContext = createContext<Live>(NOTHING);

export function useLive(): Live {
  return useContext(LiveContext);
}

export function LiveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [live, setLive] = useState<Live>(NOTHING);
  const token = useSyncExternalStore(onToken, currentToken);
  useEffect(() => {
    const accept = (connection: Connection) => (numbers: Numbers) => {
      setLive((before) => ({
        connection,
        numbers,
        history: extend(before.history, numbers),
        refusal: null,
      }));
    };
    const polling = new Polling(accept("polling"), (error) =>
      setLive((before) =>
        isRefusal(error)
          ? { ...before, connection: "refused", refusal: error.message }
          : { ...before, connection: "lost" },
      ),
    );
    const acceptEvent = accept("live");
    const unfollow = followNumbers(
      (numbers) => {
        polling.stop();
        acceptEvent(numbers);
      },
      () => polling.start(),
    );
    return () => {
      unfollow();
      polling.stop();
    };
  }, [token]);
  return <LiveContext value={live}>{children}</LiveContext>;
}

/** Asks again and again between `start` and `stop`. */
class Polling {
  private running: AbortController | null = null;

  constructor(
    private readonly onNumbers: (numbers: Numbers) => void,
    private readonly onLost: (error: unknown) => void,
  ) {}

  start(): void {
    if (this.running === null) {
      this.running = new AbortController();
      void this.ask(this.running.signal);
    }
  }

  stop(): void {
    this.running?.abort();
    this.running = null;
  }

  private async ask(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.onNumbers(await readNumbers(signal));
      } catch (error) {
        if (!isAbort(error)) {
          this.onLost(error);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}
