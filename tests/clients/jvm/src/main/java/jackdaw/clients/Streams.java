package jackdaw.clients;

import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Model.storeAlbums;

import jackdaw.clients.Model.Album;
import java.util.ArrayList;
import java.util.List;
import net.ravendb.client.documents.CloseableIterator;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.commands.StreamResult;
import net.ravendb.client.documents.session.IDocumentSession;
import net.ravendb.client.documents.session.StreamQueryStatistics;
import net.ravendb.client.primitives.Reference;

/** Streams: of a prefix, of a collection, of a query. */
final class Streams {
    private Streams() {}

    private static List<String> titles(CloseableIterator<StreamResult<Album>> stream) {
        List<String> titles = new ArrayList<>();
        try (stream) {
            stream.forEachRemaining(one -> titles.add(one.getDocument().title));
        }
        return titles;
    }

    @Scenario("a query is streamed")
    public static void query(DocumentStore store) {
        storeAlbums(store, 40);
        try (IDocumentSession session = store.openSession()) {
            session.query(Album.class).waitForNonStaleResults().whereGreaterThan("year", 2004).toList();
            Reference<StreamQueryStatistics> statistics = new Reference<>();
            List<String> found = titles(session.advanced().stream(
                    session.query(Album.class).whereGreaterThan("year", 2004).orderByDescending("title"), statistics));
            equal(found, Model.titles(39, 38, 37, 36, 35));
            equal(statistics.value.getTotalResults(), 5);
        }
    }

    @Scenario("a collection is streamed")
    public static void collection(DocumentStore store) {
        storeAlbums(store, 40);
        try (IDocumentSession session = store.openSession()) {
            var everything = session.advanced().rawQuery(Album.class, "from Albums");
            equal(titles(session.advanced().stream(everything)).size(), 40);
        }
    }

    @Scenario("a prefix is streamed")
    public static void prefix(DocumentStore store) {
        storeAlbums(store, 40);
        try (IDocumentSession session = store.openSession()) {
            List<String> found = titles(session.advanced().stream(Album.class, "albums/3"));
            equal(found, Model.titles(3, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39));
        }
    }
}
