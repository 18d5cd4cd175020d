//! Sorters in C#: no panic and no overflow of the stack, what was accepted compares texts within
//! its limits, and every hit has its place.
#![no_main]

use jackdaw_script::BoxError;
use jackdaw_script::sorter::{Clause, Sorter, SorterHost, sort};
use libfuzzer_sys::fuzz_target;

const VALUES: [Option<&str>; 5] = [Some("b"), None, Some("a longer text"), Some(""), Some("7")];
const MEMORY_BYTES_MAX: usize = 4 << 20;
/// A comparator without its way of comparing.
const HEAD: &str = "class S : FieldComparator {
    string[] _values; string[] _current; int _bottom; string _field;
    public S(string fieldName, int numHits, int sortPos, bool reversed, List<string> diagnostics) {
        _field = fieldName; _values = new string[numHits]; }
    public override int Compare(int slot1, int slot2) => By(_values[slot1], _values[slot2]);
    public override void SetBottom(int slot) { _bottom = slot; }
    public override int CompareBottom(int doc, IState state) => By(_values[_bottom], _current[doc]);
    public override void Copy(int slot, int doc, IState state) { _values[slot] = _current[doc]; }
    public override void SetNextReader(IndexReader reader, int docBase, IState state) {
        _current = FieldCache_Fields.DEFAULT.GetStrings(reader, _field, state); }
    public override IComparable this[int slot] => _values[slot];
";

struct Values;

impl SorterHost for Values {
    fn values(&mut self, _field: &str) -> Result<Vec<Option<String>>, BoxError> {
        Ok(VALUES
            .iter()
            .map(|value| value.map(str::to_owned))
            .collect())
    }

    fn is_over(&mut self) -> bool {
        false
    }
}

fuzz_target!(|text: &str| {
    // As a source, as members, as statements and as an expression.
    let sources = [
        text.to_owned(),
        format!("{HEAD} {text} }}"),
        format!("{HEAD} int By(string a, string b) {{ {text} }} }}"),
        format!("{HEAD} int By(string a, string b) => {text}; }}"),
    ];
    for source in sources {
        let Ok(sorter) = Sorter::compile("S", &source) else {
            continue;
        };
        let clause = Clause::Custom {
            sorter: &sorter,
            field: "F",
            is_descending: false,
        };
        if let Ok(mut order) = sort(&[clause], (5, 5), MEMORY_BYTES_MAX, &mut Values) {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4]);
        }
    }
});
