//! Proves the model of one file against a plain one: after random changes, each sector of a crash
//! image holds one of the versions it may hold, every one of them turns up, and the extremes are
//! exactly the durable and the live content.

use std::collections::BTreeSet;

use super::super::choice::{CountOptions, KeepAll, LoseAll, RandomChoice, Script};
use super::*;

const SECTOR: u64 = SECTOR_BYTES as u64;

fn bytes_of(content: &Content) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(content.len_bytes()).unwrap()];
    content.read(&mut bytes, 0);
    bytes
}

fn lost(file: &FileState) -> Vec<u8> {
    bytes_of(file.crash(1, &mut LoseAll).live())
}

fn kept(file: &FileState) -> Vec<u8> {
    bytes_of(file.crash(1, &mut KeepAll).live())
}

/// Every image, when there are few.
fn all_images(file: &FileState) -> BTreeSet<Vec<u8>> {
    let mut counter = CountOptions::default();
    file.crash(1, &mut counter);
    let counts = counter.option_counts;
    let mut images = BTreeSet::new();
    let mut answers = vec![0; counts.len()];
    loop {
        let mut script = Script {
            answers: &answers,
            position: 0,
        };
        images.insert(bytes_of(file.crash(1, &mut script).live()));
        let Some(digit) = (0..counts.len()).find(|&digit| answers[digit] + 1 < counts[digit])
        else {
            return images;
        };
        answers[digit] += 1;
        answers[..digit].fill(0);
    }
}

#[test]
fn sectors_of_one_write_survive_independently() {
    let mut file = FileState::default();
    file.write(1, 0, &[1; 1024]);
    file.sync();
    file.write(2, 0, &[2; 1024]);
    let images = all_images(&file);
    assert_eq!(images.len(), 4);
    for image in &images {
        assert!(image[..512].iter().all(|&byte| byte == image[0]));
        assert!(image[512..].iter().all(|&byte| byte == image[512]));
    }
    assert!(!file.is_settled());
    file.sync();
    assert!(file.is_settled());
    assert_eq!(all_images(&file).len(), 1);
}

#[test]
fn every_version_of_a_sector_may_survive() {
    let mut file = FileState::default();
    file.write(1, 0, &[1; 512]);
    file.sync();
    file.write(2, 0, &[2; 512]);
    file.write(3, 100, &[3; 10]);
    file.write(4, 0, &[4; 512]);
    let first_bytes: BTreeSet<(u8, u8)> = all_images(&file)
        .iter()
        .map(|image| (image[0], image[100]))
        .collect();
    assert_eq!(
        first_bytes,
        BTreeSet::from([(1, 1), (2, 2), (2, 3), (4, 4)])
    );
}

#[test]
fn length_is_lost_or_kept_apart_from_the_data() {
    let mut file = FileState::default();
    file.write(1, 0, &[1; 512]);
    let images = all_images(&file);
    assert_eq!(images, BTreeSet::from([vec![], vec![0; 512], vec![1; 512]]));
}

#[test]
fn durable_write_secures_its_sectors_and_their_length_only() {
    let mut file = FileState::default();
    file.write(1, 0, &[1; 512]);
    file.write_durably(2, 1024, &[2; 512]);
    file.write(3, 2048, &[3; 512]);
    let image = lost(&file);
    assert_eq!(image.len(), 1536);
    assert!(image[..1024].iter().all(|&byte| byte == 0));
    assert!(image[1024..].iter().all(|&byte| byte == 2));
    // The durable sectors are the same in every image; the length never falls below them.
    for image in all_images(&file) {
        assert!(image.len() >= 1536 && image[1024..1536].iter().all(|&byte| byte == 2));
    }
    assert_eq!(kept(&file), bytes_of(file.live()));
}

#[test]
fn cut_and_its_length_survive_together() {
    let mut file = FileState::default();
    file.write(1, 0, &[1; 1024]);
    file.sync();
    file.set_len(2, 512);
    assert_eq!(
        all_images(&file),
        BTreeSet::from([vec![1; 1024], vec![1; 512]])
    );
    file.set_len(3, 1024);
    let mut regrown = vec![1; 512];
    regrown.resize(1024, 0);
    let expected = BTreeSet::from([vec![1; 1024], vec![1; 512], regrown]);
    assert_eq!(all_images(&file), expected);
}

#[test]
fn bytes_from_before_a_surviving_cut_do_not_come_back() {
    let mut file = FileState::default();
    file.write(1, 0, &[1; 512]);
    file.sync();
    file.set_len(2, 0);
    file.write(3, 0, &[3; 512]);
    let images = all_images(&file);
    assert!(images.contains(&vec![]));
    assert!(images.contains(&vec![0; 512]));
    assert!(images.contains(&vec![3; 512]));
    // The old content only where the cut was lost as well.
    assert!(images.contains(&vec![1; 512]));
    let mut cut_kept = Script {
        answers: &[1, 0],
        position: 0,
    };
    assert_eq!(file.crash(1, &mut cut_kept).live().len_bytes(), 0);
    let mut regrown = Script {
        answers: &[2, 0],
        position: 0,
    };
    assert_eq!(bytes_of(file.crash(1, &mut regrown).live()), vec![0; 512]);
}

#[test]
fn failed_sync_drops_changes_for_good() {
    let mut dropped = 0;
    for seed in 0..64 {
        let mut file = FileState::default();
        file.write(1, 0, &[1; 4096]);
        file.sync();
        file.write(2, 0, &[2; 4096]);
        file.sync_failing(seed);
        assert_eq!(bytes_of(file.live()), vec![2; 4096]);
        file.sync();
        let image = lost(&file);
        assert_eq!(image, kept(&file));
        dropped += usize::from(image != vec![2; 4096]);
        // Writing the same again and syncing does help.
        file.write(3, 0, &[2; 4096]);
        file.sync();
        assert_eq!(lost(&file), vec![2; 4096]);
    }
    assert!(dropped > 50, "{dropped}");
}

#[test]
fn failed_write_leaves_a_mixture_of_sectors() {
    let mut seen = BTreeSet::new();
    for seed in 0..32 {
        let mut file = FileState::default();
        file.write(1, 0, &[1; 1024]);
        file.sync();
        file.write_partly(2, 0, &[2; 1024], seed);
        let live = bytes_of(file.live());
        assert_eq!(kept(&file), live);
        assert_eq!(lost(&file), vec![1; 1024]);
        seen.insert((live[0], live[512]));
    }
    assert_eq!(seen.len(), 4);
}

#[test]
fn holes_and_allocation_are_accounted_for() {
    let mut file = FileState::default();
    file.set_len(1, 1 << 30);
    assert_eq!(file.live().allocated_blocks(), 0);
    assert_eq!(file.missing_blocks(0, 8192), 2);
    file.allocate(2, 100, 8192);
    assert_eq!(file.live().allocated_blocks(), 3);
    file.write(3, 4096, &[7; 4096]);
    file.punch(4, 0, 6000);
    assert_eq!(file.live().allocated_blocks(), 2);
    let mut bytes = [9; 4];
    file.live().read(&mut bytes, 5998);
    assert_eq!(bytes, [0, 0, 7, 7]);
    file.set_len(5, 6000);
    assert_eq!(file.live().allocated_blocks(), 1);
}

#[test]
fn damage_shows_in_every_version() {
    let mut file = FileState::default();
    file.write(1, 0, &[1; 512]);
    file.sync();
    file.write(2, 0, &[2; 512]);
    file.flip(10, 0x80);
    assert_eq!((lost(&file)[10], kept(&file)[10]), (0x81, 0x82));
    assert_eq!((lost(&file)[11], kept(&file)[11]), (1, 2));
}

#[test]
fn many_versions_are_merged_without_losing_the_newest() {
    let mut file = FileState::default();
    for operation in 1..=200_u8 {
        let sector = u64::from(operation % 8);
        file.write(u64::from(operation), sector * SECTOR, &[operation; 512]);
        file.set_len(u64::from(operation), 4096 + u64::from(operation));
    }
    assert_eq!(kept(&file), bytes_of(file.live()));
    let mut counter = CountOptions::default();
    file.crash(1, &mut counter);
    assert!(
        counter
            .option_counts
            .iter()
            .all(|&count| count <= BLOCK_VERSIONS_MAX + 1)
    );
}

/// A file whose content is kept as plain bytes, and each sector's possible versions as a list.
#[derive(Default)]
struct Plain {
    live: Vec<u8>,
    durable: Vec<u8>,
    versions: Vec<Vec<Vec<u8>>>,
}

impl Plain {
    fn sector(bytes: &[u8], pos: usize) -> Vec<u8> {
        bytes[pos * SECTOR_BYTES..(pos + 1) * SECTOR_BYTES].to_vec()
    }

    fn write(&mut self, offset: usize, bytes: &[u8], is_durable: bool) {
        self.live[offset..offset + bytes.len()].copy_from_slice(bytes);
        for pos in offset / SECTOR_BYTES..(offset + bytes.len()).div_ceil(SECTOR_BYTES) {
            let sector = Self::sector(&self.live, pos);
            if is_durable {
                self.versions[pos].clear();
                self.durable[pos * SECTOR_BYTES..(pos + 1) * SECTOR_BYTES].copy_from_slice(&sector);
            } else {
                self.versions[pos].push(sector);
            }
        }
    }

    fn sync(&mut self) {
        self.durable.clone_from(&self.live);
        self.versions.iter_mut().for_each(Vec::clear);
    }
}

#[test]
fn random_changes_agree_with_a_plain_model() {
    const SECTORS: usize = 40;
    const LEN: usize = SECTORS * SECTOR_BYTES;
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut file = FileState::default();
        file.allocate(1, 0, LEN as u64);
        file.sync();
        let mut plain = Plain {
            live: vec![0; LEN],
            durable: vec![0; LEN],
            versions: vec![Vec::new(); SECTORS],
        };
        for operation in 2..rng.between(3, 30) {
            let len = 1 + rng.below_usize(3000);
            let offset = rng.below_usize(LEN - len);
            let mut bytes = vec![0; len];
            rng.fill(&mut bytes);
            match rng.below(10) {
                0 => {
                    file.sync();
                    plain.sync();
                }
                1..=3 => {
                    file.write_durably(operation, offset as u64, &bytes);
                    plain.write(offset, &bytes, true);
                }
                4 => {
                    file.punch(operation, offset as u64, len as u64);
                    plain.write(offset, &vec![0; len], false);
                }
                _ => {
                    file.write(operation, offset as u64, &bytes);
                    plain.write(offset, &bytes, false);
                }
            }
        }
        assert_eq!(bytes_of(file.live()), plain.live, "seed {seed}");
        assert_eq!(lost(&file), plain.durable, "seed {seed}");
        assert_eq!(kept(&file), plain.live, "seed {seed}");
        let mut counter = CountOptions::default();
        file.crash(1, &mut counter);
        for image_seed in 0..10 {
            let mut chooser = RandomChoice::new(image_seed, &counter.operations);
            let image = bytes_of(file.crash(1, &mut chooser).live());
            for pos in 0..SECTORS {
                let sector = Plain::sector(&image, pos);
                let is_possible = sector == Plain::sector(&plain.durable, pos)
                    || plain.versions[pos].contains(&sector);
                assert!(is_possible, "seed {seed}, image {image_seed}, sector {pos}");
            }
        }
    }
}

#[test]
fn random_lengths_keep_the_extremes_exact() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut file = FileState::default();
        let mut durable_len_min = 0;
        for operation in 1..rng.between(2, 40) {
            let offset = rng.below(20_000);
            let bytes = vec![u8::try_from(operation).unwrap(); 1 + rng.below_usize(5000)];
            match rng.below(8) {
                0 => {
                    file.sync();
                    durable_len_min = file.live().len_bytes();
                }
                1 => {
                    file.write_durably(operation, offset, &bytes);
                    durable_len_min = offset + bytes.len() as u64;
                }
                2 | 3 => {
                    file.set_len(operation, offset);
                    durable_len_min = durable_len_min.min(offset);
                }
                4 => file.allocate(operation, offset, 3000),
                _ => file.write(operation, offset, &bytes),
            }
            assert_eq!(kept(&file), bytes_of(file.live()), "seed {seed}");
            assert!(lost(&file).len() as u64 >= durable_len_min, "seed {seed}");
        }
        file.sync();
        assert_eq!(lost(&file), bytes_of(file.live()), "seed {seed}");
    }
}
