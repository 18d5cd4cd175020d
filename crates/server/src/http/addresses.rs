//! How many connections are open from each address, so that one cannot take all places.
//!
//! Kept by the two listeners, each for its own connections.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the file head.
#[derive(Debug)]
pub(crate) struct Addresses {
    counts: Arc<Counts>,
    counts_loopback: bool,
}

#[derive(Debug)]
struct Counts {
    of_each: Mutex<HashMap<IpAddr, usize>>,
    of_each_max: usize,
}

/// What a connection that was let in counts for, until this is dropped, also when its task panics.
#[derive(Debug)]
pub(crate) struct AddressPlace(Option<Counted>);

#[derive(Debug)]
struct Counted {
    counts: Arc<Counts>,
    address: IpAddr,
    count: usize,
}

impl Addresses {
    /// At most `of_each_max` of each; those of this machine are counted only with
    /// `counts_loopback`.
    pub(crate) fn new(of_each_max: usize, counts_loopback: bool) -> Addresses {
        let of_each = Mutex::default();
        Addresses {
            counts: Arc::new(Counts {
                of_each,
                of_each_max,
            }),
            counts_loopback,
        }
    }

    /// Counts a connection; `None` when there are too many.
    pub(crate) fn enter(&self, address: IpAddr) -> Option<AddressPlace> {
        let address = subscriber(address);
        if address.is_loopback() && !self.counts_loopback {
            return Some(AddressPlace(None));
        }
        let counted = Counted::take(&self.counts, address, 1)?;
        Some(AddressPlace(Some(counted)))
    }
}

impl AddressPlace {
    /// Counts a connection for so many more; `None` when these are too many.
    pub(crate) fn enter_more(&self, count: usize) -> Option<AddressPlace> {
        let Some(first) = &self.0 else {
            return Some(AddressPlace(None));
        };
        let counted = Counted::take(&first.counts, first.address, count)?;
        Some(AddressPlace(Some(counted)))
    }
}

impl Counted {
    fn take(counts: &Arc<Counts>, address: IpAddr, count: usize) -> Option<Counted> {
        let mut of_each = counts.lock();
        let before = of_each.get(&address).copied().unwrap_or(0);
        let after = before + count;
        if after > counts.of_each_max {
            return None;
        }
        of_each.insert(address, after);
        Some(Counted {
            counts: counts.clone(),
            address,
            count,
        })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut of_each = self.counts.lock();
        if let Some(count) = of_each.get_mut(&self.address) {
            *count -= self.count;
            if *count == 0 {
                of_each.remove(&self.address);
            }
        }
    }
}

impl Counts {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.of_each.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who has an address: of IPv6, one subscriber has at least the 2^64 addresses of a network.
pub(crate) fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_places_and_gets_them_back() {
        let addresses = Addresses::new(2, false);
        let [one, other] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        let (first, second) = (addresses.enter(one), addresses.enter(one));
        assert!(first.is_some() && second.is_some() && addresses.enter(one).is_none());
        assert!(addresses.enter(other).is_some());
        let mapped = "::ffff:192.0.2.1".parse().unwrap();
        assert!(addresses.enter(mapped).is_none());
        drop(first);
        let third = addresses.enter(mapped);
        assert!(third.is_some() && addresses.enter(one).is_none());
        let of_network = |host: &str| format!("2001:db8:1:2::{host}").parse::<IpAddr>();
        let [near, far] = ["1", "ffff:2"].map(|host| of_network(host).unwrap());
        let network = [addresses.enter(near), addresses.enter(far)];
        assert!(network.iter().all(Option::is_some) && addresses.enter(near).is_none());
        drop((second, third, network));
        assert!(addresses.counts.lock().is_empty());
        let own = IpAddr::from([127, 0, 0, 1]);
        let own_places: Vec<_> = (0..9).map(|_| addresses.enter(own)).collect();
        assert!(own_places.iter().all(Option::is_some));
        let counted = Addresses::new(1, true);
        let place = counted.enter(own);
        assert!(place.is_some() && counted.enter(own).is_none());
    }

    #[test]
    fn a_connection_may_count_for_several() {
        let addresses = Addresses::new(16, false);
        let [one, other] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        let first = addresses.enter(one).unwrap();
        let more = first.enter_more(15);
        assert!(more.is_some() && first.enter_more(1).is_none() && addresses.enter(one).is_none());
        assert!(addresses.enter(other).unwrap().enter_more(15).is_some());
        drop(more);
        assert!(addresses.enter(one).is_some() && first.enter_more(16).is_none());
        let own = addresses.enter([127, 0, 0, 1].into()).unwrap();
        assert!(own.enter_more(100).is_some());
        drop((first, own));
        assert!(addresses.counts.lock().is_empty());
    }

    #[test]
    fn a_task_that_panics_gives_its_place_back() {
        let addresses = Addresses::new(1, true);
        let own = IpAddr::from([127, 0, 0, 1]);
        let place = addresses.enter(own);
        let ended = std::thread::spawn(move || {
            let _place = place;
            std::panic::resume_unwind(Box::new("a fault"));
        });
        assert!(ended.join().is_err());
        assert!(addresses.enter(own).is_some());
    }
}
