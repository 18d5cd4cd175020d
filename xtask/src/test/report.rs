//! Reads what the test runners print: one line a test with its time, one summary a binary.

use std::time::Duration;

/// A test that ended, with the binary it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimedTest {
    pub(crate) binary: String,
    pub(crate) name: String,
    pub(crate) time: Duration,
}

/// What a run of all binaries has shown so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    binary: String,
    pub(crate) tests: Vec<TimedTest>,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
}

impl Report {
    /// Takes one line of output in.
    pub(crate) fn read_line(&mut self, line: &str) {
        let line = line.trim();
        if let Some(rest) = line
            .strip_prefix("Running ")
            .or(line.strip_prefix("Doc-tests "))
        {
            self.binary = binary_name(rest);
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            self.passed += count_before(rest, " passed");
            self.failed += count_before(rest, " failed");
            self.ignored += count_before(rest, " ignored");
        } else if let Some(rest) = line.strip_prefix("test ") {
            let Some((name, outcome)) = rest.rsplit_once(" ... ") else {
                return;
            };
            let Some(time) = time_of(outcome) else { return };
            let binary = self.binary.clone();
            self.tests.push(TimedTest {
                binary,
                name: name.to_owned(),
                time,
            });
        }
    }

    /// The slowest tests, slowest first.
    pub(crate) fn slowest(&self, count: usize) -> Vec<&TimedTest> {
        let mut tests: Vec<&TimedTest> = self.tests.iter().collect();
        tests.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.name.cmp(&b.name)));
        tests.truncate(count);
        tests
    }
}

/// `unittests src/lib.rs (target/debug/deps/jackdaw_io-0a1b2c)` becomes `jackdaw_io`.
fn binary_name(rest: &str) -> String {
    let path = rest
        .rsplit_once('(')
        .map_or(rest, |(_, path)| path.trim_end_matches(')'));
    let file = path.rsplit('/').next().unwrap_or(path);
    file.rsplit_once('-')
        .map_or(file, |(name, _hash)| name)
        .to_owned()
}

fn count_before(text: &str, word: &str) -> usize {
    let Some((before, _)) = text.split_once(word) else {
        return 0;
    };
    let digits = before
        .rsplit(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// `ok <0.012s>` is 12 ms.
fn time_of(outcome: &str) -> Option<Duration> {
    let (_, time) = outcome.rsplit_once('<')?;
    let seconds: f64 = time.strip_suffix("s>")?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
     Running unittests src/lib.rs (target/debug/deps/jackdaw_io-0a1b2c3d)

running 3 tests
test map::grows ... ok <0.250s>
test map::refuses ... FAILED <1.500s>
test slow ... ignored
test should panic - should panic ... ok <0.001s>

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.50s

   Doc-tests jackdaw_base

running 1 test
test crates/base/src/varint.rs - varint (line 7) ... ok <0.100s>

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
";

    fn read(text: &str) -> Report {
        let mut report = Report::default();
        text.lines().for_each(|line| report.read_line(line));
        report
    }

    #[test]
    fn summaries_of_all_binaries_add_up() {
        let report = read(OUTPUT);
        assert_eq!((report.passed, report.failed, report.ignored), (3, 1, 1));
    }

    #[test]
    fn slowest_come_first_with_their_binary() {
        let report = read(OUTPUT);
        let names: Vec<String> = report
            .slowest(2)
            .iter()
            .map(|t| format!("{} {}", t.binary, t.name))
            .collect();
        assert_eq!(names, ["jackdaw_io map::refuses", "jackdaw_io map::grows"]);
        let last = report.tests.last().unwrap();
        assert_eq!(last.binary, "jackdaw_base");
        assert_eq!(last.time, Duration::from_millis(100));
    }

    #[test]
    fn lines_without_a_time_are_no_measurement() {
        assert_eq!(read("test a ... ok\ntest b ... ignored\n").tests, []);
    }
}
