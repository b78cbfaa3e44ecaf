//! Messages between ranks: the processors that a matrix is distributed over.
//!
//! [`Local`] joins threads of one process by channels, `Mpi` the processes of an MPI job (feature `mpi`). Everything
//! that sends is written over [`Transport`], so that another transport needs no other change.

mod local;
mod local_rank;
#[cfg(feature = "mpi")]
mod mpi;

pub use local::Local;
pub use local_rank::{launched_local_rank, launched_ranks};
#[cfg(feature = "mpi")]
pub use mpi::Mpi;

use sparse_core::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One rank's end of the connections among `ranks` ranks.
///
/// Messages from one rank to another arrive in the order in which they were sent. [`send`](Self::send) may wait until
/// the message is received: two ranks that first send to each other may wait forever. A collective call (barrier,
/// broadcast, gather) is made by all ranks in the same order, and does not mix with messages that were sent.
///
/// A message may be of any length. A transport that counts in 32 bits divides it.
///
/// Waiting for a rank that has died is an error, or the transport ends all ranks, as MPI does.
pub trait Transport {
    /// The number of this rank, below [`ranks`](Self::ranks).
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn ranks(&self) -> usize;

    /// The number of this rank among those of its host, from 0: the number of the device that the rank takes.
    fn local_rank(&self) -> usize;

    /// Sends a message to another rank.
    ///
    /// # Errors
    /// [`Error::Shape`] if `to` is this rank or none, [`Error::Backend`] if it is gone.
    fn send(&self, to: usize, message: Vec<u8>) -> Result<()>;

    /// Waits for the next message of another rank.
    ///
    /// # Errors
    /// [`Error::Shape`] if `from` is this rank or none, [`Error::Backend`] if it is gone and has sent no more.
    fn receive(&self, from: usize) -> Result<Vec<u8>>;

    /// Sends `messages`, each to its receiver, calls `meanwhile` once while they travel, and returns one message from
    /// each of the `senders`, in their order. Each sender comes with the number of bytes of its message.
    ///
    /// A rank sends at most one message to each other rank, which receives it by an exchange and names the sender and
    /// the length; other ranks need not call. The messages keep their order with those of [`send`](Self::send). Ranks
    /// that send to each other do not wait forever, whether or not `send` waits for the receiver.
    ///
    /// The default calls `meanwhile` first; then each rank meets its peers in ascending order, and the lower of two
    /// ranks sends first. A transport that can send without waiting overlaps: it starts to send and to receive, calls
    /// `meanwhile`, and waits for its messages.
    ///
    /// # Errors
    /// As for [`send`](Self::send) and [`receive`](Self::receive); [`Error::Operands`] if a message has another length.
    /// `meanwhile` was called even so.
    fn exchange(
        &self,
        messages: Vec<(usize, Vec<u8>)>,
        senders: &[(usize, usize)],
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<u8>>> {
        meanwhile();
        let mut outgoing: BTreeMap<_, _> = messages.into_iter().collect();
        let expected: BTreeMap<_, _> = senders.iter().copied().collect();
        let peers: BTreeSet<_> = outgoing.keys().chain(expected.keys()).copied().collect();
        let mut incoming = BTreeMap::new();
        for peer in peers {
            let is_first = self.rank() < peer;
            for sends in [is_first, !is_first] {
                if let Some(&bytes) = expected.get(&peer).filter(|_| !sends) {
                    incoming.insert(peer, with_length(peer, bytes, self.receive(peer)?)?);
                }
                if let Some(message) = sends.then(|| outgoing.remove(&peer)).flatten() {
                    self.send(peer, message)?;
                }
            }
        }
        Ok(senders.iter().filter_map(|(sender, _)| incoming.remove(sender)).collect())
    }

    /// Waits until all ranks have called it.
    ///
    /// # Errors
    /// [`Error::Backend`] if a rank is gone.
    fn barrier(&self) -> Result<()>;

    /// The message of `root`; that of other ranks is ignored.
    ///
    /// # Errors
    /// [`Error::Shape`] if `root` is no rank, [`Error::Backend`] if a rank is gone.
    fn broadcast(&self, root: usize, message: Vec<u8>) -> Result<Vec<u8>>;

    /// The messages of all ranks, by rank, at `root`; `None` elsewhere.
    ///
    /// # Errors
    /// [`Error::Shape`] if `root` is no rank, [`Error::Backend`] if a rank is gone.
    fn gather(&self, root: usize, message: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>>;
}

/// A rank's end that several own, and whose type may be hidden: `Arc<dyn SharedTransport>`.
impl<X: Transport + ?Sized> Transport for Arc<X> {
    fn rank(&self) -> usize {
        (**self).rank()
    }

    fn ranks(&self) -> usize {
        (**self).ranks()
    }

    fn local_rank(&self) -> usize {
        (**self).local_rank()
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        (**self).send(to, message)
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>> {
        (**self).receive(from)
    }

    fn exchange(
        &self,
        messages: Vec<(usize, Vec<u8>)>,
        senders: &[(usize, usize)],
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Vec<Vec<u8>>> {
        (**self).exchange(messages, senders, meanwhile)
    }

    fn barrier(&self) -> Result<()> {
        (**self).barrier()
    }

    fn broadcast(&self, root: usize, message: Vec<u8>) -> Result<Vec<u8>> {
        (**self).broadcast(root, message)
    }

    fn gather(&self, root: usize, message: Vec<u8>) -> Result<Option<Vec<Vec<u8>>>> {
        (**self).gather(root, message)
    }
}

/// The message of a rank in an exchange, if it has the length that was announced.
fn with_length(from: usize, bytes: usize, message: Vec<u8>) -> Result<Vec<u8>> {
    if message.len() == bytes {
        return Ok(message);
    }
    let reason = format!("rank {from} sent {} bytes where {bytes} are needed", message.len());
    Err(Error::operands("transport", reason))
}

/// An error unless `rank` is one.
fn check_rank(transport: &impl Transport, rank: usize) -> Result<()> {
    let ranks = transport.ranks();
    if rank < ranks {
        return Ok(());
    }
    Err(Error::shape("transport", format_args!("rank {rank} of {ranks} ranks")))
}

/// An error unless `peer` is another rank.
fn check_peer(transport: &impl Transport, peer: usize) -> Result<()> {
    check_rank(transport, peer)?;
    if peer != transport.rank() {
        return Ok(());
    }
    Err(Error::shape("transport", format_args!("rank {peer} has no messages for itself")))
}
