//! What a query that was explained gives in place of its rows: its plan, or what its steps cost.
//!
//! Filled in by `database`, as text for people and as members for programs.

use jackdaw_document::{ObjectWriter, write_object};

use crate::costs::{Reads, Step};

/// A shorter wait is none to be told of: looking at the clock takes about as long.
const WAIT_NANOS_MIN: u64 = 1_000;
/// Width up to which columns are kept straight; a step may hold a value of any length.
const STEP_CHARS_MAX: usize = 120;

/// The explanation of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The plan as a short tree.
    pub plan: String,
    /// What answers: an index, or a collection.
    pub index_name: String,
    /// Whether changes are missing in the answer.
    pub is_stale: bool,
    /// Etags between the index and the documents when it is stale.
    pub lag: u64,
    /// Steps, when the query was run: the first is the whole.
    pub steps: Option<Vec<Step>>,
}

impl Explanation {
    /// For people: the plan, or a line for each step with what it found and cost.
    #[must_use]
    pub fn to_text(&self) -> String {
        let freshness = match (self.is_stale, self.lag) {
            (false, _) => "fresh".to_owned(),
            (true, 0) => "stale".to_owned(),
            (true, lag) => format!("stale by {lag} changes"),
        };
        let Some(steps) = &self.steps else {
            return match self.is_stale {
                true => format!("{}\n{freshness}", self.plan),
                false => self.plan.clone(),
            };
        };
        let lines: Vec<[String; 4]> = steps.iter().map(line).collect();
        let width = |column: usize| {
            let chars = lines.iter().map(|line| line[column].chars().count());
            chars.max().unwrap_or(0).min(STEP_CHARS_MAX)
        };
        let [what, found, time] = [width(0), width(1), width(2)];
        let mut text = format!("{}, {freshness}\n", self.index_name);
        for [step, count, nanos, reads] in &lines {
            let line = format!("{step:what$}  {count:>found$}  {nanos:>time$}  {reads}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        let whole = steps.first().map_or(Reads::default(), |step| step.reads);
        text.push_str(&format!("{} documents", whole.documents));
        if whole.entries > 0 {
            text.push_str(&format!(" and {} entries of the index", whole.entries));
        }
        text.push_str(&format!(" read, {} bytes", whole.len_bytes));
        text
    }

    /// As a JSON object: the text, and for programs the same in members.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_object(&mut out, |row| {
            row.string("Text", &self.to_text());
            row.string("IndexName", &self.index_name);
            row.bool("IsStale", self.is_stale);
            row.long("Lag", long(self.lag));
            let Some(steps) = &self.steps else {
                return;
            };
            row.array("Steps", |list| {
                for step in steps {
                    list.object(|members| {
                        members.long("Depth", long(step.depth as u64));
                        members.string("Step", &step.what);
                        if let Some((count, unit)) = step.found {
                            members.long("Found", long(count));
                            members.string("Unit", unit);
                        }
                        members.long("Nanoseconds", long(step.nanos));
                        write_reads(step.reads, members);
                    });
                }
            });
        });
        out
    }
}

fn long(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn write_reads(reads: Reads, members: &mut ObjectWriter<'_>) {
    let pages = reads.pages;
    for (name, number) in [
        ("WaitedNanoseconds", reads.waited_nanos()),
        ("PagesFromScratch", pages.from_scratch),
        ("PagesFromFile", pages.from_file),
        ("PagesFirstTouched", pages.first_touched),
        ("PageBytes", pages.len_bytes),
        ("DocumentsRead", reads.documents),
        ("EntriesRead", reads.entries),
        ("BytesRead", reads.len_bytes),
    ] {
        members.long(name, long(number));
    }
}

/// A step, what it found, its time, what it read and waited for.
fn line(step: &Step) -> [String; 4] {
    let indent = 2 * (step.depth + 1);
    let reads = step.reads;
    let pages = reads.pages;
    let mut parts = Vec::new();
    if pages.total() > 0 {
        parts.push(format!("{} pages", pages.total()));
        parts.push(size(pages.len_bytes));
    }
    if pages.first_touched > 0 {
        parts.push(format!("{} for the first time", pages.first_touched));
    }
    if reads.waited_nanos() >= WAIT_NANOS_MIN {
        parts.push(format!("waited {}", time(reads.waited_nanos())));
    }
    [
        format!("{:indent$}{}", "", step.what),
        step.found
            .map_or_else(String::new, |(count, unit)| format!("{count} {unit}")),
        time(step.nanos),
        parts.join(", "),
    ]
}

fn time(nanos: u64) -> String {
    match nanos {
        0..10_000 => format!("{}.{:02} us", nanos / 1_000, nanos % 1_000 / 10),
        10_000..1_000_000 => format!("{} us", nanos / 1_000),
        _ => format!("{}.{:02} ms", nanos / 1_000_000, nanos % 1_000_000 / 10_000),
    }
}

fn size(len_bytes: u64) -> String {
    match len_bytes {
        0..10_240 => format!("{len_bytes} bytes"),
        10_240..10_485_760 => format!("{} KiB", len_bytes >> 10),
        _ => format!("{} MiB", len_bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use jackdaw_storage::PagesRead;

    use super::*;

    #[test]
    fn an_explanation_is_aligned_text() {
        let step = |depth, what: &str, count, nanos| Step {
            depth,
            what: what.into(),
            found: Some((count, "entries")),
            nanos,
            reads: Reads {
                pages: PagesRead {
                    from_scratch: 1,
                    from_file: 2,
                    first_touched: depth as u64,
                    len_bytes: 24_576,
                    waited_nanos: depth as u64 * 2_500,
                },
                documents: 12,
                entries: 3,
                len_bytes: 3_400,
                index_wait_nanos: 0,
            },
        };
        let mut explanation = Explanation {
            plan: "Auto/A/ByB".into(),
            index_name: "Auto/A/ByB".into(),
            steps: Some(vec![
                step(0, "rows", 12, 1_234_567),
                step(1, "B = 1", 3, 4_560),
            ]),
            ..Explanation::default()
        };
        assert_eq!(
            explanation.to_text(),
            "Auto/A/ByB, fresh\n\
             \x20 rows     12 entries  1.23 ms  3 pages, 24 KiB\n\
             \x20   B = 1   3 entries  4.56 us  4 pages, 24 KiB, \
             1 for the first time, waited 2.50 us\n\
             12 documents and 3 entries of the index read, 3400 bytes"
        );
        let json = String::from_utf8(explanation.to_json()).unwrap();
        assert!(json.contains("\"Step\":\"B = 1\",\"Found\":3"), "{json}");
        assert!(json.contains("\"WaitedNanoseconds\":2500"), "{json}");
        // The width of a column has a limit in the standard library.
        let long = "x".repeat(100_000);
        explanation.steps = Some(vec![step(0, "rows", 12, 1), step(1, &long, 3, 1)]);
        assert!(explanation.to_text().contains(&long));
        explanation.steps = None;
        (explanation.is_stale, explanation.lag) = (true, 5);
        assert_eq!(explanation.to_text(), "Auto/A/ByB\nstale by 5 changes");
    }
}
