//! The binary and directories that are not what they should be: of another program, of another
//! version, damaged, in use, not writable.

mod common;

use std::fs;

use common::{TestDirectory, demo_archive, export, import, jackdaw};
use jackdaw_base::hash::xxh3_64;
use jackdaw_database::{DatabaseOptions, DatabaseSet};
use jackdaw_io::RealVfs;

/// Length of a slot of the meta file, and where its version stands (docs/format.md, "Meta slot").
const META_SLOT_BYTES: usize = 208;
const META_SLOTS: [usize; 2] = [0, 4096];
const VERSION_OFFSET: usize = 8;

/// A data directory with a small database; gives the directory of its documents.
fn small(directory: &TestDirectory, data: &str) -> String {
    let archive = directory.file("small.tar", demo_archive(50));
    import("freedb", &archive, data, &[]).ok();
    format!("{data}/databases/1/documents")
}

#[test]
fn check_is_content_with_a_sound_directory() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    small(&directory, &data);
    let run = jackdaw(&["check", &data]).ok();
    assert!(
        run.out.contains("databases/1/documents: sound"),
        "{}",
        run.out
    );
    assert!(run.out.contains("catalog: sound"), "{}", run.out);
}

#[test]
fn check_names_each_damaged_page() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let file = small(&directory, &data) + "/data.jd";
    let mut bytes = fs::read(&file).unwrap();
    for page in [2, 5] {
        bytes[page * 8192 + 4000] ^= 1;
    }
    fs::write(&file, bytes).unwrap();
    let run = jackdaw(&["check", &data]);
    assert_eq!(run.code, 1, "{run:#?}");
    for page in [
        "data.jd, page 2: ",
        "data.jd, page 5: ",
        "2 damaged places found",
        "backup",
    ] {
        assert!(run.out.contains(page), "{}", run.out);
    }
}

#[test]
fn export_saves_what_a_damaged_file_has_left() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("albums.tar", demo_archive(300));
    import("freedb", &archive, &data, &[]).ok();
    let all = export(&data).len();
    let file = format!("{data}/databases/1/documents/data.jd");
    let sound = fs::read(&file).unwrap();
    let mut partial = 0;
    for page in 2..12 {
        let mut bytes = sound.clone();
        bytes[page * 8192 + 4000] ^= 1;
        fs::write(&file, bytes).unwrap();
        let arguments = ["--database", "music", "--data", &data, "-o", "-"];
        let run = jackdaw(&[&["export", "--skip-damaged"], &arguments[..]].concat());
        let saved = run.out.lines().count();
        if run.code == 1 && saved > 0 {
            assert!(saved < all, "page {page}");
            let missing = format!("{} documents could not be read", all - saved);
            assert!(run.err.contains(&missing), "page {page}: {}", run.err);
            partial += 1;
        }
    }
    assert!(partial > 0, "none of ten damaged pages holds documents");
}

#[test]
fn check_says_when_it_cannot_look() {
    let directory = TestDirectory::new();
    directory.file("photos/cat.jpg", "meow");
    let photos = directory.text("photos");
    jackdaw(&["check", &photos]).fails(2, &["photos", "holds no Jackdaw database"]);
    let missing = directory.text("missing");
    jackdaw(&["check", &missing]).fails(2, &["cannot look into", "missing"]);
}

#[test]
fn a_directory_of_another_version_is_refused() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let meta = small(&directory, &data) + "/meta";
    let mut bytes = fs::read(&meta).unwrap();
    for slot in META_SLOTS {
        let slot = &mut bytes[slot..slot + META_SLOT_BYTES];
        if slot.iter().any(|&byte| byte != 0) {
            slot[VERSION_OFFSET] = 9;
            let checksum = xxh3_64(&slot[..META_SLOT_BYTES - 8], 0);
            slot[META_SLOT_BYTES - 8..].copy_from_slice(&checksum.to_le_bytes());
        }
    }
    fs::write(&meta, bytes).unwrap();
    jackdaw(&["check", &data]).fails(2, &["has format 9", "export there and import here"]);
    jackdaw(&["export", "--database", "music", "--data", &data, "-o", "-"])
        .fails(1, &["has format 9", "reads format 1"]);
}

#[test]
fn a_directory_of_another_program_is_refused_and_kept() {
    let directory = TestDirectory::new();
    let archive = directory.file("small.tar", demo_archive(10));
    directory.file("data/catalog/letters.doc", "dear all");
    let data = directory.text("data");
    import("freedb", &archive, &data, &[]).fails(
        1,
        &["holds files of another program", "choose another directory"],
    );
    assert_eq!(
        fs::read(directory.path("data/catalog/letters.doc")).unwrap(),
        b"dear all"
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let directory = TestDirectory::new();
    let archive = directory.file("small.tar", demo_archive(10));
    // Not even root writes here.
    import("freedb", &archive, "/proc/jackdaw-data", &[])
        .fails(1, &["cannot open the data directory /proc/jackdaw-data"]);
    // Nor below a file.
    let below = format!("{archive}/data");
    import("freedb", &archive, &below, &[])
        .fails(1, &["cannot open the data directory", "small.tar/data"]);
}

#[test]
fn a_second_process_is_refused_while_the_first_has_it_open() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("small.tar", demo_archive(10));
    let options = DatabaseOptions::default();
    let first = DatabaseSet::open(RealVfs::new(), &directory.path("data"), options).unwrap();
    for arguments in [
        &[
            "import",
            "freedb",
            &archive,
            "--database",
            "music",
            "--data",
            &data,
        ][..],
        &["export", "--database", "music", "--data", &data, "-o", "-"],
    ] {
        jackdaw(arguments).fails(1, &["in use by another process", "stop that process"]);
    }
    jackdaw(&["check", &data]).fails(2, &["in use by another process"]);
    drop(first);
    import("freedb", &archive, &data, &[]).ok();
}
