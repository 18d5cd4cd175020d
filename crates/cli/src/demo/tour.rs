//! The questions that the demo asks: one of each kind that people ask a CD catalogue.

use super::album::Generator;
use jackdaw_transfer::xmcd::computed_disc_id;

/// A question and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TourStop {
    /// For people.
    pub about: &'static str,
    /// The query, in RQL.
    pub query: String,
}

/// A query whose index answers every question of the tour: it is made once, while the albums are
/// imported, instead of growing question by question.
pub const TOUR_INDEX: &str = "from Albums where Artist = '' and Title = '' and DiscIds = '' \
                              and Year = 0 and Genre = '' and Category = '' and Tracks = '' \
                              order by LengthInSeconds as long";

/// The questions, for the albums of a generator.
///
/// # Panics
/// When the generator has no album.
#[must_use]
pub fn tour(generator: &Generator) -> Vec<TourStop> {
    let album = generator.album(0);
    let disc_id = computed_disc_id(&album.frame_offsets, Some(album.length_seconds))
        .expect("every album has tracks and a length");
    // Quotes would need escapes, which a first query is better without.
    let track = album
        .tracks
        .iter()
        .find(|track| !track.contains(['\'', '\\']));
    let track = track.map(String::as_str).unwrap_or_default();
    let stop = |about, query: &str| TourStop {
        about,
        query: query.to_owned(),
    };
    vec![
        stop(
            "A disc is in the drive: which album is it?",
            &format!("from Albums where DiscIds = '{disc_id:08x}' select Artist, Title, Year"),
        ),
        stop(
            "An artist, in any letter case",
            "from Albums where Artist = 'THE velvet HARBOURS' select Artist, Title, Year, Genre",
        ),
        stop(
            "What titles begin with",
            "from Albums where startsWith(Title, 'silver') select Artist, Title, Year",
        ),
        stop(
            "Any script",
            "from Albums where Artist = '\u{661f}\u{91ce}\u{3064}\u{3070}\u{3055}' or \
             Artist = 's\u{f3}lveig hrafnsd\u{f3}ttir' select Artist, Title, Year",
        ),
        stop(
            "A range, sorted: the longest albums of three years",
            "from Albums where Year between 1994 and 1996 order by LengthInSeconds as long desc \
             select Artist, Title, Year, LengthInSeconds",
        ),
        stop(
            "Several genres, but not everything in them",
            "from Albums where Genre in ('Jazz', 'Blues', 'Soul') and Year >= 2000 and not \
             (Category = 'misc' or Artist = 'Various Artists') order by Title \
             select Artist, Title, Genre, Year",
        ),
        stop(
            "A track, wherever it is",
            &format!("from Albums where Tracks = '{track}' select Artist, Title, Year"),
        ),
    ]
}
