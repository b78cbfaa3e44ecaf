//! The exchange of elements for a product, from and to the memory of the backends.

use super::ExchangePlan;
use super::exchange::through_host;
use crate::transport::Transport;
use sparse_core::backend::{Buf, SpaceOf, ViewOf};
use sparse_core::peer::{PeerExchange, Segment};
use sparse_core::space::View as _;
use sparse_core::{Backend, Result, Scalar, Space};
use std::sync::Arc;

/// Sends elements of x to the ranks whose rows need them, or partial sums of Aᵀ·x to their owners: from one device's
/// memory to another's where ranks have a [`PeerExchange`], else through the host's memory and the transport.
#[derive(Debug)]
pub(super) struct ProductExchange<B: Backend, T: Scalar> {
    backend: B,
    sends: Vec<Segment>,
    receives: Vec<Segment>,
    peers: Option<Arc<dyn PeerExchange<T, SpaceOf<B>>>>,
    /// The elements received.
    incoming: Buf<B, T>,
}

impl<B: Backend, T: Scalar> ProductExchange<B, T> {
    /// The exchange of products with `width` columns.
    pub(super) fn new(
        backend: &B,
        plan: &ExchangePlan,
        to_owners: bool,
        width: usize,
        peers: Option<Arc<dyn PeerExchange<T, SpaceOf<B>>>>,
    ) -> Result<Self> {
        let (sends, receives) = plan.segments(to_owners, width);
        let elements = receives.last().filter(|_| peers.is_some()).map_or(0, |last| last.range.end);
        Ok(Self { backend: backend.clone(), sends, receives, peers, incoming: backend.zeros(elements)? })
    }

    /// Sends elements of `outgoing`, and returns the elements received, one sender's after the other; `None` if no rank
    /// sends to this one. `meanwhile` runs during the transfer. If `prepared` is an error, this rank sends unspecified
    /// elements, so that no other rank waits.
    pub(super) fn run(
        &mut self,
        transport: &impl Transport,
        prepared: Result<()>,
        outgoing: ViewOf<'_, B, T>,
        mut meanwhile: impl FnMut() -> Result<()>,
    ) -> Result<Option<ViewOf<'_, B, T>>> {
        match self.peers.clone() {
            Some(peers) => self.by_peers(&*peers, prepared, outgoing, meanwhile)?,
            None => self.through_host(transport, prepared, outgoing, &mut meanwhile)?,
        }
        Ok((!self.receives.is_empty()).then(|| SpaceOf::<B>::view(&self.incoming)))
    }

    fn by_peers(
        &mut self,
        peers: &dyn PeerExchange<T, SpaceOf<B>>,
        prepared: Result<()>,
        outgoing: ViewOf<'_, B, T>,
        mut meanwhile: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut computed = Ok(());
        let incoming = SpaceOf::<B>::view_mut(&mut self.incoming);
        let exchanged =
            peers.exchange(outgoing, &self.sends, incoming, &self.receives, &mut || computed = meanwhile());
        prepared.and(computed).and(exchanged)
    }

    fn through_host(
        &mut self,
        transport: &impl Transport,
        prepared: Result<()>,
        outgoing: ViewOf<'_, B, T>,
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let elements = prepared.and_then(|()| self.downloaded(outgoing));
        let received = through_host(transport, elements, &self.sends, &self.receives, meanwhile)?;
        if !received.is_empty() {
            self.incoming = self.backend.upload(&received)?;
        }
        Ok(())
    }

    fn downloaded(&self, outgoing: ViewOf<'_, B, T>) -> Result<Vec<T>> {
        if self.sends.is_empty() {
            return Ok(vec![]);
        }
        let mut elements = vec![T::ZERO; outgoing.len()];
        self.backend.download_into(outgoing, &mut elements)?;
        Ok(elements)
    }

    /// Bytes of the receive buffer.
    pub(super) fn workspace_bytes(&self) -> usize {
        SpaceOf::<B>::view::<T>(&self.incoming).len() * size_of::<T>()
    }
}
