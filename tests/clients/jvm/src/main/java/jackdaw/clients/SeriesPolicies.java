package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Harness.raises;
import static jackdaw.clients.Model.storeAlbums;

import jackdaw.clients.Model.Album;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Map;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.operations.timeSeries.ConfigureTimeSeriesOperation;
import net.ravendb.client.documents.operations.timeSeries.RawTimeSeriesPolicy;
import net.ravendb.client.documents.operations.timeSeries.TimeSeriesCollectionConfiguration;
import net.ravendb.client.documents.operations.timeSeries.TimeSeriesConfiguration;
import net.ravendb.client.documents.operations.timeSeries.TimeSeriesPolicy;
import net.ravendb.client.documents.session.IDocumentSession;
import net.ravendb.client.documents.session.ISessionDocumentTimeSeries;
import net.ravendb.client.documents.session.timeSeries.TimeSeriesEntry;
import net.ravendb.client.primitives.TimeValue;
import net.ravendb.client.serverwide.operations.GetDatabaseRecordOperation;

/** Policies of time series: configured, carried out, and read. */
final class SeriesPolicies {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private SeriesPolicies() {}

    private static List<String> policiesOf(DocumentStore store) {
        GetDatabaseRecordOperation get = new GetDatabaseRecordOperation(store.getDatabase());
        TimeSeriesConfiguration found = store.maintenance().server().send(get).getTimeSeries();
        return found.getCollections().get("Albums").getPolicies().stream()
                .map(TimeSeriesPolicy::getName)
                .toList();
    }

    @Scenario("policies of time series are kept by their spans")
    public static void kept(DocumentStore store) {
        store.timeSeries().setPolicy("Albums", "ByDay", TimeValue.ofDays(1), TimeValue.ofYears(1));
        store.timeSeries().setPolicy("Albums", "ByHour", TimeValue.ofHours(1), TimeValue.ofHours(48));
        store.timeSeries().setRawPolicy("Albums", TimeValue.ofHours(5));
        equal(policiesOf(store), List.of("ByHour", "ByDay"));
        raises("has a retention time of '60 minutes' but should be aggregated", () -> store.timeSeries()
                .setPolicy("Albums", "ByHour", TimeValue.ofHours(1), TimeValue.ofHours(1)));
        raises("should be aggregated by policy 'ByDay'", () -> store.timeSeries().removePolicy("Albums", "byhour"));
        store.timeSeries().removePolicy("Albums", "ByDay");
        equal(policiesOf(store), List.of("ByHour"));
    }

    @Scenario("time series are rolled up and old entries go")
    public static void carriedOut(DocumentStore store) throws InterruptedException {
        storeAlbums(store, 2);
        TimeSeriesCollectionConfiguration albums = new TimeSeriesCollectionConfiguration();
        albums.setPolicies(List.of(
                new TimeSeriesPolicy("ByDay", TimeValue.ofDays(1)),
                new TimeSeriesPolicy("ByHour", TimeValue.ofHours(1), TimeValue.ofDays(20))));
        albums.setRawPolicy(new RawTimeSeriesPolicy(TimeValue.ofDays(5)));
        TimeSeriesConfiguration configuration = new TimeSeriesConfiguration();
        configuration.setCollections(Map.of("Albums", albums));
        configuration.setPolicyCheckFrequency(Duration.ofSeconds(1));
        store.maintenance().send(new ConfigureTimeSeriesOperation(configuration));

        Instant first = Instant.now().truncatedTo(ChronoUnit.DAYS).minus(10, ChronoUnit.DAYS);
        try (IDocumentSession session = store.openSession()) {
            ISessionDocumentTimeSeries series = session.timeSeriesFor("albums/1", "plays");
            for (int hour = 0; hour < 72; hour++) {
                Instant at = first.plus(hour, ChronoUnit.HOURS);
                series.append(Date.from(at), new double[] {hour, 2});
                series.append(Date.from(at.plus(30, ChronoUnit.MINUTES)), new double[] {100, 3});
            }
            session.saveChanges();
        }
        untilRolledUp(store);
        try (IDocumentSession session = store.openSession()) {
            TimeSeriesEntry[] hours =
                    session.timeSeriesFor("albums/1", "plays@ByHour").get();
            equal(hours.length, 72);
            equal(hours[1].getTimestamp(), Date.from(first.plus(1, ChronoUnit.HOURS)));
            check(hours[1].isRollup(), "it is rolled up");
            // First, last, smallest, largest, sum and count of each value.
            double[] expected = {1, 100, 1, 100, 101, 2, 2, 3, 2, 3, 5, 2};
            check(Arrays.equals(hours[1].getValues(), expected), Arrays.toString(hours[1].getValues()));
            TimeSeriesEntry[] days =
                    session.timeSeriesFor("albums/1", "plays@ByDay").get();
            equal(days.length, 3);
            equal(days[0].getValues()[5], 48.0);
        }
        try (IDocumentSession session = store.openSession()) {
            session.timeSeriesFor("albums/0", "plays@ByHour").append(Date.from(first), 1);
            raises("rolled up", session::saveChanges);
        }
    }

    /** Waits until the series is rolled up and has no entries older than five days. */
    private static void untilRolledUp(DocumentStore store) throws InterruptedException {
        Instant deadline = Instant.now().plus(PATIENCE);
        List<String> wanted = List.of("plays@ByDay", "plays@ByHour");
        while (true) {
            try (IDocumentSession session = store.openSession()) {
                Album album = session.load(Album.class, "albums/1");
                if (session.advanced().getTimeSeriesFor(album).equals(wanted)) {
                    return;
                }
            }
            check(Instant.now().isBefore(deadline), "rolled up within " + PATIENCE);
            Thread.sleep(50);
        }
    }
}
