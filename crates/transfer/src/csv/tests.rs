//! What is proven: each option changes the documents as it says, and without options numbers and
//! strings come back as they stand in the file.

use super::*;
use crate::dialect::Dialect;
use crate::parse::parse_one;

fn parser(header: &str, options: &CsvOptions) -> CsvParser {
    let dialect = Dialect::of(header.as_bytes(), options.choice());
    let header = CsvHeader::parse(header.as_bytes(), dialect, options, false).unwrap();
    CsvParser::new(Arc::new(header), "Cities")
}

fn parse(header: &str, record: &[u8]) -> String {
    parse_one(
        &mut parser(header, &CsvOptions::default()),
        "line 2",
        record,
    )
}

/// The body that a record makes.
fn body(header: &str, record: &str, change: impl FnOnce(&mut CsvOptions)) -> String {
    let mut options = CsvOptions::default();
    change(&mut options);
    let shown = parse_one(&mut parser(header, &options), "line 2", record.as_bytes());
    match shown.split_once(" {") {
        Some((_, rest)) => format!("{{{}", rest.trim_end_matches(" Cities -")),
        None => shown,
    }
}

fn typed(name: &str, cell_type: CellType) -> impl FnOnce(&mut CsvOptions) {
    move |options| options.types.push((name.to_owned(), cell_type))
}

#[test]
fn fields_become_numbers_strings_and_nulls() {
    assert_eq!(
        parse(
            "Id,Name,Size,Empty",
            "12,\"Qu\u{e9}bec, \"\"City\"\"\",0.50,".as_bytes()
        ),
        "cities/12 {\"Id\":12,\"Name\":\"Qu\u{e9}bec, \\\"City\\\"\",\"Size\":0.50,\
         \"Empty\":null} Cities -"
    );
    assert_eq!(
        parse("a;b", b"x;\"y\nz\""),
        "cities/0000000002 {\"a\":\"x\",\"b\":\"y\\nz\"} Cities -"
    );
    assert_eq!(
        parse("a\tb", b"Qu\xe9bec\t-3"),
        "cities/0000000002 {\"a\":\"Qu\u{e9}bec\",\"b\":-3} Cities -"
    );
    assert_eq!(
        parse("a,b", b"x\ry,\"\r\""),
        "cities/0000000002 {\"a\":\"x\\ry\",\"b\":\"\\r\"} Cities -"
    );
    assert_eq!(
        parse("a", b"\"\""),
        "cities/0000000002 {\"a\":null} Cities -"
    );
}

#[test]
fn records_that_do_not_fit_are_skipped() {
    assert!(parse("a,b", b"1").starts_with("malformed: it has 1 fields"));
    assert!(parse("a,b", b"1,2,3").starts_with("malformed: it has 3 fields"));
    assert!(parse("a,b", b" ").starts_with("empty"));
    assert!(parse("id,b", b",2").starts_with("unusable id"));
    let wide = "x,".repeat(FIELD_COUNT_MAX + 10);
    assert!(parse("a,b", wide.as_bytes()).starts_with("malformed: it has more than"));
}

#[test]
fn twenty_thousand_columns_are_read() {
    let names: Vec<String> = (0..20_000).map(|number| format!("c{number}")).collect();
    let record = vec!["1"; 20_000].join(",");
    let shown = parse(&names.join(","), record.as_bytes());
    assert!(
        shown.ends_with("\"c19999\":1} Cities -"),
        "{}",
        &shown[..100]
    );
}

#[test]
fn records_whose_lines_look_like_records_are_reported() {
    let swallowed = "4,\"open\n5,ok\n6,3.5\"";
    let shown = body("Id,Name", swallowed, |_| ());
    assert!(
        shown.starts_with("malformed: it spans 3 lines") && shown.contains("line 2"),
        "{shown}"
    );
    let shown = body("Id,Name", swallowed, |options| options.multiline = true);
    assert_eq!(shown, "{\"Id\":4,\"Name\":\"open\\n5,ok\\n6,3.5\"}");
    for text in ["4,\"a\nb\"", "4,\"a, b\nc, d\"", "4,\"a\n\nb, c\""] {
        assert!(body("Id,Name", text, |_| ()).starts_with('{'), "{text}");
    }
    assert!(body("Name", "\"a\nb\"", |_| ()).starts_with('{'));
}

#[test]
fn columns_have_the_type_that_is_given() {
    let check = |cell_type: CellType, cell: &str, expected: &str| {
        let record = format!("{cell};x");
        assert_eq!(
            body("a;b", &record, typed("a", cell_type)),
            format!("{{\"a\":{expected},\"b\":\"x\"}}")
        );
    };
    check(CellType::String, "12", "\"12\"");
    check(CellType::String, "", "null");
    check(CellType::Number, "007", "7");
    check(CellType::Number, " +1.50 ", "1.50");
    check(CellType::Boolean, "YES", "true");
    check(CellType::Boolean, "0", "false");
    check(
        CellType::Json,
        "\"[1,{\"\"x\"\":null}]\"",
        r#"[1,{"x":null}]"#,
    );
    let date = CellType::Date(DatePattern::parse("dd.MM.yyyy").unwrap());
    check(
        date.clone(),
        "31.01.2024",
        "\"2024-01-31T00:00:00.0000000\"",
    );
    for (cell_type, cell, kind) in [
        (CellType::Number, "1,5", "number"),
        (CellType::Boolean, "maybe", "boolean"),
        (CellType::Json, "{", "JSON"),
        (date, "30.02.2024", "date"),
    ] {
        let shown = body("a;b", &format!("{cell};x"), typed("a", cell_type));
        assert!(shown.starts_with("malformed: its a is"), "{shown}");
        assert!(shown.contains(kind), "{shown}");
    }
}

#[test]
fn numbers_of_other_countries_are_read_when_that_is_asked() {
    let german = |options: &mut CsvOptions| {
        options.decimal_comma = true;
        options.thousands = Some(b'.');
    };
    assert_eq!(
        body("a;b;c;d;e", "1.234,50;-0,5;1.5;007;31.01.2024", german),
        r#"{"a":1234.50,"b":-0.5,"c":"1.5","d":"007","e":"31.01.2024"}"#
    );
    assert_eq!(
        body("a;b", "1,5;x", |options| {
            options.decimal_comma = true;
            options.types.push(("a".into(), CellType::Number));
        }),
        r#"{"a":1.5,"b":"x"}"#
    );
}

#[test]
fn nulls_dates_booleans_and_space_are_read_as_asked() {
    assert_eq!(
        body("a,b,c", ",NA, x ", |options| options.nulls =
            vec!["NA".into()]),
        r#"{"a":"","b":null,"c":" x "}"#
    );
    assert_eq!(
        body("a,b,c", " 1 , ,x", |options| options.trim = true),
        r#"{"a":1,"b":null,"c":"x"}"#
    );
    assert_eq!(
        body("a,b,c", "true,false,TRUE", |options| options.booleans =
            true),
        r#"{"a":true,"b":false,"c":"TRUE"}"#
    );
    assert_eq!(
        body("a,b", "1/31/2024,n/a", |options| {
            options.date = Some(DatePattern::parse("M/d/yyyy").unwrap());
        }),
        r#"{"a":"2024-01-31T00:00:00.0000000","b":"n/a"}"#
    );
}

#[test]
fn columns_are_renamed_left_out_and_nested() {
    assert_eq!(
        body("a,b,c", "1,2,3", |options| {
            options.renamed.push(("a".into(), "A".into()));
            options.omitted.push("b".into());
        }),
        r#"{"A":1,"c":3}"#
    );
    assert_eq!(
        body("Pos.Lat,Name,Pos.Lon", "1,x,2", |options| options.nested =
            true),
        r#"{"Pos":{"Lat":1,"Lon":2},"Name":"x"}"#
    );
    assert_eq!(
        body("a.b,c", "1,2", |_| ()),
        r#"{"a.b":1,"c":2}"#,
        "without being asked, names stay whole"
    );
    let nested = CsvOptions {
        nested: true,
        ..CsvOptions::default()
    };
    let mut parser = parser("a,@metadata.@expires,@metadata.Mine,@metadata.@id", &nested);
    let good = b"1,2099-01-31T12:00:00.0000000Z,x,y";
    assert_eq!(
        parse_one(&mut parser, "line 2", good),
        "cities/0000000002 {\"a\":1} Cities \
         {\"@expires\":\"2099-01-31T12:00:00.0000000Z\",\"Mine\":\"x\"}"
    );
    let bad = parse_one(&mut parser, "line 2", b"1,never,x,y");
    assert!(
        bad.starts_with("malformed: its @expires is 'never'"),
        "{bad}"
    );
}

#[test]
fn ids_are_made_of_columns() {
    let id = |pattern: &str, record: &str| {
        let id = IdSource::Pattern(pattern.to_owned());
        let options = CsvOptions {
            id,
            ..CsvOptions::default()
        };
        let shown = parse_one(
            &mut parser("Country,Zip", &options),
            "line 2",
            record.as_bytes(),
        );
        shown
            .split_once(" {")
            .map_or(shown.clone(), |(id, _)| id.to_owned())
    };
    assert_eq!(id("{Country}/{Zip}", "CH,8001"), "CH/8001");
    assert_eq!(id("{Country}-{Zip}", "CH,8001"), "cities/CH-8001");
    assert_eq!(id("{Zip}", "CH,8001"), "cities/8001");
    assert!(id("{Country}/{Zip}", "CH,").contains("its Zip, a part of its id, is empty"));
    assert!(id("{Country}/", "CH,1").starts_with("unusable id"));
}

#[test]
fn quotes_and_escapes_are_those_of_the_dialect() {
    assert_eq!(
        body("a;b", "'x;''y';\"z\"", |options| options.quote = b'\''),
        r#"{"a":"x;'y","b":"\"z\""}"#
    );
    assert_eq!(
        body("a,b", r#""x\",y",2"#, |options| options.escape =
            Some(b'\\')),
        r#"{"a":"x\",y","b":2}"#
    );
}

#[test]
fn comments_are_no_loss() {
    let options = CsvOptions {
        comment: Some(b'#'),
        ..CsvOptions::default()
    };
    let shown = parse_one(&mut parser("a,b", &options), "line 2", b"# one, two");
    assert!(shown.starts_with("comment"), "{shown}");
    assert!(!SkipReason::Comment.is_loss());
    let shown = parse("a,b", b"# one, two");
    assert!(
        shown.starts_with("cities/"),
        "without the option it is a record: {shown}"
    );
}

/// What csv-core makes of a whole text: the fields of each record, blank lines left out.
fn by_csv_core(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut reader = csv_core::ReaderBuilder::new()
        .terminator(csv_core::Terminator::Any(b'\n'))
        .build();
    let (mut records, mut fields, mut field) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rest, mut out) = (text, [0; 1]);
    loop {
        let (result, read, wrote) = reader.read_field(rest, &mut out);
        rest = &rest[read..];
        field.extend_from_slice(&out[..wrote]);
        match result {
            csv_core::ReadFieldResult::Field { record_end } => {
                fields.push(std::mem::take(&mut field));
                if record_end {
                    records.push(std::mem::take(&mut fields));
                }
            }
            csv_core::ReadFieldResult::End => return records,
            csv_core::ReadFieldResult::InputEmpty | csv_core::ReadFieldResult::OutputFull => {}
        }
    }
}

/// What the record source and the field splitter make of it; `None` when a quote is not closed.
fn by_records(text: &[u8]) -> Option<Vec<Vec<Vec<u8>>>> {
    use crate::archive::open_stream;
    use crate::chunk::Filled;
    use crate::dialect::DialectChoice;
    use crate::lines::{LineSource, Records};

    let dialect = Dialect::of(b",", DialectChoice::default());
    let stream = Box::new(std::io::Cursor::new(text.to_vec()));
    let stream = open_stream(stream, Arc::default(), 1).unwrap();
    let mut source = LineSource::new(stream, |_| Records::new(dialect)).unwrap();
    let mut splitter = FieldSplitter::new(dialect);
    let mut records = Vec::new();
    loop {
        let mut record = Vec::new();
        match source.next(&mut record).unwrap() {
            Filled::End => return Some(records),
            Filled::Skipped(_) => return None,
            Filled::Entry(_) if record.is_empty() => {}
            Filled::Entry(_) => {
                splitter.split(&record).unwrap();
                records.push(splitter.fields().map(<[u8]>::to_vec).collect());
            }
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(256))]

    #[test]
    fn records_are_those_that_csv_core_finds(
        text in proptest::collection::vec(proptest::sample::select(b"aab,,\"\"\n".to_vec()), 0..60)
    ) {
        if let Some(records) = by_records(&text) {
            proptest::prop_assert_eq!(records, by_csv_core(&text));
        }
    }
}
