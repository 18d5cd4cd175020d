"""Sessions: store, load, change, delete, includes, lazy loads, prefixes, ids, concurrency."""

from harness import equal, raises, scenario
from ravendb.documents.operations.identities import (
    GetIdentitiesOperation,
    NextIdentityForOperation,
    SeedIdentityForOperation,
)
from scenarios.model import Album, Artist, album, store_albums


@scenario()
def documents_keep_every_kind_of_value(store):
    values = {
        "text": 'k\u00f6nnen \u65e5\u672c \U0001f3b5 "quoted" \\ back',
        "empty": "",
        "int": 9007199254740991,
        "negative": -1,
        "float": 0.1,
        "true": True,
        "none": None,
        "list": [1, [2, []], {}],
        "object": {"a": {"b": {"c": [None]}}},
    }
    with store.open_session() as session:
        stored = Album(title=values)
        session.store(stored, "albums/values")
        session.save_changes()
    with store.open_session() as session:
        equal(session.load("albums/values", Album).title, values)


@scenario()
def a_change_is_stored_and_only_then_seen(store):
    store_albums(store, 2)
    with store.open_session() as session:
        one = session.load("albums/1", Album)
        one.title = "changed"
        assert session.advanced.has_changed(one)
        with store.open_session() as other:
            equal(other.load("albums/1", Album).title, "Album 001")
        session.save_changes()
    with store.open_session() as session:
        equal(session.load("albums/1", Album).title, "changed")


@scenario()
def several_documents_are_loaded_in_one_request(store):
    store_albums(store, 5)
    with store.open_session() as session:
        found = session.load(["albums/1", "albums/2", "albums/none"], Album)
        equal(found["albums/2"].title, "Album 002")
        equal(found["albums/none"], None)
        equal(session.advanced.number_of_requests, 1)


@scenario()
def deletes_by_id_and_by_entity(store):
    store_albums(store, 3)
    with store.open_session() as session:
        session.delete("albums/0")
        session.delete(session.load("albums/1", Album))
        session.save_changes()
    with store.open_session() as session:
        equal(session.load("albums/0", Album), None)
        equal(session.load("albums/1", Album), None)
        assert session.load("albums/2", Album)
        assert not session.advanced.exists("albums/0")
        assert session.advanced.exists("albums/2")


@scenario()
def metadata_travels_with_the_document(store):
    with store.open_session() as session:
        one = album(1)
        session.store(one, "albums/1")
        session.advanced.get_metadata_for(one)["Shelf"] = "B 12"
        session.save_changes()
    with store.open_session() as session:
        one = session.load("albums/1", Album)
        metadata = session.advanced.get_metadata_for(one)
        equal(metadata["Shelf"], "B 12")
        equal(metadata["@collection"], "Albums")
        assert session.advanced.get_change_vector_for(one)
        assert session.advanced.get_last_modified_for(one)


@scenario()
def included_documents_come_with_the_first_request(store):
    store_albums(store, 4)
    with store.open_session() as session:
        one = session.include("artist").load("albums/1", Album)["albums/1"]
        artist = session.load(one.artist, Artist)
        equal(artist.name, "Artist 1")
        equal(session.advanced.number_of_requests, 1)


@scenario()
def lazy_loads_share_a_request(store):
    store_albums(store, 4)
    with store.open_session() as session:
        one = session.advanced.lazily.load("albums/1", Album)
        two = session.advanced.lazily.load("albums/2", Album)
        session.advanced.eagerly.execute_all_pending_lazy_operations()
        equal(one.value.title, "Album 001")
        equal(two.value.title, "Album 002")
        equal(session.advanced.number_of_requests, 1)


@scenario()
def loads_by_prefix_match_page_and_exclude(store):
    store_albums(store, 15)
    with store.open_session() as session:
        ids = [session.advanced.get_document_id(one) for one in session.load_starting_with("albums/", Album)]
        equal(len(ids), 15)
        equal(ids, sorted(ids))
    with store.open_session() as session:
        found = session.load_starting_with("albums/", Album, matches="1*")
        equal({one.title for one in found}, {"Album 001"} | {f"Album {n:03}" for n in range(10, 15)})
    with store.open_session() as session:
        equal(len(session.load_starting_with("albums/", Album, start=10, page_size=3)), 3)
    with store.open_session() as session:
        found = session.load_starting_with("albums/1", Album, exclude="*0|*1")
        equal({one.title for one in found}, {"Album 001", "Album 012", "Album 013", "Album 014"})
    with store.open_session() as session:
        found = session.load_starting_with("albums/", Album, start_after="albums/8")
        equal([one.title for one in found], ["Album 009"])


@scenario()
def ids_are_made_by_hilo_and_never_twice(store):
    ids = set()
    with store.open_session() as session:
        for number in range(70):
            one = album(number)
            session.store(one)
            ids.add(session.advanced.get_document_id(one))
        session.save_changes()
    equal(len(ids), 70)
    assert all(one.startswith("albums/") and one.endswith("-A") for one in ids), ids


@scenario()
def ids_are_completed_by_the_server(store):
    with store.open_session() as session:
        identity = album(1)
        session.store(identity, "albums|")
        numbered = album(2)
        session.store(numbered, "shelf/")
        session.save_changes()
    with store.open_session() as session:
        equal(session.load("albums/1", Album).title, "Album 001")
        found = session.load_starting_with("shelf/", Album)
        equal([one.title for one in found], ["Album 002"])
        assert session.advanced.get_document_id(found[0]).endswith("-A")


@scenario()
def identities_count_and_can_be_set(store):
    equal(store.maintenance.send(NextIdentityForOperation("albums|")), 1)
    equal(store.maintenance.send(NextIdentityForOperation("albums|")), 2)
    equal(store.maintenance.send(SeedIdentityForOperation("albums|", 100)), 100)
    equal(store.maintenance.send(SeedIdentityForOperation("albums|", 5)), 100)
    equal(store.maintenance.send(SeedIdentityForOperation("albums|", 5, True)), 5)
    equal(store.maintenance.send(GetIdentitiesOperation()), {"albums|": 5})


@scenario()
def optimistic_concurrency_refuses_the_second_writer(store):
    store_albums(store, 2)
    with store.open_session() as first:
        first.advanced.use_optimistic_concurrency = True
        mine = first.load("albums/1", Album)
        with store.open_session() as second:
            second.load("albums/1", Album).title = "theirs"
            second.save_changes()
        mine.title = "mine"
        with raises("Concurrency"):
            first.save_changes()
    with store.open_session() as session:
        equal(session.load("albums/1", Album).title, "theirs")


@scenario()
def a_new_document_does_not_replace_one_by_accident(store):
    store_albums(store, 2)
    with store.open_session() as session:
        session.advanced.use_optimistic_concurrency = True
        session.store(album(9), "albums/1")
        with raises("Concurrency"):
            session.save_changes()


@scenario()
def a_delete_with_an_old_change_vector_is_refused(store):
    store_albums(store, 2)
    with store.open_session() as session:
        old = session.advanced.get_change_vector_for(session.load("albums/1", Album))
    with store.open_session() as session:
        session.load("albums/1", Album).title = "newer"
        session.save_changes()
    with store.open_session() as session:
        session.delete("albums/1", old)
        with raises("Concurrency"):
            session.save_changes()


@scenario()
def a_refused_batch_leaves_nothing_behind(store):
    store_albums(store, 2)
    with store.open_session() as session:
        session.store(album(30), "albums/30")
        session.store(album(1), "albums/1", "")
        session.delete("albums/0", "A:1-aaaaaaaaaaaaaaaaaaaaaa")
        with raises("Concurrency"):
            session.save_changes()
    with store.open_session() as session:
        equal(session.load("albums/30", Album), None)
        assert session.load("albums/0", Album)


@scenario(since=7)
def refresh_and_evict_follow_the_server(store):
    store_albums(store, 2)
    with store.open_session() as session:
        one = session.load("albums/1", Album)
        with store.open_session() as other:
            other.load("albums/1", Album).title = "theirs"
            other.save_changes()
        session.advanced.refresh(one)
        equal(one.title, "theirs")
        session.advanced.evict(one)
        assert not session.advanced.is_loaded("albums/1")


@scenario()
def conditional_loads_save_unchanged_documents(store):
    store_albums(store, 2)
    with store.open_session() as session:
        known = session.advanced.get_change_vector_for(session.load("albums/1", Album))
    with store.open_session() as session:
        same = session.advanced.conditional_load("albums/1", known, Album)
        equal(same.entity, None)
        equal(same.change_vector, known)
        session.load("albums/1", Album).title = "newer"
        session.save_changes()
    with store.open_session() as session:
        equal(session.advanced.conditional_load("albums/1", known, Album).entity.title, "newer")


@scenario()
def unusual_ids_are_kept(store):
    ids = ["a b/c?d=e&f", "\u65e5\u672c/\u00e9", "quote'\"/1", "percent%20/1", "plus+/1", "a" * 500]
    with store.open_session() as session:
        for number, one in enumerate(ids):
            session.store(album(number), one)
        session.save_changes()
    for number, one in enumerate(ids):
        with store.open_session() as session:
            equal(session.load(one, Album).title, f"Album {number:03}")


@scenario()
def ids_ignore_case(store):
    store_albums(store, 2)
    with store.open_session() as session:
        equal(session.load("ALBUMS/1", Album).title, "Album 001")
