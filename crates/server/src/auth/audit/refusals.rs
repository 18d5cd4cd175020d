//! Refusals of callers that nobody knows: one is told, the others of a minute are counted.
//!
//! Used by the audit log. Whoever can reach the port can be refused as often as they like; without
//! this, they could fill the disk line by line.
//!
//! Invariant: in a minute there are at most [`RANGES_MAX`] lines, and one more for each of their
//! counts and one for all that came from elsewhere.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Refusals are counted over so long.
const WINDOW: Duration = Duration::from_secs(60);
/// Ranges of addresses that are told apart at a time.
const RANGES_MAX: usize = 64;
/// What stands for all other ranges.
const ELSEWHERE: &str = "elsewhere";

/// Bits of an address that make its range: what one customer of a network usually has.
const BITS_V4: u32 = 24;
const BITS_V6: u32 = 48;

#[derive(Clone, Copy, Debug)]
struct Tally {
    since: Instant,
    count: u64,
}

/// See the file head.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    ranges: HashMap<IpAddr, Tally>,
    elsewhere: Option<Tally>,
}

impl Refusals {
    /// Takes a refusal in; whether it is to be told in full.
    pub(super) fn note(&mut self, address: IpAddr, now: Instant) -> bool {
        let range = range_of(address);
        if let Some(known) = self.ranges.get_mut(&range) {
            known.count += 1;
            return false;
        }
        let new = Tally {
            since: now,
            count: 0,
        };
        if self.ranges.len() < RANGES_MAX {
            self.ranges.insert(range, new);
            return true;
        }
        self.elsewhere.get_or_insert(new).count += 1;
        false
    }

    /// Ranges whose minute is over, with how many refusals came besides the one that was told.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(String, u64)> {
        self.take(|tally| now.saturating_duration_since(tally.since) >= WINDOW)
    }

    /// All that is counted.
    pub(super) fn take_all(&mut self) -> Vec<(String, u64)> {
        self.take(|_| true)
    }

    fn take(&mut self, is_meant: impl Fn(&Tally) -> bool) -> Vec<(String, u64)> {
        let mut taken = Vec::new();
        self.ranges.retain(|range, tally| {
            let is_meant = is_meant(tally);
            if is_meant {
                taken.push((name_of(*range), tally.count));
            }
            !is_meant
        });
        if let Some(tally) = self.elsewhere.take_if(|tally| is_meant(tally)) {
            taken.push((ELSEWHERE.to_owned(), tally.count));
        }
        taken.retain(|(_, count)| *count > 0);
        taken.sort();
        taken
    }
}

fn range_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let bits = u32::from(address) & (u32::MAX << (u32::BITS - BITS_V4));
            IpAddr::V4(bits.into())
        }
        IpAddr::V6(address) => {
            let bits = u128::from(address) & (u128::MAX << (u128::BITS - BITS_V6));
            IpAddr::V6(bits.into())
        }
    }
}

fn name_of(range: IpAddr) -> String {
    let bits = if range.is_ipv4() { BITS_V4 } else { BITS_V6 };
    format!("{range}/{bits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_ask_from_wherever_a_minute_has_a_bounded_number_of_lines() {
        let mut refusals = Refusals::default();
        let start = Instant::now();
        let (mut told, mut counted) = (0, 0);
        for second in 0..600 {
            let now = start + Duration::from_secs(second);
            for host in 0..=255 {
                for network in [0, 1, (second % 200) as u8] {
                    told += usize::from(refusals.note(IpAddr::from([10, 0, network, host]), now));
                }
                let v6 = [0x2001, 0xdb8, 0, u16::from(host), 0, 0, 0, 1];
                told += usize::from(refusals.note(IpAddr::from(v6), now));
            }
            counted += refusals.due(now).len();
        }
        counted += refusals.take_all().len();
        assert!(told <= 10 * RANGES_MAX, "{told}");
        assert!(counted <= 10 * (RANGES_MAX + 1), "{counted}");
        assert!(refusals.take_all().is_empty());
    }

    #[test]
    fn ranges_are_named_by_what_their_addresses_share() {
        let name = |text: &str| name_of(range_of(text.parse().unwrap()));
        assert_eq!(name("192.0.2.77"), "192.0.2.0/24");
        assert_eq!(name("::ffff:192.0.2.77"), "192.0.2.0/24");
        assert_eq!(name("2001:db8:7:8::9"), "2001:db8:7::/48");
    }
}
