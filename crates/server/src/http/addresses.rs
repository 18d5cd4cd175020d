//! How many connections are open from each address, so that one cannot take all places.
//!
//! Kept by the two listeners, each for its own connections.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

/// See the file head.
#[derive(Debug)]
pub(crate) struct Addresses {
    counts: HashMap<IpAddr, usize>,
    of_each_max: usize,
    counts_loopback: bool,
}

impl Addresses {
    /// At most `of_each_max` of each; those of this machine are counted only with
    /// `counts_loopback`.
    pub(crate) fn new(of_each_max: usize, counts_loopback: bool) -> Addresses {
        Addresses {
            counts: HashMap::new(),
            of_each_max,
            counts_loopback,
        }
    }

    /// Counts a connection; false when there are too many.
    pub(crate) fn enter(&mut self, address: IpAddr) -> bool {
        let address = subscriber(address);
        if address.is_loopback() && !self.counts_loopback {
            return true;
        }
        let count = self.counts.entry(address).or_default();
        let may_enter = *count < self.of_each_max;
        *count += usize::from(may_enter);
        may_enter
    }

    /// A connection that was let in has ended.
    pub(crate) fn leave(&mut self, address: IpAddr) {
        let address = subscriber(address);
        if let Some(count) = self.counts.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&address);
            }
        }
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
        let mut addresses = Addresses::new(2, false);
        let [one, other] = [1, 2].map(|host| IpAddr::from([192, 0, 2, host]));
        let entered: Vec<bool> = (0..3).map(|_| addresses.enter(one)).collect();
        assert_eq!(entered, [true, true, false]);
        assert!(addresses.enter(other));
        assert!(!addresses.enter("::ffff:192.0.2.1".parse().unwrap()));
        addresses.leave(one);
        assert!(addresses.enter(one));
        let of_network = |host: &str| format!("2001:db8:1:2::{host}").parse::<IpAddr>();
        let [near, far] = ["1", "ffff:2"].map(|host| of_network(host).unwrap());
        assert!(addresses.enter(near) && addresses.enter(far) && !addresses.enter(near));
        addresses.leave(near);
        addresses.leave(far);
        for address in [one, one, other] {
            addresses.leave(address);
        }
        assert!(addresses.counts.is_empty());
        let own = IpAddr::from([127, 0, 0, 1]);
        assert!((0..9).all(|_| addresses.enter(own)));
        addresses.leave(own);
        let mut counted = Addresses::new(1, true);
        assert!(counted.enter(own) && !counted.enter(own));
    }
}
