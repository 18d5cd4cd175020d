//! A sample environment whose bytes are flipped, and what `verify` and `check` have to say of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, Rng, SimVfs};
use jackdaw_storage::{CheckLevel, Environment, Options, verify};

pub(crate) const DIRECTORY: &str = "/db";
const PAGE_BYTES: usize = 8192;
/// Pages of the data file are described by the map in page 0: 64 bytes, then a bit a page.
const MAP_BITS_AT: usize = 64;

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// One inverted bit.
#[derive(Clone, Debug)]
pub(crate) struct Flip {
    file: String,
    offset: u64,
    mask: u8,
}

/// A closed environment, and which of its bytes mean something.
pub(crate) struct Sample {
    vfs: Arc<SimVfs>,
    content: Content,
    /// Page to first page of its run, for every page in use; the data file has no other meaning.
    owners: BTreeMap<u64, u64>,
    /// Bytes of journal files with a meaning.
    journal: Vec<(String, u64)>,
}

fn open(vfs: &Arc<SimVfs>) -> Result<Environment, String> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    Environment::open(vfs, Path::new(DIRECTORY), Options::small()).map_err(|e| e.to_string())
}

fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

/// Writes values of all lengths in `transactions` transactions and deletes some; stays open.
pub(crate) fn fill(vfs: &Arc<SimVfs>, seed: u64, transactions: u64) -> (Environment, Content) {
    let mut rng = Rng::new(seed);
    let mut content = Content::new();
    let environment = open(vfs).expect("a new environment opens");
    for _ in 0..transactions {
        let mut transaction = environment.begin_write().expect("no other writer");
        let mut tree = transaction.tree_mut("t").expect("a tree");
        for _ in 0..=rng.below(8) {
            let key = format!("key-{:04}", rng.below(4 * transactions)).into_bytes();
            if rng.chance(5) {
                tree.delete(&key).expect("sound pages");
                content.remove(&key);
                continue;
            }
            let mut value = vec![0; *rng.pick(&[5, 60, 600, 600, 3_000, 20_000])];
            rng.fill(&mut value);
            tree.put(&key, &value).expect("sound pages");
            content.insert(key, value);
        }
        transaction.commit().expect("the disk works");
    }
    (environment, content)
}

fn content_of(environment: &Environment) -> Result<Content, String> {
    let reader = environment.read().map_err(|e| e.to_string())?;
    let Some(tree) = reader.tree("t").map_err(|e| e.to_string())? else {
        return Ok(Content::new());
    };
    let mut content = Content::new();
    for entry in tree.iter().map_err(|e| e.to_string())? {
        let (key, value) = entry.map_err(|e| e.to_string())?;
        content.insert(key.to_vec(), value.to_vec());
    }
    Ok(content)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

impl Sample {
    pub(crate) fn new(seed: u64, transactions: u64) -> Sample {
        let vfs = SimVfs::new(seed);
        let (environment, content) = fill(&vfs, seed, transactions);
        let page_count = environment.statistics().page_count;
        drop(environment);
        let data = vfs.file_bytes(&path("data.jd")).expect("a data file");
        let journal = meaningful_journal(&vfs);
        Sample {
            vfs,
            content,
            owners: owners(&data, page_count),
            journal,
        }
    }

    /// Flips in bytes that mean something, in all files, no two in one page.
    pub(crate) fn random_flips(&self, count: usize, rng: &mut Rng) -> Vec<Flip> {
        let pages: Vec<u64> = self.owners.keys().copied().collect();
        let (mut flips, mut touched) = (Vec::new(), BTreeSet::new());
        let mut is_meta_touched = false;
        while flips.len() < count {
            let mask = 1 << rng.below(8);
            let (file, offset) = match rng.below(12) {
                // One slot at most: with both nothing can be read.
                0 if !is_meta_touched => {
                    is_meta_touched = true;
                    ("meta".to_owned(), rng.below(2 * 4096))
                }
                1 => {
                    let (file, len_bytes) = rng.pick(&self.journal).clone();
                    (file, rng.below(len_bytes))
                }
                _ => {
                    let page = *rng.pick(&pages);
                    if !touched.insert(page) {
                        continue;
                    }
                    let offset = page * PAGE_BYTES as u64 + rng.below(PAGE_BYTES as u64);
                    ("data.jd".to_owned(), offset)
                }
            };
            flips.push(Flip { file, offset, mask });
        }
        flips
    }

    /// Bytes of all files.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.files().iter().map(|(_, len_bytes)| len_bytes).sum()
    }

    /// All files with a content, and their lengths.
    fn files(&self) -> Vec<(String, u64)> {
        let names = self.vfs.file_paths().into_iter();
        names
            .filter_map(|name| {
                let len = self.vfs.file_bytes(Path::new(&name)).ok()?.len() as u64;
                let name = name.strip_prefix("db/")?.to_owned();
                Some((name, len)).filter(|(_, len)| *len > 0)
            })
            .collect()
    }

    /// The flip of byte `position`, counted through all files.
    pub(crate) fn flip_at(&self, mut position: u64, mask: u8) -> Flip {
        for (file, len_bytes) in self.files() {
            if position < len_bytes {
                return Flip {
                    file,
                    offset: position,
                    mask,
                };
            }
            position -= len_bytes;
        }
        panic!("no file has that byte");
    }

    fn damaged(&self, flips: &[Flip]) -> Arc<SimVfs> {
        let image = self.vfs.crash(CrashChoice::KeepAll);
        for flip in flips {
            image
                .flip(&path(&flip.file), flip.offset, flip.mask)
                .expect("the byte is there");
        }
        image
    }

    /// Pages (first ones of runs) that the flips of the data file are in.
    fn pages_of(&self, flips: &[Flip]) -> BTreeSet<u64> {
        let data = flips.iter().filter(|flip| flip.file == "data.jd");
        data.filter_map(|flip| self.owners.get(&(flip.offset / PAGE_BYTES as u64)))
            .copied()
            .collect()
    }

    /// Whether `verify` names exactly the pages and files that were flipped, and the engine's own
    /// check the same pages.
    pub(crate) fn check_named(&self, flips: &[Flip]) -> Result<(), String> {
        let image = self.damaged(flips);
        let report = verify(&*image, Path::new(DIRECTORY)).map_err(|e| e.to_string())?;
        let named: BTreeSet<u64> = report
            .damages
            .iter()
            .filter_map(|d| d.page.map(|p| p.0))
            .collect();
        let expected = self.pages_of(flips);
        compare("verify, pages", &named, &expected)?;
        let files = |named: &mut dyn Iterator<Item = String>| named.collect::<BTreeSet<String>>();
        let others = report.damages.iter().filter(|d| d.page.is_none());
        let named_files = files(&mut others.map(|d| d.file.to_string()));
        let flipped = flips.iter().filter(|flip| flip.file != "data.jd");
        let flipped_files = files(&mut flipped.map(|flip| flip.file.clone()));
        compare("verify, files", &named_files, &flipped_files)?;
        let environment = open(&image)?;
        let check = environment
            .check(CheckLevel::Full)
            .map_err(|e| e.to_string())?;
        let checked: BTreeSet<u64> = check
            .damages
            .iter()
            .filter_map(|d| d.page.map(|p| p.0))
            .collect();
        compare("check, pages", &checked, &expected)
    }

    /// Whether a flip anywhere is named, or changes nothing that is read.
    pub(crate) fn check_named_or_harmless(&self, flip: &Flip) -> Result<bool, String> {
        let image = self.damaged(std::slice::from_ref(flip));
        let report = verify(&*image, Path::new(DIRECTORY)).map_err(|e| e.to_string())?;
        if !report.damages.is_empty() {
            let is_there = |damage: &jackdaw_storage::Damage| damage.file == flip.file;
            if !report.damages.iter().all(is_there) {
                return Err(format!("named elsewhere: {:?}", report.damages));
            }
            // Whatever can still be read is right: an error, or what was written.
            if let Ok(environment) = open(&image)
                && let Ok(content) = content_of(&environment)
                && content != self.content
            {
                return Err("wrong content was served".to_owned());
            }
            return Ok(true);
        }
        let environment = open(&image)?;
        if content_of(&environment)? != self.content {
            return Err("not named, but the content is another one".to_owned());
        }
        let check = environment
            .check(CheckLevel::Full)
            .map_err(|e| e.to_string())?;
        match check.damages.first() {
            None => Ok(false),
            Some(damage) => Err(format!("only the engine's check names it: {damage}")),
        }
    }
}

fn compare<T: Ord + std::fmt::Debug>(
    what: &str,
    found: &BTreeSet<T>,
    expected: &BTreeSet<T>,
) -> Result<(), String> {
    let missed: Vec<&T> = expected.difference(found).collect();
    let wrong: Vec<&T> = found.difference(expected).collect();
    match missed.is_empty() && wrong.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{what}: missed {missed:?}, named for nothing {wrong:?}"
        )),
    }
}

/// Pages in use by the space map, each with the first page of its run.
fn owners(data: &[u8], page_count: u64) -> BTreeMap<u64, u64> {
    let mut owners = BTreeMap::new();
    let mut page = 0;
    while page < page_count {
        let at = usize::try_from(page).expect("a small file");
        let is_free = data[MAP_BITS_AT + at / 8] >> (at % 8) & 1 == 1;
        let head = &data[at * PAGE_BYTES..];
        let is_run = head[24] == 3;
        let count = match (is_free, is_run) {
            (true, _) | (_, false) => 1,
            (false, true) => (u64::from(u32_at(head, 26)) + 32).div_ceil(PAGE_BYTES as u64),
        };
        if !is_free {
            owners.extend((page..page + count).map(|inside| (inside, page)));
        }
        page += count;
    }
    owners
}

/// The journal file that the newer meta slot names, up to the position it gives.
fn meaningful_journal(vfs: &SimVfs) -> Vec<(String, u64)> {
    let meta = vfs.file_bytes(&path("meta")).expect("a meta file");
    let slot = meta
        .chunks_exact(4096)
        .max_by_key(|slot| u32_at(slot, 32))
        .expect("two slots");
    let name = format!("journal/j-{:016x}.jnl", u32_at(slot, 48));
    let offset = u64::from(u32_at(slot, 56));
    vec![(name, offset)]
}
