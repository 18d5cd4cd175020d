"""The documents of all scenarios: albums and their artists."""

GENRES = ["Jazz", "Rock", "Folk", "Blues"]


class Artist:
    def __init__(self, name=None, country=None):
        self.name = name
        self.country = country


class Album:
    def __init__(self, title=None, artist=None, genre=None, year=None, price=None, tracks=None):
        self.title = title
        self.artist = artist
        self.genre = genre
        self.year = year
        self.price = price
        self.tracks = tracks


class AlbumRow:
    """What projections give: some fields of an album, or of several documents."""

    def __init__(self, title=None, year=None, genre=None, name=None, count=None, total=None):
        self.title = title
        self.year = year
        self.genre = genre
        self.name = name
        self.count = count
        self.total = total


def album(number):
    return Album(
        title=f"Album {number:03}",
        artist=f"artists/{number % 3}",
        genre=GENRES[number % len(GENRES)],
        year=1970 + number,
        price=9.5 + number,
        tracks=[f"Track {number}-{track}" for track in range(3)],
    )


def store_albums(store, count=20):
    """Albums 0 to count - 1 and their three artists, in one transaction."""
    with store.open_session() as session:
        for number in range(3):
            session.store(Artist(f"Artist {number}", ["SE", "IL", "US"][number]), f"artists/{number}")
        for number in range(count):
            session.store(album(number), f"albums/{number}")
        session.save_changes()
