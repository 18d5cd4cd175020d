//! Space comes back: compaction rewrites an environment and survives power loss at every
//! operation; deleting makes holes in the data file; closing cuts off what it grew ahead.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use jackdaw_io::Vfs;
use jackdaw_sim::{CrashChoice, ImageBudget, Rng, SimVfs, Sweep};
use jackdaw_storage::{CheckLevel, Environment, Options, compact};

const DIRECTORY: &str = "/db";

fn open(vfs: &Arc<SimVfs>) -> Result<Environment, String> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    let opened = Environment::open(vfs, Path::new(DIRECTORY), Options::small());
    opened.map_err(|error| error.to_string())
}

/// Fills trees of every kind, and deletes most of it again.
fn fill(environment: &Environment, seed: u64) {
    let mut rng = Rng::new(seed);
    for round in 0..12_u64 {
        let mut transaction = environment.begin_write().unwrap();
        for entry in 0..60 {
            let key = format!("key-{:04}", rng.below(3_000)).into_bytes();
            let byte = u8::try_from(rng.below(256)).unwrap();
            let value = vec![byte; *rng.pick(&[10, 500, 9_000])];
            transaction
                .tree_mut("t")
                .unwrap()
                .put(&key, &value)
                .unwrap();
            let number = round * 60 + entry;
            let mut fixed = transaction.fixed_tree_mut("f", 8).unwrap();
            fixed.put(number, &rng.next_u64().to_le_bytes()).unwrap();
            let mut multi = transaction.multi_tree_mut("m").unwrap();
            multi.add(&key[..5], &key).unwrap();
            let mut counted = transaction.counted_tree_mut("c").unwrap();
            counted.put(&key, &[byte; 100]).unwrap();
        }
        transaction.tree_mut("empty").unwrap();
        transaction.commit().unwrap();
    }
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    tree.delete_range(b"key-0300".as_slice()..).unwrap();
    transaction.commit().unwrap();
}

/// Everything in an environment, as text.
fn content(environment: &Environment) -> Result<String, String> {
    let reader = environment.read().map_err(|error| error.to_string())?;
    let mut text = String::new();
    for (name, root) in reader.trees().map_err(|error| error.to_string())? {
        text.push_str(&format!("{name} {} {}\n", root.kind(), root.entry_count()));
    }
    let damage = |error: jackdaw_storage::StorageError| error.to_string();
    for entry in reader
        .tree("t")
        .map_err(damage)?
        .unwrap()
        .iter()
        .map_err(damage)?
    {
        let (key, value) = entry.map_err(damage)?;
        text.push_str(&format!(
            "{:?} {} {:?}\n",
            key.to_vec(),
            value.len(),
            value.first()
        ));
    }
    for entry in reader
        .fixed_tree("f")
        .map_err(damage)?
        .unwrap()
        .iter()
        .map_err(damage)?
    {
        text.push_str(&format!("{:?}\n", entry.map_err(damage)?));
    }
    let counted = reader.tree("c").map_err(damage)?.unwrap();
    for entry in counted.iter().map_err(damage)? {
        let key = entry.map_err(damage)?.0.to_vec();
        let rank = counted.rank(&key).map_err(damage)?;
        text.push_str(&format!("{rank} {key:?}\n"));
    }
    let multi = reader.multi_tree("m").map_err(damage)?.unwrap();
    for entry in multi.range(..).map_err(damage)? {
        let (key, values) = entry.map_err(damage)?;
        let values: Vec<Vec<u8>> = values.map(|value| value.unwrap().to_vec()).collect();
        text.push_str(&format!("{:?} {values:?}\n", key.to_vec()));
    }
    Ok(text)
}

#[test]
fn compaction_keeps_the_content_and_shrinks_the_file() {
    let vfs = SimVfs::new(1);
    let environment = open(&vfs).unwrap();
    fill(&environment, 1);
    let before = content(&environment).unwrap();
    drop(environment);
    let vfs_of_engine: Arc<dyn Vfs> = vfs.clone();
    let report = compact(&vfs_of_engine, Path::new(DIRECTORY), &|_, _| {}).unwrap();
    assert!(report.bytes_after * 2 < report.bytes_before, "{report:?}");
    let environment = open(&vfs).unwrap();
    assert_eq!(content(&environment).unwrap(), before);
    let check = environment.check(CheckLevel::Full).unwrap();
    assert_eq!((check.damages.len(), check.free_pages), (0, 0));
    assert!(!vfs.exists(Path::new("/db/compact")).unwrap());
    fill(&environment, 2);
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
}

#[test]
fn compaction_survives_power_loss_at_every_operation() {
    let vfs = SimVfs::new(2);
    let environment = open(&vfs).unwrap();
    fill(&environment, 3);
    let expected = content(&environment).unwrap();
    drop(environment);
    let start = vfs.operation_count();
    let vfs_of_engine: Arc<dyn Vfs> = vfs.clone();
    compact(&vfs_of_engine, Path::new(DIRECTORY), &|_, _| {}).unwrap();
    let budget = ImageBudget {
        exhaustive_max: 4,
        sample_count: 4,
        seed: 2,
    };
    let sweep = Sweep {
        budget,
        completed_min: start,
    };
    let report = vfs.history().sweep(sweep, |image, _| {
        let disk: Arc<dyn Vfs> = image.clone();
        let to_read = Environment::open_read_only(disk, Path::new(DIRECTORY));
        let to_read = to_read.map_err(|error| error.to_string())?;
        if content(&to_read)? != expected {
            return Err("a reader sees another content".to_owned());
        }
        drop(to_read);
        let environment = open(image)?;
        if content(&environment)? != expected {
            return Err("the content has changed".to_owned());
        }
        let report = environment.check(CheckLevel::Full);
        match report.map_err(|error| error.to_string())?.damages.first() {
            None => Ok(()),
            Some(damage) => Err(damage.to_string()),
        }
    });
    let report = report.unwrap_or_else(|failure| panic!("seed 2: {failure}"));
    assert!(report.image_count > 100, "{} images", report.image_count);
}

/// Values of 20 pages each, under numbers.
fn put_large(environment: &Environment, numbers: std::ops::Range<u32>) {
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    for number in numbers {
        let byte = number.to_le_bytes()[0] | 1;
        tree.put(&number.to_be_bytes(), &vec![byte; 160_000])
            .unwrap();
    }
    transaction.commit().unwrap();
}

fn delete_large(environment: &Environment, numbers: std::ops::Range<u32>) {
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    for number in numbers {
        assert!(tree.delete(&number.to_be_bytes()).unwrap());
    }
    transaction.commit().unwrap();
}

#[test]
fn deleting_gives_space_back_and_the_pages_are_used_again() {
    let vfs = SimVfs::new(4);
    let environment = open(&vfs).unwrap();
    (0..10).for_each(|round| put_large(&environment, round * 10..round * 10 + 10));
    environment.flush().unwrap();
    let full = vfs.used_bytes();
    let reader = environment.read().unwrap();
    delete_large(&environment, 10..90);
    environment.flush().unwrap();
    assert_eq!(
        environment.statistics().bytes_given_back,
        0,
        "a reader still sees them"
    );
    let old = reader.tree("t").unwrap().unwrap();
    assert_eq!(
        old.get(&50_u32.to_be_bytes()).unwrap().unwrap(),
        vec![51; 160_000]
    );
    drop(reader);
    environment.flush().unwrap();
    // 80 values of 20 pages.
    let given_back = full - vfs.used_bytes();
    assert!(given_back > 12 << 20, "{given_back} of {full}");
    put_large(&environment, 100..160);
    environment.flush().unwrap();
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
    drop(environment);
    let environment = open(&vfs).unwrap();
    assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
    let reader = environment.read().unwrap();
    let tree = reader.tree("t").unwrap().unwrap();
    assert_eq!(tree.len(), 80);
    assert_eq!(
        tree.get(&120_u32.to_be_bytes()).unwrap().unwrap(),
        vec![121; 160_000]
    );
}

#[test]
fn closing_cuts_off_what_the_file_grew_ahead() {
    let vfs = SimVfs::new(5);
    let environment = open(&vfs).unwrap();
    for number in 0..6 {
        put_large(&environment, number..number + 1);
        environment.flush().unwrap();
    }
    let statistics = environment.statistics();
    assert!(statistics.file_bytes > statistics.page_count * 8192);
    drop(environment);
    let len = vfs.file_bytes(Path::new("/db/data.jd")).unwrap().len() as u64;
    assert_eq!(len, statistics.page_count * 8192);
}

#[test]
fn holes_survive_power_loss() {
    let vfs = SimVfs::new(6);
    let environment = open(&vfs).unwrap();
    put_large(&environment, 0..10);
    environment.flush().unwrap();
    let start = vfs.operation_count();
    for round in 0..3 {
        delete_large(&environment, 0..8);
        environment.flush().unwrap();
        assert!(environment.statistics().bytes_given_back > round * 500_000);
        put_large(&environment, 0..8);
        environment.flush().unwrap();
    }
    drop(environment);
    let budget = ImageBudget {
        exhaustive_max: 5,
        sample_count: 5,
        seed: 6,
    };
    let sweep = Sweep {
        budget,
        completed_min: start,
    };
    let report = vfs.history().sweep(sweep, |image, _| {
        let environment = open(image)?;
        let count = environment
            .read()
            .unwrap()
            .tree("t")
            .unwrap()
            .unwrap()
            .len();
        if count != 2 && count != 10 {
            return Err(format!("{count} values"));
        }
        let report = environment.check(CheckLevel::Full);
        match report.map_err(|error| error.to_string())?.damages.first() {
            None => Ok(()),
            Some(damage) => Err(damage.to_string()),
        }
    });
    report.unwrap_or_else(|failure| panic!("seed 6: {failure}"));
}

#[test]
fn holes_need_neither_meta_slot_more_than_the_other() {
    let vfs = SimVfs::new(7);
    let environment = open(&vfs).unwrap();
    put_large(&environment, 0..10);
    environment.flush().unwrap();
    // Changed, then freed: replay from before would want the old content.
    let mut transaction = environment.begin_write().unwrap();
    let mut tree = transaction.tree_mut("t").unwrap();
    for number in 0..8_u32 {
        let mut value = vec![number.to_le_bytes()[0] | 1; 160_000];
        value[80_000] = 255;
        tree.put(&number.to_be_bytes(), &value).unwrap();
    }
    transaction.commit().unwrap();
    delete_large(&environment, 0..8);
    environment.flush().unwrap();
    assert!(environment.statistics().bytes_given_back > 1 << 20);
    for slot in [0, 4096] {
        let image = vfs.crash(CrashChoice::KeepAll);
        image.flip(Path::new("/db/meta"), slot + 40, 1).unwrap();
        let environment = open(&image).unwrap();
        assert_eq!(environment.check(CheckLevel::Full).unwrap().damages, []);
        let reader = environment.read().unwrap();
        assert_eq!(reader.tree("t").unwrap().unwrap().len(), 2);
    }
}
