"""redis-py against a Redis server of Jackdaw: `main.py redis://HOST:PORT [PART OF A SCENARIO'S NAME]`.

`cargo xtask test redis` runs it against a server in memory and against a durable one.
"""

import scenarios.strings  # noqa: F401  each module registers its scenarios
import scenarios.bits  # noqa: F401
import scenarios.counters  # noqa: F401
import scenarios.expiry  # noqa: F401
import scenarios.hashes  # noqa: F401
import scenarios.lists  # noqa: F401
import scenarios.blocking  # noqa: F401
import scenarios.sets  # noqa: F401
import scenarios.sorted_sets  # noqa: F401
import scenarios.scans  # noqa: F401
import scenarios.keys  # noqa: F401
import scenarios.transactions  # noqa: F401
import scenarios.pipelines  # noqa: F401
import scenarios.messages  # noqa: F401
import scenarios.connections  # noqa: F401
import scenarios.server  # noqa: F401
import scenarios.errors  # noqa: F401
import scenarios.binary  # noqa: F401
import scenarios.passwords  # noqa: F401
import scenarios.restarts  # noqa: F401
from harness import main

if __name__ == "__main__":
    main()
