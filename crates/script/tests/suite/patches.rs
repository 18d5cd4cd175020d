//! Patches: what scripts do with documents, and what survives them.

use jackdaw_script::{Machines, Program, ScriptLimits, Wanted};

use crate::common::{World, json, patch_in, patched, value};

fn check(body: &str, script: &str, expected: &str) {
    assert_eq!(patched(body, script), expected, "{script}");
}

#[test]
fn fields_change_come_and_go() {
    check(
        r#"{"a":1,"b":[1,2]}"#,
        "this.a = 2; this.c = 'x'",
        r#"{"a":2,"b":[1,2],"c":"x"}"#,
    );
    check(r#"{"a":1,"b":2}"#, "delete this.a", r#"{"b":2}"#);
    check(
        r#"{"b":[1]}"#,
        "this.b.push(2, {c: null})",
        r#"{"b":[1,2,{"c":null}]}"#,
    );
    check(
        "{}",
        "for (const k of [1,2]) { this['k'+k] = k }",
        r#"{"k1":1,"k2":2}"#,
    );
    check(
        "{}",
        "this.d = new Date(0); this.f = function() {}",
        r#"{"d":"1970-01-01T00:00:00.000Z"}"#,
    );
    check(
        "{}",
        "this.n = NaN; this.u = undefined",
        r#"{"n":null,"u":null}"#,
    );
}

#[test]
fn numbers_keep_their_text_when_nobody_touched_them() {
    let body = r#"{"big":9007199254740993,"cent":1.10,"huge":1e400,"long":12345678901234567890}"#;
    check(body, "this.x = 1", &body.replace('}', r#","x":1}"#));
    check(
        r#"{"n":[9007199254740993,1.10]}"#,
        "this.n.push(1)",
        r#"{"n":[9007199254740993,1.10,1]}"#,
    );
    check(
        r#"{"a":9007199254740993}"#,
        "this.b = this.a",
        r#"{"a":9007199254740993,"b":9007199254740993}"#,
    );
    check(
        r#"{"a":5,"b":1.10}"#,
        "this.a++; this.b *= 2",
        r#"{"a":6,"b":2.2}"#,
    );
}

#[test]
fn fields_keep_their_order_even_when_their_names_are_numbers() {
    check(
        r#"{"b":1,"2":2,"a":3,"1":4}"#,
        "this.a = 0; this.z = 1",
        r#"{"b":1,"2":2,"a":0,"1":4,"z":1}"#,
    );
    check(
        r#"{"__proto__":{"x":1},"a":1}"#,
        "this.a = 2",
        r#"{"__proto__":{"x":1},"a":2}"#,
    );
}

#[test]
fn members_of_what_is_not_there_are_no_errors() {
    check(
        "{}",
        "this.q = nope.x.y; this.r = this.a.b[3].c",
        r#"{"q":null,"r":null}"#,
    );
    check(
        "{}",
        "nope(); this.a.b.c()",
        "At 1:1 TypeError: not a function",
    );
    check("{}", "this.x = typeof nope", r#"{"x":"undefined"}"#);
    assert_eq!(value(r#"{"a":null}"#, "this.a.b ?? 3"), "3");
}

#[test]
fn parameters_are_args_and_names_with_a_dollar_sign() {
    let run = |script| {
        let output = patch_in(&mut World::default(), "{}", script, r#"{"p0":[1,{"a":2}]}"#);
        output.unwrap().value.root().to_json()
    };
    assert_eq!(run("this.y = args.p0"), r#"{"y":[1,{"a":2}]}"#);
    assert_eq!(run("this.y = $p0[1].a"), r#"{"y":2}"#);
}

#[test]
fn metadata_is_read_and_written() {
    assert_eq!(value("{}", "id(this)"), r#""albums/1""#);
    let metadata = value(r#"{"@metadata":{"k":1}}"#, "getMetadata(this)");
    let own = r#"{"@collection":"Albums","k":1,"@change-vector":"A:1-x","@id":"albums/1","#;
    assert_eq!(
        metadata,
        format!(r#"{own}"@last-modified":"2026-01-02T03:04:05.0000000Z"}}"#)
    );
    assert_eq!(value("{}", "lastModified(this)"), "1767323045000");
    let script = "this['@metadata'].a = 1; getMetadata(this).b = 2";
    let output = patch_in(&mut World::default(), "{}", script, "{}").unwrap();
    let metadata = output.metadata.unwrap();
    assert_eq!(
        metadata.root().to_json(),
        r#"{"@collection":"Albums","a":1,"b":2}"#
    );
}

#[test]
fn the_host_is_asked_for_documents() {
    let mut world = World::default();
    world
        .documents
        .insert("artists/1".into(), json(r#"{"Name":"Rain"}"#));
    let script = "const a = load(this.Artist); this.Name = a.Name; this.id = id(a);
        this.none = load('x/1'); this.two = load(['artists/1', 'x']).map(a => a?.Name);
        this.at = loadPath(this, 'Artist').Name;
        this.put = put('new/1', {a: this.Artist}); del('old/1'); output(1, {b: 2}, 'c')";
    let output = patch_in(&mut world, r#"{"Artist":"artists/1"}"#, script, "{}").unwrap();
    let expected = concat!(
        r#"{"Artist":"artists/1","Name":"Rain","id":"artists/1","none":null,"#,
        r#""two":["Rain",null],"at":"Rain","put":"new/1"}"#
    );
    assert_eq!(output.value.root().to_json(), expected);
    assert_eq!(output.printed, ["1", r#"{"b":2}"#, "c"]);
    assert_eq!(world.asked[5], r#"put["new/1",{"a":"artists/1"},null]"#);
    assert_eq!(world.asked[6], r#"del["old/1",null]"#);
}

#[test]
fn what_is_not_served_says_its_name() {
    check(
        "{}",
        "incrementCounter(this, 'x', 1)",
        "At 1:18 incrementCounter() is not supported by this version",
    );
    check(
        "{}",
        "try { archived.archiveAt(this) } catch (e) { this.m = e.message }",
        r#"{"m":"archived.archiveAt() is not supported by this version"}"#,
    );
}

#[test]
fn a_host_that_fails_ends_the_run_whatever_the_script_catches() {
    let mut world = World {
        fails: true,
        ..World::default()
    };
    let outcome = patch_in(
        &mut world,
        "{}",
        "try { load('a') } catch (e) {} this.x = 1",
        "{}",
    );
    assert_eq!(outcome.unwrap_err().to_string(), "the disk is gone");
}

#[test]
fn errors_tell_line_and_column() {
    let check = |script, expected| assert_eq!(patched("{}", script), expected);
    check(
        "this.a = ;",
        "At 1:10 SyntaxError: unexpected token in expression: ';'",
    );
    check("this.a = 1;\n  throw new Error('no')", "At 2:13 no");
    check("throw 'x'", "x");
    check(
        "let a = this.b.c.d;\nlet d = 5; d()",
        "At 2:12 TypeError: not a function",
    );
    check(
        "this.b = 5n",
        "TypeError: BigInt are forbidden in JSON.stringify",
    );
}

#[test]
fn machines_are_kept_by_text() {
    let mut machines = Machines::new(ScriptLimits::default(), 2);
    let mut run = |script: &str| {
        let outcome = machines.with(&Program::patch(script), |machine| {
            machine.run(&mut World::default(), &[], None, Wanted::Value)
        });
        (outcome.is_ok(), machines.len())
    };
    assert_eq!(run("return 1"), (true, 1));
    // What does not compile is not kept, and pushes nothing out.
    assert_eq!(run("return ("), (false, 1));
    assert_eq!(run("return 2"), (true, 2));
    assert_eq!(run(&"x".repeat(1 << 20)), (false, 2));
    assert_eq!(run("return 1"), (true, 2));
    assert_eq!(run("return 3"), (true, 2));
}
