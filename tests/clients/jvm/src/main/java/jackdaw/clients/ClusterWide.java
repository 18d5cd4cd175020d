package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Harness.raises;
import static jackdaw.clients.Model.album;
import static jackdaw.clients.Model.load;
import static jackdaw.clients.Model.title;

import jackdaw.clients.Model.Album;
import jackdaw.clients.Model.Artist;
import java.util.Map;
import java.util.Set;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.operations.compareExchange.CompareExchangeResult;
import net.ravendb.client.documents.operations.compareExchange.CompareExchangeValue;
import net.ravendb.client.documents.operations.compareExchange.DeleteCompareExchangeValueOperation;
import net.ravendb.client.documents.operations.compareExchange.GetCompareExchangeValueOperation;
import net.ravendb.client.documents.operations.compareExchange.GetCompareExchangeValuesOperation;
import net.ravendb.client.documents.operations.compareExchange.PutCompareExchangeValueOperation;
import net.ravendb.client.documents.session.IDocumentSession;
import net.ravendb.client.documents.session.SessionOptions;
import net.ravendb.client.documents.session.TransactionMode;

/** Compare-exchange values and cluster-wide transactions. */
final class ClusterWide {
    private ClusterWide() {}

    private static IDocumentSession open(DocumentStore store) {
        SessionOptions options = new SessionOptions();
        options.setTransactionMode(TransactionMode.CLUSTER_WIDE);
        return store.openSession(options);
    }

    @Scenario("compare-exchange sets, refuses and deletes")
    public static void values(DocumentStore store) {
        CompareExchangeResult<String> put =
                store.operations().send(new PutCompareExchangeValueOperation<>("owner", "me", 0));
        check(put.isSuccessful(), "a new value is set");
        CompareExchangeResult<String> refused =
                store.operations().send(new PutCompareExchangeValueOperation<>("owner", "you", 0));
        check(!refused.isSuccessful(), "a taken one is refused");
        equal(refused.getValue(), "me");
        CompareExchangeResult<String> changed =
                store.operations().send(new PutCompareExchangeValueOperation<>("owner", "you", put.getIndex()));
        check(changed.isSuccessful(), "it is changed at its index");
        equal(store.operations().send(new GetCompareExchangeValueOperation<>(String.class, "owner")).getValue(), "you");
        CompareExchangeResult<String> deleted = store.operations()
                .send(new DeleteCompareExchangeValueOperation<>(String.class, "owner", changed.getIndex()));
        check(deleted.isSuccessful(), "and deleted");
        equal(store.operations().send(new GetCompareExchangeValueOperation<>(String.class, "owner")), null);
    }

    @Scenario("compare-exchange values are listed by prefix")
    public static void listed(DocumentStore store) {
        for (int number = 0; number < 5; number++) {
            Artist artist = new Artist("Artist " + number, "SE");
            store.operations().send(new PutCompareExchangeValueOperation<>("names/" + number, artist, 0));
        }
        Map<String, CompareExchangeValue<Artist>> found = store.operations()
                .send(new GetCompareExchangeValuesOperation<>(Artist.class, "names/", 1, 3));
        equal(found.keySet(), Set.of("names/1", "names/2", "names/3"));
        equal(found.get("names/2").getValue().name, "Artist 2");
    }

    @Scenario("cluster-wide transactions store documents and values")
    public static void transaction(DocumentStore store) {
        try (IDocumentSession session = open(store)) {
            session.advanced().clusterTransaction()
                    .createCompareExchangeValue("names/abba", new Artist("ABBA", "SE"));
            session.store(album(1), "albums/1");
            session.saveChanges();
        }
        try (IDocumentSession session = open(store)) {
            CompareExchangeValue<Artist> value =
                    session.advanced().clusterTransaction().getCompareExchangeValue(Artist.class, "names/abba");
            equal(value.getValue().country, "SE");
            value.getValue().country = "AU";
            session.load(Album.class, "albums/1").title = "changed";
            session.saveChanges();
        }
        try (IDocumentSession session = open(store)) {
            CompareExchangeValue<Artist> value =
                    session.advanced().clusterTransaction().getCompareExchangeValue(Artist.class, "names/abba");
            equal(value.getValue().country, "AU");
            equal(session.load(Album.class, "albums/1").title, "changed");
            session.advanced().clusterTransaction().deleteCompareExchangeValue(value);
            session.saveChanges();
        }
        try (IDocumentSession session = open(store)) {
            equal(session.advanced().clusterTransaction().getCompareExchangeValue(Artist.class, "names/abba"), null);
        }
    }

    @Scenario("a cluster-wide transaction refuses a taken value, with all it holds")
    public static void taken(DocumentStore store) {
        for (int attempt = 0; attempt < 2; attempt++) {
            try (IDocumentSession session = open(store)) {
                session.advanced().clusterTransaction().createCompareExchangeValue("unique", "value " + attempt);
                session.store(album(attempt), "albums/" + attempt);
                if (attempt == 0) {
                    session.saveChanges();
                } else {
                    raises("Concurrency", session::saveChanges);
                }
            }
        }
        equal(load(store, "albums/0").title, title(0));
        equal(load(store, "albums/1"), null);
    }

    @Scenario("cluster-wide documents are guarded")
    public static void guarded(DocumentStore store) {
        try (IDocumentSession session = open(store)) {
            session.store(album(1), "albums/1");
            session.saveChanges();
        }
        try (IDocumentSession first = open(store)) {
            Album mine = first.load(Album.class, "albums/1");
            try (IDocumentSession second = open(store)) {
                second.load(Album.class, "albums/1").title = "theirs";
                second.saveChanges();
            }
            mine.title = "mine";
            raises("Concurrency", first::saveChanges);
        }
        equal(load(store, "albums/1").title, "theirs");
    }
}
