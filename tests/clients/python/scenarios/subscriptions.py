"""Subscriptions: documents as they are and as they come, acknowledged batch by batch."""

from queue import Queue

from harness import equal, scenario
from ravendb.documents.subscriptions.options import SubscriptionCreationOptions, SubscriptionWorkerOptions
from scenarios.model import Album, album, store_albums


def _work(store, name, seen):
    """A worker that puts the id of every document it gets into a queue."""
    options = SubscriptionWorkerOptions(name, max_docs_per_batch=5)
    worker = store.subscriptions.get_subscription_worker(options, Album)
    worker.run(lambda batch: [seen.put((item.key, item.result.title)) for item in batch.items])
    return worker


@scenario()
def a_subscription_tells_what_is_there_and_what_comes(store):
    store_albums(store, 12)
    options = SubscriptionCreationOptions(query="from Albums where year >= 1974")
    name = store.subscriptions.create_for_options(options)
    seen = Queue()
    with _work(store, name, seen):
        equal({seen.get(timeout=20)[0] for _ in range(8)}, {f"albums/{n}" for n in range(4, 12)})
        with store.open_session() as session:
            session.store(album(3), "albums/too-old")
            session.store(album(30), "albums/new")
            session.save_changes()
        equal(seen.get(timeout=20), ("albums/new", "Album 030"))
    equal([one.subscription_name for one in store.subscriptions.get_subscriptions(0, 10)], [name])
    store.subscriptions.delete(name)
    equal(store.subscriptions.get_subscriptions(0, 10), [])
