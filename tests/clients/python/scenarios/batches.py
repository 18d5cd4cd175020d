"""Patches of one document, deferred in batches, and by query."""

from harness import equal, raises, scenario
from ravendb import (
    DeleteByQueryOperation,
    DeleteDocumentCommand,
    PatchByQueryOperation,
    PatchCommandData,
    PatchOperation,
    PatchRequest,
    PutDocumentCommand,
)
from ravendb.documents.commands.batches import DeleteCommandData
from scenarios.model import Album, store_albums


@scenario()
def a_script_patches_one_document(store):
    store_albums(store, 3)
    request = PatchRequest(
        "this.title = args.prefix + this.title; this.tracks.push('bonus')", {"prefix": "The "}
    )
    store.operations.send(PatchOperation("albums/1", None, request))
    with store.open_session() as session:
        one = session.load("albums/1", Album)
        equal(one.title, "The Album 001")
        equal(one.tracks[-1], "bonus")


@scenario()
def a_patch_of_what_is_missing_can_create_it(store):
    patch = PatchRequest("this.title = 'patched'")
    create = PatchRequest("this.title = 'made'; this['@metadata'] = {'@collection': 'Albums'}")
    store.operations.send(PatchOperation("albums/new", None, patch, create))
    with store.open_session() as session:
        equal(session.load("albums/new", Album).title, "made")
    store.operations.send(PatchOperation("albums/none", None, patch))
    with store.open_session() as session:
        equal(session.load("albums/none", Album), None)


@scenario()
def a_script_reads_and_stores_other_documents(store):
    store_albums(store, 3)
    script = """
        var artist = load(this.artist);
        put('notes/1', { text: this.title + ' by ' + artist.name, '@metadata': { '@collection': 'Notes' } });
        del('albums/2');
    """
    store.operations.send(PatchOperation("albums/1", None, PatchRequest(script)))
    with store.open_session() as session:
        equal(session.load("notes/1", dict)["text"], "Album 001 by Artist 1")
        equal(session.load("albums/2", Album), None)


@scenario()
def a_faulty_script_says_what_is_wrong(store):
    store_albums(store, 2)
    with raises("no such genre"):
        store.operations.send(
            PatchOperation("albums/1", None, PatchRequest("throw new Error('no such genre')"))
        )
    with raises("parse"):
        store.operations.send(PatchOperation("albums/1", None, PatchRequest("this.x = ")))


@scenario()
def the_session_patches_fields_and_arrays(store):
    store_albums(store, 3)
    with store.open_session() as session:
        session.advanced.increment("albums/1", "year", 10)
        session.advanced.patch("albums/1", "title", "patched")
        session.advanced.patch_array("albums/2", "tracks", lambda tracks: tracks.add("bonus", "more"))
        session.save_changes()
    with store.open_session() as session:
        one = session.load("albums/1", Album)
        equal((one.title, one.year), ("patched", 1981))
        equal(session.load("albums/2", Album).tracks[-2:], ["bonus", "more"])


@scenario()
def a_batch_mixes_puts_patches_and_deletes(store):
    store_albums(store, 4)
    with store.open_session() as session:
        session.store(Album("stored"), "albums/40")
        session.advanced.defer(
            PatchCommandData("albums/1", None, PatchRequest("this.year = 1"), None),
            DeleteCommandData("albums/0", None),
        )
        session.save_changes()
    with store.open_session() as session:
        equal(session.load("albums/40", Album).title, "stored")
        equal(session.load("albums/1", Album).year, 1)
        equal(session.load("albums/0", Album), None)


@scenario()
def commands_put_and_delete_without_a_session(store):
    executor = store.get_request_executor()
    put = PutDocumentCommand("albums/1", None, {"title": "raw", "@metadata": {"@collection": "Albums"}})
    executor.execute_command(put)
    equal(put.result.key, "albums/1")
    executor.execute_command(DeleteDocumentCommand("albums/1"))
    with store.open_session() as session:
        equal(session.load("albums/1", Album), None)


@scenario()
def a_query_patches_what_it_finds(store):
    store_albums(store, 12)
    operation = store.operations.send_async(
        PatchByQueryOperation("from Albums where genre = 'Rock' update { this.price = this.price * 2; }")
    )
    operation.wait_for_completion()
    with store.open_session() as session:
        for number in range(12):
            factor = 2 if number % 4 == 1 else 1
            equal(session.load(f"albums/{number}", Album).price, (9.5 + number) * factor)


@scenario()
def a_whole_collection_is_patched(store):
    store_albums(store, 12)
    store.operations.send_async(
        PatchByQueryOperation("from Albums update { this.seen = true; }")
    ).wait_for_completion()
    with store.open_session() as session:
        seen = session.advanced.raw_query("from Albums where seen = true", dict).wait_for_non_stale_results()
        equal(len(list(seen)), 12)


@scenario()
def a_query_deletes_what_it_finds(store):
    store_albums(store, 12)
    store.operations.send_async(
        DeleteByQueryOperation("from Albums where year >= 1975")
    ).wait_for_completion()
    with store.open_session() as session:
        equal(session.query(object_type=Album).wait_for_non_stale_results().count(), 5)
