//! What to run: the arguments shared by `jackdaw bench storage` and `benches/compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workload {
    /// Ascending keys, `--per-transaction` items in each durable transaction.
    Seq,
    /// The same with keys spread over the whole range.
    Random,
    /// All items, ascending, in one transaction.
    OneTransaction,
    /// One item a transaction, one client.
    Small,
    /// One item a transaction, 16 clients at once.
    #[value(name = "small-16")]
    Small16,
    /// Random point reads: in one snapshot, then each in a transaction of its own.
    Read,
    /// Everything in key order.
    Scan,
    /// Values of 1 MiB, one a transaction.
    Large,
    /// Deletes half of the items in shuffled order.
    Delete,
}

/// What a commit promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// It survives power loss when the call returns.
    Full,
    /// It is written when the engine gets to it.
    None,
}

/// One run of one workload.
#[derive(Clone, Debug, Args)]
pub struct Settings {
    /// What to do.
    #[arg(long, value_enum)]
    pub workload: Workload,
    /// Number of items; the default depends on the workload.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub items: Option<u64>,
    /// Items in each transaction of `seq`, `random` and `delete`.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub per_transaction: u64,
    /// Where to put the files: a new or empty directory on the disk to be measured.
    #[arg(long)]
    pub directory: PathBuf,
    /// What a commit promises.
    #[arg(long, value_enum, default_value_t = Durability::Full)]
    pub durability: Durability,
}

impl Settings {
    /// The number of items asked for, or what the workload takes by default.
    pub fn item_count(&self) -> u64 {
        self.items.unwrap_or(match self.workload {
            Workload::Small | Workload::Small16 => 10_000,
            Workload::Large => 200,
            _ => 1_000_000,
        })
    }
}

impl Workload {
    /// Name on the command line and in the output.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Seq => "seq",
            Workload::Random => "random",
            Workload::OneTransaction => "one-transaction",
            Workload::Small => "small",
            Workload::Small16 => "small-16",
            Workload::Read => "read",
            Workload::Scan => "scan",
            Workload::Large => "large",
            Workload::Delete => "delete",
        }
    }
}

impl Durability {
    /// Name in the output, as the mode of a workload that writes.
    pub fn name(self) -> &'static str {
        match self {
            Durability::Full => "durable",
            Durability::None => "buffered",
        }
    }
}
