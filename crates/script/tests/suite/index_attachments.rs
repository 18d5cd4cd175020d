//! Attachments in maps in JavaScript: their details, and their text.

use jackdaw_script::index::MapProgram;

use crate::index_world::IndexWorld;

fn check(expression: &str, expected: &str) {
    let text = format!("map('U', u => ({{ x: {expression} }}))");
    let map = MapProgram::compile(&text, &[]).expect("a map");
    let entries = IndexWorld::default().of_document(&map, r#"{"y":1}"#);
    let expected = format!(r#"{{"x":{expected}}}"#);
    assert_eq!(entries.expect(expression), [expected], "{expression}");
}

#[test]
fn an_attachment_has_details_and_text() {
    for (member, expected) in [
        ("Name", r#""cover.png""#),
        ("ContentType", r#""image/png""#),
        ("Hash", r#""abc""#),
        ("Size", "12"),
        ("getContentAsString()", r#""Aé""#),
        ("getContentAsString().length", "2"),
    ] {
        check(
            &format!("loadAttachment(u, 'cover.png').{member}"),
            expected,
        );
        check(
            &format!("loadAttachment(u, 'COVER.png').{member}"),
            expected,
        );
        check(&format!("loadAttachments(u)[0].{member}"), expected);
        check(
            &format!("attachmentsFor(u).map(a => a.{member})[0]"),
            expected,
        );
    }
    check(
        "Object.keys(loadAttachment(u, 'cover.png')).join()",
        r#""Name,ContentType,Hash,Size""#,
    );
    check(
        "loadAttachment(u, 'cover.png')",
        r#"{"Name":"cover.png","ContentType":"image/png","Hash":"abc","Size":12}"#,
    );
}

#[test]
fn an_attachment_that_is_missing_is_null() {
    for expression in [
        "loadAttachment(u, 'none')",
        "loadAttachment(u)",
        "loadAttachment(null, 'cover.png')",
        "loadAttachment(load('no'), 'cover.png')",
        "loadAttachment(u, 'none').Name ?? null",
        "loadAttachment(u, 'none').getContentAsString() ?? null",
    ] {
        check(expression, "null");
    }
    check("loadAttachments(null)", "[]");
    check("attachmentsFor(load('no')).length", "0");
    check("loadAttachment(u, 'none') ? 1 : 2", "2");
}
