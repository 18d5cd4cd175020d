//! The demo's albums as a CD archive: xmcd files in a tar, with the dirt of real ones.
//!
//! Called by `jackdaw demo`, which reads it straight into the import, and by tests.
//!
//! Invariants:
//! - The same seed and number of albums give the same bytes; a test pins their hash.
//! - No two albums share a path, so there are as many documents as albums.

use std::collections::HashSet;
use std::io::{self, Read, Write};

use super::album::{DemoAlbum, Generator};
use super::random::Random;
use jackdaw_transfer::archive::{append_end, append_file};
use jackdaw_transfer::xmcd::computed_disc_id;

/// Albums made at a time.
const ALBUMS_AT_ONCE: u64 = 32;
/// An empty file stands behind every so many albums, as in real archives.
const ALBUMS_PER_EMPTY_FILE: u64 = 20_000;
/// Longest line; longer values go on in a repeated key.
const LINE_BYTES: usize = 80;
/// Part of the seed that the dirt draws from.
const DIRT_PART: u64 = 0x6469_7274;

const COPYING: &str = "The albums of this archive are invented, and so are the people in them.\n\
                       Any likeness to a real record is chance.\n";
const PROGRAMS: &[&str] = &[
    "CDripper 1.4",
    "AudioCatch v0.99",
    "grab 2.95",
    "TuneBox 7.0",
];

/// A tar archive that is made while it is read.
#[derive(Debug)]
pub struct DemoArchive {
    generator: Generator,
    next_album: u64,
    used_paths: HashSet<(&'static str, u32)>,
    buffer: Vec<u8>,
    taken: usize,
    file: Vec<u8>,
    ended: bool,
}

impl DemoArchive {
    /// The archive of `album_count` albums.
    #[must_use]
    pub fn new(seed: u64, album_count: u64) -> Self {
        let mut buffer = Vec::new();
        append_file(&mut buffer, "COPYING", COPYING.as_bytes());
        Self {
            generator: Generator::new(seed, album_count),
            next_album: 0,
            used_paths: HashSet::new(),
            buffer,
            taken: 0,
            file: Vec::new(),
            ended: false,
        }
    }

    fn fill(&mut self) {
        self.buffer.clear();
        self.taken = 0;
        let end = (self.next_album + ALBUMS_AT_ONCE).min(self.generator.album_count());
        while self.next_album < end {
            self.append_album(self.next_album);
            self.next_album += 1;
            if self.next_album.is_multiple_of(ALBUMS_PER_EMPTY_FILE) {
                append_file(
                    &mut self.buffer,
                    &format!("data/empty{}", self.next_album),
                    b"",
                );
            }
        }
        if end == self.generator.album_count() {
            append_end(&mut self.buffer);
            self.ended = true;
        }
    }

    fn append_album(&mut self, number: u64) {
        let mut album = self.generator.album(number);
        let disc_id = loop {
            let id = computed_disc_id(&album.frame_offsets, Some(album.length_seconds))
                .expect("every album has tracks and a length");
            if self.used_paths.insert((album.category, id)) {
                break id;
            }
            // The last track of this pressing is a second longer.
            album.length_seconds += 1;
        };
        let mut random = Random::of_part(self.generator.seed() ^ DIRT_PART, number);
        self.file.clear();
        Xmcd::new(&mut self.file, &album, &mut random).write(&album, disc_id, &mut random);
        let path = format!("{}/{disc_id:08x}", album.category);
        append_file(&mut self.buffer, &path, &self.file);
    }
}

impl Read for DemoArchive {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.buffer.len() {
            if self.ended {
                return Ok(0);
            }
            self.fill();
        }
        let len = buffer.len().min(self.buffer.len() - self.taken);
        buffer[..len].copy_from_slice(&self.buffer[self.taken..self.taken + len]);
        self.taken += len;
        Ok(len)
    }
}

/// Writes one file the way its submitter's program did.
struct Xmcd<'f> {
    out: &'f mut Vec<u8>,
    newline: &'static [u8],
    latin1: bool,
}

impl<'f> Xmcd<'f> {
    fn new(out: &'f mut Vec<u8>, album: &DemoAlbum, random: &mut Random) -> Self {
        let fits = |text: &str| text.chars().all(|c| u32::from(c) < 256);
        let latin1 = random.chance(300)
            && fits(&album.artist)
            && fits(&album.title)
            && album.tracks.iter().all(|track| fits(track));
        let newline: &[u8] = if random.chance(20) { b"\r\n" } else { b"\n" };
        Self {
            out,
            newline,
            latin1,
        }
    }

    fn write(&mut self, album: &DemoAlbum, disc_id: u32, random: &mut Random) {
        self.comments(album, random);
        let mut disc_ids = format!("{disc_id:08x}");
        for _ in 0..if random.chance(60) {
            1 + random.below(4)
        } else {
            0
        } {
            let other = u32::try_from(random.below(1 << 32)).expect("below 2^32");
            disc_ids.push_str(&format!(",{other:08x}"));
        }
        self.value("DISCID", &disc_ids);
        let separator = if random.chance(5) { "/" } else { " / " };
        self.value(
            "DTITLE",
            &format!("{}{separator}{}", album.artist, album.title),
        );
        let year = album.year.map_or(String::new(), |year| year.to_string());
        let year_in_notes = album.year.is_some() && random.chance(40);
        if !year_in_notes && !random.chance(30) {
            self.value("DYEAR", &year);
        }
        self.value("DGENRE", album.genre);
        for (number, track) in album.tracks.iter().enumerate() {
            if !random.chance(2) {
                self.value(&format!("TTITLE{number}"), track);
            }
        }
        let notes = if year_in_notes {
            format!("YEAR: {year} ID3G: 17")
        } else {
            String::new()
        };
        self.value("EXTD", &notes);
        for number in 0..album.tracks.len() {
            self.value(&format!("EXTT{number}"), "");
        }
        self.value("PLAYORDER", "");
    }

    fn comments(&mut self, album: &DemoAlbum, random: &mut Random) {
        self.line("# xmcd");
        self.line("#");
        self.line("# Track frame offsets:");
        for offset in &album.frame_offsets {
            self.line(&format!("#\t{offset}"));
        }
        self.line("#");
        self.line(&format!("# Disc length: {} seconds", album.length_seconds));
        self.line("#");
        self.line(&format!("# Revision: {}", random.below(6)));
        self.line(&format!("# Submitted via: {}", random.choose(PROGRAMS)));
        self.line("#");
    }

    fn line(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(self.newline);
    }

    /// A key with its value; a long one goes on in repeated keys, cut wherever the line is full,
    /// be it inside a character.
    fn value(&mut self, key: &str, value: &str) {
        let encoded: Vec<u8> = if self.latin1 {
            value
                .chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
                .collect()
        } else {
            value.as_bytes().to_vec()
        };
        let mut rest = encoded.as_slice();
        loop {
            let (line, after) = rest.split_at(rest.len().min(LINE_BYTES - key.len() - 1));
            write!(self.out, "{key}=").expect("memory takes everything");
            self.out.extend_from_slice(line);
            self.out.extend_from_slice(self.newline);
            rest = after;
            if rest.is_empty() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jackdaw_transfer::archive::{TarItem, TarReader, open_stream};
    use jackdaw_transfer::xmcd::XmcdParser;

    fn bytes(seed: u64, album_count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        DemoArchive::new(seed, album_count)
            .read_to_end(&mut bytes)
            .unwrap();
        bytes
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_for_ever() {
        let archive = bytes(1, 500);
        assert_eq!(archive.len() % 512, 0);
        assert_eq!(
            format!("{:016x}", jackdaw_base::hash::xxh3_64(&archive, 0)),
            "99325a2586aea960",
            "the demo's albums changed: its queries and the pages that show them must follow"
        );
        assert_ne!(bytes(2, 500), archive);
    }

    #[test]
    fn what_the_archive_holds_comes_back_through_the_import() {
        let archive = DemoArchive::new(9, 300);
        let generator = archive.generator.clone();
        let stream = open_stream(Box::new(archive), std::sync::Arc::default(), 1).unwrap();
        let mut tar = TarReader::new(stream);
        let mut parser = XmcdParser::default();
        let (mut albums, mut same_title, mut paths) = (0, 0, HashSet::new());
        let mut content = Vec::new();
        loop {
            content.clear();
            match tar.next_item(&mut content, 1 << 20).unwrap() {
                TarItem::End => break,
                TarItem::File { name } if name == "COPYING" => {
                    assert!(parser.parse(&content).is_err());
                }
                TarItem::File { name } => {
                    let album = parser.parse(&content).unwrap();
                    let expected = generator.album(albums);
                    let id = album.disc_ids().next().unwrap().to_owned();
                    assert_eq!(name, format!("{}/{id}", expected.category));
                    assert!(paths.insert(name));
                    assert_eq!(album.tracks().len(), expected.tracks.len());
                    same_title += u32::from(
                        album.title() == Some(&expected.title)
                            && album.artist() == Some(&expected.artist),
                    );
                    albums += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(albums, 300);
        assert!(same_title > 280, "{same_title} of 300 titles came back");
    }
}
