"""redis-cli against a Redis server of Jackdaw: `main.py redis://127.0.0.1:PORT [PART OF A NAME]`.

`cargo xtask test redis` runs it against a server in memory and against a durable one.
"""

import scenarios.values  # noqa: F401  each module registers its scenarios
import scenarios.keys  # noqa: F401
import scenarios.sessions  # noqa: F401
import scenarios.protocols  # noqa: F401
import scenarios.modes  # noqa: F401
import scenarios.pipes  # noqa: F401
import scenarios.listening  # noqa: F401
import scenarios.failures  # noqa: F401
import scenarios.servers  # noqa: F401
from harness import main

if __name__ == "__main__":
    main()
