"""What has to be there before an exchange, for every route: `prepare` is called by `main.py` with a fresh stage.

An exchange was recorded in the middle of a test that nobody has any more, so the state is read from the exchange
itself: documents that the answer holds are put, counters get the value that they are answered with, an index that
is dropped is made. What an exchange does not tell comes from `fixtures.json`, where it is known.

A recipe gives the exchange that is to be sent: the recorded one, or one whose change vectors, etags and indexes
are those of this stage.
"""

from . import batches, beside, databases, documents, indexes, operations, queries, sorters

RECIPES = {
    **documents.RECIPES,
    **batches.RECIPES,
    **beside.RECIPES,
    **queries.RECIPES,
    **indexes.RECIPES,
    **databases.RECIPES,
    **operations.RECIPES,
    **sorters.RECIPES,
}


def prepare(stage, exchange, fixtures):
    """Brings the stage into the state that the answer speaks of, and gives the exchange to send."""
    for name in databases.needed(exchange):
        stage.create(name)
    recipe = RECIPES.get(exchange.route)
    return (recipe and recipe(stage, exchange, fixtures)) or exchange
