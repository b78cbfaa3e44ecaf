//! Connections of each address, so that one computer cannot have all.

use crate::limits::shared_capacity::{CapacityPermit, SharedCapacity};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// The connections of each peer that may be open at once.
#[derive(Debug)]
pub(crate) struct Peers(Arc<SharedCapacity<IpAddr>>);

/// The right of a peer to one connection, which ends when this is dropped.
pub(crate) type PeerPermit = CapacityPermit<IpAddr>;

/// The bits of an address of IPv6 that name a network: a peer has all addresses in it. Providers give each of their
/// customers 56 bits or more.
const NETWORK: u128 = !0 << (128 - 56);

impl Peers {
    /// Peers that have so many connections together.
    pub(crate) fn new(connections: usize) -> Self {
        Self(SharedCapacity::new(connections))
    }

    /// Counts a connection. It is refused if the peer would have more than are left for others. This computer may have
    /// all: its users have one address.
    pub(crate) fn admit(&self, address: IpAddr) -> Result<PeerPermit, Refused> {
        let permit = match address.to_canonical() {
            address if address.is_loopback() => self.0.take_any(&address, 1),
            IpAddr::V6(address) => self.0.take(&Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(), 1),
            address => self.0.take(&address, 1),
        };
        permit.ok_or(Refused)
    }
}

/// The peer has as many connections as it may have now.
#[derive(Debug)]
pub(crate) struct Refused;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_half_and_those_of_a_network_are_one() {
        let peers = Peers::new(8);
        let admit = |address: &str| peers.admit(address.parse().unwrap());
        let first = ["2001:db8::1", "2001:db8:0:1::2", "2001:db8::1", "2001:db8:0:ff::1"]
            .map(|peer| admit(peer).unwrap());
        assert!(admit("2001:db8::5").is_err());
        let others = ["2001:db8:0:100::1", "::ffff:192.0.2.1", "192.0.2.2"].map(|peer| admit(peer).unwrap());
        assert!(admit("192.0.2.1").is_err(), "it has one, by the other name of its address");
        drop(first);
        assert!(admit("192.0.2.1").is_ok());
        drop(others);
        let local: Vec<_> = (0..6).map(|_| admit("127.0.0.1").unwrap()).collect();
        let other = admit("192.0.2.1").unwrap();
        assert!(admit("192.0.2.1").is_err(), "those of this computer count as taken");
        assert!(admit("::1").is_ok());
        drop((local, other));
        assert_eq!(peers.0.taken(), 0);
    }
}
