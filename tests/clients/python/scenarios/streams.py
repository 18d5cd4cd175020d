"""Streams of a prefix, of a collection and of a query; release 5 of the client has none."""

from harness import equal, scenario
from scenarios.model import Album, store_albums


@scenario(since=7)
def a_query_is_streamed(store):
    store_albums(store, 40)
    with store.open_session() as session:
        query = session.query(object_type=Album).where_greater_than("year", 1999).wait_for_non_stale_results()
        list(query)
        streamed = session.advanced.stream(session.query(object_type=Album).where_greater_than("year", 1999))
        titles = sorted(one.document.title for one in streamed)
        equal(titles, [f"Album {n:03}" for n in range(30, 40)])


@scenario(since=7)
def a_raw_query_is_streamed(store):
    store_albums(store, 40)
    with store.open_session() as session:
        results = session.advanced.stream(session.advanced.raw_query("from Albums", Album))
        equal(len([one for one in results if one.key and one.change_vector]), 40)


@scenario(since=7)
def a_prefix_is_streamed(store):
    store_albums(store, 40)
    with store.open_session() as session:
        ids = [one.key for one in session.advanced.stream_starting_with("albums/3", object_type=Album)]
        equal(ids, ["albums/3"] + [f"albums/{n}" for n in range(30, 40)])
