package jackdaw.clients;

import java.util.List;

/** The official JVM client against a server: {@code Main URL [PART OF A SCENARIO'S NAME]}. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        if (arguments.length == 0) {
            System.err.println("usage: Main URL [PART OF A SCENARIO'S NAME]");
            System.exit(2);
        }
        String only = arguments.length > 1 ? arguments[1] : "";
        Harness harness = new Harness(arguments[0], only);
        for (Class<?> area : List.of(
                Databases.class,
                Sessions.class,
                Batches.class,
                BesideDocuments.class,
                ClusterWide.class,
                BulkInserts.class,
                Streams.class,
                Subscriptions.class,
                Notifications.class,
                Queries.class,
                Indexes.class,
                SeriesPolicies.class)) {
            harness.run(area);
        }
        // Threads of the client would keep the process alive.
        System.exit(harness.close() == 0 ? 0 : 1);
    }
}
