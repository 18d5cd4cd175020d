"""Queries: every clause by the query builder and as text."""

from harness import equal, raises, scenario
from ravendb import GroupByField, OrderingType, SearchOperator
from scenarios.model import GENRES, Album, AlbumRow, Artist, store_albums


def _titles(query):
    return sorted(one.title for one in query.wait_for_non_stale_results())


def _named(*numbers):
    return [f"Album {number:03}" for number in numbers]


@scenario()
def queries_by_equality_and_membership(store):
    store_albums(store)
    with store.open_session() as session:
        equal(
            _titles(session.query(object_type=Album).where_equals("genre", "Jazz")), _named(0, 4, 8, 12, 16)
        )
        equal(_titles(session.query(object_type=Album).where_equals("year", 1973)), _named(3))
        equal(_titles(session.query(object_type=Album).where_in("year", [1970, 1975, 2040])), _named(0, 5))
        equal(len(_titles(session.query(object_type=Album).where_not_equals("genre", "Jazz"))), 15)
        equal(
            _titles(session.query(object_type=Album).contains_any("tracks", ["Track 3-0", "Track 5-1"])),
            _named(3, 5),
        )
        equal(
            _titles(session.query(object_type=Album).contains_all("tracks", ["Track 3-0", "Track 3-1"])),
            _named(3),
        )


@scenario()
def queries_by_range(store):
    store_albums(store)
    with store.open_session() as session:
        equal(_titles(session.query(object_type=Album).where_greater_than("year", 1987)), _named(18, 19))
        equal(
            _titles(session.query(object_type=Album).where_greater_than_or_equal("year", 1988)),
            _named(18, 19),
        )
        equal(_titles(session.query(object_type=Album).where_less_than("price", 10.5)), _named(0))
        equal(_titles(session.query(object_type=Album).where_less_than_or_equal("price", 10.5)), _named(0, 1))
        equal(_titles(session.query(object_type=Album).where_between("year", 1975, 1977)), _named(5, 6, 7))


@scenario()
def queries_by_prefix_suffix_and_presence(store):
    store_albums(store)
    with store.open_session() as session:
        equal(len(_titles(session.query(object_type=Album).where_starts_with("title", "Album 01"))), 10)
        equal(_titles(session.query(object_type=Album).where_ends_with("title", "7")), _named(7, 17))
        equal(len(_titles(session.query(object_type=Album).where_exists("price"))), 20)
        equal(_titles(session.query(object_type=Album).where_exists("no_such_field")), [])


@scenario()
def conditions_combine(store):
    store_albums(store)
    with store.open_session() as session:
        query = (
            session.query(object_type=Album)
            .where_equals("genre", "Jazz")
            .and_also()
            .open_subclause()
            .where_less_than("year", 1972)
            .or_else()
            .where_greater_than("year", 1985)
            .close_subclause()
        )
        equal(_titles(query), _named(0, 16))
        query = (
            session.query(object_type=Album)
            .where_equals("genre", "Jazz")
            .and_also()
            .not_()
            .where_equals("year", 1970)
        )
        equal(_titles(query), _named(4, 8, 12, 16))


@scenario()
def results_are_ordered_and_paged(store):
    store_albums(store)
    with store.open_session() as session:
        rows = list(
            session.query(object_type=Album)
            .wait_for_non_stale_results()
            .order_by("genre")
            .order_by_descending("year", OrderingType.LONG)
            .skip(3)
            .take(4)
        )
        equal([one.title for one in rows], _named(7, 3, 18, 14))
        statistics = []
        page = list(
            session.query(object_type=Album)
            .order_by("price", OrderingType.FLOAT)
            .statistics(statistics.append)
            .take(2)
        )
        equal([one.title for one in page], _named(0, 1))
        equal(statistics[0].total_results, 20)


@scenario()
def counts_firsts_and_singles(store):
    store_albums(store)
    with store.open_session() as session:
        query = session.query(object_type=Album).wait_for_non_stale_results()
        equal(query.where_equals("genre", "Folk").count(), 5)
        equal(session.query(object_type=Album).order_by_descending("title").first().title, "Album 019")
        equal(session.query(object_type=Album).where_equals("title", "Album 004").single().year, 1974)
        with raises("more than one", "Expected", "single"):
            session.query(object_type=Album).single()


@scenario()
def the_callers_own_write_is_seen(store):
    store_albums(store)
    with store.open_session() as session:
        list(session.query(object_type=Album).where_equals("genre", "Polka"))
        session.advanced.wait_for_indexes_after_save_changes()
        session.store(Album(title="fresh", genre="Polka"), "albums/fresh")
        session.save_changes()
    with store.open_session() as session:
        equal(
            [one.title for one in session.query(object_type=Album).where_equals("genre", "Polka")], ["fresh"]
        )


@scenario()
def fields_are_projected(store):
    store_albums(store, 5)
    with store.open_session() as session:
        rows = list(
            session.query(object_type=Album)
            .wait_for_non_stale_results()
            .order_by("title")
            .select_fields(AlbumRow, "title", "year")
        )
        equal([(one.title, one.year) for one in rows][:2], [("Album 000", 1970), ("Album 001", 1971)])
        genres = session.advanced.raw_query(
            "from Albums select distinct genre", AlbumRow
        ).wait_for_non_stale_results()
        equal(sorted(one.genre for one in genres), ["Blues", "Folk", "Jazz", "Rock"])


@scenario()
def scripts_project(store):
    store_albums(store, 6)
    with store.open_session() as session:
        text = """
            declare function line(album, artist) { return album.title + ' by ' + artist.name; }
            from Albums as a where a.year >= $from order by a.title load a.artist as artist
            select { name: line(a, artist), total: a.price * 2, count: a.tracks.length }
        """
        rows = list(
            session.advanced.raw_query(text, AlbumRow)
            .add_parameter("from", 1974)
            .wait_for_non_stale_results()
        )
        equal(
            [(one.name, one.total, one.count) for one in rows],
            [
                ("Album 004 by Artist 1", 27.0, 3),
                ("Album 005 by Artist 2", 29.0, 3),
            ],
        )


@scenario()
def groups_are_counted_and_summed(store):
    store_albums(store)
    with store.open_session() as session:
        rows = list(
            session.query(object_type=Album)
            .wait_for_non_stale_results()
            .group_by("genre")
            .select_key("genre")
            .select_sum(GroupByField("year", "total"))
            .of_type(AlbumRow)
        )
        years = {}
        for number in range(20):
            years[GENRES[number % 4]] = years.get(GENRES[number % 4], 0) + 1970 + number
        equal({one.genre: one.total for one in rows}, years)
        text = "from Albums group by genre order by count() desc, genre select genre, count() as count"
        rows = list(session.advanced.raw_query(text, AlbumRow).wait_for_non_stale_results())
        equal([(one.genre, one.count) for one in rows], [("Blues", 5), ("Folk", 5), ("Jazz", 5), ("Rock", 5)])


@scenario()
def queries_include_documents_and_counters(store):
    store_albums(store, 6)
    with store.open_session() as session:
        session.counters_for("albums/1").increment("likes", 3)
        session.save_changes()
    with store.open_session() as session:
        rows = list(
            session.query(object_type=Album)
            .wait_for_non_stale_results()
            .where_equals("title", "Album 001")
            .include(lambda includes: includes.include_documents("artist").include_counter("likes"))
        )
        equal(session.load(rows[0].artist, Artist).name, "Artist 1")
        equal(session.counters_for("albums/1").get("likes"), 3)
        equal(session.advanced.number_of_requests, 1)


@scenario()
def lazy_queries_share_a_request(store):
    store_albums(store)
    with store.open_session() as session:
        jazz = (
            session.query(object_type=Album)
            .wait_for_non_stale_results()
            .where_equals("genre", "Jazz")
            .lazily()
        )
        rock = (
            session.query(object_type=Album)
            .wait_for_non_stale_results()
            .where_equals("genre", "Rock")
            .count_lazily()
        )
        equal(len(jazz.value), 5)
        equal(rock.value, 5)
        equal(session.advanced.number_of_requests, 1)


@scenario()
def text_queries_take_parameters(store):
    store_albums(store)
    with store.open_session() as session:
        text = (
            "from Albums where genre in ($genres) and year between $from and $to order by year as long desc"
        )
        query = session.advanced.raw_query(text, Album).wait_for_non_stale_results()
        query.add_parameter("genres", ["Jazz", "Rock"]).add_parameter("from", 1974).add_parameter("to", 1980)
        equal([one.title for one in query], _named(9, 8, 5, 4))
        query = session.advanced.raw_query("from Albums where id() = $id", Album).add_parameter(
            "id", "albums/3"
        )
        equal([one.title for one in query], _named(3))
        query = session.advanced.raw_query("from @all_docs where startsWith(id(), 'artists/')", Artist)
        equal(len(list(query)), 3)


@scenario()
def a_faulty_query_says_what_is_wrong(store):
    store_albums(store, 2)
    with store.open_session() as session:
        with raises("Expected", "Parse", "pars"):
            list(session.advanced.raw_query("from Albums where and", Album))


@scenario()
def full_text_is_searched_and_ranked(store):
    store_albums(store)
    with store.open_session() as session:
        equal(_titles(session.query(object_type=Album).search("title", "003 007")), _named(3, 7))
        both = session.query(object_type=Album).search("title", "album 003", SearchOperator.AND)
        equal(_titles(both), _named(3))
        equal(len(_titles(session.query(object_type=Album).search("title", "alb*"))), 20)
        ranked = session.query(object_type=Album).search("title", "004").boost(10).or_else()
        ranked = ranked.search("title", "005").order_by_score().wait_for_non_stale_results()
        equal([one.title for one in ranked], _named(4, 5))
