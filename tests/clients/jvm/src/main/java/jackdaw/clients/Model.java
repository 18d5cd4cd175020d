package jackdaw.clients;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import net.ravendb.client.documents.IDocumentStore;
import net.ravendb.client.documents.session.IDocumentSession;

/** The documents of all scenarios: albums and their artists. Fields are public, as the client allows. */
final class Model {
    static final List<String> GENRES = List.of("Jazz", "Rock", "Folk", "Blues");
    private static final List<String> COUNTRIES = List.of("SE", "IL", "US");

    private Model() {}

    public static class Artist {
        public String name;
        public String country;

        public Artist() {}

        Artist(String name, String country) {
            this.name = name;
            this.country = country;
        }
    }

    public static class Album {
        public String title;
        public String artist;
        public String genre;
        public int year;
        public double price;
        public Date released;
        public List<String> tracks;
        public boolean seen;
    }

    /** What projections give. */
    public static class Row {
        public String title;
        public String name;
        public String genre;
        public int year;
        public double total;
        public int count;
    }

    static Album album(int number) {
        Album album = new Album();
        album.title = title(number);
        album.artist = "artists/" + number % 3;
        album.genre = GENRES.get(number % GENRES.size());
        album.year = 1970 + number;
        album.price = 9.5 + number;
        album.released = Date.from(Instant.parse((1970 + number) + "-01-01T00:00:00Z"));
        album.tracks = new ArrayList<>(List.of("Track " + number + "-0", "Track " + number + "-1"));
        return album;
    }

    static String title(int number) {
        return String.format("Album %03d", number);
    }

    static List<String> titles(int... numbers) {
        List<String> titles = new ArrayList<>();
        for (int number : numbers) {
            titles.add(title(number));
        }
        return titles;
    }

    /** Albums 0 to count - 1 and their three artists, in one transaction. */
    static void storeAlbums(IDocumentStore store, int count) {
        try (IDocumentSession session = store.openSession()) {
            for (int number = 0; number < COUNTRIES.size(); number++) {
                session.store(new Artist("Artist " + number, COUNTRIES.get(number)), "artists/" + number);
            }
            for (int number = 0; number < count; number++) {
                session.store(album(number), "albums/" + number);
            }
            session.saveChanges();
        }
    }

    static Album load(IDocumentStore store, String id) {
        try (IDocumentSession session = store.openSession()) {
            return session.load(Album.class, id);
        }
    }

    /** Changes the title of one album in a session of its own. */
    static void rename(IDocumentStore store, String id, String title) {
        try (IDocumentSession session = store.openSession()) {
            session.load(Album.class, id).title = title;
            session.saveChanges();
        }
    }
}
