// Says in a word whether the numbers on the screen are those of this moment.

import type { ReactNode } from "react";
import { formatUptime } from "../format";
import { useLive, type Connection } from "../live/live-provider";

const WORDS: Readonly<Record<Connection, readonly [string, string]>> = {
  connecting: ["Connecting", "Waiting for the server's first numbers."],
  live: ["Live", "Numbers arrive once a second."],
  polling: ["Polling", "Events do not arrive; the server is asked every two seconds instead."],
  refused: ["Not let in", "The server does not know this browser."],
  lost: ["No answer", "The server does not answer. The numbers shown are the last known."],
};

export function LiveBadge(): ReactNode {
  const { connection, numbers } = useLive();
  const [word, explanation] = WORDS[connection];
  return (
    <span className={`live-badge is-${connection}`} title={explanation} role="status">
      <span className="live-dot" />
      {word}
      {numbers !== null && connection !== "lost" && connection !== "refused" && (
        <span className="live-uptime">up {formatUptime(numbers.uptimeSeconds)}</span>
      )}
    </span>
  );
}
