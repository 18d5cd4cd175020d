//! An import that exits with 0 has imported everything; one bad entry costs itself alone.

mod common;

use common::{TestDirectory, export, import, jackdaw};

/// Imports CSV into the collection `Rows`.
fn csv(directory: &TestDirectory, name: &str, text: impl AsRef<[u8]>) -> (common::Run, String) {
    let file = directory.file(&format!("{name}.csv"), text);
    let data = directory.text(name);
    let run = import("csv", &file, &data, &["--collection", "Rows"]);
    (run, data)
}

fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

/// The documents without their metadata.
fn bodies(data: &str) -> Vec<String> {
    let lines = export(data).into_iter();
    let body = |line: String| match line.find(",\"@metadata\"") {
        Some(end) => format!("{}}}", &line[..end]),
        None => line,
    };
    lines.map(body).collect()
}

#[test]
fn large_documents_are_exported_and_imported_again() {
    let directory = TestDirectory::new();
    let large = "x".repeat(5 << 20);
    let larger = "y\u{e9}".repeat(20 << 20);
    let lines = [
        format!(
            "{{\"Text\":\"{large}\",\"@metadata\":{{\"@id\":\"as/1\",\"@collection\":\"As\"}}}}"
        ),
        format!(
            "{{\"Text\":\"{larger}\",\"@metadata\":{{\"@id\":\"as/2\",\"@collection\":\"As\"}}}}"
        ),
    ];
    let file = directory.file("a.ndjson", lines.join("\n"));
    let data = directory.text("data");
    import("ndjson", &file, &data, &[]).ok();
    let exported = export(&data);
    assert!(exported == lines, "the export differs");
    let again = directory.file("b.ndjson", exported.join("\n"));
    let copy = directory.text("copy");
    import("ndjson", &again, &copy, &[]).ok();
    assert!(export(&copy) == lines, "the second export differs");
}

#[test]
fn documents_beyond_the_limit_fail_the_import_and_stay_alone() {
    let directory = TestDirectory::new();
    let long = format!("{{\"Id\":\"a\",\"Text\":\"{}\"}}", "x".repeat(64 << 20));
    let file = directory.file(
        "a.ndjson",
        format!("{{\"Id\":\"b\"}}\n{long}\n{{\"Id\":\"c\"}}\n"),
    );
    let data = directory.text("data");
    let run = import("ndjson", &file, &data, &["--collection", "As"]);
    run.fails(1, &["1 entry is left out, first line 2", "2 documents"]);
    assert_eq!(export(&data).len(), 2);
    // The database keeps in mind that it lacks something.
    let run = import("ndjson", &file, &data, &["--collection", "As"]);
    run.fails(
        1,
        &["is imported already (2 documents, 1 left out)", "--again"],
    );
}

#[test]
fn files_with_nothing_to_import_fail() {
    let directory = TestDirectory::new();
    let data = directory.text("data");
    let collection = ["--collection", "As"];
    for (name, text, part) in [
        ("empty.ndjson", "", "holds nothing of this format"),
        ("blank.ndjson", "\n\n", "holds nothing of this format"),
        (
            "other.ndjson",
            "Not JSON.\n",
            "1 entry is left out, first line 1",
        ),
        ("header.csv", "a,b\n", "holds nothing of this format"),
    ] {
        let file = directory.file(name, text);
        let kind = name.rsplit('.').next().unwrap();
        import(kind, &file, &data, &collection).fails(1, &[name, part]);
        import(kind, &file, &data, &collection).fails(1, &[name, "imported already (0 documents"]);
    }
    let file = directory.file("blank-lines.ndjson", "\n{\"Id\":\"a\"}\n\n");
    import("ndjson", &file, &data, &collection).ok();
    import("ndjson", &file, &data, &collection).ok();
}

#[test]
fn an_unclosed_quote_costs_its_row_alone() {
    let directory = TestDirectory::new();
    let (run, data) = csv(
        &directory,
        "middle",
        "Id,Name\n1,\"never closed\n2,two\n3,\"three, 3\"\n4,\"fo\nur\"\n5,\"open too\n",
    );
    let run = run.fails(1, &["2 entries are left out, first line 2: a quote in it"]);
    run.tells(&["line 7: a quote in it is never closed", "written 3"]);
    assert_eq!(
        bodies(&data),
        [
            r#"{"Id":2,"Name":"two"}"#,
            r#"{"Id":3,"Name":"three, 3"}"#,
            r#"{"Id":4,"Name":"fo\nur"}"#,
        ]
    );
    let (run, _) = csv(&directory, "header", "Id,\"Name\n1,one\n");
    run.fails(
        1,
        &["first line cannot be used: a quote in it is never closed"],
    );
}

#[test]
fn every_line_end_and_utf16_are_read() {
    let directory = TestDirectory::new();
    let expected = [
        r#"{"Id":1,"Name":"one"}"#,
        "{\"Id\":2,\"Name\":\"zw\u{f6}lf \u{1f600}\"}",
    ];
    let text = "Id,Name\n1,one\n2,\"zw\u{f6}lf \u{1f600}\"\n";
    let mark = format!("\u{feff}{text}");
    for (name, bytes) in [
        ("lf", text.as_bytes().to_vec()),
        ("crlf", text.replace('\n', "\r\n").into_bytes()),
        ("cr", text.replace('\n', "\r").into_bytes()),
        ("le", utf16(&mark, u16::to_le_bytes)),
        ("be", utf16(&mark, u16::to_be_bytes)),
        ("le-plain", utf16(text, u16::to_le_bytes)),
        ("be-cr", utf16(&mark.replace('\n', "\r"), u16::to_be_bytes)),
    ] {
        let (run, data) = csv(&directory, name, bytes);
        assert_eq!(run.code, 0, "{name}: {run:#?}");
        assert_eq!(bodies(&data), expected, "{name}");
    }
    let lines = "{\"Id\":1,\"Name\":\"one\"}\r{\"Id\":2,\"Name\":\"zw\u{f6}lf \u{1f600}\"}\r";
    for (name, bytes) in [
        ("json-cr", lines.as_bytes().to_vec()),
        ("json-le", utf16(lines, u16::to_le_bytes)),
    ] {
        let file = directory.file(&format!("{name}.ndjson"), bytes);
        let data = directory.text(name);
        import("ndjson", &file, &data, &["--collection", "Rows"]).ok();
        assert_eq!(bodies(&data), expected, "{name}");
    }
    let wide: Vec<u8> = text
        .chars()
        .flat_map(|c| u32::from(c).to_le_bytes())
        .collect();
    let (run, _) = csv(&directory, "utf32", wide);
    run.fails(1, &["UTF-32", "convert it to UTF-8"]);
    // A carriage return alone in a file of line feeds joins two rows: that is said.
    let (run, data) = csv(&directory, "mixed", "Id,Name\n1,one\r2,two\n3,three\n");
    run.fails(1, &["1 entry is left out, first line 2: it has 3 fields"]);
    assert_eq!(bodies(&data), [r#"{"Id":3,"Name":"three"}"#]);
}

#[test]
fn delimiters_within_quotes_do_not_count() {
    let directory = TestDirectory::new();
    let (run, data) = csv(
        &directory,
        "quotes",
        "\"Name, first, last\";Id\n\"Doe, Jane\";7\n",
    );
    run.ok();
    assert_eq!(
        bodies(&data),
        [r#"{"Name, first, last":"Doe, Jane","Id":7}"#]
    );
}

#[test]
fn a_column_called_metadata_is_refused() {
    let directory = TestDirectory::new();
    let (run, _) = csv(&directory, "metadata", "Id,@metadata\n1,x\n");
    run.fails(1, &["metadata.csv", "names a field @metadata", "rename it"]);
}

#[test]
fn bad_metadata_costs_its_document_alone() {
    let directory = TestDirectory::new();
    let document =
        |id: u32, metadata: &str| format!("{{\"Id\":\"{id}\",\"@metadata\":{metadata}}}");
    let lines = [
        document(
            1,
            "{\"@collection\":\"As\",\"@expires\":\"2099-01-31T12:00:00.0000000Z\"}",
        ),
        document(2, "{\"@collection\":\"As\",\"@expires\":\"never\"}"),
        document(3, "{\"@collection\":\"As\",\"@refresh\":\"\"}"),
        document(4, "{\"@collection\":\"As\",\"@archive-at\":\"31.01.2099\"}"),
        document(5, "\"text\""),
        document(6, "{\"@collection\":7}"),
        document(7, "{\"@collection\":\"As\"}"),
    ];
    let file = directory.file("a.ndjson", lines.join("\n"));
    let data = directory.text("data");
    let run = import("ndjson", &file, &data, &[]);
    let run = run.fails(
        1,
        &[
            "5 entries are left out, first line 2: its @expires is 'never'",
            "2 documents",
        ],
    );
    run.tells(&["line 5: '@metadata' must be an object"]);
    let ids: Vec<String> = export(&data)
        .iter()
        .map(|line| line[..9].to_owned())
        .collect();
    assert_eq!(ids, ["{\"Id\":\"1\"", "{\"Id\":\"7\""]);
    // The same through a server.
    let server = common::Served::start(&directory.text("served"));
    let arguments = [
        "import",
        "ndjson",
        &file,
        "--database",
        "music",
        "--url",
        &server.url,
    ];
    jackdaw(&arguments).fails(1, &["5 entries are left out", "2 documents"]);
}

#[test]
fn ids_of_other_collections_cost_their_rows_alone() {
    let directory = TestDirectory::new();
    let first = directory.file(
        "first.ndjson",
        concat!(
            r#"{"n":1,"@metadata":{"@id":"a/1","@collection":"Others"}}"#,
            "\n",
            r#"{"n":2,"@metadata":{"@id":"a/2","@collection":"Others","Mine":1}}"#,
        ),
    );
    let lines = [
        r#"{"n":10,"@metadata":{"@id":"b/1","@collection":"As"}}"#,
        r#"{"n":11,"@metadata":{"@id":"A/1","@collection":"As"}}"#,
        r#"{"n":12,"@metadata":{"@id":"a/2","@collection":"As","Mine":2}}"#,
        "",
        r#"{"n":13,"@metadata":{"@id":"a/2","@collection":"oTHERS","Mine":3}}"#,
        "no JSON",
        r#"{"n":14,"@metadata":{"@id":"b/2","@collection":"As"}}"#,
        r#"{"n":15,"@metadata":{"@id":"B/2","@collection":"Bs"}}"#,
        r#"{"n":16,"@metadata":{"@id":"z\u00fcrich","@collection":"As"}}"#,
        r#"{"n":17,"@metadata":{"@id":"Z\u00dcRICH","@collection":"Bs"}}"#,
    ];
    let second = directory.file("second.ndjson", lines.join("\n"));
    let expected = [
        r#"{"n":1,"@metadata":{"@id":"a/1","@collection":"Others"}}"#,
        r#"{"n":13,"@metadata":{"@id":"a/2","@collection":"Others","Mine":3}}"#,
        r#"{"n":10,"@metadata":{"@id":"b/1","@collection":"As"}}"#,
        r#"{"n":14,"@metadata":{"@id":"b/2","@collection":"As"}}"#,
        "{\"n\":16,\"@metadata\":{\"@id\":\"z\u{fc}rich\",\"@collection\":\"As\"}}",
    ];
    let data = directory.text("data");
    let served = directory.text("served");
    let listed = [directory.text("skipped-1"), directory.text("skipped-2")];
    let server = common::Served::start(&served);
    let local = ["--data", data.as_str()];
    let remote = ["--url", server.url.as_str()];
    for (place, listed) in [local, remote].into_iter().zip(&listed) {
        let arguments = |file, more: &[&'static str]| {
            let mut all = vec!["import", "ndjson", file, "--database", "music"];
            all.extend(place);
            all.extend(["--skipped", listed.as_str()]);
            all.extend(more);
            jackdaw(&all)
        };
        arguments(&first, &[]).ok();
        let run = arguments(&second, &[]).fails(1, &["5 entries are left out", "4 documents"]);
        run.tells(&["id in another collection 4", "written 4"]);
        let skipped = std::fs::read_to_string(listed).unwrap();
        for line in [
            "line 2\tits id 'A/1' is in collection 'Others' and cannot move to 'As'",
            "line 3\tits id 'a/2' is in collection 'Others' and cannot move to 'As'",
            "line 8\tits id 'B/2' is in collection 'As' and cannot move to 'Bs'",
            "line 10\tits id 'Z\u{dc}RICH' is in collection 'As' and cannot move to 'Bs'",
        ] {
            assert!(skipped.lines().any(|found| found == line), "{skipped}");
        }
        // The database keeps in mind that it lacks something.
        arguments(&second, &[]).fails(1, &["imported already (4 documents, 5 left out)"]);
        arguments(&second, &["--again"]).fails(1, &["5 entries are left out"]);
    }
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    let expected = sorted(expected.map(str::to_owned).to_vec());
    assert_eq!(sorted(export(&data)), expected);
    drop(server);
    assert_eq!(sorted(export(&served)), expected);
}
