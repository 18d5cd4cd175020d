"""The Changes API: documents, prefixes, collections, counters, time series."""

import time
from datetime import datetime
from queue import Queue

from harness import equal, scenario
from scenarios.model import Album, album, store_albums

# The worker marks itself connected right after its socket opens.
LOST_MARK_SECONDS = 3


def _changes(store):
    """The store's changes, once their socket is open.

    The client's worker walks over what is asked for when its socket opens, and marks itself connected after that. What
    is asked for between the two is never sent, and waiting for its confirmation never ends. Release 7 has a method to
    wait for the mark; release 5 has the mark alone, and its constructor takes the mark back when the worker, which it
    starts first, was faster: a socket that is open for long without the mark gets it here.
    """
    changes = store.changes()
    if hasattr(changes, "ensure_connected_now"):
        changes.ensure_connected_now()
        return changes
    deadline = time.monotonic() + 15
    opened = None
    while not changes._immediate_connection:
        now = time.monotonic()
        assert now < deadline, "the socket of the changes did not open"
        if changes.client_websocket.connected:
            opened = opened or now
            if now - opened > LOST_MARK_SECONDS:
                changes._immediate_connection = 1
        time.sleep(0.005)
    return changes


def _watch(observable):
    seen = Queue()
    close = observable.subscribe(seen.put)
    observable.ensure_subscribe_now()
    return seen, close


@scenario()
def changes_of_one_document_are_told(store):
    store_albums(store, 3)
    seen, close = _watch(_changes(store).for_document("albums/1"))
    with store.open_session() as session:
        session.load("albums/1", Album).title = "changed"
        session.load("albums/2", Album).title = "changed too"
        session.save_changes()
    with store.open_session() as session:
        session.delete("albums/1")
        session.save_changes()
    first, second = seen.get(timeout=20), seen.get(timeout=20)
    equal((first.key, first.type_of_change.value, first.collection_name), ("albums/1", "Put", "Albums"))
    equal((second.key, second.type_of_change.value), ("albums/1", "Delete"))
    close()


@scenario()
def changes_of_all_documents_and_of_a_prefix_are_told(store):
    everything, close_everything = _watch(_changes(store).for_all_documents())
    prefix, close_prefix = _watch(_changes(store).for_documents_start_with("albums/"))
    with store.open_session() as session:
        session.store(album(1), "records/1")
        session.store(album(2), "albums/2")
        session.save_changes()
    equal({everything.get(timeout=20).key for _ in range(2)}, {"records/1", "albums/2"})
    equal(prefix.get(timeout=20).key, "albums/2")
    close_everything()
    close_prefix()


@scenario()
def changes_of_a_collection_are_told(store):
    seen, close = _watch(_changes(store).for_documents_in_collection("Albums"))
    store_albums(store, 2)
    equal({seen.get(timeout=20).key for _ in range(2)}, {"albums/0", "albums/1"})
    close()


@scenario()
def changes_of_counters_are_told(store):
    store_albums(store, 2)
    seen, close = _watch(_changes(store).for_counters_of_document("albums/1"))
    with store.open_session() as session:
        session.counters_for("albums/1").increment("likes", 5)
        session.save_changes()
    change = seen.get(timeout=20)
    equal((change.document_id, change.name, change.value), ("albums/1", "likes", 5))
    close()


@scenario()
def changes_of_time_series_are_told(store):
    store_albums(store, 2)
    seen, close = _watch(_changes(store).for_time_series_of_document("albums/1"))
    with store.open_session() as session:
        session.time_series_for("albums/1", "plays").append_single(datetime(2024, 5, 17), 1.0)
        session.save_changes()
    change = seen.get(timeout=20)
    equal((change.document_id, change.name), ("albums/1", "plays"))
    close()
