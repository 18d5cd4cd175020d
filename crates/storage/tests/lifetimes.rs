//! Stale slices do not compile: what a transaction hands out cannot outlive it, nor a change.

#[test]
fn stale_slices_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/lifetimes/*.rs");
}
