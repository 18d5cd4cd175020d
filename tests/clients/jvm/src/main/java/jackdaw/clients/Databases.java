package jackdaw.clients;

import static jackdaw.clients.Harness.check;
import static jackdaw.clients.Harness.equal;
import static jackdaw.clients.Harness.raises;

import java.util.Arrays;
import java.util.List;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.documents.IDocumentStore;
import net.ravendb.client.documents.operations.CollectionStatistics;
import net.ravendb.client.documents.operations.DatabaseStatistics;
import net.ravendb.client.documents.operations.GetCollectionStatisticsOperation;
import net.ravendb.client.documents.operations.GetStatisticsOperation;
import net.ravendb.client.documents.operations.MaintenanceOperationExecutor;
import net.ravendb.client.serverwide.DatabaseRecord;
import net.ravendb.client.serverwide.commands.GetDatabaseTopologyCommand;
import net.ravendb.client.serverwide.operations.BuildNumber;
import net.ravendb.client.serverwide.operations.CreateDatabaseOperation;
import net.ravendb.client.serverwide.operations.DeleteDatabasesOperation;
import net.ravendb.client.serverwide.operations.GetBuildNumberOperation;
import net.ravendb.client.serverwide.operations.GetDatabaseNamesOperation;

/** Databases and the server. */
final class Databases {
    private Databases() {}

    @Scenario("databases are created, listed and dropped")
    public static void made(DocumentStore store) {
        MaintenanceOperationExecutor maintenance = store.maintenance();
        String name = "made-" + System.currentTimeMillis();
        equal(maintenance.server().send(new CreateDatabaseOperation(new DatabaseRecord(name))).getName(), name);
        check(names(store).contains(name), "the new database is listed");
        raises("already exists", () ->
                maintenance.server().send(new CreateDatabaseOperation(new DatabaseRecord(name))));
        maintenance.server().send(new DeleteDatabasesOperation(name, true));
        check(!names(store).contains(name), "the dropped database is not listed");
    }

    private static List<String> names(IDocumentStore store) {
        return Arrays.asList(store.maintenance().server().send(new GetDatabaseNamesOperation(0, 1000)));
    }

    @Scenario("a missing database is reported as such")
    public static void missing(DocumentStore store) {
        try (DocumentStore other = new DocumentStore(store.getUrls()[0], "no-such-database")) {
            other.initialize();
            raises("DatabaseDoesNotExistException", () -> Model.load(other, "albums/1"));
        }
    }

    @Scenario("statistics count documents by collection")
    public static void statistics(DocumentStore store) {
        Model.storeAlbums(store, 5);
        DatabaseStatistics statistics = store.maintenance().send(new GetStatisticsOperation());
        equal(statistics.getCountOfDocuments(), 8L);
        CollectionStatistics collections = store.maintenance().send(new GetCollectionStatisticsOperation());
        equal(collections.getCollections().get("Albums"), 5L);
        equal(collections.getCollections().get("Artists"), 3L);
    }

    @Scenario("the topology names this server")
    public static void topology(DocumentStore store) {
        GetDatabaseTopologyCommand command = new GetDatabaseTopologyCommand();
        store.getRequestExecutor().execute(command);
        equal(command.getResult().getNodes().get(0).getUrl(), store.getUrls()[0]);
        equal(command.getResult().getNodes().get(0).getDatabase(), store.getDatabase());
    }

    @Scenario("the build number is told")
    public static void build(DocumentStore store) {
        BuildNumber build = store.maintenance().server().send(new GetBuildNumberOperation());
        check(build.getBuildVersion() > 0 && build.getProductVersion() != null, "a build number");
    }
}
