// What a server without databases shows: two ways to get one.

import type { ReactNode } from "react";
import { Notice } from "../../parts/notice";

export function NoDatabases(): ReactNode {
  return (
    <Notice title="There is no database yet">
      <p>
        Create one with <strong>New database</strong> above, or let the server make up a music
        catalogue to look around in:
      </p>
      <pre>jackdaw demo</pre>
    </Notice>
  );
}
