package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Model.album;
import static jackdaw.clients.Model.storeAlbums;

import java.util.Date;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.changes.CounterChange;
import net.ravendb.client.documents.changes.DocumentChange;
import net.ravendb.client.documents.changes.DocumentChangeTypes;
import net.ravendb.client.documents.changes.IChangesObservable;
import net.ravendb.client.documents.changes.IDatabaseChanges;
import net.ravendb.client.documents.changes.Observers;
import net.ravendb.client.documents.changes.TimeSeriesChange;
import net.ravendb.client.documents.session.IDocumentSession;

/** The Changes API: documents, counters, time series. */
final class Notifications {
    private Notifications() {}

    /** What an observable tells from now on. The subscription is confirmed when this returns. */
    private static <T> BlockingQueue<T> watch(IChangesObservable<T> observable) {
        BlockingQueue<T> seen = new LinkedBlockingQueue<>();
        observable.subscribe(Observers.create(seen::add));
        return seen;
    }

    private static <T> T next(BlockingQueue<T> seen) throws InterruptedException {
        T change = seen.poll(20, TimeUnit.SECONDS);
        check(change != null, "a change is told within 20 s");
        return change;
    }

    @Scenario("changes of documents are told")
    public static void documents(DocumentStore store) throws InterruptedException {
        storeAlbums(store, 2);
        try (IDatabaseChanges changes = store.changes()) {
            changes.ensureConnectedNow();
            BlockingQueue<DocumentChange> one = watch(changes.forDocument("albums/1"));
            BlockingQueue<DocumentChange> prefix = watch(changes.forDocumentsStartingWith("records/"));
            BlockingQueue<DocumentChange> collection = watch(changes.forDocumentsInCollection("Albums"));
            Model.rename(store, "albums/1", "changed");
            try (IDocumentSession session = store.openSession()) {
                session.store(album(7), "records/7");
                session.delete("albums/1");
                session.saveChanges();
            }
            DocumentChange put = next(one);
            equal(put.getType(), DocumentChangeTypes.PUT);
            equal(put.getCollectionName(), "Albums");
            equal(next(one).getType(), DocumentChangeTypes.DELETE);
            equal(next(prefix).getId(), "records/7");
            equal(next(collection).getId(), "albums/1");
        }
    }

    @Scenario("changes of counters and time series are told")
    public static void beside(DocumentStore store) throws InterruptedException {
        storeAlbums(store, 2);
        try (IDatabaseChanges changes = store.changes()) {
            changes.ensureConnectedNow();
            BlockingQueue<CounterChange> counters = watch(changes.forCountersOfDocument("albums/1"));
            BlockingQueue<TimeSeriesChange> series = watch(changes.forTimeSeriesOfDocument("albums/1", "plays"));
            try (IDocumentSession session = store.openSession()) {
                session.countersFor("albums/1").increment("likes", 5);
                session.timeSeriesFor("albums/1", "plays").append(new Date(1_700_000_000_000L), 1);
                session.saveChanges();
            }
            CounterChange counter = next(counters);
            equal(counter.getName(), "likes");
            equal(counter.getValue(), 5L);
            equal(next(series).getName(), "plays");
        }
    }
}
