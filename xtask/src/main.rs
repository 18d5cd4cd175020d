//! `cargo xtask`: the project's only script language. Each subcommand is a module.
//!
//! Called through the alias in `.cargo/config.toml`, at a desk and by CI alike. Nothing here is
//! linked into the product.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    reason = "a command-line tool talks on standard output"
)]

mod bench;
mod ci;
mod demo;
mod process;
mod proof;
mod repository;
mod routes;
mod studio;
mod test;
mod tidy;

use std::process::ExitCode;

/// One subcommand: its name, its line in the overview, its full help, and what it runs.
struct Command {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "demo",
        summary: demo::SUMMARY,
        help: demo::HELP,
        run: demo::run,
    },
    Command {
        name: "test",
        summary: test::SUMMARY,
        help: test::HELP,
        run: test::run,
    },
    Command {
        name: "crash",
        summary: test::CRASH_SUMMARY,
        help: test::HELP,
        run: test::run_crash,
    },
    Command {
        name: "sim",
        summary: proof::SUMMARY,
        help: proof::HELP,
        run: proof::run,
    },
    Command {
        name: "tidy",
        summary: tidy::SUMMARY,
        help: tidy::HELP,
        run: tidy::run,
    },
    Command {
        name: "ci",
        summary: ci::SUMMARY,
        help: ci::HELP,
        run: ci::run,
    },
    Command {
        name: "bench",
        summary: bench::SUMMARY,
        help: bench::HELP,
        run: bench::run,
    },
    Command {
        name: "routes",
        summary: routes::SUMMARY,
        help: routes::HELP,
        run: routes::run,
    },
    Command {
        name: "studio",
        summary: studio::SUMMARY,
        help: studio::HELP,
        run: studio::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = arguments.first() else {
        print_overview();
        return ExitCode::from(2);
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print_overview();
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|c| c.name == name) else {
        eprintln!("xtask: there is no subcommand `{name}`; `cargo xtask help` lists them");
        return ExitCode::from(2);
    };
    let rest = &arguments[1..];
    // What follows `--` belongs to the program that the subcommand starts.
    let own = rest.split(|a| a == "--").next().unwrap_or_default();
    if own.iter().any(|a| a == "--help" || a == "-h") {
        println!("{}", command.help);
        return ExitCode::SUCCESS;
    }
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print_overview() {
    println!("cargo xtask <subcommand> [arguments]      (--help after a subcommand tells more)\n");
    for command in COMMANDS {
        println!("  {:<8} {}", command.name, command.summary);
    }
}
