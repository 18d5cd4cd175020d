//! Attachments, counters and time series of documents.

use std::io::{self, Read};
use std::time::{Duration, UNIX_EPOCH};

use jackdaw::{Entry, Error};

use crate::common::music;

#[test]
fn attachments_of_any_length_read_back() {
    let db = music();
    let files = db.attachments("albums/1");
    for len in [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (5 << 20) + 17] {
        let content: Vec<u8> = (0..len)
            .map(|at: usize| (at % 251).to_le_bytes()[0])
            .collect();
        files.put("cover", "image/png", content.as_slice()).unwrap();
        let mut file = files.get("COVER").unwrap().unwrap();
        assert_eq!(
            (file.len_bytes(), file.content_type()),
            (len as u64, "image/png")
        );
        let mut read = Vec::new();
        file.read_to_end(&mut read).unwrap();
        assert!(read == content, "{len}");
    }
    assert_eq!(files.names().unwrap(), ["cover"]);
    files.delete("cover").unwrap();
    assert!(files.get("cover").unwrap().is_none());
    assert!(files.names().unwrap().is_empty());
}

#[test]
fn an_open_attachment_outlives_its_deletion() {
    let db = music();
    let files = db.attachments("albums/1");
    files.put("a", "", &b"content"[..]).unwrap();
    let mut file = files.get("a").unwrap().unwrap();
    db.delete("albums/1").unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "content");
}

/// Fails after some bytes.
struct Broken(usize);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(self.0);
        self.0 -= len;
        match len {
            0 => Err(io::Error::other("the source is gone")),
            len => Ok(len),
        }
    }
}

#[test]
fn a_content_that_cannot_be_read_is_not_attached() {
    let db = music();
    let files = db.attachments("albums/1");
    let error = files.put("a", "", Broken(3 << 20)).unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error:?}");
    assert_eq!(error.to_string(), "the source is gone");
    assert!(files.get("a").unwrap().is_none());
}

#[test]
fn extensions_of_a_missing_document_are_refused_or_absent() {
    let db = music();
    let put = db.attachments("albums/9").put("a", "", &b"x"[..]);
    assert!(matches!(put, Err(Error::Missing(_))), "{put:?}");
    let long = db
        .attachments("albums/9")
        .put("a", "", vec![7; 2 << 20].as_slice());
    assert!(matches!(long, Err(Error::Missing(_))), "{long:?}");
    let increment = db.counters("albums/9").increment("a", 1);
    assert!(matches!(increment, Err(Error::Missing(_))), "{increment:?}");
    let append = db.time_series("albums/9", "a").append(UNIX_EPOCH, &[1.0]);
    assert!(matches!(append, Err(Error::Missing(_))), "{append:?}");
    assert!(db.attachments("albums/9").get("a").unwrap().is_none());
    assert!(db.attachments("albums/9").names().unwrap().is_empty());
    assert_eq!(db.counters("albums/9").get("a").unwrap(), None);
    assert!(db.counters("albums/9").all().unwrap().is_empty());
    assert!(
        db.time_series("albums/9", "a")
            .entries(..)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn counters_count_within_64_bits() {
    let db = music();
    let counters = db.counters("albums/1");
    assert_eq!(counters.increment("Plays", -2).unwrap(), -2);
    counters.set("plays", i64::MAX - 1).unwrap();
    assert_eq!(counters.increment("PLAYS", 1).unwrap(), i64::MAX);
    let over = counters.increment("Plays", 1);
    assert!(matches!(over, Err(Error::Invalid(_))), "{over:?}");
    assert_eq!(counters.all().unwrap(), [("Plays".to_owned(), i64::MAX)]);
    counters.delete("Plays").unwrap();
    counters.delete("Plays").unwrap();
    assert_eq!(counters.get("Plays").unwrap(), None);
    let unnamed = counters.increment("", 1);
    assert!(matches!(unnamed, Err(Error::Invalid(_))), "{unnamed:?}");
}

#[test]
fn ranges_of_time_series_follow_their_bounds() {
    let db = music();
    let series = db.time_series("albums/1", "Plays");
    let at = |millis: u64| UNIX_EPOCH + Duration::from_millis(millis);
    let entries = [10, 20, 30].map(|millis| Entry::new(at(millis), [millis as f64]));
    series.append_all(entries).unwrap();
    series
        .append(UNIX_EPOCH - Duration::from_millis(5), &[-5.0])
        .unwrap();
    let values = |found: Vec<Entry>| found.iter().map(|one| one.values[0]).collect::<Vec<_>>();
    assert_eq!(
        values(series.entries(..).unwrap()),
        [-5.0, 10.0, 20.0, 30.0]
    );
    assert_eq!(
        values(series.entries(at(10)..at(30)).unwrap()),
        [10.0, 20.0]
    );
    assert_eq!(
        values(series.entries(at(10)..=at(30)).unwrap()),
        [10.0, 20.0, 30.0]
    );
    assert_eq!(values(series.entries(..at(10)).unwrap()), [-5.0]);
    let later = at(10) + Duration::from_micros(1);
    assert_eq!(values(series.entries(later..).unwrap()), [20.0, 30.0]);
    assert_eq!(values(series.entries(..later).unwrap()), [-5.0, 10.0]);
    assert!(series.entries(at(20)..at(20)).unwrap().is_empty());
    series.delete(at(20)..at(20)).unwrap();
    series.delete(at(20)..).unwrap();
    assert_eq!(values(series.entries(..).unwrap()), [-5.0, 10.0]);
}

#[test]
fn entries_have_one_to_32_numbers_and_a_tag() {
    let db = music();
    let series = db.time_series("albums/1", "Plays");
    let entry = Entry::new(UNIX_EPOCH, vec![1.5; 32]).with_tag("sensors/1");
    series.append_all([entry.clone()]).unwrap();
    assert_eq!(series.entries(..).unwrap(), [entry]);
    // The same time again takes its place.
    series.append(UNIX_EPOCH, &[2.0]).unwrap();
    assert_eq!(series.entries(..).unwrap(), [Entry::new(UNIX_EPOCH, [2.0])]);
    for values in [vec![], vec![1.0; 33], vec![f64::NAN]] {
        let refused = series.append(UNIX_EPOCH, &values);
        assert!(
            matches!(refused, Err(Error::Invalid(_))),
            "{values:?} {refused:?}"
        );
    }
}
