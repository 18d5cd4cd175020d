// Keeps the live numbers for all who show them: by server-sent events, by asking when those fail.

import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import { isAbort } from "../api/client";
import { followNumbers, readNumbers, type Numbers } from "../api/live";
import { extend, type History } from "./history";

/** How the numbers arrive. */
export type Connection = "connecting" | "live" | "polling" | "lost";

export interface Live {
  readonly connection: Connection;
  /** The last numbers; they stay when the connection is lost. */
  readonly numbers: Numbers | null;
  readonly history: History;
}

/** Time between two questions while events do not arrive. */
const POLL_MS = 2000;
const NOTHING: Live = { connection: "connecting", numbers: null, history: new Map() };
const LiveContext = createContext<Live>(NOTHING);

export function useLive(): Live {
  return useContext(LiveContext);
}

export function LiveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [live, setLive] = useState<Live>(NOTHING);
  useEffect(() => {
    const accept = (connection: Connection) => (numbers: Numbers) => {
      setLive((before) => ({ connection, numbers, history: extend(before.history, numbers) }));
    };
    const polling = new Polling(accept("polling"), () =>
      setLive((before) => ({ ...before, connection: "lost" })),
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
  }, []);
  return <LiveContext value={live}>{children}</LiveContext>;
}

/** Asks again and again between `start` and `stop`. */
class Polling {
  private running: AbortController | null = null;

  constructor(
    private readonly onNumbers: (numbers: Numbers) => void,
    private readonly onLost: () => void,
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
          this.onLost();
        }
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}
