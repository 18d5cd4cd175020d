//! One import from its inputs to its summary, whatever the format and the database.
//!
//! Called by `jackdaw import` and `jackdaw demo`. Several inputs are read one after another, each
//! with a marker of its own, under one display and one summary.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::allowance::Allowance;
use super::display::Display;
use super::summary::{Purpose, summary};
use crate::output::numbers::{count, counted, duration};
use crate::output::say::{note, say};
use crate::output::table::printable;
use jackdaw_transfer::archive::SourceError;
use jackdaw_transfer::counters::Counters;
use jackdaw_transfer::marker::{Marker, marker_name};
use jackdaw_transfer::parse::EntryParser;
use jackdaw_transfer::pipeline::{End, Plan, run};
use jackdaw_transfer::sink::{Readiness, Sink};
use jackdaw_transfer::skip::SkipReason;
use jackdaw_transfer::skip_log::SkipLog;
use jackdaw_transfer::source::{ChunkSource, Input, Total};
use jackdaw_transfer::stop::Stop;

/// Most parse threads; the write stage is the bottleneck long before.
const PARSE_THREADS_MAX: usize = 8;

/// Shorter waits for what comes after the last document are not worth a line.
const WAIT_SHOWN: Duration = Duration::from_millis(100);

/// Opens the read stage of an input, with a number of threads for unpacking, and makes the parse
/// stage. The last number is how many entries other inputs had before.
pub type Open = Box<dyn Fn(Input, usize, u64) -> anyhow::Result<Stages>>;

/// What to import, and how.
pub struct Job {
    /// Name of the format; part of the marker's name.
    pub kind: &'static str,
    /// What the documents are called: `albums`.
    pub noun: &'static str,
    /// The inputs, in their order; at least one.
    pub inputs: Vec<Input>,
    /// Options that decide what documents come out; part of the marker's name.
    pub settings: Vec<String>,
    /// See [`Open`].
    pub open: Open,
    /// Where all skips go.
    pub skipped: Option<PathBuf>,
    /// How many entries may be left out.
    pub allowance: Allowance,
    /// Import an input again that was imported to its end.
    pub again: bool,
    /// Whether documents are stored, or only counted.
    pub purpose: Purpose,
}

/// The first two stages of an import.
pub struct Stages {
    /// Reads entries.
    pub source: Box<dyn ChunkSource>,
    /// Makes the parser of one thread.
    pub parser: Box<dyn Fn() -> Box<dyn EntryParser>>,
}

/// Imports into what `new_sink` makes for each input, showing progress on standard error, and
/// prints the summary.
///
/// # Errors
/// One sentence about what is missing from the database and what to do; everything before it is
/// stored.
pub fn import<S: Sink>(
    job: Job,
    mut new_sink: impl FnMut() -> S,
    stop: &Stop,
) -> anyhow::Result<()> {
    let settings: Vec<&str> = job.settings.iter().map(String::as_str).collect();
    let position = Arc::new(AtomicU64::new(0));
    let mut parts = Vec::new();
    let mut total = Some(Total::Bytes(0));
    for mut input in job.inputs {
        let mut sink = new_sink();
        let name = marker_name(job.kind, input.identity.unwrap_or(0), &settings);
        let known = input.identity.map(|_| sink.marker(&name)).transpose()?;
        let state = match known.flatten() {
            Some(marker) if marker.finished && !job.again => State::Done(marker),
            Some(marker) if !marker.finished => State::From(marker),
            _ => State::From(Marker::default()),
        };
        if matches!(state, State::From(_)) {
            total = total.and_then(|total| sum(total, input.total));
        }
        input.position = Arc::clone(&position);
        parts.push(Part {
            input,
            sink,
            name,
            state,
        });
    }
    let resumed = parts.iter().any(Part::is_resumed);
    let mut skips = match &job.skipped {
        None => SkipLog::default(),
        Some(path) => SkipLog::with_file(path, resumed).with_context(|| {
            format!(
                "cannot write the skipped entries to {}: name another file",
                path.display()
            )
        })?,
    };
    let mut running = Running {
        counters: Counters::new(Arc::clone(&position), total.unwrap_or(Total::Unknown)),
        open: &job.open,
        noun: job.noun,
        purpose: job.purpose,
        allowance: job.allowance,
        is_alone: parts.len() == 1,
        stop,
        display: None,
        started: Instant::now(),
        entries_before: 0,
    };
    let label = match parts.as_slice() {
        [part] => part.input.name.clone(),
        parts => format!("what the {} files hold", parts.len()),
    };
    let mut whole = Whole::default();
    let mut end = None;
    for part in parts {
        if let Some(failure) = running.part(part, &mut skips, &mut whole)? {
            end = Some(failure);
            break;
        }
    }
    drop(running.display.take());
    if whole.read_anything {
        let text = summary(
            running.counters.counts(),
            &skips,
            running.started.elapsed(),
            job.purpose,
        );
        say!("{}", text.trim_end());
    }
    for line in &whole.lines {
        say!("{line}");
    }
    if resumed && whole.read_anything {
        say!(
            "{} in all, with the runs before.",
            counted(whole.marker.documents, "document")
        );
    }
    if let Err((path, error)) = skips.finish() {
        note!(
            "jackdaw: the list of skipped entries in {} is incomplete: {error}",
            path.display()
        );
    }
    let conclusion = Conclusion {
        name: &label,
        noun: job.noun,
        skips: &skips,
        allowance: job.allowance,
        purpose: job.purpose,
    };
    conclusion.of(&whole, end)?;
    whole.finished_with_losses.map_or(Ok(()), Err)
}

/// An input with what is known of it.
struct Part<S> {
    input: Input,
    sink: S,
    /// Name of its marker.
    name: String,
    state: State,
}

enum State {
    /// Imported to its end by an earlier run.
    Done(Marker),
    /// To be imported from here.
    From(Marker),
}

impl<S> Part<S> {
    fn is_resumed(&self) -> bool {
        match &self.state {
            State::Done(_) => false,
            State::From(marker) => marker.entries > 0,
        }
    }
}

/// How much two inputs have; `None` when that is not known.
fn sum(left: Total, right: Total) -> Option<Total> {
    match (left, right) {
        (Total::Bytes(left), Total::Bytes(right)) => Some(Total::Bytes(left + right)),
        (Total::Bytes(0), right) => Some(right),
        _ => None,
    }
}

/// What all inputs came to.
#[derive(Default)]
struct Whole {
    /// The sum of the markers.
    marker: Marker,
    /// Inputs that hold nothing of the format.
    without_documents: Vec<String>,
    /// An input that an earlier run imported with losses.
    finished_with_losses: Option<anyhow::Error>,
    read_anything: bool,
    /// What is said behind the summary.
    lines: Vec<String>,
}

impl Whole {
    fn add(&mut self, marker: &Marker) {
        self.marker.entries += marker.entries;
        self.marker.documents += marker.documents;
        self.marker.skipped += marker.skipped;
        self.marker.lost += marker.lost;
    }
}

/// Why an import ended before its inputs did.
enum Failure {
    Stopped,
    Unreadable { name: String, error: SourceError },
    NotWritten(anyhow::Error),
}

/// An import at work.
struct Running<'r> {
    counters: Arc<Counters>,
    open: &'r Open,
    noun: &'static str,
    purpose: Purpose,
    allowance: Allowance,
    is_alone: bool,
    stop: &'r Stop,
    display: Option<Display>,
    started: Instant,
    /// Entries of the inputs before.
    entries_before: u64,
}

impl Running<'_> {
    /// Imports one input, unless that is done.
    fn part<S: Sink>(
        &mut self,
        part: Part<S>,
        skips: &mut SkipLog,
        whole: &mut Whole,
    ) -> anyhow::Result<Option<Failure>> {
        let Part {
            input,
            mut sink,
            name,
            state,
        } = part;
        let input_name = input.name.clone();
        let from = match state {
            State::From(from) => from,
            State::Done(marker) => {
                match finished(&marker, &input_name, self.allowance) {
                    Ok(line) => whole.lines.push(line),
                    Err(error) => whole.finished_with_losses = Some(error),
                }
                self.entries_before += marker.entries;
                whole.marker.documents += marker.documents;
                return Ok(None);
            }
        };
        if from.entries > 0 {
            note!(
                "Going on behind entry {} of {input_name}.",
                count(from.entries)
            );
        }
        if !self.is_alone {
            skips.set_input(&input_name);
        }
        let is_unknown = input.identity.is_none();
        let threads = jackdaw_io::system::core_count();
        let stages = (self.open)(input, threads, self.entries_before)
            .with_context(|| format!("cannot import {input_name}"))?;
        let parsers = (0..threads.clamp(1, PARSE_THREADS_MAX))
            .map(|_| (stages.parser)())
            .collect();
        sink.begin()?;
        if is_unknown {
            // The marker of another input that could not be recognized has the same name.
            sink.write((sink.batch_maker())(), &name, &Marker::default())?;
        }
        if self.display.is_none() {
            self.started = Instant::now();
            self.display = Some(Display::start(Arc::clone(&self.counters), self.noun)?);
        }
        whole.read_anything = true;
        let plan = Plan {
            source: stages.source,
            parsers,
            sink: &mut sink,
            name: &name,
            from,
            counters: Arc::clone(&self.counters),
            stop: self.stop,
            skips,
        };
        let outcome = run(plan)?;
        whole.add(&outcome.marker);
        self.entries_before += outcome.marker.entries;
        let failure = match outcome.end {
            End::Finished => {
                if outcome.marker.documents == 0 {
                    whole.without_documents.push(input_name);
                }
                self.finish(&mut sink, whole)?;
                None
            }
            End::Stopped => Some(Failure::Stopped),
            End::Unreadable(error) => Some(Failure::Unreadable {
                name: input_name,
                error,
            }),
            End::NotWritten(error) => Some(Failure::NotWritten(anyhow::Error::new(error))),
        };
        Ok(failure)
    }

    /// Waits for the indexes that the sink promised.
    fn finish<S: Sink>(&mut self, sink: &mut S, whole: &mut Whole) -> anyhow::Result<()> {
        if self.purpose == Purpose::Check {
            return Ok(());
        }
        let waiting = Instant::now();
        if sink.finish(self.stop)? == Readiness::Behind {
            note!("The index is still behind; queries wait for it, or say what is missing.");
        }
        if waiting.elapsed() >= WAIT_SHOWN {
            let line = format!("Indexes ready {} later.", duration(waiting.elapsed()));
            whole.lines.push(line);
        }
        // The wait is no part of the rates.
        self.started += waiting.elapsed();
        Ok(())
    }
}

/// What there is to say of an input that was imported to its end: a failure, when not all of it
/// was.
fn finished(marker: &Marker, name: &str, allowance: Allowance) -> anyhow::Result<String> {
    let documents = counted(marker.documents, "document");
    let text = format!("{name} is imported already ({documents}");
    if !allowance.covers(marker.lost, marker.entries) || marker.documents == 0 {
        anyhow::bail!(
            "{text}, {} left out). --again imports it once more and says what was left out",
            count(marker.lost)
        );
    }
    Ok(format!("{text}). --again imports it once more."))
}

/// Turns the way an import ended into success, or a sentence about what to do.
struct Conclusion<'c> {
    name: &'c str,
    noun: &'static str,
    skips: &'c SkipLog,
    allowance: Allowance,
    purpose: Purpose,
}

impl Conclusion<'_> {
    fn of(&self, whole: &Whole, failure: Option<Failure>) -> anyhow::Result<()> {
        let stored = format!("{} {}", count(whole.marker.documents), self.noun);
        let imported = match self.purpose {
            Purpose::Import => "imported",
            Purpose::Check => "read",
        };
        match failure {
            None => self.complete(whole, &stored),
            Some(Failure::Stopped) => anyhow::bail!(
                "stopped with {stored} {imported}; the same command goes on from there"
            ),
            Some(Failure::Unreadable { name, error }) => {
                let (SourceError::Gap {
                    file_position,
                    what,
                }
                | SourceError::Fatal {
                    file_position,
                    what,
                }) = error;
                anyhow::bail!(
                    "cannot read {name} beyond byte {}: {what}. The {stored} before it are \
                     {imported}; get the file again and run the same command",
                    count(file_position)
                )
            }
            Some(Failure::NotWritten(error)) => Err(error.context(format!(
                "the import ended early, with {stored} imported; once the cause is gone the same \
                 command goes on from there"
            ))),
        }
    }

    /// An import that reached its end fails all the same when more was left out than is allowed,
    /// or when there was nothing: a script that only looks at the exit status would go on without
    /// the data.
    fn complete(&self, whole: &Whole, stored: &str) -> anyhow::Result<()> {
        let marker = &whole.marker;
        let first = self.skips.first_loss().or(self.skips.first().first());
        let first = first.map_or(String::new(), |skip| {
            let (name, reason) = (&skip.name, &skip.reason);
            format!(
                ", first {}: {}",
                printable(name),
                printable(&reason.to_string())
            )
        });
        let name = self.name;
        let is_allowed = self.allowance.covers(marker.lost, marker.entries);
        let damage = SkipReason::Damaged {
            what: String::new(),
        };
        let damaged = self.skips.by_kind().get(damage.kind());
        if let (Some(places), false) = (damaged, is_allowed) {
            let places = counted(*places, "place");
            match self.purpose {
                Purpose::Import => anyhow::bail!(
                    "{name} is damaged at {places}; all else is imported ({stored}). Get the file \
                     again and import it to add what is missing"
                ),
                Purpose::Check => anyhow::bail!("{name} is damaged at {places}: get it again"),
            }
        }
        let entries = counted_entries(marker.lost);
        if marker.lost > 0 && is_allowed {
            say!("{entries} left out{first}, as --allow-skipped allows.");
        } else if marker.lost > 0 {
            match self.purpose {
                Purpose::Import => anyhow::bail!(
                    "{name} is imported, but {entries} left out{first}; all else is imported \
                     ({stored}). --skipped FILE lists them all"
                ),
                Purpose::Check => anyhow::bail!(
                    "{entries} left out when {name} is imported{first}; all else is read \
                     ({stored}). --skipped FILE lists them all"
                ),
            }
        }
        if let Some(empty) = whole.without_documents.first() {
            anyhow::bail!("nothing was imported: {empty} holds nothing of this format{first}");
        }
        Ok(())
    }
}

/// `1 entry is`, `2 entries are`.
fn counted_entries(number: u64) -> String {
    match number {
        1 => "1 entry is".to_owned(),
        _ => format!("{} entries are", count(number)),
    }
}
