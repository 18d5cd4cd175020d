//! How many entries an import may leave out and still succeed.

use std::str::FromStr;

/// A number of entries, or a share of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// At most this many.
    Count(u64),
    /// At most this many of a hundred.
    Percent(f64),
}

impl Default for Allowance {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl Allowance {
    /// Whether `lost` of `entries` may be left out.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share needs no more than 53 bits"
    )]
    pub fn covers(self, lost: u64, entries: u64) -> bool {
        match self {
            Self::Count(most) => lost <= most,
            Self::Percent(share) => lost as f64 * 100.0 <= share * entries as f64,
        }
    }
}

impl FromStr for Allowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a number of entries, or a share such as 0.5%".to_owned();
        match text.strip_suffix('%') {
            None => text.parse().map(Self::Count).map_err(|_| wrong()),
            Some(share) => match share.trim().parse() {
                Ok(share) if (0.0..=100.0).contains(&share) => Ok(Self::Percent(share)),
                _ => Err(wrong()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_shares_are_read() {
        let read = |text: &str| text.parse::<Allowance>();
        assert_eq!(read("12"), Ok(Allowance::Count(12)));
        assert_eq!(read("0.5%"), Ok(Allowance::Percent(0.5)));
        for wrong in ["", "-1", "1.5", "%", "-1%", "101%", "NaN%", "x"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_are_of_all_entries() {
        assert!(Allowance::Percent(1.0).covers(10, 1000));
        assert!(!Allowance::Percent(1.0).covers(11, 1000));
        assert!(Allowance::Percent(0.0).covers(0, 0));
        assert!(!Allowance::default().covers(1, 1000));
    }
}
