//! The command line: names, options, help. What the commands do is in `commands` and `bench`.

use clap::{Parser, Subcommand};

use crate::bench::journal::JournalArguments;
use crate::bench::memory::MemoryArguments;
use crate::bench::queue::QueueArguments;
use crate::bench::storage::StorageArguments;
use crate::commands::access::{AuditArguments, CertificateArguments, KeyArguments};
use crate::commands::backup::{BackupArguments, RestoreArguments};
use crate::commands::check::CheckArguments;
use crate::commands::compact::CompactArguments;
use crate::commands::databases::DatabasesCommand;
use crate::commands::demo::DemoArguments;
use crate::commands::doctor::DoctorArguments;
use crate::commands::encryption::{EncryptionArguments, KeyCommand};
use crate::commands::export::ExportArguments;
use crate::commands::import::ImportArguments;
use crate::commands::query::QueryArguments;
use crate::commands::serve::ServeArguments;
use crate::commands::setup::SetupArguments;
use crate::commands::snapshot::SnapshotCommand;

/// A transactional document database in one file.
///
/// Speaks the RavenDB wire protocol: official clients connect as they are. `jackdaw demo` shows
/// it at work; `jackdaw serve` starts a server.
#[derive(Debug, Parser)]
#[command(
    name = "jackdaw",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) encryption: EncryptionArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve databases over HTTP until Ctrl-C.
    Serve(ServeArguments),
    /// Secure a data directory: TLS, client certificates, API keys.
    ///
    /// Makes an authority, a certificate for the server and one for an administrator;
    /// `jackdaw serve` uses them from then on.
    Setup(SetupArguments),
    /// Say whose client certificates a secured server takes, and what each may do.
    #[command(subcommand)]
    Certificate(CertificateArguments),
    /// Make and remove API keys of a secured server.
    #[command(subcommand)]
    Key(KeyArguments),
    /// Check that nothing was changed in the audit log of a secured server.
    Audit(AuditArguments),
    /// See it at work: makes up CD albums, imports them, asks questions, then serves.
    Demo(DemoArguments),
    /// Import a file of another program.
    #[command(subcommand)]
    Import(ImportArguments),
    /// Ask a database.
    Query(QueryArguments),
    /// Write all documents of a database as NDJSON, in the order of their ids.
    Export(ExportArguments),
    /// Look for damage in the files of databases.
    ///
    /// Ends with 0 when all is well, 1 when there is damage (each place is named), 2 when the
    /// files cannot be looked at.
    Check(CheckArguments),
    /// Back a data directory up: as a whole, or what was written since.
    ///
    /// Every page is verified before the backup counts. Indexes are left out.
    Backup(BackupArguments),
    /// Make a data directory from a backup, as of its end or of a time.
    Restore(RestoreArguments),
    /// Keep states of a database readable by name, list and drop them.
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// List the databases of a data directory; adopt or remove directories it does not know.
    #[command(subcommand)]
    Databases(DatabasesCommand),
    /// Rewrite the files of databases without free space, so that they take less of the disk.
    Compact(CompactArguments),
    /// Make and change keys of encrypted data.
    #[command(subcommand)]
    Encryption(KeyCommand),
    /// Judge the limits of the machine, the durability of the disk, and the configuration.
    Doctor(DoctorArguments),
    /// Measure.
    #[command(subcommand)]
    Bench(Bench),
    /// Print the completions of a shell; `source <(jackdaw completions bash)` uses them.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// What a durable write costs on this disk, by method and size.
    Journal(JournalArguments),
    /// The storage engine under the workloads that other engines are measured with.
    Storage(StorageArguments),
    /// What handing work from thread to thread costs.
    Queue(QueueArguments),
    /// What comparing and copying bytes costs by size.
    Memory(MemoryArguments),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Arguments::command().debug_assert();
    }
}
