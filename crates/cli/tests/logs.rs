//! What `JACKDAW_LOG` may be, and what it may not.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use std::process::Command;

use common::{Run, TestDirectory, run_of};

/// A demo with this environment.
fn demo(level: &str) -> Run {
    let directory = TestDirectory::new();
    let output = Command::new(env!("CARGO_BIN_EXE_jackdaw"))
        .args(["demo", "--albums", "10", "--exit", "--data"])
        .arg(directory.path("data"))
        .env("JACKDAW_LOG", level)
        .output();
    run_of(&output.unwrap())
}

#[test]
fn levels_and_levels_of_modules_are_taken() {
    for level in [
        "",
        " ",
        "off",
        "WARN",
        "Debug",
        "warn,jackdaw_server=debug",
        "jackdaw_database::index=trace, error,",
    ] {
        demo(level).ok();
    }
}

#[test]
fn a_log_that_goes_elsewhere_than_to_a_terminal_has_no_colors() {
    let run = demo("trace").ok();
    assert!(
        run.err.contains(" TRACE ") || run.err.contains(" DEBUG "),
        "{run:#?}"
    );
    assert!(!run.err.contains('\u{1b}'), "{run:#?}");
}

#[test]
fn an_unknown_level_lists_the_levels() {
    for level in [
        "verbose",
        "warning",
        "jackdaw_server",
        "warn,jackdaw_server=loud",
        "jackdaw_server=",
        "7",
        "\u{1f426}",
    ] {
        let levels = "off, error, warn, info, debug or trace";
        demo(level).fails(1, &["JACKDAW_LOG is", "is no level", levels]);
    }
    demo("[span").fails(1, &["JACKDAW_LOG is", "off, error, warn"]);
}
