//! The commands, one file each.

pub(crate) mod access;
mod address;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod compact;
mod connect;
pub(crate) mod databases;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod encryption;
pub(crate) mod export;
pub(crate) mod import;
mod inventory;
pub(crate) mod query;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod snapshot;
mod target;
mod warm_up;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;

use crate::arguments::{Arguments, Bench, Command};
use crate::bench;

/// Where data lies unless told otherwise.
pub(crate) const DEFAULT_DATA: &str = "jackdaw-data";

/// Runs a command.
///
/// # Errors
/// The work failed; the message is one sentence for the user.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let encryption = arguments.encryption;
    let disk = || encryption.disk();
    match arguments.command {
        Command::Serve(arguments) => serve::run(&arguments, &disk()?)?,
        Command::Setup(arguments) => setup::run(&arguments, &disk()?)?,
        Command::Certificate(arguments) => access::certificate(&arguments)?,
        Command::Key(arguments) => access::key(&arguments)?,
        Command::Audit(arguments) => access::audit(&arguments)?,
        Command::Demo(arguments) => demo::run(&arguments, &disk()?)?,
        Command::Query(arguments) => query::run(&arguments, &disk()?)?,
        Command::Import(arguments) => import::run(arguments, &disk()?)?,
        Command::Export(arguments) => export::run(&arguments, &disk()?)?,
        Command::Check(arguments) => return Ok(check::run(&arguments, disk())),
        Command::Backup(arguments) => backup::back_up(&arguments, &disk()?)?,
        Command::Restore(arguments) => backup::restore(&arguments, &disk()?)?,
        Command::Snapshot(command) => snapshot::run(&command, &disk()?)?,
        Command::Compact(arguments) => compact::run(&arguments, &disk()?)?,
        Command::Encryption(command) => encryption::run(&command, &encryption)?,
        Command::Databases(command) => databases::run(&command, &disk()?)?,
        Command::Doctor(arguments) => return Ok(doctor::run(&arguments, disk())),
        Command::Bench(Bench::Journal(arguments)) => bench::journal::run(&arguments)?,
        Command::Bench(Bench::Storage(arguments)) => bench::storage::run(&arguments)?,
        Command::Bench(Bench::Queue(arguments)) => bench::queue::run(&arguments)?,
        Command::Bench(Bench::Memory(arguments)) => bench::memory::run(&arguments)?,
        Command::Completions { shell } => {
            let mut command = Arguments::command();
            let name = command.get_name().to_owned();
            // Into memory first: the generator panics when its output ends.
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command, name, &mut text);
            std::io::stdout()
                .write_all(&text)
                .context("cannot write the completions")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
