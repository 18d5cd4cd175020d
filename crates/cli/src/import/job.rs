//! One import from its input to its summary, whatever the format and the database.
//!
//! Called by `jackdaw import` and `jackdaw demo`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::display::Display;
use super::summary::summary;
use crate::output::numbers::{count, counted, duration};
use crate::output::say::say;
use crate::output::table::printable;
use jackdaw_transfer::archive::SourceError;
use jackdaw_transfer::counters::Counters;
use jackdaw_transfer::marker::{Marker, marker_name};
use jackdaw_transfer::parse::EntryParser;
use jackdaw_transfer::pipeline::{End, Outcome, Plan, run};
use jackdaw_transfer::sink::{Readiness, Sink};
use jackdaw_transfer::skip::SkipReason;
use jackdaw_transfer::skip_log::SkipLog;
use jackdaw_transfer::source::{ChunkSource, Input};
use jackdaw_transfer::stop::Stop;

/// Most parse threads; the write stage is the bottleneck long before.
const PARSE_THREADS_MAX: usize = 8;

/// Shorter waits for what comes after the last document are not worth a line.
const WAIT_SHOWN: Duration = Duration::from_millis(100);

/// What to import, and how.
pub struct Job {
    /// Name of the format; part of the marker's name.
    pub kind: &'static str,
    /// What the documents are called: `albums`.
    pub noun: &'static str,
    /// The input.
    pub input: Input,
    /// Options that decide what documents come out; part of the marker's name.
    pub settings: Vec<String>,
    /// Opens the read stage, with a number of threads for unpacking, and makes the parse stage.
    pub open: Box<dyn FnOnce(Input, usize) -> anyhow::Result<Stages>>,
    /// Where all skips go.
    pub skipped: Option<PathBuf>,
    /// Import an input again that was imported to its end.
    pub again: bool,
}

/// The first two stages of an import.
pub struct Stages {
    /// Reads entries.
    pub source: Box<dyn ChunkSource>,
    /// Makes the parser of one thread.
    pub parser: Box<dyn Fn() -> Box<dyn EntryParser>>,
}

/// Imports, showing progress on standard error, and prints the summary.
///
/// # Errors
/// One sentence about what is missing from the database and what to do; everything before it is
/// stored.
pub fn import<S: Sink>(job: Job, sink: &mut S, stop: &Stop) -> anyhow::Result<()> {
    let Job {
        kind,
        noun,
        input,
        settings,
        open,
        skipped,
        again,
    } = job;
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let name = marker_name(kind, input.identity, &settings);
    let from = match sink.marker(&name)? {
        Some(marker) if marker.finished && !again => return say_finished(&marker, &input.name),
        Some(marker) if !marker.finished => marker,
        _ => Marker::default(),
    };
    if from.entries > 0 {
        eprintln!(
            "Going on behind entry {} of {}.",
            count(from.entries),
            input.name
        );
    }
    let resumed = from.entries > 0;
    let mut skips = match &skipped {
        None => SkipLog::default(),
        Some(path) => SkipLog::with_file(path, resumed).with_context(|| {
            format!(
                "cannot write the skipped entries to {}: name another file",
                path.display()
            )
        })?,
    };
    let input_name = input.name.clone();
    let counters = Counters::new(input.position.clone(), input.total);
    let threads = jackdaw_io::system::core_count();
    let stages = open(input, threads).with_context(|| format!("cannot import {input_name}"))?;
    let parsers = (0..threads.clamp(1, PARSE_THREADS_MAX))
        .map(|_| (stages.parser)())
        .collect();
    sink.begin()?;
    let started = Instant::now();
    let display = Display::start(counters.clone(), noun)?;
    let plan = Plan {
        source: stages.source,
        parsers,
        sink: &mut *sink,
        name: &name,
        from,
        counters: counters.clone(),
        stop,
        skips: &mut skips,
    };
    let outcome = run(plan);
    display.end();
    let outcome = outcome?;
    say!(
        "{}",
        summary(counters.counts(), &skips, started.elapsed()).trim_end()
    );
    if matches!(outcome.end, End::Finished) {
        let waiting = Instant::now();
        if sink.finish(stop)? == Readiness::Behind {
            eprintln!("The index is still behind; queries wait for it, or say what is missing.");
        }
        if waiting.elapsed() >= WAIT_SHOWN {
            say!("Indexes ready {} later.", duration(waiting.elapsed()));
        }
    }
    if resumed {
        say!(
            "{} in all, with the runs before.",
            counted(outcome.marker.documents, "document")
        );
    }
    if let Err((path, error)) = skips.finish() {
        eprintln!(
            "jackdaw: the list of skipped entries in {} is incomplete: {error}",
            path.display()
        );
    }
    conclude(outcome, &input_name, noun, &skips)
}

/// What there is to say of an input that was imported to its end: a failure, when not all of it
/// was.
fn say_finished(marker: &Marker, name: &str) -> anyhow::Result<()> {
    let documents = counted(marker.documents, "document");
    let text = format!("{name} is imported already ({documents}");
    if marker.lost > 0 || marker.documents == 0 {
        anyhow::bail!(
            "{text}, {} left out). --again imports it once more and says what was left out",
            count(marker.lost)
        );
    }
    say!("{text}). --again imports it once more.");
    Ok(())
}

/// Turns the way an import ended into success, or a sentence about what to do.
fn conclude<E: std::error::Error + Send + Sync + 'static>(
    outcome: Outcome<E>,
    name: &str,
    noun: &str,
    skips: &SkipLog,
) -> anyhow::Result<()> {
    let stored = format!("{} {noun}", count(outcome.marker.documents));
    match outcome.end {
        End::Finished => {
            let damage = SkipReason::Damaged {
                what: String::new(),
            };
            match skips.by_kind().get(damage.kind()) {
                None => check_complete(&outcome.marker, name, &stored, skips),
                Some(places) => anyhow::bail!(
                    "{name} is damaged at {}; all else is imported ({stored}). Get the file \
                     again and import it to add what is missing",
                    counted(*places, "place")
                ),
            }
        }
        End::Stopped => {
            anyhow::bail!("stopped with {stored} imported; the same command goes on from there")
        }
        End::Unreadable(SourceError::Gap {
            file_position,
            what,
        })
        | End::Unreadable(SourceError::Fatal {
            file_position,
            what,
        }) => anyhow::bail!(
            "cannot read {name} beyond byte {}: {what}. The {stored} before it are imported; get \
             the file again and run the same command",
            count(file_position)
        ),
        End::NotWritten(error) => Err(anyhow::Error::new(error).context(format!(
            "the import ended early, with {stored} imported; once the cause is gone the same \
             command goes on from there"
        ))),
    }
}

/// An import that reached its end fails all the same when something was left out, or when there
/// was nothing: a script that only looks at the exit status would go on without the data.
fn check_complete(
    marker: &Marker,
    name: &str,
    stored: &str,
    skips: &SkipLog,
) -> anyhow::Result<()> {
    let first = skips.first_loss().or(skips.first().first());
    let first = first.map_or(String::new(), |skip| {
        let (name, reason) = (&skip.name, &skip.reason);
        format!(
            ", first {}: {}",
            printable(name),
            printable(&reason.to_string())
        )
    });
    if marker.lost > 0 {
        anyhow::bail!(
            "{name} is imported, but {} left out{first}; all else is imported ({stored}). \
             --skipped FILE lists them all",
            counted_entries(marker.lost)
        );
    }
    if marker.documents == 0 {
        anyhow::bail!("nothing was imported: {name} holds nothing of this format{first}");
    }
    Ok(())
}

/// `1 entry is`, `2 entries are`.
fn counted_entries(number: u64) -> String {
    match number {
        1 => "1 entry is".to_owned(),
        _ => format!("{} entries are", count(number)),
    }
}
