//! Scripts that want too much end in an error, and the next script runs as if nothing had been.

use jackdaw_script::{Program, ScriptError};

use crate::common::{World, patch_in, patched};

fn bomb(script: &str) -> ScriptError {
    patch_in(&mut World::default(), "{}", script, "{}").expect_err(script)
}

#[test]
fn endless_loops_are_out_of_steps() {
    for script in [
        "while (true) {}",
        "for (;;) { try { throw 1 } catch (e) {} finally {} }",
        "try { while (true) {} } catch (e) { while (true) {} }",
        "[3,1,2].sort(() => { for (;;) {} })",
        "function f() { f2() } function f2() { } for (;;) f()",
        "Promise.resolve().then(() => {}); (function () { while (1); })()",
        "this.toJSON = () => { for (;;) {} }",
        "new Proxy({}, { get() { for (;;) {} } }).x",
    ] {
        assert!(
            matches!(bomb(script), ScriptError::Steps { limit: 1_000_000 }),
            "{script}"
        );
    }
}

#[test]
fn allocation_without_end_is_out_of_memory_or_steps() {
    for script in [
        "let a = []; while (true) a.push('x'.repeat(1 << 20) + a.length)",
        "let s = 'x'; for (;;) s += s + 'y'",
        "this.x = new Array(1 << 28).fill(1)",
        "new ArrayBuffer(1 << 30)",
        "let s = 'xxxxxxxxxxxxxxxx'.repeat(1 << 20); this.a = s.split('')",
    ] {
        let error = bomb(script);
        let is_limit = matches!(
            error,
            ScriptError::Memory { .. } | ScriptError::Steps { .. }
        );
        let is_refused = matches!(&error, ScriptError::Thrown { message, .. }
            if message.contains("length") || message.contains("too long"));
        assert!(is_limit || is_refused, "{script}: {error}");
    }
}

#[test]
fn recursion_without_end_is_out_of_stack() {
    for script in [
        "function f() { return f() + 1 } f()",
        "const o = {}; o.toString = () => '' + o; '' + o",
        "let a = []; for (let i = 0; i < 100000; i++) a = [a]; this.a = a",
    ] {
        let error = bomb(script);
        assert!(matches!(error, ScriptError::Stack), "{script}: {error}");
    }
}

#[test]
fn a_loop_in_itself_is_told() {
    assert!(patched("{}", "this.self = this").contains("circular"));
}

#[test]
fn regular_expressions_that_explode_are_stopped() {
    let error = bomb("/(a+)+$/.test('a'.repeat(40) + 'b')");
    assert!(matches!(error, ScriptError::Steps { .. }), "{error}");
}

#[test]
fn the_host_ends_a_script_in_time() {
    let mut world = World {
        is_over: true,
        ..World::default()
    };
    let outcome = patch_in(&mut world, "{}", "for (let i = 0; i < 50000; i++) {}", "{}");
    assert!(matches!(outcome, Err(ScriptError::Time)));
}

#[test]
fn long_texts_are_refused() {
    let script = format!("this.a = '{}'", "x".repeat(256 << 10));
    let outcome = patch_in(&mut World::default(), "{}", &script, "{}");
    assert!(matches!(outcome, Err(ScriptError::TooLong { .. })));
}

#[test]
fn ten_thousand_statements_are_within_the_limits() {
    let script = "let n = 0; for (let i = 0; i < 10000; i++) { n += i } this.n = n";
    assert_eq!(patched("{}", script), r#"{"n":49995000}"#);
    assert_eq!(Program::patch("x").parameters, ["$this"]);
}

#[test]
fn built_in_functions_over_long_texts_are_charged_for() {
    for script in [
        "const s = 'x'.repeat(1 << 20); let n = 0; for (;;) { n += s.indexOf('y') }",
        "const a = new Array(1 << 16).fill(1); for (;;) a.includes(2)",
        "const s = 'x'.repeat(1 << 20); for (;;) { try { s.includes('y') } catch (e) {} }",
    ] {
        assert!(
            matches!(bomb(script), ScriptError::Steps { .. }),
            "{script}"
        );
    }
    let script =
        "this.a = 'b'.repeat(5000).replace('b', 'c').indexOf('b'); this.n = 'abc'.indexOf('c')";
    assert_eq!(patched("{}", script), r#"{"a":1,"n":2}"#);
}

#[test]
fn searches_for_long_texts_are_charged_for_both_lengths() {
    let texts = "const s = 'a'.repeat(4e6), t = 'a'.repeat(2e6) + 'b';";
    for search in [
        "s.indexOf(t)",
        "s.lastIndexOf(t)",
        "s.includes(t)",
        "s.split(t)",
        "s.replace(t, '')",
        "s.replaceAll(t, '')",
        "try { s.indexOf(t) } catch (e) {} for (;;) {}",
        "new String(s).indexOf(t)",
        "s.indexOf({ toString: () => t })",
        "s.split({ toString: () => t })",
        "String.prototype.includes.call({ toString: () => s }, t)",
        "new Array(1 << 14).fill(s).includes(t)",
    ] {
        let error = bomb(&format!("{texts} {search}"));
        assert!(
            matches!(error, ScriptError::Steps { .. }),
            "{search}: {error}"
        );
    }
}

#[test]
fn searches_answer_as_without_charges() {
    for (expression, expected) in [
        ("'abc'.indexOf()", "-1"),
        ("'undefined'.indexOf()", "0"),
        ("'a1b'.indexOf(1)", "1"),
        ("'anull'.indexOf(null)", "1"),
        ("'abcb'.lastIndexOf('b', 2)", "1"),
        ("'abc'.includes('')", "true"),
        ("'abc'.split()", r#"["abc"]"#),
        ("'abc'.split(undefined)", r#"["abc"]"#),
        ("'a,b,c'.split(',', 2)", r#"["a","b"]"#),
        ("'a1b2c'.split(/[0-9]/)", r#"["a","b","c"]"#),
        ("'aXbX'.replace('X', t => t + t)", r#""aXXbX""#),
        ("'aXbX'.replaceAll('X', '')", r#""ab""#),
        ("'aXbX'.replace(/x/gi, '-')", r#""a-b-""#),
        ("'ab'.includes(['b'])", "true"),
        ("['a', 'b'].indexOf('b')", "1"),
        ("('a'.repeat(4e6) + 'bcd').indexOf('bcd')", "4000000"),
        ("'ä€😀'.indexOf('😀')", "2"),
    ] {
        let left = patched("{}", &format!("this.r = {expression}"));
        assert_eq!(left, format!(r#"{{"r":{expected}}}"#), "{expression}");
    }
    assert!(patched("{}", "'a'.includes(/a/)").contains("reg"));
}

#[test]
fn operators_over_long_values_end_with_the_time() {
    use std::time::{Duration, Instant};
    for work in [
        "let a = 3n ** 100000n, b; for (;;) b = a * a",
        "let a = 3n ** 100000n, b; for (;;) b = (a << 1000n) / 7n",
        "let a = 3n ** 100000n; for (;;) { try { a * a } catch (e) {} }",
        "const s = 'x'.repeat(5000); let t; for (;;) { t = s + this.n; t = t.toUpperCase() }",
    ] {
        let mut world = World {
            ends_after_looks: Some(20),
            ..World::default()
        };
        let begin = Instant::now();
        let error = patch_in(&mut world, r#"{"n":1}"#, work, "{}").expect_err(work);
        let is_ended = matches!(error, ScriptError::Time | ScriptError::Steps { .. });
        assert!(is_ended, "{work}: {error}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{work}");
    }
}

#[test]
fn lists_inside_lists_are_flattened_to_any_depth() {
    for (expression, expected) in [
        ("[1,[2,[3,[4]]]].flat()", "[1,2,[3,[4]]]"),
        ("[1,[2,[3,[4]]]].flat(2)", "[1,2,3,[4]]"),
        ("[1,[2,[3,[4]]]].flat(Infinity)", "[1,2,3,4]"),
        ("[[1,[2]]].flat(1e9)", "[1,2]"),
        ("[[1],[]].flat('1')", "[1]"),
        ("[[1]].flat(0)", "[[1]]"),
        ("[[1]].flat(-1)", "[[1]]"),
        ("[[1]].flat(null)", "[[1]]"),
        ("[1,,[2,,3]].flat()", "[1,2,3]"),
        ("[[1,2],[3]].flatMap(x => [x, x.length])", "[[1,2],2,[3],1]"),
        ("[1,2].flatMap((x, at) => x + at)", "[1,3]"),
        ("'x'.slice(-1e9) + 'abc'.substring(0, 1e9)", r#""xabc""#),
        ("[1,2,3].slice(0, 1e9).with(0, 5)", "[5,2,3]"),
    ] {
        assert_eq!(
            crate::common::value("{}", expression),
            expected,
            "{expression}"
        );
    }
    // Lists that hold the same list twice, forty times over: nothing is made, and all is walked.
    for script in [
        "let a = []; for (let i = 0; i < 40; i++) a = [a, a]; a.flat(Infinity)",
        "const a = new Array(1e6); for (;;) a.flat()",
        "const a = new Array(1e6); for (;;) [1].flatMap(() => a)",
    ] {
        assert!(
            matches!(bomb(script), ScriptError::Steps { .. }),
            "{script}"
        );
    }
}

#[test]
fn long_keys_sorts_and_digits_are_charged_for() {
    for script in [
        "const a = new Uint8Array(1e7); for (;;) a.sort()",
        "const a = new Float64Array(1e6); for (;;) a.toSorted()",
        "const a = 'x'.repeat(5e6), m = new Map(); for (let i = 0; ; i++) m.get(a + i)",
        "const a = 'x'.repeat(5e6), m = new Map([[a, 1]]); for (;;) m.has('x'.repeat(5e6))",
        "const a = 'x'.repeat(5e6), b = 'x'.repeat(5e6); for (;;) new Set([a]).has(b)",
        "(2n ** 1000000n).toString()",
        "const a = 3n ** 100000n; for (;;) a.toString()",
        "const a = 2n ** 900000n; for (;;) a.toString(2).length",
        "BigInt.asUintN(1e6, -1n).toLocaleString()",
    ] {
        let error = bomb(script);
        assert!(
            matches!(error, ScriptError::Steps { .. }),
            "{script}: {error}"
        );
    }
    for (expression, expected) in [
        ("[...new Uint8Array([3,1,2]).sort()]", "[1,2,3]"),
        (
            "[...new Float64Array([3,1,2]).sort((a, b) => b - a)]",
            "[3,2,1]",
        ),
        (
            "new Map([['k', 1]]).get('k') + new Map([[{}, 1]]).size",
            "2",
        ),
        ("[...new Set(['b', 'a', 'b'])].join()", r#""b,a""#),
        ("(2n ** 70n).toString()", r#""1180591620717411303424""#),
        ("(255n).toString(16)", r#""ff""#),
        ("`${2n ** 70n}`", r#""1180591620717411303424""#),
        ("(3n ** 10000n).toString().length", "4772"),
    ] {
        assert_eq!(
            crate::common::value("{}", expression),
            expected,
            "{expression}"
        );
    }
}
