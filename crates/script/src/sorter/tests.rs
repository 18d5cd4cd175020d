//! Proves: constructs of C# mean what they mean there, what is not understood is refused with its
//! place, and hits come in the order that a comparator says.

use proptest::prelude::*;

use super::{Clause, SortError, Sorter, SorterError, SorterHost, sort};
use crate::error::{BoxError, ScriptError};

struct Values<'v>(&'v [&'v str]);

impl SorterHost for Values<'_> {
    fn values(&mut self, field: &str) -> Result<Vec<Option<String>>, BoxError> {
        let of = |value: &&str| match field {
            "F" => (!value.is_empty()).then(|| (*value).to_owned()),
            _ => None,
        };
        Ok(self.0.iter().map(of).collect())
    }

    fn is_over(&mut self) -> bool {
        false
    }
}

/// A comparator that keeps texts and compares them with `compare` over `a` and `b`.
fn comparator(compare: &str, members: &str) -> String {
    format!(
        r#"using System;
using System.Collections.Generic;
using Lucene.Net.Index;
using Lucene.Net.Search;
using Lucene.Net.Store;

namespace My.Sorters
{{
    // By length.
    public class S : FieldComparator
    {{
        private readonly string _field;
        private readonly string[] _values;
        private string[] _current;
        private string _bottom;

        public S(
            string fieldName, int numHits, int sortPos, bool reversed, List<string> diagnostics)
        {{
            _field = fieldName;
            _values = new string[numHits];
            diagnostics?.Add("made");
        }}

        public override int Compare(int slot1, int slot2) =>
            CompareValues(_values[slot1], _values[slot2]);

        public override void SetBottom(int slot)
        {{
            _bottom = _values[slot];
        }}

        public override int CompareBottom(int doc, IState state)
        {{
            return CompareValues(_bottom, _current[doc]);
        }}

        public override void Copy(int slot, int doc, IState state)
        {{
            _values[slot] = _current[doc];
        }}

        public override void SetNextReader(IndexReader reader, int docBase, IState state)
        {{
            _current = FieldCache_Fields.DEFAULT.GetStrings(reader, _field, state);
        }}

        public override IComparable this[int slot] => _values[slot];

        private int CompareValues(string a, string b)
        {{
            {compare}
        }}

        {members}
    }}
}}"#
    )
}

fn order_of(
    code: &str,
    values: &[&str],
    wanted: u32,
    is_descending: bool,
) -> Result<Vec<String>, SortError> {
    let sorter = Sorter::compile("S", code).unwrap_or_else(|error| panic!("{error}\n{code}"));
    let clause = Clause::Custom {
        sorter: &sorter,
        field: "F",
        is_descending,
    };
    let count = u32::try_from(values.len()).unwrap();
    let order = sort(&[clause], (count, wanted), 32 << 20, &mut Values(values))?;
    let value = |place: u32| values[usize::try_from(place).unwrap()].to_owned();
    Ok(order.into_iter().map(value).collect())
}

const BY_LENGTH: &str = "if (a == null || b == null) return a == null ? (b == null ? 0 : -1) : 1;
    if (a.Length != b.Length) { return a.Length < b.Length ? -1 : 1; }
    return string.CompareOrdinal(a, b);";

#[test]
fn a_comparator_orders_by_length_and_then_by_letters() {
    let values = ["ccc", "a", "", "bb", "aaa", "b", "aa", "dddd"];
    let code = comparator(BY_LENGTH, "");
    let all = ["", "a", "b", "aa", "bb", "aaa", "ccc", "dddd"];
    assert_eq!(order_of(&code, &values, 8, false).unwrap(), all);
    let mut reversed = all;
    reversed.reverse();
    assert_eq!(order_of(&code, &values, 8, true).unwrap(), reversed);
    for wanted in 1..8 {
        let count = usize::try_from(wanted).unwrap();
        assert_eq!(
            order_of(&code, &values, wanted, false).unwrap(),
            all[..count]
        );
        assert_eq!(
            order_of(&code, &values, wanted, true).unwrap(),
            reversed[..count]
        );
    }
}

#[test]
fn clauses_are_compared_one_after_the_other() {
    let sorter =
        Sorter::compile("S", &comparator("return a.Length.CompareTo(b.Length);", "")).unwrap();
    let custom = Clause::Custom {
        sorter: &sorter,
        field: "F",
        is_descending: false,
    };
    let ranks = Clause::Ranks(vec![3, 2, 1, 0]);
    let values = ["a", "bb", "c", "dd"];
    for wanted in [4, 2] {
        let first = sort(
            &[custom.clone(), ranks.clone()],
            (4, wanted),
            32 << 20,
            &mut Values(&values),
        );
        assert_eq!(
            first.unwrap(),
            [2, 0, 3, 1][..usize::try_from(wanted).unwrap()]
        );
        let same = Clause::Ranks(vec![1, 0, 1, 0]);
        let last = sort(
            &[same, custom.clone()],
            (4, wanted),
            32 << 20,
            &mut Values(&values),
        );
        assert_eq!(
            last.unwrap(),
            [1, 3, 0, 2][..usize::try_from(wanted).unwrap()]
        );
    }
}

/// What a sorter throws whose comparison evaluates `expression`, as text.
fn shown(expression: &str, members: &str) -> String {
    let body = "throw new InvalidOperationException($\"{Show()}\"); ";
    let show = format!("private string Show() {{ {expression} }}\n{members}");
    match order_of(&comparator(body, &show), &["a", "b"], 2, false) {
        Err(SortError::Thrown { message, .. }) => message,
        other => format!("{other:?}"),
    }
}

#[test]
fn expressions_mean_what_they_mean_in_c_sharp() {
    for (expression, expected) in [
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("7 / 2.0", "3.5"),
        ("7L / 2", "3"),
        ("int.MaxValue + 1", "-2147483648"),
        ("-2147483648", "-2147483648"),
        ("long.MaxValue + 1", "-9223372036854775808"),
        ("9007199254740993L * 3", "27021597764222979"),
        ("2147483647 * 2", "-2"),
        ("(int)3.99 + (int)-3.99", "0"),
        ("(int)5000000000L", "705032704"),
        ("1e20", "1E+20"),
        ("0.00001", "1E-05"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("100000.0", "100000"),
        ("true", "True"),
        ("1 == 1.0", "True"),
        ("'a' + 1", "98"),
        ("(char)('a' + 1)", "b"),
        ("\"x\" + 'c' + 1 + null + true", "xc1True"),
        ("1 + 2 + \"x\"", "3x"),
        ("\"abc\".Length", "3"),
        ("\"abc\"[1]", "b"),
        ("\"abcdef\".Substring(1, 3).ToUpper()", "BCD"),
        ("\"a,b,c\".Split(',').Length", "3"),
        ("\"  x \".Trim()", "x"),
        ("\"banana\".IndexOf(\"na\")", "2"),
        ("\"banana\".Replace(\"na\", \"-\")", "ba--"),
        (
            "\"abc\".StartsWith(\"AB\", StringComparison.OrdinalIgnoreCase)",
            "True",
        ),
        ("string.Compare(\"a\", \"B\")", "-1"),
        ("string.CompareOrdinal(\"a\", \"B\") > 0", "True"),
        ("\"a\".CompareTo(\"A\")", "-1"),
        ("string.Compare(\"a\", \"A\", true)", "0"),
        ("string.Compare(\"caf\\u00e9\", \"cafz\")", "-1"),
        (
            "StringComparer.OrdinalIgnoreCase.Compare(\"a\", \"B\") < 0",
            "True",
        ),
        ("string.IsNullOrEmpty(null)", "True"),
        ("string.Join(\"-\", new[] { \"a\", \"b\" })", "a-b"),
        ("Math.Round(2.5) + Math.Round(3.5)", "6"),
        ("Math.Max(1, 2L)", "2"),
        ("Math.Sqrt(16) + Math.Pow(2, 3)", "12"),
        ("int.Parse(\" 42 \")", "42"),
        ("double.Parse(\"1,234.5\")", "1234.5"),
        ("new List<int> { 3, 1, 2 }.Count", "3"),
        (
            "new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase) { { \"a\", 5 } }[\"A\"]",
            "5",
        ),
        ("new HashSet<long> { 1, 2, 2 }.Count", "2"),
        ("5.CompareTo(3)", "1"),
        ("(null as string)?.Length ?? -1", "-1"),
        ("nameof(Show)", "Show"),
        ("$\"{1 + 1}{{x}}{\"y\"}\"", "2{x}y"),
        ("@\"a\"\"b\\c\"", "a\"b\\c"),
        ("6 & 3 | 8 ^ 1", "11"),
        ("(true ? 1 : 2L) + 0", "1"),
        ("\"\\u00df\".ToUpper()", "\u{df}"),
        ("\"\\u0131\\u017f\".ToUpper()", "\u{131}\u{17f}"),
        ("new HashSet<string> { \"a\" }.Contains(null)", "False"),
        ("new HashSet<string> { \"a\", null }.Contains(null)", "True"),
        ("new HashSet<string> { null }.Remove(null)", "True"),
        (
            "new Dictionary<string, int> { [\"a\"] = 1, [\"a\"] = 2 }[\"a\"]",
            "2",
        ),
        ("1e38f < 1e39", "True"),
        ("\"ab\" + \"c\" == \"a\" + \"bc\" && \"a\" != \"b\"", "True"),
        ("1 + (2 + \"a\") + (\"b\" + 3 + (4 + 5))", "12ab39"),
        ("new[] { new[] { 1 }, new[] { 2, 3 } }[1][1]", "3"),
    ] {
        let direct = shown(&format!("var x = {expression}; return \"\" + x;"), "");
        assert_eq!(direct, expected, "{expression}");
    }
}

#[test]
fn statements_mean_what_they_mean_in_c_sharp() {
    let helper = "private static int Twice(int x) => x * 2; private const int Three = 3;
        public int Count { get; set; } = 4; private int Half { get { return Count / 2; } }";
    for (body, expected) in [
        (
            "var s = 0; for (int i = 0, j = 10; i < j; i++, j--) { if (i == 2) continue; s += i; \
             } return $\"{s}\";",
            "8",
        ),
        (
            "var s = \"\"; foreach (var c in \"abc\") s = c + s; return s;",
            "cba",
        ),
        (
            "var s = 0; foreach (int x in new[] { 1, 2, 3 }) { s += x; } return s.ToString();",
            "6",
        ),
        (
            "int i = 0; while (true) { if (++i > 4) break; } do { i--; } while (i > 2); return \
             $\"{i}\";",
            "2",
        ),
        (
            "switch (Twice(Three)) { case 5: return \"no\"; case 6: case 7: return \"yes\"; \
             default: return \"\"; }",
            "yes",
        ),
        (
            "int n; if (int.TryParse(\"12\", out n) && int.TryParse(\"x\", out var m) == false) \
             return $\"{n + m}\"; return \"\";",
            "12",
        ),
        (
            "var d = new Dictionary<string, int>(); d[\"a\"] = 1; d[\"a\"] += 5; d[\"a\"]++; \
             d.TryGetValue(\"a\", out var v); return v + \"\";",
            "7",
        ),
        (
            "var l = new List<string> { \"b\", \"a\", \"cc\" }; l.Sort((x, y) => x.Length != \
             y.Length ? y.Length - x.Length : string.Compare(x, y)); return string.Join(\",\", \
             l);",
            "cc,a,b",
        ),
        (
            "Func<int, int> f = x => x / 2; return f(9).ToString();",
            "4",
        ),
        ("Count += 3; return $\"{Count}/{Half}\";", "7/3"),
        (
            "var a = new int[3]; a[1]++; a[1] *= 5; var old = a[1]--; return \
             $\"{a[0]}{a[1]}{old}\";",
            "045",
        ),
        ("string s = null; s ??= \"x\"; return s ?? \"y\";", "x"),
        (
            "var s = \"\"; for (char c = 'a'; c <= 'e'; c++) s += c; char d = 'c'; d--; return s \
             + d;",
            "abcdeb",
        ),
        (
            "int i = 7; if (i < 3) return \"a\"; else if (int.TryParse(\"7\", out var n) && n != \
             i) return \"b\"; else if (i == n) i = 9; else i = 1; return $\"{i}\";",
            "9",
        ),
        (
            "var s = 0; for (int i = 0; i < 6; i++) { if (i == 1) continue; else if (i == 4) \
             break; else s += i; } return $\"{s}\";",
            "5",
        ),
        (
            "if (!int.TryParse(\"7\", out var n)) return \"\"; return $\"{n}\";",
            "7",
        ),
        (
            "const int x = 2; switch (2) { case -1: return \"no\"; case x: return \"const\"; \
             default: return \"\"; }",
            "const",
        ),
        (
            "object o = \"t\"; return o is string ? (string)o : \"\";",
            "t",
        ),
        (
            "foreach (var p in new Dictionary<string, int> { [\"k\"] = 2 }) return p.Key + \
             p.Value; return \"\";",
            "k2",
        ),
    ] {
        assert_eq!(shown(body, helper), expected, "{body}");
    }
}

#[test]
fn what_fails_while_it_runs_fails_as_in_c_sharp() {
    for (body, exception, message) in [
        (
            "return a.Length / (b.Length - 1);",
            "System.DivideByZeroException",
            "Attempted to divide by zero.",
        ),
        (
            "string n = null; return n.Length;",
            "System.NullReferenceException",
            "Object reference not set",
        ),
        (
            "return _values[99].Length;",
            "System.IndexOutOfRangeException",
            "Index was outside",
        ),
        (
            "return int.Parse(a);",
            "System.FormatException",
            "Input string was not",
        ),
        (
            "return int.Parse(\"99999999999\");",
            "System.OverflowException",
            "Value was either",
        ),
        (
            "return new Dictionary<string, int>()[\"q\"];",
            "System.Collections.Generic.KeyNotFoundException",
            "The given key 'q'",
        ),
        (
            "return \"a\".PadLeft(-1).Length;",
            "System.ArgumentOutOfRangeException",
            "Non-negative number required.",
        ),
        (
            "List<string> none = null; return string.Join(\",\", none).Length;",
            "System.ArgumentNullException",
            "Value cannot be null.",
        ),
        (
            "return new Dictionary<string, int> { { \"a\", 1 }, { \"a\", 2 } }.Count;",
            "System.ArgumentException",
            "An item with the same key",
        ),
        (
            "string k = null; return new Dictionary<string, int>().ContainsKey(k) ? 1 : 0;",
            "System.ArgumentNullException",
            "Value cannot be null.",
        ),
        (
            "var l = new List<int> { 1, 2 }; foreach (var x in l) l[0] = x; return 0;",
            "System.InvalidOperationException",
            "Collection was modified",
        ),
        (
            "throw new ArgumentNullException(nameof(a));",
            "System.ArgumentNullException",
            "Value cannot be null. (Parameter 'a')",
        ),
        (
            "throw new Exception(\"two\\nlines\");",
            "System.Exception",
            "two\nlines",
        ),
    ] {
        match order_of(&comparator(body, ""), &["a", "b"], 2, false) {
            Err(SortError::Thrown {
                exception: found,
                message: text,
            }) => {
                assert_eq!(found, exception, "{body}");
                assert!(text.starts_with(message), "{body}: {text}");
            }
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn sorters_end_at_their_limits() {
    for body in [
        "while (true) { }",
        "for (;;) { }",
        "return CompareValues(a, b);",
        "var l = new List<string>(); while (true) { l.Add(a + l.Count); }",
        "var s = \"x\"; while (true) { s = s + s; }",
        "return \"\".PadLeft(1000000, 'a').IndexOf(\"\".PadLeft(500000, 'a') + \"b\");",
        "return \"\".PadLeft(1000000, 'a').Replace(\"\".PadLeft(500000, 'a') + \"b\", \
         \"\").Length;",
        "var s = \"\".PadLeft(60000, 'a'); var t = \"\".PadLeft(60000, 'a'); while (true) { if \
         (s != t) return 1; }",
    ] {
        match order_of(&comparator(body, ""), &["a", "b"], 2, false) {
            Err(SortError::Limit(
                ScriptError::Steps { .. } | ScriptError::Stack | ScriptError::Memory { .. },
            )) => {}
            other => panic!("{body}: {other:?}"),
        }
    }
}

#[test]
fn entries_give_fields_of_numbers_too() {
    let code = comparator(
        "return _numbers[a == \"10\" ? 0 : 0] > 0 ? long.Parse(a).CompareTo(long.Parse(b)) : 0;",
        "private long[] _numbers;",
    );
    let code = code.replace(
        "_current = FieldCache_Fields.DEFAULT.GetStrings(reader, _field, state);",
        "_current = new string[reader.MaxDoc];
         for (var doc = 0; doc < reader.MaxDoc; doc++)
             _current[doc] = reader.Document(doc, state).Get(_field);
         _numbers = FieldCache_Fields.DEFAULT.GetLongs(reader, \"F\", state);",
    );
    let values = ["10", "9", "100", "1"];
    assert_eq!(
        order_of(&code, &values, 4, false).unwrap(),
        ["1", "9", "10", "100"]
    );
    let missing = comparator("return 0;", "").replace("_field, state", "\"None\", state");
    assert_eq!(order_of(&missing, &values, 2, false).unwrap(), ["10", "9"]);
}

#[test]
fn what_is_not_understood_is_refused_with_its_place() {
    for (code, expected) in [
        ("class X {", "(1,10): error CS1513: } expected"),
        (
            "class S : FieldComparator { int x = 1 }",
            "(1,39): error CS1002: ; expected, not '}'",
        ),
        (
            "class S {\n  int M() { try { } } }",
            "(2,13): error: this statement is not understood, not 'try'",
        ),
        (
            "class S { DateTime x; }",
            "(1,11): error: the type 'DateTime' is not known to sorters",
        ),
        (
            "class S { }",
            "(1,7): error: a sorter derives from FieldComparator",
        ),
        (
            "interface S { }",
            "(1,1): error: a class is expected, not 'interface'",
        ),
    ] {
        let error = Sorter::compile("S", code).unwrap_err().to_string();
        let error = error.replace("; expected\n", "; expected");
        assert!(
            error.starts_with(expected.trim_end_matches(", not '}'")),
            "{code}: {error}"
        );
    }
    for (body, expected) in [
        ("return a / 2;", "error CS0019: Operator '/'"),
        ("return unknown;", "error CS0103: The name 'unknown'"),
        (
            "return a.Reverse();",
            "error CS1061: 'string' does not contain a definition for 'Reverse()' here",
        ),
        (
            "return 1.5;",
            "error CS0029: Cannot implicitly convert type 'double' to 'int'",
        ),
        ("int x = 5L; return x;", "error CS0029"),
        ("var x = 1; x += 1.5; return x;", "error CS0266"),
        ("if (a.Length) return 1; return 0;", "error CS0029"),
        ("if (a == b) return 1;", "error CS0161"),
        (
            "do { if (a == b) continue; return 1; } while (false);",
            "error CS0161",
        ),
        (
            "return Math.Cbrt(1.0) > 0 ? 1 : 0;",
            "error: Math.Cbrt(double) is not known to sorters",
        ),
        ("return 1 << 2;", "error"),
        ("return (from x in a select x).Count();", "error"),
        ("return $\"{1:N2}\".Length;", "error: formats"),
        (
            "throw new MyException(a);",
            "error: the exception 'MyException'",
        ),
        ("checked { return 1; }", "error: this statement"),
        ("return new { a }.a;", "error"),
        ("var a = 1; return a;", "error CS0128"),
        ("return a is string s ? 1 : 0;", "error: a pattern"),
        ("return 1.0m > 0 ? 1 : 0;", "error"),
        ("double x = 1e400; return 0;", "error CS0594"),
        ("float x = 1e39f; return 0;", "error CS0594"),
        ("return (int)(0UL - 1UL);", "error: numbers without a sign"),
        (
            "foreach (var x in new[] { 1 }) { x = 3; } return 0;",
            "error CS1656",
        ),
        (
            "foreach (var x in new[] { 1 }) { x++; } return 0;",
            "error CS1656",
        ),
        ("const int x = 1; x += 2; return x;", "error CS0131"),
        (
            "const int x = 1; int.TryParse(a, out x); return x;",
            "error CS0131",
        ),
        (
            "switch (a.Length) { case By(): return 1; default: return 0; }",
            "error CS9135",
        ),
        (
            "switch (a.Length) { case 1: return 1; case 1: return 2; default: return 0; }",
            "error CS0152",
        ),
        (
            "switch (a) { case \"x\": a = b; default: break; } return 1;",
            "error CS0163",
        ),
    ] {
        match Sorter::compile("S", &comparator(body, "")) {
            Err(SorterError::Source(error)) => {
                assert!(error.message.starts_with(expected), "{body}: {error}");
                let line = if expected == "error CS0161" { 50 } else { 52 };
                assert_eq!(error.position.0, line, "{body}: {error}");
                assert!(error.position.1 > 1, "{body}: {error}");
            }
            other => panic!("{body}: {other:?}"),
        }
    }
    let other = Sorter::compile("Other", &comparator("return 0;", "")).unwrap_err();
    assert_eq!(
        other.to_string(),
        "Could not find type 'Other' in given assembly."
    );
    let missing = comparator("return 0;", "").replace("SetBottom", "SetTop");
    let error = Sorter::compile("S", &missing).unwrap_err().to_string();
    assert!(error.contains("FieldComparator.SetBottom"), "{error}");
}

#[test]
fn what_is_nested_or_chained_beyond_the_stack_is_refused() {
    let many = |part: &str, count: usize| part.repeat(count);
    let around = |open: &str, close: &str| {
        let (open, close) = (many(open, 5000), many(close, 5000));
        format!("return {open}a{close};")
    };
    // Nine operators, each tighter than the one in front, each in a row as long as is allowed
    // alone.
    let spine = [
        "||1==1", "&&1==1", "|1", "^1", "&1", "==1", "<1", "+1", "*1",
    ];
    let spine = spine.iter().rev().map(|part| many(part, 200));
    let spine = format!("return 1{};", spine.collect::<String>());
    let rows = |part: &str, count: usize| format!("return {}1 == 1 ? 1 : 0;", many(part, count));
    for (body, expected) in [
        (around("(", ")"), "nested too deeply"),
        (around("-", ""), "nested too deeply"),
        (
            format!("{}{}", many("{", 5000), many("}", 5000)),
            "nested too deeply",
        ),
        (around("x => ", ""), "nested too deeply"),
        (format!("{}a x;", many("List<", 5000)), "too long"),
        (
            format!("return 0; }} int{} F() {{ return null;", many("[]", 50_000)),
            "too long",
        ),
        (
            format!("var x = new int[1]{};", many("[]", 50_000)),
            "too long",
        ),
        (
            format!("return a{};", many("?.b", 5000)),
            "nested too deeply",
        ),
        (format!("return a{};", many(".b", 5000)), "too long"),
        (format!("return 1{};", many(" + 1", 5000)), "too long"),
        (rows("1 == 1 || ", 5000), "too long"),
        (spine, "too long"),
    ] {
        match Sorter::compile("S", &comparator(&body, "")) {
            Err(SorterError::Source(error)) => {
                assert!(error.message.contains(expected), "{body:.60}: {error}");
            }
            other => panic!("{body:.60}: {other:?}"),
        }
    }
}

#[test]
fn rows_of_two_hundred_run() {
    let conditions = vec!["a == \"x\""; 200].join(" || ");
    let texts = vec!["\"y\""; 200].join(" + ");
    let branches: String = (0..200)
        .map(|number| format!("if (n == {number}) return {number}; else "))
        .collect();
    let numbers = vec!["1"; 150].join(" + ");
    for (body, expected) in [
        (
            format!("var a = \"x\"; return $\"{{{conditions}}}\";"),
            "True",
        ),
        (format!("return $\"{{({texts}).Length}}\";"), "200"),
        (format!("return $\"{{{numbers}}}\";"), "150"),
    ] {
        assert_eq!(shown(&body, ""), expected);
    }
    let members = format!("int Of(int n) {{ {branches} return -1; }}");
    assert_eq!(
        shown("return $\"{Of(199)} {Of(200)}\";", &members),
        "199 -1"
    );
}

/// Translating a part twice on each level would take 2 to the power of the levels.
#[test]
fn nested_parts_are_translated_once() {
    let nodes = "class N { public Func<N> F; public N G; public int[] A; }";
    let calls = format!("return n{} == null ? 1 : 0;", ".F()".repeat(100));
    let assigned = format!(
        "{}n.G = n{}; return 0;",
        "(".repeat(20),
        ").G = n".repeat(20)
    );
    let arrays = format!(
        "var x = {}1{}; return 0;",
        "new[] { ".repeat(22),
        " }".repeat(22)
    );
    for body in [calls, assigned, arrays] {
        let body = format!("var n = new N(); {body}");
        let code = comparator(&body, "").replace("// By length.", nodes);
        if let Err(error) = Sorter::compile("S", &code) {
            panic!("{body}: {error}");
        }
    }
}

#[test]
fn long_sources_are_read_in_linear_time() {
    let body = format!("var n = 0; {} return n;", "++n;".repeat(50_000));
    assert!(Sorter::compile("S", &comparator(&body, "")).is_ok());
    let body = format!("var n = 0; {} return x;", "(n)++;".repeat(30_000));
    assert!(Sorter::compile("S", &comparator(&body, "")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_source_makes_the_compiler_panic(
        noise in "\\PC{0,40}",
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "class", " S ", "{", "}", "(", ")", "=>", "$\"{", "\"", "int ", "x", "=", ";", "[",
                "]", "?.", "new ", "List<", ">", "if", "'", "@\"", "1", ".5", "switch", "case ",
                ":", "return ", "\u{e9}", "++", "-", "throw ", "\\",
            ]),
            0..60,
        ),
        at in 0_usize..2000,
    ) {
        let soup: String = pieces.concat();
        let _ = Sorter::compile("S", &noise);
        let _ = Sorter::compile("S", &soup);
        let _ = Sorter::compile("S", &comparator(&soup, &noise));
        let mut code = comparator(BY_LENGTH, "");
        let at = at.min(code.len());
        code.insert_str(at, &soup);
        let _ = Sorter::compile("S", &code);
        code.truncate(at);
        let _ = Sorter::compile("S", &code);
    }
}
