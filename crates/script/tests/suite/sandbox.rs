//! What scripts cannot reach, and that a run leaves nothing for the next.

use jackdaw_script::{Argument, Wanted};

use crate::common::{World, document, json, machine, patched, value};

#[test]
fn no_text_becomes_code() {
    for script in [
        "eval('1')",
        "new Function('return 1')()",
        "(() => {}).constructor('return 1')()",
        "(async () => {}).constructor('return 1')()",
        "(function* () {}).constructor('return 1')()",
        "Object.getPrototypeOf(function () {}).constructor('return 1')()",
        "Reflect.construct(Reflect.getPrototypeOf(class {}).constructor, ['return 1'])",
    ] {
        let outcome = patched("{}", &format!("this.x = {script}"));
        assert!(
            outcome.contains("TypeError") || outcome == r#"{"x":null}"#,
            "{script}: {outcome}"
        );
    }
    assert!(patched("{}", "import('os').then(m => m)").starts_with("{}"));
}

#[test]
fn there_is_nothing_of_a_host_to_find() {
    for name in [
        "process",
        "require",
        "module",
        "std",
        "os",
        "fetch",
        "setTimeout",
        "setInterval",
        "WebAssembly",
        "XMLHttpRequest",
        "Deno",
        "scriptArgs",
        "print",
        "host",
        "bjson",
    ] {
        assert_eq!(
            value("{}", &format!("typeof {name}")),
            r#""undefined""#,
            "{name}"
        );
    }
}

#[test]
fn dates_are_of_utc() {
    for (script, expected) in [
        (
            "new Date(2024, 1, 29, 12).toISOString()",
            r#""2024-02-29T12:00:00.000Z""#,
        ),
        ("new Date('2024-02-29T12:00:00.0000000').getHours()", "12"),
        ("new Date('2024-02-29T12:00:00+02:00').getHours()", "10"),
        (
            "new Date(0).getTimezoneOffset() + new Date(0).getHours()",
            "0",
        ),
        ("new Date(0) instanceof Date", "true"),
        (
            "typeof Date.now() + typeof Date.UTC(2024, 1)",
            r#""numbernumber""#,
        ),
        (
            "const d = new Date(0); d.setHours(3); d.getTime()",
            "10800000",
        ),
    ] {
        let script = match script.split_once("; d.getTime()") {
            Some((before, _)) => format!("(() => {{ {before}; return d.getTime() }})()"),
            None => script.to_owned(),
        };
        assert_eq!(value("{}", &script), expected, "{script}");
    }
}

#[test]
fn a_run_leaves_nothing_for_the_next() {
    let scripts = [
        "this.x = [typeof leak, globalThis.leak]; leak = 1; globalThis.leak2 = 2",
        "this.x = Object.prototype.bad; Object.prototype.bad = 1",
        "this.x = [].bad; Array.prototype.bad = 1",
        "this.x = Math.max(1, 2); Math.max = () => 3",
        "this.x = id(this); id = () => 'other'; globalThis.id = id",
        "this.x = JSON.stringify({}); JSON.stringify = () => 'bad'",
        "this.x = load.bad; load.bad = 1",
        "this.x = 'a'.replace('a', 'b'); String.prototype.replace = () => 'bad'",
        "this.x = $p; $p = 5",
        "this.x = typeof leak; leak = 1",
        "this.x = typeof leak; (function () { this.leak = 1 })()",
        "this.x = typeof leak; const { f } = { f() { this.leak = 1 } }; f()",
    ];
    for script in scripts {
        let body = json("{}");
        let mut machine = machine(script);
        let mut run = || {
            let arguments = [Argument::Document(document("a/1", &body))];
            let output = machine.run(&mut World::default(), &arguments, None, Wanted::Document);
            output.unwrap().value.root().to_json()
        };
        let first = run();
        assert_eq!(first, run(), "{script}");
    }
}

#[test]
fn documents_may_have_fields_named_as_members_of_objects() {
    let script =
        "this.toString = 1; this.constructor = 'c'; this.valueOf = this.hasOwnProperty('x')";
    let expected = r#"{"toString":1,"constructor":"c","valueOf":false}"#;
    assert_eq!(patched("{}", script), expected);
    let script = "class E extends Error { constructor() { super('m'); this.name = 'E' } }
        try { throw new E() } catch (e) { this.e = e.name + e.message }";
    assert_eq!(patched("{}", script), r#"{"e":"Em"}"#);
}

#[test]
fn a_program_cannot_leave_its_function() {
    let outcome = patched("{}", "}), (function () { this.x = 1");
    assert_eq!(outcome, "At 1:1 '}' closes nothing");
}
