//! The binary importing what people really have: dirty, damaged, cut short, interrupted.
//!
//! What is proven: bad entries are skipped with a reason, bad archives end in one sentence that
//! says what to do, everything before the damage is stored, and going on gives the same database.

mod common;

use std::process::Command;

use common::{TestDirectory, bzip2, demo_archive, export, import, jackdaw};
use jackdaw_transfer::archive::{append_end, append_file};

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content) in files {
        append_file(&mut out, name, content);
    }
    append_end(&mut out);
    out
}

#[test]
fn albums_are_imported_once_however_often_they_are_given() {
    let directory = TestDirectory::new();
    let archive = directory.file("a.tar.bz2", bzip2(&demo_archive(300)));
    let data = directory.text("data");
    let run = import("freedb", &archive, &data, &[]).ok();
    run.tells(&["written 300", "COPYING: it has neither DISCID nor DTITLE"]);
    let lines = export(&data);
    assert_eq!(lines.len(), 300);
    assert!(
        lines[0].contains("\"@metadata\":{\"@id\":\"albums/"),
        "{}",
        lines[0]
    );
    let again = import("freedb", &archive, &data, &[]).ok();
    assert!(
        again.out.contains("is imported already (300 documents)"),
        "{}",
        again.out
    );
    import("freedb", &archive, &data, &["--again"]).ok();
    assert_eq!(export(&data), lines);
    // The same albums from a plain archive, and from a directory.
    let plain = directory.file("b.tar", demo_archive(300));
    import("freedb", &plain, &data, &[]).ok();
    assert_eq!(export(&data), lines);
}

#[test]
fn dirty_entries_are_skipped_with_their_reasons() {
    let directory = TestDirectory::new();
    let long = [
        b"DTITLE=A / B\nTTITLE0=".as_slice(),
        &vec![b'x'; 10 << 20],
        b"\n",
    ]
    .concat();
    let archive = directory.file(
        "a.tar",
        tar(&[
            (
                "rock/00000001",
                b"DISCID=00000001\nDTITLE=Bj\xf6rk / D\xe9but\n",
            ),
            ("rock/00000002", b""),
            ("rock/00000003", &long),
            ("rock/00000004", b"\xff\xfe\xfd\x00\x01"),
            (
                "rock/00000005",
                "DTITLE=Sigur R\u{f3}s / Takk\r\n".as_bytes(),
            ),
            (
                "rock/00000006",
                &[b"DTITLE=".as_slice(), &[b'x'; 70_000]].concat(),
            ),
        ]),
    );
    let (data, skipped) = (directory.text("data"), directory.text("skipped"));
    let run = import("freedb", &archive, &data, &["--skipped", &skipped]);
    let run = run.fails(
        1,
        &[
            "2 entries are left out, first rock/00000006: the value",
            "2 albums",
        ],
    );
    for line in [
        "skipped",
        "  empty",
        "  entry too long",
        "  not an album",
        "  value too long",
    ] {
        assert!(run.out.contains(line), "no {line:?} in {}", run.out);
    }
    let list = std::fs::read_to_string(&skipped).unwrap();
    assert_eq!(list.lines().count(), 4);
    assert!(
        list.contains("rock/00000003\tit has 10485782 bytes"),
        "{list}"
    );
    let lines = export(&data);
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0].contains("\"Artist\":\"Bj\u{f6}rk\",\"Title\":\"D\u{e9}but\""),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].contains("\"Artist\":\"Sigur R\u{f3}s\""),
        "{}",
        lines[1]
    );
}

#[test]
fn a_truncated_archive_keeps_what_came_before_and_says_what_to_do() {
    let directory = TestDirectory::new();
    let whole = bzip2(&demo_archive(600));
    for (name, bytes) in [
        ("cut.tar.bz2", &whole[..whole.len() / 2]),
        ("cut.tar", &demo_archive(600)[..300_100]),
    ] {
        let archive = directory.file(name, bytes);
        let data = directory.text(&format!("data-{name}"));
        let run = import("freedb", &archive, &data, &[]);
        let run = run.fails(
            1,
            &[
                name,
                "beyond byte",
                "before it are imported",
                "same command",
            ],
        );
        let documents = export(&data).len();
        assert!(documents > 100, "{documents} {run:#?}");
        // Once more changes nothing.
        import("freedb", &archive, &data, &[]).fails(1, &["beyond byte"]);
        assert_eq!(export(&data).len(), documents);
    }
    // The whole archive completes the database.
    let archive = directory.file("whole.tar.bz2", &whole);
    let data = directory.text("data-cut.tar");
    import("freedb", &archive, &data, &[]).ok();
    assert_eq!(export(&data).len(), 600);
}

#[test]
fn a_damaged_block_costs_its_albums_alone() {
    let directory = TestDirectory::new();
    let mut bytes = bzip2(&demo_archive(600));
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    let archive = directory.file("a.tar.bz2", bytes);
    let data = directory.text("data");
    let run = import("freedb", &archive, &data, &[]);
    let run = run.fails(
        1,
        &["a.tar.bz2", "damaged at 1 place", "all else is imported"],
    );
    assert!(run.out.contains("damaged archive"), "{}", run.out);
    assert!(run.out.contains("bzip2 block is damaged"), "{}", run.out);
    let documents = export(&data).len();
    assert!((400..600).contains(&documents), "{documents}");
}

#[test]
fn other_formats_and_empty_files_are_named() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let zip = directory.file("a.zip", b"PK\x03\x04 and so on");
    import("freedb", &zip, &data, &[]).fails(1, &["a.zip", "packed with zip"]);
    let missing = directory.text("nothing.tar");
    import("freedb", &missing, &data, &[]).fails(1, &["nothing.tar", "check the path"]);
    let empty = directory.file("empty", b"");
    let run = import("freedb", &empty, &data, &[]);
    run.fails(1, &["nothing was imported", "first empty: it is empty"]);
    import("csv", &empty, &data, &["--collection", "X"]).fails(1, &["empty", "it is empty"]);
}

#[test]
fn ndjson_keeps_numbers_and_skips_what_is_no_document() {
    let directory = TestDirectory::new();
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let lines = [
        r#"{"Id":"a","Price":1.10,"Big":12345678901234567890}"#,
        "",
        "not json",
        &deep,
        r#"{"Id":"b","@metadata":{"@collection":"Others","Mine":true}}"#,
    ];
    let file = directory.file("a.ndjson", lines.join("\n"));
    let data = directory.text("data");
    let run = import("ndjson", &file, &data, &["--collection", "Things"]);
    let run = run.fails(1, &["2 entries are left out, first line 3", "2 documents"]);
    run.tells(&["malformed 2", "line 4: The document is nested deeper"]);
    let expected = [
        "{\"Id\":\"b\",\"@metadata\":{\"@id\":\"others/b\",\"@collection\":\"Others\",\
         \"Mine\":true}}",
        "{\"Id\":\"a\",\"Price\":1.10,\"Big\":12345678901234567890,\
         \"@metadata\":{\"@id\":\"things/a\",\"@collection\":\"Things\"}}",
    ];
    assert_eq!(export(&data), expected);
    // An export is imported without further options, and gives the same again.
    let exported = directory.file("b.ndjson", expected.join("\n"));
    let copy = directory.text("copy");
    import("ndjson", &exported, &copy, &[]).ok();
    assert_eq!(export(&copy), expected);
}

#[test]
fn csv_has_a_document_per_record() {
    let directory = TestDirectory::new();
    let file = directory.file(
        "a.csv",
        "\u{feff}Id;Name;Size\n1;\"Qu\u{e9}bec; \"\"City\"\"\";0.50\n2;too;many;fields\n3;x;\n",
    );
    let data = directory.text("data");
    let run = import("csv", &file, &data, &["--collection", "Cities"]);
    let run = run.fails(1, &["1 entry is left out, first line 3: it has 4 fields"]);
    assert!(run.out.contains("line 3: it has 4 fields"), "{}", run.out);
    assert_eq!(
        export(&data),
        [
            "{\"Id\":1,\"Name\":\"Qu\u{e9}bec; \\\"City\\\"\",\"Size\":0.50,\
             \"@metadata\":{\"@id\":\"cities/1\",\"@collection\":\"Cities\"}}",
            "{\"Id\":3,\"Name\":\"x\",\"Size\":null,\
             \"@metadata\":{\"@id\":\"cities/3\",\"@collection\":\"Cities\"}}",
        ]
    );
    import(
        "csv",
        &file,
        &data,
        &["--collection", "C", "--id-field", "Nope"],
    )
    .fails(1, &["a.csv", "no field \"Nope\"", "Id, Name, Size"]);
}

#[test]
fn an_export_replaces_files_when_it_is_complete_and_never_devices() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let archive = directory.file("a.tar", demo_archive(20));
    import("freedb", &archive, &data, &[]).ok();
    let output = directory.file("out", "old");
    let to = |database: &str, output: &str| {
        jackdaw(&[
            "export",
            "--database",
            database,
            "--data",
            &data,
            "-o",
            output,
        ])
    };
    to("films", &output).fails(1, &["has no database \"films\"", "out broke off"]);
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "old");
    let run = to("music", &output).ok();
    assert!(
        run.err.contains("20 documents") && run.err.contains("hash of ids, collections"),
        "{run:#?}"
    );
    assert_eq!(
        std::fs::read_to_string(&output).unwrap().lines().count(),
        20
    );
    let pipe = directory.text("pipe");
    if Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .is_ok_and(|status| status.success())
    {
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read_to_string(pipe).unwrap()
        });
        to("music", &pipe).ok();
        assert_eq!(reader.join().unwrap().lines().count(), 20);
        assert!(!std::fs::metadata(&pipe).unwrap().is_file());
    }
    let below = directory.text("nowhere/out");
    to("music", &below).fails(1, &["cannot write", "nowhere/out", "-o"]);
}

#[test]
fn wrong_usage_ends_with_two() {
    let directory = TestDirectory::new();
    let file = directory.file("a", "x");
    assert_eq!(jackdaw(&["import", "freedb", &file]).code, 2);
    assert_eq!(
        jackdaw(&["import", "freedb", &file, "--database", "x"]).code,
        2
    );
    let both = [
        "import",
        "freedb",
        &file,
        "--database",
        "x",
        "--url",
        "u",
        "--data",
        "d",
    ];
    assert_eq!(jackdaw(&both).code, 2);
    assert_eq!(jackdaw(&["nonsense"]).code, 2);
    let server = [
        "import",
        "freedb",
        &file,
        "--database",
        "x",
        "--url",
        "http://127.0.0.1:9",
    ];
    jackdaw(&server).fails(1, &["http://127.0.0.1:9", "jackdaw serve"]);
}
