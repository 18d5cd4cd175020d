"""Compare-exchange values and cluster-wide transactions."""

from harness import equal, raises, scenario
from ravendb import (
    DeleteCompareExchangeValueOperation,
    GetCompareExchangeValueOperation,
    GetCompareExchangeValuesOperation,
    PutCompareExchangeValueOperation,
    SessionOptions,
    TransactionMode,
)
from scenarios.model import Album, Artist, album


def _cluster_wide(store):
    return store.open_session(session_options=SessionOptions(transaction_mode=TransactionMode.CLUSTER_WIDE))


@scenario()
def compare_exchange_sets_and_refuses(store):
    put = store.operations.send(PutCompareExchangeValueOperation("owner", "me", 0))
    assert put.successful
    refused = store.operations.send(PutCompareExchangeValueOperation("owner", "you", 0))
    assert not refused.successful
    equal(refused.value, "me")
    changed = store.operations.send(PutCompareExchangeValueOperation("owner", "you", put.index))
    assert changed.successful and changed.index > put.index
    equal(store.operations.send(GetCompareExchangeValueOperation("owner", str)).value, "you")


@scenario()
def compare_exchange_deletes_at_its_index(store):
    put = store.operations.send(PutCompareExchangeValueOperation("owner", "me", 0))
    stale = store.operations.send(DeleteCompareExchangeValueOperation(str, "owner", put.index + 1000))
    assert not stale.successful
    assert store.operations.send(DeleteCompareExchangeValueOperation(str, "owner", put.index)).successful
    equal(store.operations.send(GetCompareExchangeValueOperation("owner", str)), None)


@scenario()
def compare_exchange_holds_objects_and_lists(store):
    for number in range(3):
        artist = Artist(f"Artist {number}", "SE")
        store.operations.send(PutCompareExchangeValueOperation(f"artists/{number}", artist, 0))
    found = store.operations.send(GetCompareExchangeValueOperation("artists/1", Artist))
    equal(found.value.name, "Artist 1")
    several = store.operations.send(GetCompareExchangeValuesOperation(["artists/0", "artists/2"], Artist))
    equal(sorted(several), ["artists/0", "artists/2"])


@scenario()
def cluster_wide_transactions_store_documents_and_values(store):
    with _cluster_wide(store) as session:
        session.advanced.cluster_transaction.create_compare_exchange_value("names/abba", Artist("ABBA", "SE"))
        session.store(album(1), "albums/1")
        session.save_changes()
    with _cluster_wide(store) as session:
        value = session.advanced.cluster_transaction.get_compare_exchange_value("names/abba", Artist)
        equal(value.value.country, "SE")
        equal(session.load("albums/1", Album).title, "Album 001")
        value.value.country = "AU"
        session.save_changes()
    with _cluster_wide(store) as session:
        value = session.advanced.cluster_transaction.get_compare_exchange_value("names/abba", Artist)
        equal(value.value.country, "AU")


@scenario(since=7)
def a_cluster_wide_transaction_deletes_a_value(store):
    store.operations.send(PutCompareExchangeValueOperation("names/abba", Artist("ABBA", "SE"), 0))
    with _cluster_wide(store) as session:
        value = session.advanced.cluster_transaction.get_compare_exchange_value("names/abba", Artist)
        session.advanced.cluster_transaction.delete_compare_exchange_value(value)
        session.save_changes()
    with _cluster_wide(store) as session:
        equal(session.advanced.cluster_transaction.get_compare_exchange_value("names/abba", Artist), None)


@scenario()
def a_cluster_wide_transaction_refuses_a_taken_value(store):
    for attempt in range(2):
        with _cluster_wide(store) as session:
            session.advanced.cluster_transaction.create_compare_exchange_value("unique", f"{attempt}")
            session.store(album(attempt), f"albums/{attempt}")
            if attempt == 0:
                session.save_changes()
                continue
            with raises("Concurrency"):
                session.save_changes()
    with store.open_session() as session:
        equal(session.load("albums/1", Album), None)


@scenario()
def cluster_wide_documents_are_guarded(store):
    with _cluster_wide(store) as session:
        session.store(album(1), "albums/1")
        session.save_changes()
    guard = store.operations.send(GetCompareExchangeValueOperation("rvn-atomic/albums/1", dict))
    assert guard.index > 0
    with _cluster_wide(store) as session:
        session.store(album(2), "albums/1")
        with raises("Concurrency"):
            session.save_changes()
    with store.open_session() as session:
        equal(session.load("albums/1", Album).title, "Album 001")
