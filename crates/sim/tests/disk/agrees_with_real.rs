//! Proves that the simulated disk behaves like the real one: random calls get equal answers,
//! equal kinds of errors and equal bytes from both.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_io::{DirectoryEntry, Durability, OpenMode, OpenOptions, RealVfs, Vfs, VfsFile};
use jackdaw_sim::{Rng, SimVfs};

/// A directory of the real disk, removed afterwards.
struct RealDirectory(PathBuf);

impl RealDirectory {
    fn new(seed: u64) -> Self {
        let name = format!("jackdaw-sim-{}-{seed}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a fresh name in a writable directory");
        Self(path)
    }
}

impl Drop for RealDirectory {
    fn drop(&mut self) {
        let removed = std::fs::remove_dir_all(&self.0);
        drop(removed); // Left-over files harm nobody.
    }
}

/// One call and what came of it, in a form that both disks give alike.
#[derive(Debug, PartialEq)]
enum Answer {
    Done,
    Yes(bool),
    Length(u64),
    Bytes(Vec<u8>),
    Names(BTreeMap<String, (bool, u64)>),
    Failed(io::ErrorKind),
}

fn answer<T>(result: io::Result<T>, show: impl FnOnce(T) -> Answer) -> Answer {
    match result {
        Ok(value) => show(value),
        Err(error) => Answer::Failed(error.kind()),
    }
}

fn names(entries: Vec<DirectoryEntry>) -> Answer {
    let entries = entries.into_iter();
    Answer::Names(
        entries
            .map(|entry| (entry.name, (entry.is_directory, entry.len_bytes)))
            .collect(),
    )
}

/// One of the two disks with its open files.
struct Side {
    vfs: Arc<dyn Vfs>,
    root: PathBuf,
    files: Vec<Arc<dyn VfsFile>>,
}

impl Side {
    /// Makes one random call; equal generators make equal calls.
    fn call(&mut self, rng: &mut Rng) -> Answer {
        if rng.chance(3) || self.files.is_empty() {
            self.call_on_names(rng)
        } else {
            self.call_on_file(rng)
        }
    }

    fn call_on_names(&mut self, rng: &mut Rng) -> Answer {
        const NAMES: [&str; 6] = ["a", "b", "d", "d/a", "d/e", "d/e/a"];
        let path = self.root.join(rng.pick(&NAMES));
        let other = self.root.join(rng.pick(&NAMES));
        match rng.below(12) {
            0..=4 => {
                let modes = [OpenMode::CreateNew, OpenMode::ReadWrite];
                let options = OpenOptions {
                    mode: *rng.pick(&modes),
                    direct: false,
                };
                let result = self.vfs.open(&path, options);
                answer(result, |file| {
                    self.files.push(file);
                    Answer::Done
                })
            }
            5 => {
                let directory = self.root.join(rng.pick(&["d", "d/e"]));
                answer(self.vfs.create_directory(&directory), |()| Answer::Done)
            }
            6 => answer(self.vfs.list(&path), names),
            7 => answer(
                self.vfs.exists(&self.root.join(rng.pick(&["a", "d", "x"]))),
                Answer::Yes,
            ),
            8 => {
                let (from, to) = (self.root.join("a"), self.root.join("b"));
                answer(self.vfs.rename(&from, &to), |()| Answer::Done)
            }
            9 => answer(self.vfs.remove_file(&other), |()| Answer::Done),
            10 => answer(self.vfs.remove_directory(&self.root.join("d/e")), |()| {
                Answer::Done
            }),
            _ => answer(self.vfs.sync_directory(&self.root), |()| Answer::Done),
        }
    }

    fn call_on_file(&mut self, rng: &mut Rng) -> Answer {
        let file = &self.files[rng.below_usize(self.files.len())];
        let offset = rng.below(20_000);
        let len = rng.below(9_000);
        let mut bytes = vec![0; usize::try_from(len).expect("below 9,000")];
        match rng.below(10) {
            0..=2 => {
                rng.fill(&mut bytes);
                let durability = if rng.chance(6) {
                    Durability::Data
                } else {
                    Durability::None
                };
                answer(file.write_at(&bytes, offset, durability), |()| Answer::Done)
            }
            3..=5 => {
                let result = file.read_at(&mut bytes, offset);
                answer(result, |()| Answer::Bytes(bytes))
            }
            6 => answer(file.len_bytes(), Answer::Length),
            7 => answer(file.set_len(offset), |()| Answer::Done),
            8 => answer(file.allocate(offset, len), |()| Answer::Done),
            _ => answer(file.punch_hole(offset, len), |()| Answer::Done),
        }
    }
}

#[test]
fn random_calls_get_the_same_answers_from_both_disks() {
    for seed in 0..12 {
        let directory = RealDirectory::new(seed);
        let sim: Arc<dyn Vfs> = SimVfs::new(seed);
        let real: Arc<dyn Vfs> = RealVfs::new();
        let mut sides = [
            Side {
                vfs: sim,
                root: PathBuf::from("/"),
                files: Vec::new(),
            },
            Side {
                vfs: real,
                root: directory.0.clone(),
                files: Vec::new(),
            },
        ];
        let rng = Rng::new(seed);
        let mut rngs = [rng.clone(), rng];
        for call in 0..250 {
            let [sim, real] = [0, 1].map(|side| sides[side].call(&mut rngs[side]));
            assert_eq!(sim, real, "seed {seed}, call {call}");
        }
        for (sim, real) in sides[0].files.iter().zip(&sides[1].files) {
            let len = sim.len_bytes().unwrap();
            assert_eq!(len, real.len_bytes().unwrap(), "seed {seed}");
            let mut bytes = [0, 1].map(|fill| vec![fill; usize::try_from(len).unwrap()]);
            sim.read_at(&mut bytes[0], 0).unwrap();
            real.read_at(&mut bytes[1], 0).unwrap();
            assert!(bytes[0] == bytes[1], "seed {seed}");
        }
    }
}

#[test]
fn misuse_gets_the_same_kinds_of_errors() {
    let directory = RealDirectory::new(u64::MAX);
    let sim: Arc<dyn Vfs> = SimVfs::new(1);
    let real: Arc<dyn Vfs> = RealVfs::new();
    let kinds = |vfs: &dyn Vfs, root: &Path| {
        let new = OpenOptions {
            mode: OpenMode::CreateNew,
            direct: false,
        };
        let read = OpenOptions {
            mode: OpenMode::Read,
            direct: false,
        };
        let file = vfs.open(&root.join("f"), new).unwrap();
        file.write_at(&[1; 100], 0, Durability::None).unwrap();
        let reader = vfs.open(&root.join("f"), read).unwrap();
        vfs.create_directory(&root.join("d")).unwrap();
        let mapping = file.map(1 << 30).unwrap();
        let kind = |result: io::Result<()>| result.map_err(|error| error.kind());
        [
            kind(reader.write_at(&[1], 0, Durability::None)),
            kind(reader.write_at(&[1], 0, Durability::Data)),
            kind(reader.read_at(&mut [0; 10], 95)),
            kind(reader.read_at(&mut [], 500)),
            kind(vfs.open(&root.join("f"), new).map(|_| ())),
            kind(vfs.open(&root.join("x/y"), new).map(|_| ())),
            kind(vfs.open(&root.join("x"), read).map(|_| ())),
            kind(vfs.rename(&root.join("x"), &root.join("y"))),
            kind(vfs.rename(&root.join("f"), &root.join("x/y"))),
            kind(vfs.rename(&root.join("f"), &root.join("d"))),
            kind(vfs.remove_file(&root.join("d"))),
            kind(vfs.remove_directory(&root.join("x"))),
            kind(vfs.list(&root.join("f")).map(|_| ())),
            kind(vfs.create_directory(&root.join("f"))),
            kind(mapping.cover(101)),
            kind(mapping.cover(100)),
            kind(vfs.sync_directory(&root.join("x"))),
        ]
    };
    assert_eq!(kinds(&*sim, Path::new("/")), kinds(&*real, &directory.0));
}
