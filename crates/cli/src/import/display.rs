//! What an import shows while it runs: a bar on a terminal, a line every few seconds elsewhere.
//!
//! Threads: one that looks at the counters until the display is ended.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::numbers;
use crate::output::say::note;
use jackdaw_transfer::counters::{Counters, Counts};
use jackdaw_transfer::source::Total;

/// Between two looks at the counters on a terminal.
const TICK: Duration = Duration::from_millis(200);
/// Between two lines elsewhere.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Time over which rates and the time left are taken: they follow changes, but do not jump.
const WINDOW: Duration = Duration::from_secs(10);

/// Shows the counters until it is ended or dropped.
pub struct Display {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Display {
    /// Starts showing on standard error.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start(counters: Arc<Counters>, noun: &'static str) -> anyhow::Result<Self> {
        let (stop, stopped) = channel();
        let bar = std::io::stderr()
            .is_terminal()
            .then(|| new_bar(counters.total));
        let thread = jackdaw_io::spawn("display", move || {
            let mut rates = Rates::new(counters.total);
            let interval = if bar.is_some() { TICK } else { LINE_EVERY };
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let counts = counters.counts();
                rates.add(Instant::now(), counts);
                match &bar {
                    None => note!("{}", rates.line(noun)),
                    Some(bar) => {
                        bar.set_position(done(counts, counters.total));
                        bar.set_message(rates.line(noun));
                    }
                }
            }
            if let Some(bar) = &bar {
                bar.finish_and_clear();
            }
        })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Ends the display and leaves the line free.
    pub fn end(mut self) {
        self.end_thread();
    }

    fn end_thread(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // Nothing of the import depends on what the display did.
            let _ = thread.join();
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.end_thread();
    }
}

fn new_bar(total: Total) -> ProgressBar {
    let (len, template) = match total {
        Total::Bytes(len) | Total::Entries(len) => {
            (Some(len), "{bar:20} {percent:>3}%  {wide_msg}")
        }
        Total::Unknown => (None, "{spinner}  {wide_msg}"),
    };
    let bar = ProgressBar::with_draw_target(len, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// How far the input is, in the unit of its total.
fn done(counts: Counts, total: Total) -> u64 {
    match total {
        Total::Bytes(_) | Total::Unknown => counts.bytes,
        Total::Entries(_) => counts.read,
    }
}

/// Rates over the last seconds.
#[derive(Debug)]
struct Rates {
    total: Total,
    /// The first of the window and what followed.
    samples: std::collections::VecDeque<(Instant, Counts)>,
}

impl Rates {
    fn new(total: Total) -> Self {
        Self {
            total,
            samples: [(Instant::now(), Counts::default())].into(),
        }
    }

    fn add(&mut self, now: Instant, counts: Counts) {
        self.samples.push_back((now, counts));
        while self.samples.len() > 2
            && self
                .samples
                .get(1)
                .is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW)
        {
            self.samples.pop_front();
        }
    }

    /// One line about every stage and the time left.
    fn line(&self, noun: &str) -> String {
        let (Some((first_at, first)), Some((last_at, last))) =
            (self.samples.front(), self.samples.back())
        else {
            return String::new();
        };
        let time = last_at.duration_since(*first_at);
        let stage = |name: &str, first: u64, last: u64| {
            let rate = numbers::per_second(last - first, time);
            format!(
                "{name} {} ({}/s)",
                numbers::count(last),
                numbers::count(rate)
            )
        };
        let mut line = format!(
            "{noun}: {}, {}, {}",
            stage("read", first.read, last.read),
            stage("parsed", first.parsed, last.parsed),
            stage("written", first.written, last.written),
        );
        if last.skipped > 0 {
            line.push_str(&format!(", skipped {}", numbers::count(last.skipped)));
        }
        if let Total::Bytes(total) = self.total {
            line.push_str(&format!(
                ", {} of {}",
                numbers::bytes(last.bytes),
                numbers::bytes(total)
            ));
        }
        if let Some(left) = self.time_left(time, *first, *last) {
            line.push_str(&format!(", {} left", numbers::rough_duration(left)));
        }
        line
    }

    fn time_left(&self, time: Duration, first: Counts, last: Counts) -> Option<Duration> {
        let (Total::Bytes(total) | Total::Entries(total)) = self.total else {
            return None;
        };
        let gained = done(last, self.total) - done(first, self.total);
        let left = total.saturating_sub(done(last, self.total));
        if gained == 0 || left == 0 {
            return None;
        }
        let nanos = time.as_nanos() * u128::from(left) / u128::from(gained);
        // Whole seconds: more would be pretended.
        Some(Duration::from_secs(
            u64::try_from(nanos / 1_000_000_000).ok()?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(read: u64, bytes: u64) -> Counts {
        Counts {
            read,
            parsed: read,
            written: read / 2,
            skipped: 0,
            bytes,
        }
    }

    #[test]
    fn the_line_tells_every_stage_and_the_time_left() {
        let mut rates = Rates::new(Total::Bytes(10_000_000));
        let start = rates.samples[0].0;
        rates.add(start + Duration::from_secs(2), counts(20_000, 1_000_000));
        assert_eq!(
            rates.line("albums"),
            "albums: read 20,000 (10,000/s), parsed 20,000 (10,000/s), written 10,000 (5,000/s), \
             1.0 MB of 10.0 MB, 18 s left"
        );
    }

    #[test]
    fn rates_follow_the_last_seconds() {
        let mut rates = Rates::new(Total::Unknown);
        let start = rates.samples[0].0;
        for second in 1..=60 {
            let read = if second <= 30 { second * 1000 } else { 30_000 };
            rates.add(start + Duration::from_secs(second), counts(read, 0));
        }
        assert!(
            rates.line("x").starts_with("x: read 30,000 (0/s)"),
            "{}",
            rates.line("x")
        );
        assert!(!rates.line("x").contains("left"));
        assert!(rates.samples.len() < 15);
    }
}
