package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Model.album;
import static jackdaw.clients.Model.storeAlbums;
import static jackdaw.clients.Model.titles;

import jackdaw.clients.Model.Album;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import net.ravendb.client.documents.BulkInsertOperation;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.indexes.IndexDefinition;
import net.ravendb.client.documents.indexes.IndexPriority;
import net.ravendb.client.documents.indexes.IndexStats;
import net.ravendb.client.documents.indexes.IndexType;
import net.ravendb.client.documents.indexes.SearchEngineType;
import net.ravendb.client.documents.operations.BulkInsertProgress;
import net.ravendb.client.documents.operations.EssentialDatabaseStatistics;
import net.ravendb.client.documents.operations.GetEssentialStatisticsOperation;
import net.ravendb.client.documents.operations.GetOngoingTaskInfoOperation;
import net.ravendb.client.documents.operations.connectionStrings.GetConnectionStringsOperation;
import net.ravendb.client.documents.operations.connectionStrings.PutConnectionStringOperation;
import net.ravendb.client.documents.operations.etl.RavenConnectionString;
import net.ravendb.client.documents.operations.indexes.GetIndexStatisticsOperation;
import net.ravendb.client.documents.operations.indexes.GetIndexesOperation;
import net.ravendb.client.documents.operations.indexes.GetIndexesStatisticsOperation;
import net.ravendb.client.documents.operations.indexes.PutIndexesOperation;
import net.ravendb.client.documents.operations.ongoingTasks.OngoingTaskSubscription;
import net.ravendb.client.documents.operations.ongoingTasks.OngoingTaskType;
import net.ravendb.client.documents.queries.Query;
import net.ravendb.client.documents.session.IDocumentSession;
import net.ravendb.client.documents.subscriptions.SubscriptionCreationOptions;

/** Indexes that the user writes, and what the server says about them and about its work. */
final class Indexes {
    private Indexes() {}

    /** An album that is somewhere. */
    public static class Placed extends Album {
        public double lat;
        public double lng;
    }

    /** Stores an index of one JavaScript map. */
    private static void putIndex(DocumentStore store, String name, String map) {
        IndexDefinition definition = new IndexDefinition();
        definition.setName(name);
        definition.setMaps(Set.of(map));
        store.maintenance().send(new PutIndexesOperation(definition));
    }

    @Scenario("statistics of indexes use the client's enumerations")
    public static void statistics(DocumentStore store) {
        storeAlbums(store, 20);
        putIndex(store, "Years", "map('Albums', a => ({ year: a.year }))");
        try (IDocumentSession session = store.openSession()) {
            equal(session.query(Album.class).waitForNonStaleResults().whereEquals("genre", "Jazz").count(), 5);
            equal(session.query(Album.class, named("Years")).waitForNonStaleResults().count(), 20);
        }
        IndexStats[] all = store.maintenance().send(new GetIndexesStatisticsOperation());
        equal(Arrays.stream(all).map(IndexStats::getName).collect(Collectors.toSet()),
                Set.of("Auto/Albums/Bygenre", "Years"));
        for (IndexStats one : all) {
            check(EnumSet.of(SearchEngineType.LUCENE, SearchEngineType.CORAX).contains(one.getSearchEngineType()),
                    "an engine that clients know");
            check(EnumSet.of(IndexType.AUTO_MAP, IndexType.JAVA_SCRIPT_MAP).contains(one.getType()), "a type");
            check(one.getState() != null && one.getLockMode() != null && one.getStatus() != null, "a state");
            equal(one.getPriority(), IndexPriority.NORMAL);
            equal((long) one.getEntriesCount(), 20L);
        }
        IndexStats years = store.maintenance().send(new GetIndexStatisticsOperation("Years"));
        equal(years.getType(), IndexType.JAVA_SCRIPT_MAP);
        IndexDefinition[] definitions = store.maintenance().send(new GetIndexesOperation(0, 10));
        equal(definitions.length, 2);
    }

    private static Query named(String index) {
        return Query.index(index);
    }

    @Scenario("essential statistics count documents and indexes")
    public static void essential(DocumentStore store) {
        storeAlbums(store, 5);
        putIndex(store, "Years", "map('Albums', a => ({ year: a.year }))");
        EssentialDatabaseStatistics statistics = store.maintenance().send(new GetEssentialStatisticsOperation());
        equal(statistics.getCountOfDocuments(), 8L);
        equal(statistics.getIndexes()[0].getName(), "Years");
    }

    @Scenario("a subscription is a task")
    public static void task(DocumentStore store) {
        SubscriptionCreationOptions options = new SubscriptionCreationOptions();
        options.setName("all");
        options.setQuery("from Albums");
        String name = store.subscriptions().create(options);
        OngoingTaskSubscription task = (OngoingTaskSubscription) store.maintenance()
                .send(new GetOngoingTaskInfoOperation(name, OngoingTaskType.SUBSCRIPTION));
        equal(task.getSubscriptionName(), "all");
        equal(task.getQuery().trim(), "from Albums");
    }

    @Scenario("connection strings are kept")
    public static void connections(DocumentStore store) {
        RavenConnectionString connection = new RavenConnectionString();
        connection.setName("other");
        connection.setDatabase("Elsewhere");
        connection.setTopologyDiscoveryUrls(new String[] {"http://127.0.0.1:1"});
        store.maintenance().send(new PutConnectionStringOperation<>(connection));
        Map<String, RavenConnectionString> kept =
                store.maintenance().send(new GetConnectionStringsOperation()).getRavenConnectionStrings();
        equal(kept.keySet(), Set.of("other"));
        equal(kept.get("other").getDatabase(), "Elsewhere");
    }

    @Scenario("JavaScript maps make fields of any name")
    public static void dynamic(DocumentStore store) {
        storeAlbums(store, 6);
        putIndex(store, "Tracks", "map('Albums', a => ({ genre: a.genre, _: a.tracks.map((track, at) => "
                + "createField('track' + at, track, { indexing: 'Exact', storage: true })) }))");
        try (IDocumentSession session = store.openSession()) {
            List<Album> found = session.query(Album.class, named("Tracks")).waitForNonStaleResults()
                    .whereEquals("track1", "Track 4-1").toList();
            equal(found.stream().map(one -> one.title).toList(), titles(4));
        }
    }

    @Scenario("places of a static index are found and ordered by their field")
    public static void places(DocumentStore store) {
        double[][] places = {{59.3, 18.1}, {48.9, 2.4}, {52.5, 13.4}};
        try (IDocumentSession session = store.openSession()) {
            for (int number = 0; number < places.length; number++) {
                Placed placed = new Placed();
                placed.title = album(number).title;
                placed.lat = places[number][0];
                placed.lng = places[number][1];
                session.store(placed, "placed/" + number);
            }
            session.saveChanges();
        }
        putIndex(store, "Places", "map('Placeds', a => ({ place: createSpatialField(a.lat, a.lng) }))");
        try (IDocumentSession session = store.openSession()) {
            List<Placed> found = session.query(Placed.class, named("Places")).waitForNonStaleResults()
                    .spatial("place", criteria -> criteria.withinRadius(1000, 52.4, 13.1))
                    .orderByDistance("place", 52.4, 13.1).toList();
            equal(found.stream().map(one -> one.title).toList(), titles(2, 0, 1));
        }
    }

    @Scenario("a bulk insert reports its progress")
    public static void progress(DocumentStore store) throws InterruptedException {
        AtomicReference<BulkInsertProgress> progress = new AtomicReference<>();
        try (BulkInsertOperation bulk = store.bulkInsert()) {
            bulk.addOnProgress((sender, event) -> progress.set(event.getProgress()));
            // The numbers inside stay 0: this client reads them under names in lower case.
            for (int number = 0; progress.get() == null; number++) {
                Album one = album(number % 8000);
                one.genre = "x".repeat(100_000);
                bulk.store(one, "albums/" + number);
                Thread.sleep(5);
            }
        }
    }
}
