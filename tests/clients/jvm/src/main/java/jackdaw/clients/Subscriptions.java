package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;

import jackdaw.clients.Model.Album;
import java.io.IOException;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.session.IDocumentSession;
import net.ravendb.client.documents.subscriptions.SubscriptionCreationOptions;
import net.ravendb.client.documents.subscriptions.SubscriptionWorker;
import net.ravendb.client.documents.subscriptions.SubscriptionWorkerOptions;

/** Subscriptions: documents as they are and as they come, acknowledged batch by batch. */
final class Subscriptions {
    private Subscriptions() {}

    private static String next(BlockingQueue<String> seen) throws InterruptedException {
        String id = seen.poll(20, TimeUnit.SECONDS);
        check(id != null, "a document is told within 20 s");
        return id;
    }

    @Scenario("a subscription tells what is there and what comes")
    public static void told(DocumentStore store) throws InterruptedException, IOException {
        Model.storeAlbums(store, 12);
        SubscriptionCreationOptions creation = new SubscriptionCreationOptions();
        creation.setQuery("from Albums where year >= 1974");
        String name = store.subscriptions().create(creation);
        SubscriptionWorkerOptions options = new SubscriptionWorkerOptions(name);
        options.setMaxDocsPerBatch(5);
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        try (SubscriptionWorker<Album> worker = store.subscriptions().getSubscriptionWorker(Album.class, options)) {
            worker.run(batch -> batch.getItems().forEach(item -> seen.add(item.getId())));
            Set<String> there = new TreeSet<>();
            Set<String> expected = new TreeSet<>();
            for (int number = 4; number < 12; number++) {
                there.add(next(seen));
                expected.add("albums/" + number);
            }
            equal(there, expected);
            try (IDocumentSession session = store.openSession()) {
                session.store(Model.album(3), "albums/too-old");
                session.store(Model.album(30), "albums/new");
                session.saveChanges();
            }
            equal(next(seen), "albums/new");
        }
        store.subscriptions().delete(name);
        check(store.subscriptions().getSubscriptions(0, 10).isEmpty(), "no subscription is left");
    }
}
