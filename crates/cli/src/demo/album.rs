//! Albums that never were: artists, titles and tracks in sixteen languages.
//!
//! Called by `archive`, which files them. Album `i` depends on the seed, the number of albums and
//! `i` alone, so that any machine makes the same ones.

use super::random::Random;
use super::words::{Language, languages};

/// Frames (75 to the second) before the first track of a CD.
const LEAD_IN_FRAMES: u64 = 150;
/// Share of albums, in a thousand, that were submitted before with small differences.
const RESUBMITTED: u64 = 150;
/// Share of albums, in a thousand, with an artist per track.
const VARIOUS: u64 = 40;
/// Parts of the seed, so that artists and albums draw from streams of their own.
const ARTIST_PART: u64 = 0x6172_7469_7374;
const ALBUM_PART: u64 = 0x616c_6275_6d73;

const GENRES: &[&str] = &[
    "Rock",
    "Pop",
    "Jazz",
    "Folk",
    "Blues",
    "Country",
    "Classical",
    "Soundtrack",
    "Reggae",
    "Metal",
    "Electronic",
    "Hip-Hop",
    "Alternative",
    "Punk",
    "Dance",
    "Indie",
    "Soul",
    "Latin",
    "World",
    "Ambient",
    "Chanson",
    "Hard Rock",
    "Gothic",
    "Ska",
    "Children's",
    "J-Pop",
];
/// Categories of the archive, and the genre that most of their albums have.
const CATEGORIES: &[(&str, &str)] = &[
    ("rock", "Rock"),
    ("misc", "Pop"),
    ("classical", "Classical"),
    ("jazz", "Jazz"),
    ("folk", "Folk"),
    ("blues", "Blues"),
    ("country", "Country"),
    ("reggae", "Reggae"),
    ("newage", "Ambient"),
    ("soundtrack", "Soundtrack"),
    ("data", "Children's"),
];

/// One album as its submitter had it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DemoAlbum {
    /// What the archive files it under.
    pub category: &'static str,
    /// The artist, or `Various Artists`.
    pub artist: String,
    /// The title.
    pub title: String,
    /// Year of release; submitters leave it out now and then.
    pub year: Option<u64>,
    /// The genre, or nothing.
    pub genre: &'static str,
    /// Titles of the tracks; with their artists on samplers.
    pub tracks: Vec<String>,
    /// Where each track begins, in frames.
    pub frame_offsets: Vec<u32>,
    /// Playing time.
    pub length_seconds: u32,
}

/// Makes albums.
#[derive(Clone, Debug)]
pub struct Generator {
    seed: u64,
    album_count: u64,
    artist_count: u64,
    languages: Vec<Language>,
    weight_total: u64,
    /// Well-known names and the language of each, the best known first.
    famous: Vec<(&'static str, usize)>,
}

impl Generator {
    /// A generator of `album_count` albums.
    #[must_use]
    pub fn new(seed: u64, album_count: u64) -> Self {
        let languages = languages();
        let most = languages
            .iter()
            .map(|language| language.famous.len())
            .max()
            .unwrap_or(0);
        let famous = (0..most)
            .flat_map(|pos| languages.iter().enumerate().map(move |item| (pos, item)))
            .filter_map(|(pos, (number, language))| Some((*language.famous.get(pos)?, number)))
            .collect();
        Self {
            seed,
            album_count,
            artist_count: (album_count / 8).max(100),
            weight_total: languages.iter().map(|language| language.weight).sum(),
            languages,
            famous,
        }
    }

    /// How many albums there are.
    #[must_use]
    pub fn album_count(&self) -> u64 {
        self.album_count
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Album number `number`, from 0.
    #[must_use]
    pub fn album(&self, number: u64) -> DemoAlbum {
        let mut own = Random::of_part(self.seed ^ ALBUM_PART, number);
        let resubmitted = number > 0 && own.chance(RESUBMITTED);
        let original = if resubmitted {
            own.below(number)
        } else {
            number
        };
        let mut random = Random::of_part(self.seed ^ !ALBUM_PART, original);
        let mut album = self.original(&mut random);
        if resubmitted {
            vary(&mut album, &mut own);
        }
        album
    }

    fn original(&self, random: &mut Random) -> DemoAlbum {
        let various = random.chance(VARIOUS);
        let rank = random.rank(self.artist_count);
        let (artist, language) = if various {
            ("Various Artists".to_owned(), &self.languages[0])
        } else {
            self.artist(rank)
        };
        let category = match random.below(10) {
            0..=5 => language.category,
            6..=7 => "misc",
            _ => random.choose(CATEGORIES).0,
        };
        let track_count = match random.below(12) {
            0 => 1 + random.below(4),
            _ => 7 + random.below(6) + random.below(6),
        };
        let mut tracks: Vec<String> = Vec::new();
        for _ in 0..track_count {
            let mut track = self.track(various, language, random);
            // Short word lists repeat themselves; discs seldom do.
            for _ in 0..4 {
                if tracks.contains(&track) {
                    track = self.track(various, language, random);
                }
            }
            tracks.push(track);
        }
        let mut frames = LEAD_IN_FRAMES;
        let mut offset = || {
            let start = frames;
            // Two to six minutes, two more here and there.
            frames += 9_000 + random.below(18_000) + random.below(9_000);
            u32::try_from(start).expect("a disc has fewer than 2^32 frames")
        };
        let frame_offsets = (0..track_count).map(|_| offset()).collect();
        let length_seconds = u32::try_from(frames / 75).expect("a disc lasts hours");
        let year = 2019 - random.rank(64).min(random.below(64));
        DemoAlbum {
            category,
            artist,
            title: title(language, random),
            year: (!random.chance(80)).then_some(year),
            genre: genre(category, random),
            tracks,
            frame_offsets,
            length_seconds,
        }
    }

    fn track(&self, various: bool, language: &Language, random: &mut Random) -> String {
        if !various {
            return title(language, random);
        }
        let (artist, language) = self.artist(random.rank(self.artist_count));
        format!("{artist} / {}", title(language, random))
    }

    /// The artist of a rank, and the language of the artist's titles.
    fn artist(&self, rank: u64) -> (String, &Language) {
        let known = usize::try_from(rank)
            .ok()
            .and_then(|rank| self.famous.get(rank));
        if let Some(&(name, number)) = known {
            return (name.to_owned(), &self.languages[number]);
        }
        let mut random = Random::of_part(self.seed ^ ARTIST_PART, rank);
        let mut left = random.below(self.weight_total);
        let mut number = 0;
        while left >= self.languages[number].weight {
            left -= self.languages[number].weight;
            number += 1;
        }
        let language = &self.languages[number];
        let name = if number == 0 {
            english_artist(language, &mut random)
        } else {
            match random.below(4) {
                0 => (*random.choose(&language.groups)).to_owned(),
                _ => person(language, &mut random),
            }
        };
        (name, language)
    }
}

/// What the submitter chose: mostly what the category says, now and then nothing.
fn genre(category: &str, random: &mut Random) -> &'static str {
    match random.below(25) {
        0 | 1 => "",
        2..=9 => random.choose::<&str>(GENRES),
        _ => CATEGORIES
            .iter()
            .find(|known| known.0 == category)
            .map_or("", |known| known.1),
    }
}

fn person(language: &Language, random: &mut Random) -> String {
    let (first, last) = (
        *random.choose(&language.first),
        *random.choose(&language.last),
    );
    let (one, two) = if language.last_first {
        (last, first)
    } else {
        (first, last)
    };
    format!("{one}{}{two}", language.join)
}

fn english_artist(language: &Language, random: &mut Random) -> String {
    let group = *random.choose(&language.groups);
    match random.below(10) {
        0..=2 => format!("The {} {group}", random.choose(&language.adjectives)),
        3 => format!("The {group}"),
        4 => format!("{} & The {group}", person(language, random)),
        5 => format!(
            "{} {}",
            random.choose(&language.adjectives),
            random.choose(&language.nouns)
        ),
        _ => person(language, random),
    }
}

fn title(language: &Language, random: &mut Random) -> String {
    let noun = *random.choose(&language.nouns);
    let join = language.join;
    let title = match random.below(8) {
        0 | 1 => (*random.choose(&language.phrases)).to_owned(),
        2 | 3 => {
            let of = *random.choose(&language.of);
            let (one, two) = if language.of_first {
                (of, noun)
            } else {
                (noun, of)
            };
            format!("{one}{join}{two}")
        }
        4 => {
            let other = *random.choose(&language.nouns);
            if other == noun {
                noun.to_owned()
            } else {
                format!("{noun}{}{other}", language.and)
            }
        }
        5 | 6 if !language.adjectives.is_empty() => {
            format!("{}{join}{noun}", random.choose(&language.adjectives))
        }
        _ => noun.to_owned(),
    };
    match random.below(60) {
        0 => title + " (Live)",
        1 => title + " (Remix)",
        2 => title + " [Bonus Track]",
        3 => title + ", Pt. 2",
        _ => title,
    }
}

/// What changes when somebody submits an album again.
fn vary(album: &mut DemoAlbum, random: &mut Random) {
    match random.below(6) {
        0 => album.title.push_str(" (Disc 1)"),
        1 => album.title.push_str(" [Remastered]"),
        2 => album.title = album.title.to_lowercase(),
        3 => album.artist = album.artist.to_uppercase(),
        4 => album.year = None,
        _ => album.genre = "",
    }
    // Another pressing begins its tracks a little later.
    let later = u32::try_from(random.below(300)).expect("below 300");
    for offset in album.frame_offsets.iter_mut().skip(1) {
        *offset += later;
    }
    album.length_seconds += later / 75;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_album_is_complete_and_every_script_occurs() {
        let generator = Generator::new(3, 4000);
        let mut text = String::new();
        let mut years = 0;
        for number in 0..generator.album_count() {
            let album = generator.album(number);
            assert!(
                !album.artist.is_empty() && !album.title.is_empty() && !album.tracks.is_empty()
            );
            assert_eq!(album.tracks.len(), album.frame_offsets.len());
            assert!(album.frame_offsets.is_sorted() && album.length_seconds > 60);
            assert!(album.year.is_none_or(|year| (1950..2020).contains(&year)));
            years += u64::from(album.year.is_some());
            text.push_str(&album.artist);
        }
        assert!(years > 3000);
        for (script, sample) in [
            ("Latin", 'ó'),
            ("Cyrillic", 'ж'),
            ("Greek", 'λ'),
            ("kana", 'つ'),
            ("kanji", '星'),
            ("hanzi", '陈'),
            ("hangul", '별'),
            ("Arabic", 'ل'),
            ("Hebrew", 'ל'),
        ] {
            assert!(text.contains(sample), "no {script}");
        }
    }

    #[test]
    fn an_album_depends_on_its_number_alone() {
        let generator = Generator::new(3, 100);
        assert_eq!(generator.album(57), Generator::new(3, 100).album(57));
        assert_ne!(generator.album(57), Generator::new(4, 100).album(57));
    }
}
