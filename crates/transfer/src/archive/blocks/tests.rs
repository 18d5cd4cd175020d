//! What is proven: every bzip2 archive that the library writes comes back byte for byte, whatever
//! the number of streams and workers; damage costs its block, and is named with its position.

use std::io::{Cursor, Write};

use super::*;

fn compress(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::new(level));
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Text that compresses to about a third, different in every block.
fn text(len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 32);
    let mut state = 7u64;
    while out.len() < len {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963);
        out.extend_from_slice(format!("line {} of {}\n", state >> 48, out.len()).as_bytes());
    }
    out.truncate(len);
    out
}

/// Everything that can be read, and what was wrong on the way.
fn read_all(archive: &[u8], workers: usize) -> (Vec<u8>, Vec<SourceError>) {
    let mut reader = BlockReader::start(Box::new(Cursor::new(archive.to_vec())), workers).unwrap();
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 10_000];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return (out, errors),
            Ok(len) => out.extend_from_slice(&buffer[..len]),
            Err(error) => {
                let fatal = matches!(error, SourceError::Fatal { .. });
                errors.push(error);
                if fatal {
                    return (out, errors);
                }
            }
        }
    }
}

#[test]
fn archives_come_back_byte_for_byte() {
    for len in [0, 1, 99_000, 350_000] {
        let plain = text(len);
        let archive = compress(&plain, 1);
        for workers in [1, 2, 3] {
            assert_eq!(
                read_all(&archive, workers),
                (plain.clone(), vec![]),
                "{len} bytes"
            );
        }
    }
}

#[test]
fn concatenated_streams_are_one_stream() {
    let (first, second) = (text(150_000), text(120_000));
    let archive = [
        compress(&first, 1),
        compress(b"", 9),
        compress(&second, 9),
        b"trailing".to_vec(),
    ]
    .concat();
    assert_eq!(read_all(&archive, 2), ([first, second].concat(), vec![]));
}

#[test]
fn runs_that_unpack_to_fifty_times_the_block_are_read() {
    let plain = vec![0u8; 3_000_000];
    assert_eq!(read_all(&compress(&plain, 1), 2), (plain, vec![]));
}

#[test]
fn a_damaged_block_is_lost_alone() {
    let plain = text(390_000);
    let mut archive = compress(&plain, 1);
    let middle = archive.len() / 2;
    archive[middle] ^= 0x10;
    let (got, errors) = read_all(&archive, 2);
    assert!(
        got.len() > 200_000 && got.len() < plain.len() - 50_000,
        "{} bytes",
        got.len()
    );
    assert_eq!(got[..90_000], plain[..90_000]);
    assert_eq!(got[got.len() - 90_000..], plain[plain.len() - 90_000..]);
    let [
        SourceError::Gap {
            file_position,
            what,
        },
    ] = errors.as_slice()
    else {
        panic!("{errors:?}")
    };
    assert!(what.contains("damaged"), "{what}");
    assert!(*file_position > 0 && *file_position < middle as u64);
}

#[test]
fn a_missing_block_shows_in_the_checksum_of_the_stream() {
    let plain = text(390_000);
    let archive = compress(&plain, 1);
    // Cut the second block out, bit by bit.
    let mut marks = Vec::new();
    let mut bit = 0;
    while let Some(mark) = find_mark(&archive, bit) {
        marks.push(mark.bit);
        bit = mark.bit + 1;
    }
    assert!(marks.len() >= 4);
    let mut shorter = BitString::default();
    shorter.push_range(&archive, 0, marks[1]);
    shorter.push_range(&archive, marks[2], archive.len() * 8 - marks[2]);
    let (got, errors) = read_all(shorter.as_bytes(), 2);
    assert!(got.len() < plain.len());
    assert!(matches!(errors.as_slice(), [SourceError::Gap { what, .. }] if what.contains("match")));
}

#[test]
fn a_truncated_archive_gives_what_it_has_and_says_where_it_ends() {
    let plain = text(390_000);
    let archive = compress(&plain, 1);
    let (got, errors) = read_all(&archive[..archive.len() / 2], 2);
    assert!(got.len() >= 90_000 && plain.starts_with(&got));
    let expected = archive.len() as u64 / 2;
    assert!(
        matches!(errors.as_slice(),
        [SourceError::Fatal { file_position, .. }] if *file_position == expected),
        "{errors:?}"
    );
    for end in [1, 4, 9, 14, archive.len() - 1] {
        let (_, errors) = read_all(&archive[..end], 2);
        assert_eq!(errors.len(), 1, "cut at {end}");
    }
}

#[test]
fn a_block_cut_by_a_chance_mark_is_joined_again() {
    let plain = text(60_000);
    let archive = compress(&plain, 1);
    let first = find_mark(&archive, 0).unwrap().bit;
    let end = find_mark(&archive, first + 1).unwrap().bit;
    let cut = first + (end - first) / 2;
    let piece = |from: usize, to: usize| {
        let mut bits = BitString::default();
        bits.push_range(&archive, from, to - from);
        let what = unpack(&bits).unwrap_err();
        Outcome::Failed {
            bits,
            file_position: 0,
            what,
        }
    };
    let (sender, receiver) = sync_channel(4);
    sender.send(piece(first, cut)).unwrap();
    sender.send(piece(cut, end)).unwrap();
    drop(sender);
    let mut reader = BlockReader {
        workers: vec![receiver],
        turn: 0,
        unpacked: Vec::new(),
        taken: 0,
        ahead: None,
        ended: false,
    };
    let mut got = vec![0; plain.len()];
    let mut len = 0;
    while len < got.len() {
        len += reader.read(&mut got[len..]).unwrap();
    }
    assert_eq!(got, plain);
    assert_eq!(reader.read(&mut [0; 1]), Ok(0));
}

#[test]
fn dropping_the_reader_ends_its_threads() {
    let archive = compress(&text(2_000_000), 1);
    let mut reader = BlockReader::start(Box::new(Cursor::new(archive)), 2).unwrap();
    assert!(reader.read(&mut [0; 100]).unwrap() > 0);
    drop(reader);
}
