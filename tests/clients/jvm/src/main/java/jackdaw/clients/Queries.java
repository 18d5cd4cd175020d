package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Harness.raises;
import static jackdaw.clients.Model.storeAlbums;
import static jackdaw.clients.Model.titles;

import jackdaw.clients.Model.Album;
import jackdaw.clients.Model.Artist;
import jackdaw.clients.Model.Row;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.Lazy;
import net.ravendb.client.documents.session.GroupByField;
import net.ravendb.client.documents.session.IDocumentQuery;
import net.ravendb.client.documents.session.IDocumentSession;
import net.ravendb.client.documents.session.IRawDocumentQuery;
import net.ravendb.client.documents.session.OrderingType;
import net.ravendb.client.documents.session.QueryStatistics;
import net.ravendb.client.primitives.Reference;

/** Queries: every clause, by the query builder and as text. */
final class Queries {
    private Queries() {}

    /** Titles of what a query finds, sorted unless the query orders them. */
    private static List<String> ask(DocumentStore store, UnaryOperator<IDocumentQuery<Album>> build) {
        try (IDocumentSession session = store.openSession()) {
            return build.apply(session.query(Album.class).waitForNonStaleResults()).toList().stream()
                    .map(one -> one.title)
                    .toList();
        }
    }

    private static List<String> sorted(DocumentStore store, UnaryOperator<IDocumentQuery<Album>> build) {
        return ask(store, build).stream().sorted().toList();
    }

    @Scenario("queries by equality and membership")
    public static void equality(DocumentStore store) {
        storeAlbums(store, 20);
        equal(sorted(store, query -> query.whereEquals("genre", "Jazz")), titles(0, 4, 8, 12, 16));
        equal(sorted(store, query -> query.whereEquals("genre", "jAZZ")), titles(0, 4, 8, 12, 16));
        equal(sorted(store, query -> query.whereEquals("genre", "jAZZ", true)), titles());
        equal(sorted(store, query -> query.whereEquals("year", 1973)), titles(3));
        equal(sorted(store, query -> query.whereIn("year", List.of(1970, 1975, 2040))), titles(0, 5));
        equal(sorted(store, query -> query.whereNotEquals("genre", "Jazz")).size(), 15);
        equal(sorted(store, query -> query.containsAny("tracks", List.of("Track 3-0", "Track 5-1"))), titles(3, 5));
        equal(sorted(store, query -> query.containsAll("tracks", List.of("Track 3-0", "Track 3-1"))), titles(3));
    }

    @Scenario("queries by range, prefix, suffix and presence")
    public static void ranges(DocumentStore store) {
        storeAlbums(store, 20);
        equal(sorted(store, query -> query.whereGreaterThan("year", 1987)), titles(18, 19));
        equal(sorted(store, query -> query.whereGreaterThanOrEqual("year", 1988)), titles(18, 19));
        equal(sorted(store, query -> query.whereLessThan("price", 10.5)), titles(0));
        equal(sorted(store, query -> query.whereLessThanOrEqual("price", 10.5)), titles(0, 1));
        equal(sorted(store, query -> query.whereBetween("year", 1975, 1977)), titles(5, 6, 7));
        equal(sorted(store, query -> query.whereGreaterThan("released", Model.album(17).released)), titles(18, 19));
        equal(sorted(store, query -> query.whereStartsWith("title", "Album 01")).size(), 10);
        equal(sorted(store, query -> query.whereEndsWith("title", "7")), titles(7, 17));
        equal(sorted(store, query -> query.whereExists("price")).size(), 20);
        equal(sorted(store, query -> query.whereExists("noSuchField")), titles());
    }

    @Scenario("conditions combine")
    public static void combined(DocumentStore store) {
        storeAlbums(store, 20);
        equal(sorted(store, query -> query.whereEquals("genre", "Jazz").andAlso()
                .openSubclause().whereLessThan("year", 1972).orElse().whereGreaterThan("year", 1985).closeSubclause()),
                titles(0, 16));
        equal(sorted(store, query -> query.whereEquals("genre", "Jazz").andAlso().not().whereEquals("year", 1970)),
                titles(4, 8, 12, 16));
    }

    @Scenario("results are ordered and paged")
    public static void ordered(DocumentStore store) {
        storeAlbums(store, 20);
        equal(ask(store, query -> query.orderBy("genre").orderByDescending("year", OrderingType.LONG).skip(3).take(4)),
                titles(7, 3, 18, 14));
        Reference<QueryStatistics> statistics = new Reference<>();
        equal(ask(store, query -> query.statistics(statistics).orderBy("price", OrderingType.DOUBLE).take(2)),
                titles(0, 1));
        equal(statistics.value.getTotalResults(), 20L);
    }

    @Scenario("counts, firsts and singles")
    public static void counts(DocumentStore store) {
        storeAlbums(store, 20);
        try (IDocumentSession session = store.openSession()) {
            equal(session.query(Album.class).waitForNonStaleResults().whereEquals("genre", "Folk").count(), 5);
            equal(session.query(Album.class).orderByDescending("title").first().title, Model.title(19));
            equal(session.query(Album.class).whereEquals("title", Model.title(4)).single().year, 1974);
            equal(session.query(Album.class).whereEquals("title", "none").firstOrDefault(), null);
            check(session.query(Album.class).whereEquals("genre", "Folk").any(), "any");
        }
    }

    @Scenario("fields and scripts project")
    public static void projected(DocumentStore store) {
        storeAlbums(store, 6);
        try (IDocumentSession session = store.openSession()) {
            List<Row> rows = session.query(Album.class).waitForNonStaleResults().orderBy("title")
                    .selectFields(Row.class, "title", "year").take(2).toList();
            equal(rows.get(1).title + " " + rows.get(1).year, "Album 001 1971");
            String text = "declare function line(album, artist) { return album.title + ' by ' + artist.name; }\n"
                    + "from Albums as a where a.year >= $from order by a.title load a.artist as artist\n"
                    + "select { name: line(a, artist), total: a.price * 2, count: a.tracks.length }";
            List<Row> lines = session.advanced().rawQuery(Row.class, text).addParameter("from", 1974)
                    .waitForNonStaleResults().toList();
            equal(lines.stream().map(one -> one.name + " " + one.total + " " + one.count).toList(),
                    List.of("Album 004 by Artist 1 27.0 2", "Album 005 by Artist 2 29.0 2"));
        }
    }

    @Scenario("groups are counted and summed")
    public static void grouped(DocumentStore store) {
        storeAlbums(store, 20);
        try (IDocumentSession session = store.openSession()) {
            List<Row> counted = session.query(Album.class).waitForNonStaleResults()
                    .groupBy("genre").selectKey("genre").selectCount().ofType(Row.class).toList();
            equal(counted.stream().collect(Collectors.toMap(one -> one.genre, one -> one.count)),
                    Map.of("Jazz", 5, "Rock", 5, "Folk", 5, "Blues", 5));
            List<Row> summed = session.query(Album.class).waitForNonStaleResults()
                    .groupBy("genre").selectKey("genre").selectSum(new GroupByField("year", "total"))
                    .ofType(Row.class).toList();
            equal(summed.stream().collect(Collectors.toMap(one -> one.genre, one -> one.total)),
                    Map.of("Jazz", 9890.0, "Rock", 9895.0, "Folk", 9900.0, "Blues", 9905.0));
        }
    }

    @Scenario("queries include documents and counters")
    public static void included(DocumentStore store) {
        storeAlbums(store, 6);
        try (IDocumentSession session = store.openSession()) {
            session.countersFor("albums/1").increment("likes", 3);
            session.saveChanges();
        }
        try (IDocumentSession session = store.openSession()) {
            List<Album> found = session.query(Album.class).waitForNonStaleResults().whereEquals("year", 1971)
                    .include(includes -> includes.includeDocuments("artist").includeCounter("likes")).toList();
            equal(session.load(Artist.class, found.get(0).artist).name, "Artist 1");
            equal(session.countersFor("albums/1").get("likes"), 3L);
            equal(session.advanced().getNumberOfRequests(), 1);
        }
    }

    @Scenario("lazy queries share a request")
    public static void lazy(DocumentStore store) {
        storeAlbums(store, 20);
        try (IDocumentSession session = store.openSession()) {
            Lazy<List<Album>> jazz =
                    session.query(Album.class).waitForNonStaleResults().whereEquals("genre", "Jazz").lazily();
            Lazy<Integer> rock =
                    session.query(Album.class).waitForNonStaleResults().whereEquals("genre", "Rock").countLazily();
            equal(jazz.getValue().size(), 5);
            equal(rock.getValue(), 5);
            equal(session.advanced().getNumberOfRequests(), 1);
        }
    }

    @Scenario("text queries take parameters, faulty ones are refused")
    public static void text(DocumentStore store) {
        storeAlbums(store, 20);
        try (IDocumentSession session = store.openSession()) {
            IRawDocumentQuery<Album> query = session.advanced().rawQuery(Album.class,
                    "from Albums where genre in ($genres) and year between $from and $to order by year as long desc");
            query.addParameter("genres", List.of("Jazz", "Rock")).addParameter("from", 1974).addParameter("to", 1980);
            equal(query.waitForNonStaleResults().toList().stream().map(one -> one.title).toList(), titles(9, 8, 5, 4));
            raises("InvalidQueryException", () ->
                    session.advanced().rawQuery(Album.class, "from Albums where and").toList());
        }
    }
}
