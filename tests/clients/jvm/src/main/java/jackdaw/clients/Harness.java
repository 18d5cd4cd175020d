package jackdaw.clients;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import net.ravendb.client.documents.DocumentStore;
import net.ravendb.client.serverwide.DatabaseRecord;
import net.ravendb.client.serverwide.operations.CreateDatabaseOperation;
import net.ravendb.client.serverwide.operations.DeleteDatabasesOperation;

/** Runs scenarios, each in a database of its own, with one line of output each. */
final class Harness {
    /** Longest time of one scenario; the usual one takes a fraction of a second. */
    private static final int SECONDS_MAX = 60;

    private final String url;
    private final String only;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private int passed;
    private int failed;

    Harness(String url, String only) {
        this.url = url;
        this.only = only;
        // The file is named after the release, the manifest does not tell it.
        String jar = DocumentStore.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        System.out.println("JVM client " + jar.replaceAll(".*/|\\.jar", "") + " against " + url);
    }

    /** Runs the scenarios of one area, in the order of their names. */
    void run(Class<?> area) {
        List<Method> methods = Arrays.stream(area.getDeclaredMethods())
                .filter(method -> method.isAnnotationPresent(Scenario.class))
                .filter(method -> method.getAnnotation(Scenario.class).value().contains(only))
                .sorted(Comparator.comparing(Method::getName))
                .toList();
        for (Method method : methods) {
            long started = System.nanoTime();
            Throwable error = runOne(method);
            String name = method.getAnnotation(Scenario.class).value();
            double seconds = (System.nanoTime() - started) / 1e9;
            System.out.printf("%s  %6.2f s  %s%n", error == null ? "ok    " : "FAILED", seconds, name);
            if (error == null) {
                passed++;
            } else {
                failed++;
                error.printStackTrace(System.out);
            }
        }
    }

    /** Prints the totals; gives the number of failed scenarios. */
    int close() {
        threads.shutdownNow();
        System.out.println(passed + " passed, " + failed + " failed");
        return failed;
    }

    private Throwable runOne(Method method) {
        String database = "jvm-" + method.getName() + "-" + System.currentTimeMillis();
        try (DocumentStore store = new DocumentStore(url, database)) {
            store.initialize();
            store.maintenance().server().send(new CreateDatabaseOperation(new DatabaseRecord(database)));
            Future<?> body = threads.submit(() -> method.invoke(null, store));
            try {
                body.get(SECONDS_MAX, TimeUnit.SECONDS);
            } finally {
                body.cancel(true);
                store.maintenance().server().send(new DeleteDatabasesOperation(database, true));
            }
            return null;
        } catch (Exception error) {
            Throwable cause = error;
            while (cause instanceof java.util.concurrent.ExecutionException
                    || cause instanceof InvocationTargetException) {
                cause = cause.getCause();
            }
            return cause;
        }
    }

    /** Something that may fail. */
    interface Body {
        void run() throws Exception;
    }

    static void equal(Object actual, Object expected) {
        if (!Objects.equals(actual, expected)) {
            throw new AssertionError("expected " + expected + ", got " + actual);
        }
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    /** Asserts that a body fails with an error whose class or text holds a word. */
    static void raises(String word, Body body) {
        try {
            body.run();
        } catch (Exception error) {
            if ((error.getClass().getSimpleName() + ": " + error.getMessage()).contains(word)) {
                return;
            }
            throw new AssertionError("expected an error with " + word, error);
        }
        throw new AssertionError("nothing was raised, expected " + word);
    }
}
