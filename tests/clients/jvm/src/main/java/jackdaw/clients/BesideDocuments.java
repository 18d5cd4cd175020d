package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Harness.raises;
import static jackdaw.clients.Model.rename;
import static jackdaw.clients.Model.storeAlbums;

import jackdaw.clients.Model.Album;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.time.Instant;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.attachments.AttachmentType;
import net.ravendb.client.documents.operations.attachments.AttachmentDetails;
import net.ravendb.client.documents.operations.attachments.AttachmentName;
import net.ravendb.client.documents.operations.attachments.CloseableAttachmentResult;
import net.ravendb.client.documents.operations.attachments.DeleteAttachmentOperation;
import net.ravendb.client.documents.operations.attachments.GetAttachmentOperation;
import net.ravendb.client.documents.operations.attachments.PutAttachmentOperation;
import net.ravendb.client.documents.operations.revisions.ConfigureRevisionsOperation;
import net.ravendb.client.documents.operations.revisions.RevisionsCollectionConfiguration;
import net.ravendb.client.documents.operations.revisions.RevisionsConfiguration;
import net.ravendb.client.documents.operations.timeSeries.GetTimeSeriesOperation;
import net.ravendb.client.documents.operations.timeSeries.TimeSeriesBatchOperation;
import net.ravendb.client.documents.operations.timeSeries.TimeSeriesOperation;
import net.ravendb.client.documents.session.IDocumentSession;
import net.ravendb.client.documents.session.ISessionDocumentTimeSeries;
import net.ravendb.client.documents.session.timeSeries.TimeSeriesEntry;

/** What stands beside documents: attachments, counters, time series, revisions. */
final class BesideDocuments {
    private static final long NOON = Instant.parse("2024-05-17T12:00:00Z").toEpochMilli();
    private static final long MINUTE = 60_000;
    private static final byte[] PICTURE = new byte[76_800];

    static {
        for (int at = 0; at < PICTURE.length; at++) {
            PICTURE[at] = (byte) (at % 251);
        }
    }

    private BesideDocuments() {}

    private static ByteArrayInputStream stream(String text) {
        return new ByteArrayInputStream(text.getBytes());
    }

    @Scenario("attachments are stored, read and deleted by operations")
    public static void attachments(DocumentStore store) throws IOException {
        storeAlbums(store, 2);
        AttachmentDetails details = store.operations().send(new PutAttachmentOperation(
                "albums/1", "front.png", new ByteArrayInputStream(PICTURE), "image/png"));
        equal(details.getSize(), (long) PICTURE.length);
        GetAttachmentOperation get =
                new GetAttachmentOperation("albums/1", "front.png", AttachmentType.DOCUMENT, null);
        try (CloseableAttachmentResult found = store.operations().send(get)) {
            check(Arrays.equals(found.getData().readAllBytes(), PICTURE), "the same bytes");
            equal(found.getDetails().getContentType(), "image/png");
            equal(found.getDetails().getHash(), details.getHash());
        }
        store.operations().send(new DeleteAttachmentOperation("albums/1", "front.png"));
        try (IDocumentSession session = store.openSession()) {
            check(!session.advanced().attachments().exists("albums/1", "front.png"), "it is gone");
        }
    }

    @Scenario("a session stores, copies, moves and deletes attachments")
    public static void attachmentsInSessions(DocumentStore store) throws IOException {
        storeAlbums(store, 3);
        try (IDocumentSession session = store.openSession()) {
            Album one = session.load(Album.class, "albums/1");
            session.advanced().attachments().store(one, "front", stream("front"), "text/plain");
            session.advanced().attachments().store(one, "back", stream("back"));
            session.saveChanges();
        }
        try (IDocumentSession session = store.openSession()) {
            AttachmentName[] names =
                    session.advanced().attachments().getNames(session.load(Album.class, "albums/1"));
            equal(Arrays.stream(names).map(AttachmentName::getName).sorted().toList(), List.of("back", "front"));
            session.advanced().attachments().copy("albums/1", "front", "albums/2", "cover");
            session.advanced().attachments().rename("albums/1", "back", "rear");
            session.saveChanges();
        }
        try (IDocumentSession session = store.openSession()) {
            try (CloseableAttachmentResult cover = session.advanced().attachments().get("albums/2", "cover")) {
                equal(new String(cover.getData().readAllBytes()), "front");
            }
            check(session.advanced().attachments().exists("albums/1", "rear"), "renamed");
            check(!session.advanced().attachments().exists("albums/1", "back"), "not there twice");
            session.advanced().attachments().delete("albums/1", "rear");
            session.saveChanges();
            check(!session.advanced().attachments().exists("albums/1", "rear"), "deleted");
        }
    }

    @Scenario("an attachment needs a document")
    public static void attachmentAlone(DocumentStore store) {
        raises("DocumentDoesNotExistException", () ->
                store.operations().send(new PutAttachmentOperation("albums/none", "front", stream("front"))));
    }

    @Scenario("counters count in sessions and come with documents")
    public static void counters(DocumentStore store) {
        storeAlbums(store, 2);
        try (IDocumentSession session = store.openSession()) {
            session.countersFor("albums/1").increment("likes", 10);
            session.countersFor("albums/1").increment("plays");
            session.saveChanges();
        }
        try (IDocumentSession session = store.openSession()) {
            session.countersFor("albums/1").increment("likes", -3);
            session.countersFor("albums/1").delete("plays");
            session.saveChanges();
        }
        try (IDocumentSession session = store.openSession()) {
            equal(new TreeMap<>(session.countersFor("albums/1").getAll()), new TreeMap<>(Map.of("likes", 7L)));
        }
        try (IDocumentSession session = store.openSession()) {
            Album one = session.load(Album.class, "albums/1", includes -> includes.includeCounter("likes"));
            equal(session.countersFor(one).get("likes"), 7L);
            equal(session.advanced().getCountersFor(one), List.of("likes"));
            equal(session.advanced().getNumberOfRequests(), 1);
        }
    }

    private static Date minute(long minutes) {
        return new Date(NOON + minutes * MINUTE);
    }

    private static List<Double> values(TimeSeriesEntry[] entries) {
        return Arrays.stream(entries).map(TimeSeriesEntry::getValue).toList();
    }

    @Scenario("time series are appended, read in ranges and deleted")
    public static void timeSeries(DocumentStore store) {
        storeAlbums(store, 2);
        try (IDocumentSession session = store.openSession()) {
            ISessionDocumentTimeSeries series = session.timeSeriesFor("albums/1", "plays");
            for (int at = 0; at < 60; at++) {
                series.append(minute(at), at, "radio/1");
            }
            session.saveChanges();
        }
        try (IDocumentSession session = store.openSession()) {
            TimeSeriesEntry[] all = session.timeSeriesFor("albums/1", "plays").get();
            equal(all.length, 60);
            equal(all[59].getTag(), "radio/1");
        }
        try (IDocumentSession session = store.openSession()) {
            TimeSeriesEntry[] part = session.timeSeriesFor("albums/1", "plays").get(minute(10), minute(12));
            equal(values(part), List.of(10.0, 11.0, 12.0));
            session.timeSeriesFor("albums/1", "plays").delete(minute(2), minute(57));
            session.saveChanges();
        }
        try (IDocumentSession session = store.openSession()) {
            equal(values(session.timeSeriesFor("albums/1", "plays").get()), List.of(0.0, 1.0, 58.0, 59.0));
        }
    }

    @Scenario("time series work by operations")
    public static void timeSeriesOperations(DocumentStore store) {
        storeAlbums(store, 2);
        TimeSeriesOperation operation = new TimeSeriesOperation("heat");
        for (int at = 0; at < 24; at++) {
            double[] values = {at, at * 2.5};
            operation.append(new TimeSeriesOperation.AppendOperation(minute(at), values, "sensor"));
        }
        store.operations().send(new TimeSeriesBatchOperation("albums/1", operation));
        TimeSeriesEntry[] found = store.operations()
                .send(new GetTimeSeriesOperation("albums/1", "heat", null, null, 3, 2))
                .getEntries();
        equal(found.length, 2);
        check(Arrays.equals(found[0].getValues(), new double[] {3, 7.5}), Arrays.toString(found[0].getValues()));
    }

    private static void configureRevisions(DocumentStore store, long keep) {
        RevisionsCollectionConfiguration albums = new RevisionsCollectionConfiguration();
        albums.setMinimumRevisionsToKeep(keep);
        RevisionsConfiguration configuration = new RevisionsConfiguration();
        configuration.setCollections(Map.of("Albums", albums));
        store.maintenance().send(new ConfigureRevisionsOperation(configuration));
    }

    @Scenario("revisions are kept, newest first")
    public static void revisions(DocumentStore store) {
        configureRevisions(store, 100);
        storeAlbums(store, 2);
        rename(store, "albums/1", "title 0");
        rename(store, "albums/1", "title 1");
        try (IDocumentSession session = store.openSession()) {
            List<Album> found = session.advanced().revisions().getFor(Album.class, "albums/1");
            equal(found.stream().map(one -> one.title).toList(), List.of("title 1", "title 0", "Album 001"));
            equal(session.advanced().revisions().getCountFor("albums/1"), 3L);
            Object oldest = session.advanced().revisions().getMetadataFor("albums/1").get(2).get("@change-vector");
            equal(session.advanced().revisions().get(Album.class, (String) oldest).title, "Album 001");
        }
    }

    @Scenario("old revisions go beyond the limit")
    public static void revisionsBeyond(DocumentStore store) {
        configureRevisions(store, 2);
        storeAlbums(store, 2);
        for (int number = 0; number < 5; number++) {
            rename(store, "albums/1", "title " + number);
        }
        try (IDocumentSession session = store.openSession()) {
            List<Album> found = session.advanced().revisions().getFor(Album.class, "albums/1");
            equal(found.stream().map(one -> one.title).toList(), List.of("title 4", "title 3"));
        }
    }

    @Scenario("a revision can be forced")
    public static void revisionForced(DocumentStore store) {
        storeAlbums(store, 2);
        try (IDocumentSession session = store.openSession()) {
            session.advanced().revisions().forceRevisionCreationFor("albums/1");
            session.saveChanges();
            equal(session.advanced().revisions().getFor(Album.class, "albums/1").size(), 1);
        }
    }
}
