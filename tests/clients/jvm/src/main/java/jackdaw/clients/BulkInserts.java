package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Model.album;
import static jackdaw.clients.Model.load;
import static jackdaw.clients.Model.title;

import jackdaw.clients.Model.Album;
import java.io.IOException;
import java.time.Instant;
import java.util.Arrays;
import java.util.Date;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import net.ravendb.client.documents.BulkInsertOperation;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.operations.GetStatisticsOperation;
import net.ravendb.client.documents.operations.attachments.CloseableAttachmentResult;
import net.ravendb.client.documents.session.IDocumentSession;
import net.ravendb.client.documents.session.timeSeries.TimeSeriesEntry;

/** Bulk inserts: documents, and what stands beside them. */
final class BulkInserts {
    private BulkInserts() {}

    @Scenario("thousands of documents are inserted")
    public static void documents(DocumentStore store) {
        Set<String> ids = new HashSet<>();
        try (BulkInsertOperation bulk = store.bulkInsert()) {
            for (int number = 0; number < 3000; number++) {
                bulk.store(album(number % 8000), "albums/" + number);
            }
            for (int number = 0; number < 40; number++) {
                ids.add(bulk.store(album(number)));
            }
        }
        equal(ids.size(), 40);
        // The document that keeps the range of ids is one, too.
        equal(store.maintenance().send(new GetStatisticsOperation()).getCountOfDocuments(), 3041L);
        equal(load(store, "albums/2999").title, title(2999));
        try (IDocumentSession session = store.openSession()) {
            equal(session.query(Album.class).waitForNonStaleResults().count(), 3040);
        }
    }

    @Scenario("counters, time series and attachments are inserted in bulk")
    public static void beside(DocumentStore store) throws IOException {
        long noon = Instant.parse("2024-05-17T12:00:00Z").toEpochMilli();
        byte[] content = new byte[2000];
        Arrays.fill(content, (byte) 3);
        try (BulkInsertOperation bulk = store.bulkInsert()) {
            for (int number = 0; number < 10; number++) {
                String id = "albums/" + number;
                bulk.store(album(number), id);
                bulk.countersFor(id).increment("likes", number);
                bulk.countersFor(id).increment("plays", 100);
                bulk.attachmentsFor(id).store("front", content, "image/png");
            }
            try (BulkInsertOperation.TimeSeriesBulkInsert series = bulk.timeSeriesFor("albums/1", "plays")) {
                for (int minute = 0; minute < 500; minute++) {
                    series.append(new Date(noon + minute * 60_000L), (double) minute, "radio/1");
                }
            }
        }
        try (IDocumentSession session = store.openSession()) {
            Map<String, Long> counters = session.countersFor("albums/7").getAll();
            equal(new TreeMap<>(counters), new TreeMap<>(Map.of("likes", 7L, "plays", 100L)));
            TimeSeriesEntry[] entries = session.timeSeriesFor("albums/1", "plays").get();
            equal(entries.length, 500);
            equal(entries[499].getValue(), 499.0);
            try (CloseableAttachmentResult front = session.advanced().attachments().get("albums/3", "front")) {
                check(Arrays.equals(front.getData().readAllBytes(), content), "the same bytes");
            }
        }
    }
}
