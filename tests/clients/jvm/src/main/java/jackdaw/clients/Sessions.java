package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Harness.raises;
import static jackdaw.clients.Model.album;
import static jackdaw.clients.Model.load;
import static jackdaw.clients.Model.rename;
import static jackdaw.clients.Model.storeAlbums;
import static jackdaw.clients.Model.title;

import jackdaw.clients.Model.Album;
import jackdaw.clients.Model.Artist;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.Lazy;
import net.ravendb.client.documents.operations.identities.GetIdentitiesOperation;
import net.ravendb.client.documents.operations.identities.NextIdentityForOperation;
import net.ravendb.client.documents.operations.identities.SeedIdentityForOperation;
import net.ravendb.client.documents.session.IDocumentSession;

/** Sessions: store, load, change, delete, includes, lazy loads, prefixes, ids, concurrency. */
final class Sessions {
    private Sessions() {}

    @Scenario("documents keep every kind of value")
    public static void values(DocumentStore store) {
        Album written = album(29);
        written.title = "k\u00f6nnen \u65e5\u672c \ud83c\udfb5 \"quoted\" \\ back";
        written.price = 0.1;
        written.year = Integer.MIN_VALUE;
        written.genre = null;
        try (IDocumentSession session = store.openSession()) {
            session.store(written, "albums/1");
            session.saveChanges();
        }
        Album read = load(store, "albums/1");
        equal(read.title, written.title);
        equal(read.price, written.price);
        equal(read.year, written.year);
        equal(read.genre, null);
        equal(read.released, written.released);
        equal(read.tracks, written.tracks);
    }

    @Scenario("a change is stored, and only then seen")
    public static void change(DocumentStore store) {
        storeAlbums(store, 2);
        try (IDocumentSession session = store.openSession()) {
            Album one = session.load(Album.class, "albums/1");
            one.title = "changed";
            check(session.advanced().hasChanged(one), "the session knows of the change");
            equal(load(store, "albums/1").title, title(1));
            session.saveChanges();
        }
        equal(load(store, "albums/1").title, "changed");
    }

    @Scenario("several documents are loaded in one request")
    public static void several(DocumentStore store) {
        storeAlbums(store, 5);
        try (IDocumentSession session = store.openSession()) {
            Map<String, Album> found = session.load(Album.class, "albums/1", "albums/2", "albums/none");
            equal(found.get("albums/2").title, title(2));
            equal(found.get("albums/none"), null);
            equal(session.advanced().getNumberOfRequests(), 1);
        }
    }

    @Scenario("documents are deleted by id and by entity")
    public static void delete(DocumentStore store) {
        storeAlbums(store, 3);
        try (IDocumentSession session = store.openSession()) {
            session.delete("albums/0");
            session.delete(session.load(Album.class, "albums/1"));
            session.saveChanges();
        }
        try (IDocumentSession session = store.openSession()) {
            check(!session.advanced().exists("albums/0"), "deleted by id");
            check(!session.advanced().exists("albums/1"), "deleted by entity");
            check(session.advanced().exists("albums/2"), "the other one stays");
        }
    }

    @Scenario("metadata travels with the document")
    public static void metadata(DocumentStore store) {
        try (IDocumentSession session = store.openSession()) {
            Album one = album(1);
            session.store(one, "albums/1");
            session.advanced().getMetadataFor(one).put("Shelf", "B 12");
            session.saveChanges();
        }
        try (IDocumentSession session = store.openSession()) {
            Album one = session.load(Album.class, "albums/1");
            equal(session.advanced().getMetadataFor(one).get("Shelf"), "B 12");
            equal(session.advanced().getMetadataFor(one).get("@collection"), "Albums");
            check(session.advanced().getChangeVectorFor(one) != null, "a change vector");
            check(session.advanced().getLastModifiedFor(one) != null, "a time");
        }
    }

    @Scenario("included documents come with the first request")
    public static void include(DocumentStore store) {
        storeAlbums(store, 4);
        try (IDocumentSession session = store.openSession()) {
            Album one = session.include("artist").load(Album.class, "albums/1");
            equal(session.load(Artist.class, one.artist).name, "Artist 1");
            equal(session.advanced().getNumberOfRequests(), 1);
        }
    }

    @Scenario("lazy loads share a request")
    public static void lazy(DocumentStore store) {
        storeAlbums(store, 12);
        try (IDocumentSession session = store.openSession()) {
            Lazy<Album> one = session.advanced().lazily().load(Album.class, "albums/1");
            Lazy<Map<String, Album>> several =
                    session.advanced().lazily().load(Album.class, List.of("albums/2", "albums/3"));
            Lazy<Map<String, Album>> prefix = session.advanced().lazily().loadStartingWith(Album.class, "albums/1");
            session.advanced().eagerly().executeAllPendingLazyOperations();
            equal(one.getValue().title, title(1));
            equal(several.getValue().get("albums/3").title, title(3));
            equal(prefix.getValue().size(), 3);
            equal(session.advanced().getNumberOfRequests(), 1);
        }
    }

    @Scenario("loads by prefix match, page, exclude and go on")
    public static void prefix(DocumentStore store) {
        storeAlbums(store, 15);
        equal(starting(store, "albums/", null, 0, 25, null, null).size(), 15);
        equal(starting(store, "albums/", "1*", 0, 25, null, null),
                new TreeSet<>(Model.titles(1, 10, 11, 12, 13, 14)));
        equal(starting(store, "albums/", null, 10, 3, null, null).size(), 3);
        equal(starting(store, "albums/1", null, 0, 25, "*0|*1", null), new TreeSet<>(Model.titles(1, 12, 13, 14)));
        equal(starting(store, "albums/", null, 0, 25, null, "albums/8"), new TreeSet<>(Model.titles(9)));
    }

    private static Set<String> starting(
            DocumentStore store, String prefix, String matches, int start, int size, String exclude, String after) {
        try (IDocumentSession session = store.openSession()) {
            Album[] found = session.advanced()
                    .loadStartingWith(Album.class, prefix, matches, start, size, exclude, after);
            return Arrays.stream(found).map(one -> one.title).collect(Collectors.toCollection(TreeSet::new));
        }
    }

    @Scenario("ids are made by HiLo and never twice")
    public static void hilo(DocumentStore store) {
        Set<String> ids = new HashSet<>();
        try (IDocumentSession session = store.openSession()) {
            for (int number = 0; number < 70; number++) {
                Album one = album(number);
                session.store(one);
                ids.add(session.advanced().getDocumentId(one));
            }
            session.saveChanges();
        }
        equal(ids.size(), 70);
        check(ids.stream().allMatch(id -> id.matches("albums/\\d+-A")), ids.toString());
    }

    @Scenario("the server completes ids that end in | or /")
    public static void completed(DocumentStore store) {
        try (IDocumentSession session = store.openSession()) {
            session.store(album(1), "albums|");
            session.store(album(2), "shelf/");
            session.saveChanges();
        }
        equal(load(store, "albums/1").title, title(1));
        equal(starting(store, "shelf/", null, 0, 25, null, null), Set.of(title(2)));
    }

    @Scenario("identities count and can be set")
    public static void identities(DocumentStore store) {
        equal(store.maintenance().send(new NextIdentityForOperation("albums|")), 1L);
        equal(store.maintenance().send(new NextIdentityForOperation("albums|")), 2L);
        equal(store.maintenance().send(new SeedIdentityForOperation("albums|", 100L)), 100L);
        equal(store.maintenance().send(new SeedIdentityForOperation("albums|", 5L)), 100L);
        equal(store.maintenance().send(new SeedIdentityForOperation("albums|", 5L, true)), 5L);
        equal(store.maintenance().send(new GetIdentitiesOperation()), Map.of("albums|", 5L));
    }

    @Scenario("optimistic concurrency refuses the second writer")
    public static void concurrency(DocumentStore store) {
        storeAlbums(store, 2);
        try (IDocumentSession session = store.openSession()) {
            session.advanced().setUseOptimisticConcurrency(true);
            Album mine = session.load(Album.class, "albums/1");
            rename(store, "albums/1", "theirs");
            mine.title = "mine";
            raises("ConcurrencyException", session::saveChanges);
        }
        equal(load(store, "albums/1").title, "theirs");
    }

    @Scenario("a refused batch leaves nothing behind")
    public static void refused(DocumentStore store) {
        storeAlbums(store, 2);
        try (IDocumentSession session = store.openSession()) {
            session.store(album(30), "albums/30");
            session.store(album(1), "", "albums/1");
            session.delete("albums/0");
            raises("ConcurrencyException", session::saveChanges);
        }
        equal(load(store, "albums/30"), null);
        check(load(store, "albums/0") != null, "not deleted");
    }

    @Scenario("conditional loads save unchanged documents")
    public static void conditional(DocumentStore store) {
        storeAlbums(store, 2);
        String known;
        try (IDocumentSession session = store.openSession()) {
            known = session.advanced().getChangeVectorFor(session.load(Album.class, "albums/1"));
        }
        try (IDocumentSession session = store.openSession()) {
            equal(session.advanced().conditionalLoad(Album.class, "albums/1", known).getEntity(), null);
        }
        rename(store, "albums/1", "newer");
        try (IDocumentSession session = store.openSession()) {
            equal(session.advanced().conditionalLoad(Album.class, "albums/1", known).getEntity().title, "newer");
        }
    }

    @Scenario("unusual ids are kept, in any case")
    public static void ids(DocumentStore store) {
        List<String> ids = List.of(
                "a b/c?d=e&f", "\u65e5\u672c/\u00e9", "quote'\"/1", "percent%20/1", "plus+/1", "a".repeat(500));
        try (IDocumentSession session = store.openSession()) {
            for (int number = 0; number < ids.size(); number++) {
                session.store(album(number), ids.get(number));
            }
            session.saveChanges();
        }
        for (int number = 0; number < ids.size(); number++) {
            equal(load(store, ids.get(number)).title, title(number));
        }
        equal(load(store, "PLUS+/1").title, title(4));
    }
}
