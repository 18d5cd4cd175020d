package jackdaw.clients;

import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Harness.raises;
import static jackdaw.clients.Model.load;
import static jackdaw.clients.Model.storeAlbums;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import jackdaw.clients.Model.Album;
import java.util.List;
import java.util.Map;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.commands.batches.BatchPatchCommandData;
import net.ravendb.client.documents.commands.batches.DeleteCommandData;
import net.ravendb.client.documents.commands.batches.PatchCommandData;
import net.ravendb.client.documents.commands.batches.PutCommandDataWithJson;
import net.ravendb.client.documents.operations.DeleteByQueryOperation;
import net.ravendb.client.documents.operations.PatchByQueryOperation;
import net.ravendb.client.documents.operations.PatchOperation;
import net.ravendb.client.documents.operations.PatchRequest;
import net.ravendb.client.documents.operations.PatchStatus;
import net.ravendb.client.documents.queries.IndexQuery;
import net.ravendb.client.documents.session.IDocumentSession;

/** Patches: of one document, of many at once, deferred in batches, by query. */
final class Batches {
    private Batches() {}

    private static PatchRequest patch(String script) {
        return PatchRequest.forScript(script);
    }

    @Scenario("a script patches one document")
    public static void one(DocumentStore store) {
        storeAlbums(store, 3);
        PatchRequest request = patch("this.title = args.prefix + this.title; this.tracks.push('bonus')");
        request.setValues(Map.of("prefix", "The "));
        equal(store.operations().send(new PatchOperation("albums/1", null, request)), PatchStatus.PATCHED);
        Album album = load(store, "albums/1");
        equal(album.title, "The Album 001");
        equal(album.tracks.get(2), "bonus");
        PatchOperation same = new PatchOperation("albums/1", null, patch("this.year = 1971"));
        equal(store.operations().send(same), PatchStatus.NOT_MODIFIED);
        PatchOperation missing = new PatchOperation("albums/none", null, patch("this.year = 1"));
        equal(store.operations().send(missing), PatchStatus.DOCUMENT_DOES_NOT_EXIST);
    }

    @Scenario("a patch of what is missing can create it")
    public static void missing(DocumentStore store) {
        PatchRequest create = patch("this.title = 'made'; this['@metadata'] = { '@collection': 'Albums' }");
        PatchOperation operation = new PatchOperation("albums/new", null, patch("this.title = 'no'"), create, false);
        equal(store.operations().send(operation), PatchStatus.CREATED);
        equal(load(store, "albums/new").title, "made");
    }

    @Scenario("a faulty script says what is wrong")
    public static void faulty(DocumentStore store) {
        storeAlbums(store, 2);
        raises("no such genre", () -> store.operations()
                .send(new PatchOperation("albums/1", null, patch("throw new Error('no such genre')"))));
    }

    @Scenario("the session patches fields and arrays")
    public static void session(DocumentStore store) {
        storeAlbums(store, 3);
        try (IDocumentSession session = store.openSession()) {
            session.advanced().increment("albums/1", "year", 10);
            session.advanced().patch("albums/1", "title", "patched");
            session.advanced().patchArray("albums/2", "tracks", tracks -> tracks.add("bonus", "more"));
            session.saveChanges();
        }
        equal(load(store, "albums/1").title, "patched");
        equal(load(store, "albums/1").year, 1981);
        equal(load(store, "albums/2").tracks.subList(2, 4), List.of("bonus", "more"));
    }

    @Scenario("a batch mixes puts, patches of many and deletes")
    public static void mixed(DocumentStore store) {
        storeAlbums(store, 4);
        ObjectNode document = new ObjectMapper().createObjectNode().put("title", "deferred");
        document.putObject("@metadata").put("@collection", "Albums");
        try (IDocumentSession session = store.openSession()) {
            session.advanced().defer(
                    new PutCommandDataWithJson("albums/40", null, null, document),
                    new PatchCommandData("albums/1", null, patch("this.year = 1"), null),
                    new BatchPatchCommandData(patch("this.genre = 'Noise'"), null, "albums/2", "albums/3"),
                    new DeleteCommandData("albums/0", null));
            session.saveChanges();
        }
        equal(load(store, "albums/40").title, "deferred");
        equal(load(store, "albums/1").year, 1);
        equal(load(store, "albums/2").genre, "Noise");
        equal(load(store, "albums/3").genre, "Noise");
        equal(load(store, "albums/0"), null);
    }

    @Scenario("a query patches what it finds")
    public static void byQuery(DocumentStore store) {
        storeAlbums(store, 12);
        IndexQuery query = new IndexQuery("from Albums where genre = 'Rock' update { this.price = this.price * 2 }");
        store.operations().sendAsync(new PatchByQueryOperation(query)).waitForCompletion();
        for (int number = 0; number < 12; number++) {
            equal(load(store, "albums/" + number).price, (9.5 + number) * (number % 4 == 1 ? 2 : 1));
        }
    }

    @Scenario("a query deletes what it finds")
    public static void deleteByQuery(DocumentStore store) {
        storeAlbums(store, 12);
        store.operations().sendAsync(new DeleteByQueryOperation("from Albums where year >= 1975")).waitForCompletion();
        try (IDocumentSession session = store.openSession()) {
            equal(session.query(Album.class).waitForNonStaleResults().count(), 5);
        }
    }
}
