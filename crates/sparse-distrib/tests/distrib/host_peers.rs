//! An exchange among ranks whose devices have the host's memory.

use sparse_core::peer::{PeerExchange, Segment};
use sparse_core::{Element, Host, Result};
use sparse_distrib::{Local, Transport};
use std::ops::Range;
use std::sync::Arc;

/// Peers over channels of their own.
#[derive(Debug)]
pub(crate) struct HostPeers(Local);

impl HostPeers {
    pub(crate) fn group(ranks: usize) -> Vec<Arc<Self>> {
        Local::group(ranks).into_iter().map(|end| Arc::new(Self(end))).collect()
    }
}

impl<T: Element> PeerExchange<T, Host> for HostPeers {
    fn exchange(
        &self,
        outgoing: &[T],
        sends: &[Segment],
        incoming: &mut [T],
        receives: &[Segment],
        meanwhile: &mut dyn FnMut(),
    ) -> Result<()> {
        let bytes = |range: &Range<usize>| bytemuck::cast_slice(&outgoing[range.clone()]).to_vec();
        let messages = sends.iter().map(|Segment { rank, range }| (*rank, bytes(range))).collect();
        let senders: Vec<_> =
            receives.iter().map(|Segment { rank, range }| (*rank, range.len() * size_of::<T>())).collect();
        let received = self.0.exchange(messages, &senders, meanwhile)?;
        for (Segment { range, .. }, message) in receives.iter().zip(received) {
            incoming[range.clone()].copy_from_slice(&bytemuck::pod_collect_to_vec::<u8, T>(&message));
        }
        Ok(())
    }
}
