"""Jackdaw from Python, through the official RavenDB client: a thousand albums in and out.

Run a server (`jackdaw serve`), then:

    python3 -m venv venv && venv/bin/pip install ravendb
    venv/bin/python albums.py http://127.0.0.1:8080

The program creates a database of its own, stores albums in sessions, loads, queries and deletes
some, checks every answer, and drops the database again.
"""

import sys
import time

from ravendb import DocumentStore
from ravendb.serverwide.database_record import DatabaseRecord
from ravendb.serverwide.operations.common import CreateDatabaseOperation, DeleteDatabaseOperation

ALBUMS = 1000
PER_SESSION = 100
GENRES = ["Jazz", "Rock", "Folk", "Blues", "Classical"]


class Album:
    def __init__(self, title=None, artist=None, genre=None, year=None, tracks=None):
        self.title = title
        self.artist = artist
        self.genre = genre
        self.year = year
        self.tracks = tracks


def album(number):
    return Album(
        title=f"Album {number:04}",
        artist=f"Artist {number % 50:02}",
        genre=GENRES[number % len(GENRES)],
        year=1950 + number % 70,
        tracks=[f"Track {track}" for track in range(1, 4)],
    )


def store_albums(store):
    for start in range(0, ALBUMS, PER_SESSION):
        with store.open_session() as session:
            for number in range(start, start + PER_SESSION):
                session.store(album(number), f"albums/{number}")
            session.save_changes()


def load_and_change(store):
    with store.open_session() as session:
        one = session.load("albums/7", Album)
        assert one.title == "Album 0007" and one.tracks == ["Track 1", "Track 2", "Track 3"]
        one.title = "Album 0007, remastered"
        session.save_changes()
    with store.open_session() as session:
        assert session.load("albums/7", Album).title == "Album 0007, remastered"
        assert session.load("albums/none", Album) is None
        some = session.load(["albums/1", "albums/2", "albums/none"], Album)
        assert some["albums/1"].title == "Album 0001" and some["albums/none"] is None


def generated_ids(store):
    with store.open_session() as session:
        unnamed = album(5000)
        session.store(unnamed)
        session.save_changes()
        identifier = session.advanced.get_document_id(unnamed)
        assert identifier.lower().startswith("albums/"), identifier
        session.delete(identifier)
        session.save_changes()


def query_albums(store):
    with store.open_session() as session:
        jazz = list(session.query(object_type=Album).where_equals("genre", "Jazz").order_by("title"))
        assert len(jazz) == ALBUMS // len(GENRES), len(jazz)
        assert jazz[0].title == "Album 0000" and jazz[-1].title == "Album 0995"

        early = list(session.query(object_type=Album).where_less_than("year", 1952))
        assert early and all(one.year < 1952 for one in early)

        prefix = list(session.query(object_type=Album).where_starts_with("title", "Album 09"))
        assert len(prefix) == 100, len(prefix)

        page = list(
            session.query(object_type=Album).where_equals("artist", "Artist 07")
            .order_by_descending("year").skip(2).take(5)
        )
        years = [one.year for one in page]
        assert len(page) == 5 and years == sorted(years, reverse=True), years

        rows = list(session.advanced.raw_query(
            "from Albums where genre = $genre and year > $year", object_type=Album
        ).add_parameter("genre", "Rock").add_parameter("year", 2000))
        assert rows and all(one.genre == "Rock" and one.year > 2000 for one in rows)

        assert session.query(object_type=Album).count() == ALBUMS


def delete_albums(store):
    with store.open_session() as session:
        session.delete("albums/1")
        session.delete(session.load("albums/2", Album))
        session.save_changes()
    with store.open_session() as session:
        assert session.load("albums/1", Album) is None
        left = session.query(object_type=Album).wait_for_non_stale_results().count()
        assert left == ALBUMS - 2, left


def main():
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
    database = f"albums-{int(time.time() * 1000)}"
    with DocumentStore(url, database) as store:
        store.initialize()
        store.maintenance.server.send(CreateDatabaseOperation(DatabaseRecord(database)))
        try:
            for step in (store_albums, load_and_change, generated_ids, query_albums, delete_albums):
                started = time.monotonic()
                step(store)
                print(f"{step.__name__.replace('_', ' '):20} {time.monotonic() - started:6.2f} s")
        finally:
            store.maintenance.server.send(DeleteDatabaseOperation(database, hard_delete=True))
    print("all steps passed")


if __name__ == "__main__":
    main()
