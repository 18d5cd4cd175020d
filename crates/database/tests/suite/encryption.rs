//! Nothing of a data directory on an encrypted file system can be read on the disk below, nor of a
//! backup: not what was stored, not what indexes made of it, not what it is called.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackdaw_database::{
    AttachmentChange, AttachmentContent, BackupKind, Command, Database, DatabaseSet, QueryRequest,
    RowBuffer, StaticDefinition, restore_set,
};
use jackdaw_io::{DecryptedLimits, EncryptedVfs, EncryptionKey, Vfs};
use jackdaw_sim::{CrashChoice, SimVfs};
use jackdaw_storage::RestorePoint;

use crate::common::{json, options, store};

const LIMITS: DecryptedLimits = DecryptedLimits {
    budget_bytes: 1 << 20,
    bytes_max: 64 << 20,
};

/// Parts of names and values; what they begin with may be kept apart from the rest.
const MARKERS: [&str; 6] = [
    "marker-database",
    "marker-id",
    "marker-body",
    "marker-term",
    "marker-index",
    "marker-attachment",
];

fn disk_of(disk: &Arc<SimVfs>, is_encrypted: bool) -> Arc<dyn Vfs> {
    let below = Arc::clone(disk) as Arc<dyn Vfs>;
    match is_encrypted {
        true => EncryptedVfs::new(below, EncryptionKey::from_bytes([3; 32]), LIMITS),
        false => below,
    }
}

fn open_at(vfs: &Arc<dyn Vfs>, directory: &str) -> DatabaseSet {
    DatabaseSet::open(Arc::clone(vfs), Path::new(directory), options()).unwrap()
}

fn fill(database: &Database) {
    let definition = json(
        r#"{"Name":"0123456789/marker-index",
            "Maps":["from a in docs.Albums select new { a.Term }"]}"#,
    );
    let definition = StaticDefinition::read(definition.root().as_object().unwrap()).unwrap();
    database.put_index(definition).unwrap();
    for number in 0..20 {
        let id = format!("albums/{number}-marker-id");
        let body = format!(r#"{{"Term":"{number}-0123456789-marker-term","Body":"marker-body"}}"#);
        store(database, &id, "Albums", &body);
    }
    let content = b"marker-attachment".repeat(3_000);
    let attach = Command::Attachment {
        id: "albums/1-marker-id".to_owned(),
        name: "cover".to_owned(),
        expected: None,
        change: AttachmentChange::Put {
            content_type: String::new(),
            content: AttachmentContent::from_bytes(content),
        },
    };
    database.batch(vec![attach]).unwrap();
    assert_eq!(found_by_index(database), 1);
}

fn found_by_index(database: &Database) -> usize {
    let mut rows = RowBuffer::default();
    let request = QueryRequest {
        text: "from index '0123456789/marker-index' where Term = '7-0123456789-marker-term'",
        wait: Some(Duration::from_secs(30)),
        ..QueryRequest::default()
    };
    database.query(&request, &mut rows).unwrap();
    let list = json(&format!("[{}]", String::from_utf8(rows.rows).unwrap()));
    list.root().as_array().unwrap().iter().count()
}

/// Which markers are in any byte of any file.
fn found(disk: &SimVfs) -> [bool; 6] {
    let paths = disk.file_paths();
    let contents: Vec<Vec<u8>> = paths
        .iter()
        .map(|path| disk.file_bytes(Path::new(path)).unwrap())
        .collect();
    MARKERS.map(|marker| {
        let mut windows = contents
            .iter()
            .flat_map(|bytes| bytes.windows(marker.len()));
        windows.any(|window| window == marker.as_bytes())
    })
}

#[test]
fn nothing_of_a_data_directory_can_be_read_on_the_disk() {
    for is_encrypted in [false, true] {
        let disk = SimVfs::new(1);
        let vfs = disk_of(&disk, is_encrypted);
        let set = open_at(&vfs, "/data");
        let database = set.create("0123456789-marker-database", "{}").unwrap();
        fill(&database);
        let crashed = disk.crash(CrashChoice::KeepAll);
        drop((database, set));
        let set = open_at(&vfs, "/data");
        set.back_up(Path::new("/backup"), BackupKind::Full, &|_, _, _| {})
            .unwrap();
        drop(set);
        assert_eq!(found(&disk), [!is_encrypted; 6]);

        let vfs = disk_of(&crashed, is_encrypted);
        let set = open_at(&vfs, "/data");
        let database = set.get("0123456789-marker-database").unwrap().unwrap();
        assert_eq!(found_by_index(&database), 1);
        drop((database, set));
        assert_eq!(found(&crashed), [!is_encrypted; 6]);

        let vfs = disk_of(&disk, is_encrypted);
        let (from, to) = (Path::new("/backup"), Path::new("/restored"));
        restore_set(&vfs, from, to, RestorePoint::Latest, &|_, _, _| {}).unwrap();
        let set = open_at(&vfs, "/restored");
        let database = set.get("0123456789-marker-database").unwrap().unwrap();
        assert_eq!(found_by_index(&database), 1);
        drop((database, set));
        assert_eq!(found(&disk), [!is_encrypted; 6]);
    }
}

#[test]
fn a_data_directory_and_a_backup_have_one_key_each() {
    let disk = SimVfs::new(2);
    let vfs = disk_of(&disk, true);
    let set = open_at(&vfs, "/data");
    fill(&set.create("music", "{}").unwrap());
    set.back_up(Path::new("/backup"), BackupKind::Full, &|_, _, _| {})
        .unwrap();
    drop(set);
    let keys: Vec<String> = disk
        .file_paths()
        .into_iter()
        .filter(|path| path.ends_with("jackdaw.encryption"))
        .map(|path| path.trim_start_matches('/').to_owned())
        .collect();
    assert_eq!(
        keys,
        ["backup/jackdaw.encryption", "data/jackdaw.encryption"]
    );
    let plain = disk_of(&disk, false);
    let refused = DatabaseSet::open(plain, Path::new("/data"), options()).err();
    let refused = refused.unwrap().to_string();
    assert!(
        refused.contains("is encrypted: give its key with"),
        "{refused}"
    );
}
