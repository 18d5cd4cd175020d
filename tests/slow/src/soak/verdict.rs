//! Whether anything grew that should not have, by the minutes of a soak.
//!
//! The last third of the minutes is held against the second; the first one is for warming up. The
//! load is steady and the live data bounded, so in both thirds the same is expected:
//!
//! - Anonymous memory, the mean of the third: at most a tenth more.
//! - Pages of the data file at most: `used + free` in each minute (the full check of that minute
//!   has found each page in a tree or free). The file may be longer than in the second third by
//!   what live data grew and a tenth, for free pages that snapshots held back at another moment.
//! - Data files of the indexes: they double when they are too short; once at most.
//! - Open files: at most a tenth and ten more.

use crate::minute::Minute;

/// Shorter runs are over before anything could be judged.
const MINUTES_MIN: usize = 9;

/// What was judged, in a sentence.
///
/// # Errors
/// What grew.
pub(crate) fn judge(minutes: &[Minute]) -> Result<String, String> {
    let third = minutes.len() / 3;
    if minutes.len() < MINUTES_MIN {
        return Ok(format!(
            "answers right; growth is judged from {MINUTES_MIN} minutes on"
        ));
    }
    let (second, last) = minutes[minutes.len() - 2 * third..].split_at(third);
    let mean = |third: &[Minute]| {
        third.iter().map(|minute| minute.anonymous).sum::<u64>() / third.len() as u64
    };
    let most = |third: &[Minute], of: fn(&Minute) -> u64| third.iter().map(of).max().unwrap_or(0);
    let both = |of| (most(second, of), most(last, of));
    let memory = (mean(second), mean(last));
    let pages = both(|minute| minute.page_count);
    let used = both(|minute| minute.used_pages);
    let indexes = both(|minute| minute.index_length);
    let files = both(|minute| minute.open_files);
    let growth_of_data = used.1.saturating_sub(used.0);
    let sentence = format!(
        "second and last third: anonymous memory {} and {} MiB, data file {} and {} pages of which \
         {} and {} were used, indexes {} and {} MiB, open files {} and {}",
        memory.0 >> 20,
        memory.1 >> 20,
        pages.0,
        pages.1,
        used.0,
        used.1,
        indexes.0 >> 20,
        indexes.1 >> 20,
        files.0,
        files.1
    );
    let grew = |what: &str| Err(format!("{what} grew; {sentence}"));
    if memory.1 > memory.0 + memory.0 / 10 {
        return grew("memory");
    }
    if pages.1 > pages.0 + pages.0 / 10 + growth_of_data {
        return grew("the data file");
    }
    if indexes.1 > 2 * indexes.0 {
        return grew("the files of the indexes");
    }
    if files.1 > files.0 + files.0 / 10 + 10 {
        return grew("the number of open files");
    }
    Ok(format!("nothing grew; {sentence}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Minute = Minute {
        anonymous: 100 << 20,
        page_count: 1_000,
        used_pages: 800,
        index_length: 10 << 20,
        open_files: 40,
    };

    /// Nine minutes; `change` gets the last three.
    fn judged(change: impl Fn(&mut Minute)) -> bool {
        let mut minutes = [STEADY; 9];
        minutes[6..].iter_mut().for_each(change);
        judge(&minutes).is_ok()
    }

    #[test]
    fn what_stays_or_grows_for_a_reason_passes() {
        assert!(judged(|_| ()));
        assert!(judged(|minute| minute.anonymous += 9 << 20));
        assert!(judged(|minute| minute.page_count += 99));
        assert!(judged(|minute| {
            minute.page_count += 500;
            minute.used_pages += 450;
        }));
    }

    #[test]
    fn what_grows_without_a_reason_is_found() {
        assert!(!judged(|minute| minute.anonymous += 11 << 20));
        assert!(!judged(|minute| minute.page_count += 101));
        assert!(!judged(|minute| minute.index_length *= 3));
        assert!(!judged(|minute| minute.open_files += 15));
    }
}
