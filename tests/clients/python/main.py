"""The official Python client against a server: `main.py URL [PART OF A SCENARIO'S NAME]`.

`cargo xtask test clients` runs it with each pinned release of the client.
"""

import scenarios.batches  # noqa: F401  each module registers its scenarios
import scenarios.beside_documents  # noqa: F401
import scenarios.bulk_inserts  # noqa: F401
import scenarios.cluster_wide  # noqa: F401
import scenarios.databases  # noqa: F401
import scenarios.notifications  # noqa: F401
import scenarios.queries  # noqa: F401
import scenarios.series_policies  # noqa: F401
import scenarios.sessions  # noqa: F401
import scenarios.streams  # noqa: F401
import scenarios.subscriptions  # noqa: F401
import scenarios.vectors  # noqa: F401
from harness import main

if __name__ == "__main__":
    main()
