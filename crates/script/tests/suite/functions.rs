//! Functions that scripts find everywhere: distances, and values as text.

use crate::common::{patched, value};

fn check(expression: &str, expected: &str) {
    assert_eq!(
        value(r#"{"n":1.50,"t":"x"}"#, expression),
        expected,
        "{expression}"
    );
}

#[test]
fn distances_are_in_kilometers_miles_or_degrees() {
    for (arguments, expected) in [
        ("10, 10, 11, 11", "155.93371239338526"),
        ("10, 10, 11, 11, null", "155.93371239338526"),
        ("10, 10, 11, 11, 'kilometers'", "155.93371239338526"),
        ("10, 10, 11, 11, 'Miles'", "96.89271674286297"),
        ("10, 10, 11, 11, 'cartesian'", "1.4142135623730951"),
        ("0, 0, 0, 180", "20014.123860444433"),
        ("90, 0, -90, 0", "20014.123860444433"),
        ("52.5, 13.4, 48.85, 2.35", "876.7568948812608"),
        ("-91, 0, 91, 0", "19791.744706439502"),
        ("0, 0, 0, 0", "0"),
        ("52.5, 13.4, 52.5, 13.4", "0"),
        ("'10', 10, 11, 11", "null"),
        ("null, 1, 2, 3", "null"),
        ("this.no, 1, 2, 3", "null"),
        ("NaN, 1, 2, 3", "null"),
    ] {
        check(&format!("spatial.distance({arguments})"), expected);
    }
    check("spatial.distance('x', 1, 2, 3) < 5", "false");
    for arguments in [
        "",
        "1, 2, 3",
        "1, 2, 3, 4, 'km'",
        "1, 2, 3, 4, 5",
        "1, 2, 3, 4, null, 6",
    ] {
        let told = value("{}", &format!("spatial.distance({arguments})"));
        assert!(told.contains("spatial.distance("), "{arguments}: {told}");
    }
}

#[test]
fn values_are_written_by_their_formats() {
    for (arguments, expected) in [
        ("1.5, '0.00'", "1.50"),
        ("this.n, '0.00'", "1.50"),
        ("1.5", "1.5"),
        ("5", "5"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("1234567.891, 'N2'", "1,234,567.89"),
        ("1234.5, 'N2', 'en-US'", "1,234.50"),
        ("1.5, 'en-US'", "1.5"),
        ("12, '0000'", "0012"),
        ("-1.5, '#,##0.0'", "-1.5"),
        ("0.5, 'P0'", "50 %"),
        ("1234.5, 'P1'", "123,450.0 %"),
        ("1.5, 'E2'", "1.50E+000"),
        ("-0.00012, 'e3'", "-1.200e-004"),
        ("true", "True"),
        ("false, 'x'", "False"),
        ("'2024-05-01T10:00:00Z', 'yyyy'", "2024"),
        (
            "'2024-05-01T10:00:00', 'dd.MM.yyyy HH:mm'",
            "01.05.2024 10:00",
        ),
        ("'2024-05-01T10:00:00Z'", "05/01/2024 10:00:00"),
        ("new Date(0)", "01/01/1970 00:00:00"),
        ("new Date(0), 'yyyy-MM-dd'", "1970-01-01"),
    ] {
        check(
            &format!("toStringWithFormat({arguments})"),
            &format!("\"{expected}\""),
        );
    }
    for arguments in [
        "",
        "null",
        "undefined",
        "{ a: 1 }",
        "[1]",
        "this.t",
        "'abc', '0.0'",
        "1.5, 2",
        "1.5, null",
        "1.5, 'q'",
        "1.5, '0.0', 'de-DE'",
        "1, 'a', 'b', 'c'",
    ] {
        let told = value(r#"{"t":"x"}"#, &format!("toStringWithFormat({arguments})"));
        assert!(told.contains("toStringWithFormat()"), "{arguments}: {told}");
    }
}

#[test]
fn scalars_keep_their_digits() {
    check("scalarToRawString(this, x => x.n)", "1.5");
    let long = value(
        r#"{"n":9007199254740993}"#,
        "scalarToRawString(this, x => x.n)",
    );
    assert_eq!(long, "9007199254740993");
    check("scalarToRawString(this, x => x.t)", r#""x""#);
    check("scalarToRawString(this, x => x.no)", "null");
    check(
        "scalarToRawString(this, x => x)",
        "At 1:26 TypeError: scalarToRawString() is for numbers and texts",
    );
    let told = value("{}", "scalarToRawString(this)");
    assert!(told.contains("takes a document and a function"), "{told}");
}

#[test]
fn spans_of_time_are_written() {
    check(
        "convertJsTimeToTimeSpanString(90061001)",
        r#""1.01:01:01.0010000""#,
    );
    check("convertToTimeSpanString(36000000000)", r#""01:00:00""#);
    check("convertToTimeSpanString(-3600)", r#""-00:00:00.0003600""#);
    let told = value("{}", "convertToTimeSpanString('1')");
    assert!(told.contains("takes one number"), "{told}");
}

#[test]
fn patches_find_them_without_asking_the_host() {
    let script = "this.d = spatial.distance(0, 0, 0, 0); this.t = toStringWithFormat(2, '0.0')";
    assert_eq!(patched("{}", script), r#"{"d":0,"t":"2.0"}"#);
}

#[test]
fn dates_compare_by_their_instants() {
    let (early, late) = (
        "'2020-01-01T00:00:00.0000000Z'",
        "'2020-01-02T00:00:01.5000000Z'",
    );
    for (arguments, expected) in [
        (format!("{late}, {early}"), r#""1.00:00:01.5000000""#),
        (
            format!("{early}, {late}, 'Subtract'"),
            r#""-1.00:00:01.5000000""#,
        ),
        (
            "new Date(0), new Date(1)".to_owned(),
            r#""-00:00:00.0010000""#,
        ),
        (format!("{early}, {late}, 'LessThan'"), "true"),
        (format!("{early}, {late}, 'GreaterThanOrEqual'"), "false"),
        (format!("{early}, {early}, 'Equal'"), "true"),
        (
            format!("{early}, new Date(1577836800000), 'NotEqual'"),
            "false",
        ),
        (format!("{early}, {early}, 'LessThanOrEqual'"), "true"),
        (format!("{early}, {late}, 'GreaterThan'"), "false"),
    ] {
        check(&format!("compareDates({arguments})"), expected);
    }
    for arguments in [
        "",
        "null, null",
        "1, 2",
        "'x', 'y'",
        "new Date(0), new Date(1), 'Nope'",
    ] {
        let told = value("{}", &format!("compareDates({arguments})"));
        assert!(told.contains("compareDates("), "{arguments}: {told}");
    }
}

#[test]
fn the_lesser_and_the_greater_of_two_pass_over_null() {
    for (expression, expected) in [
        ("Raven_Min(3, 2)", "2"),
        ("Raven_Max(3, 2)", "3"),
        ("Raven_Max(3, null)", "3"),
        ("Raven_Min(this.no, 3)", "3"),
        ("Raven_Min(null, undefined)", "null"),
        ("Raven_Max('a', 'b')", r#""b""#),
    ] {
        check(expression, expected);
    }
}
