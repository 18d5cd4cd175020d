//! The options of `jackdaw import csv`, its preview, and checks that store nothing.

mod common;

use common::{Run, TestDirectory, export, import, jackdaw};

/// Imports CSV into the collection `Rows`.
fn csv(directory: &TestDirectory, name: &str, text: &str, more: &[&str]) -> (Run, String) {
    let file = directory.file(&format!("{name}.csv"), text);
    let data = directory.text(name);
    let run = import(
        "csv",
        &file,
        &data,
        &[&["--collection", "Rows"], more].concat(),
    );
    (run, data)
}

/// The documents that a file makes, without their collection.
fn documents(name: &str, text: &str, more: &[&str]) -> Vec<String> {
    let directory = TestDirectory::new();
    let (run, data) = csv(&directory, name, text, more);
    run.ok();
    let lines = export(&data).into_iter();
    lines
        .map(|line| line.replace(",\"@collection\":\"Rows\"}}", "}}"))
        .collect()
}

#[test]
fn columns_are_typed_renamed_left_out_and_make_ids() {
    assert_eq!(
        documents(
            "options",
            "Country;Zip;Born;Amount;Active;Note;Extra\n\
             CH;08001;31.01.2024;1.234,50;yes;NA;x\n",
            &[
                "--id",
                "{Country}/{Zip}",
                "--type",
                "Zip=string",
                "--type",
                "Born=date:dd.MM.yyyy",
                "--type",
                "Amount=number",
                "--type",
                "Active=boolean",
                "--decimal-comma",
                "--thousands",
                ".",
                "--null",
                "NA",
                "--rename",
                "Country=Land",
                "--omit",
                "Extra",
            ],
        ),
        [
            "{\"Land\":\"CH\",\"Zip\":\"08001\",\"Born\":\"2024-01-31T00:00:00.0000000\",\
             \"Amount\":1234.50,\"Active\":true,\"Note\":null,\"@metadata\":{\"@id\":\"CH/08001\"}}"
        ]
    );
}

#[test]
fn files_without_a_header_are_read() {
    let text = "7,x\n8,y\n";
    assert_eq!(
        documents("numbered", text, &["--no-header"]),
        [
            "{\"Column1\":7,\"Column2\":\"x\",\"@metadata\":{\"@id\":\"rows/0000000001\"}}",
            "{\"Column1\":8,\"Column2\":\"y\",\"@metadata\":{\"@id\":\"rows/0000000002\"}}",
        ]
    );
    assert_eq!(
        documents("named", text, &["--names", "Id,Name"])[1],
        "{\"Id\":8,\"Name\":\"y\",\"@metadata\":{\"@id\":\"rows/8\"}}"
    );
}

#[test]
fn lines_before_the_header_are_read_as_what_they_are() {
    let expected = ["{\"Id\":1,\"Name\":\"a,b\",\"@metadata\":{\"@id\":\"rows/1\"}}"];
    for (name, text, more) in [
        ("separator", "sep=;\nId;Name\n1;a,b\n", [].as_slice()),
        (
            "comments",
            "# from us\n# today\nId;Name\n1;a,b\n# the end\n",
            &[],
        ),
        (
            "skipped",
            "Report;;\n\nId;Name\n1;a,b\n",
            &["--skip-rows", "2"],
        ),
        (
            "marked",
            "% x;y\nId;Name\n% 1;2\n1;a,b\n",
            &["--comment", "%"],
        ),
    ] {
        assert_eq!(documents(name, text, more), expected, "{name}");
    }
}

#[test]
fn files_in_an_encoding_that_is_named_are_read() {
    let directory = TestDirectory::new();
    let file = directory.file("a.csv", b"Id,Name\n1,\x93\xfa\x96\x7b\n");
    let data = directory.text("data");
    let more = ["--collection", "Rows", "--encoding", "Shift_JIS"];
    import("csv", &file, &data, &more).ok();
    assert!(export(&data)[0].starts_with("{\"Id\":1,\"Name\":\"\u{65e5}\u{672c}\""));
    let lines = directory.file("a.ndjson", b"{\"Id\":2,\"Name\":\"Qu\xe9bec\"}");
    let more = ["--collection", "Rows", "--encoding", "latin1"];
    import("ndjson", &lines, &data, &more).ok();
    assert!(export(&data)[1].starts_with("{\"Id\":2,\"Name\":\"Qu\u{e9}bec\""));
    let wrong = ["--collection", "Rows", "--encoding", "Latin-99"];
    let run = import("csv", &file, &data, &wrong);
    assert_eq!(run.code, 2, "{run:#?}");
}

#[test]
fn columns_are_nested_when_that_is_asked() {
    assert_eq!(
        documents(
            "nested",
            "Id,Pos.Lat,Pos.Lon,@metadata.Origin\n1,2.50,3,file\n",
            &["--nested"],
        ),
        ["{\"Id\":1,\"Pos\":{\"Lat\":2.50,\"Lon\":3},\
             \"@metadata\":{\"@id\":\"rows/1\",\"@collection\":\"Rows\",\"Origin\":\"file\"}}"]
    );
}

#[test]
fn a_quote_that_swallows_rows_is_reported() {
    let directory = TestDirectory::new();
    let text = "Id,Name,Size\n4,two,\"open\n5,three,3\n6,four,3.5\"\n7,five,5\n";
    let (run, data) = csv(&directory, "swallowed", text, &[]);
    let run = run.fails(1, &["1 entry is left out, first line 2: it spans 3 lines"]);
    run.tells(&["a quote in line 2 is probably never closed"]);
    assert_eq!(export(&data).len(), 1);
    let (run, data) = csv(&directory, "accepted", text, &["--multiline"]);
    run.ok();
    assert_eq!(export(&data).len(), 2);
}

#[test]
fn as_many_entries_as_allowed_may_be_left_out() {
    let directory = TestDirectory::new();
    let text = "Id,Name\n1,a\n2\n3,c\n4,d,e\n";
    for (allowed, code) in [("1", 1), ("2", 0), ("40%", 1), ("50%", 0), ("100%", 0)] {
        let more = ["--allow-skipped", allowed];
        let (run, data) = csv(&directory, &format!("allowed-{allowed}"), text, &more);
        assert_eq!(run.code, code, "{allowed}: {run:#?}");
        if code == 0 {
            run.tells(&["2 entries are left out, first line 3: it has 1 fields"]);
        }
        assert_eq!(export(&data).len(), 2);
    }
    let (run, _) = csv(&directory, "usage", text, &["--allow-skipped", "some"]);
    assert_eq!(run.code, 2, "{run:#?}");
}

#[test]
fn a_check_counts_and_stores_nothing() {
    let directory = TestDirectory::new();
    let file = directory.file("a.csv", "Id,Name\n1,a\n2\n3,c\n");
    let run = jackdaw(&["import", "csv", &file, "--check"]);
    let run = run.fails(
        1,
        &["1 entry is left out when", "first line 3", "2 documents"],
    );
    run.tells(&["read 3", "parsed 2", "malformed 1", "per second"]);
    assert!(!run.out.contains("written"), "{}", run.out);
    let good = directory.file("b.csv", "Id,Name\n1,a\n");
    let data = directory.text("data");
    import("csv", &good, &data, &["--collection", "Rows", "--check"]).ok();
    assert!(
        !directory.path("data").exists(),
        "a check made a data directory"
    );
    let lines = directory.file("c.ndjson", "{\"Id\":1}\n");
    jackdaw(&["import", "ndjson", &lines, "--collection", "As", "--check"]).ok();
}

#[test]
fn a_preview_shows_columns_and_documents() {
    let directory = TestDirectory::new();
    let file = directory.file("a.csv", "Id;Name\n1;a\n2;\n3\n");
    let run = jackdaw(&["import", "csv", &file, "--preview"]).ok();
    run.tells(&[
        "Delimiter ;, lines end with LF or CR LF.",
        "Id 2 0 0 0",
        "Name 0 1 1 0",
        "rows/1 {\"Id\":1,\"Name\":\"a\"}",
        "2 documents in the first part of the file; nothing is stored.",
        "line 4: it has 1 fields",
    ]);
}

#[test]
fn options_that_do_not_fit_the_file_are_named() {
    let directory = TestDirectory::new();
    for (name, more, part) in [
        ("type", ["--type", "Nope=number"], "no field \"Nope\""),
        ("omit", ["--omit", "Nope"], "no field \"Nope\""),
        ("id", ["--id", "{Nope}"], "no field \"Nope\""),
        (
            "names",
            ["--names", "a,b,c"],
            "2 fields, and --names gives 3 names",
        ),
        (
            "cell",
            ["--type", "Name=number"],
            "its Name is \"a\", which is no number",
        ),
    ] {
        let (run, _) = csv(&directory, name, "Id,Name\n1,a\n", &more);
        run.fails(1, &[part]);
    }
    for (name, more) in [
        ("usage-type", ["--type", "Id=blob"]),
        ("usage-date", ["--date", "month"]),
        ("usage-quote", ["--quote", "''"]),
    ] {
        let (run, _) = csv(&directory, name, "Id,Name\n1,a\n", &more);
        assert_eq!(run.code, 2, "{name}: {run:#?}");
    }
}
