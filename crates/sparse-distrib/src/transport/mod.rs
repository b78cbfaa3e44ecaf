//! Messages between ranks: the processors that a matrix is distributed over.
//!
//! [`Local`] joins threads of one process by channels, `Mpi` the processes of an MPI job (feature `mpi`). Everything
//! that sends is written over [`Transport`], so that another transport needs no other change.

mod local;
#[cfg(feature = "mpi")]
mod mpi;

pub use local::Local;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;

use sparse_core::{Error, Result};

/// One rank's end of the connections among `ranks` ranks.
///
/// Messages from one rank to another arrive in the order in which they were sent. [`send`](Self::send) may wait until
/// the message is received: two ranks that first send to each other may wait forever. A collective call (barrier,
/// broadcast, gather) is made by all ranks in the same order, and does not mix with messages that were sent.
///
/// A message may be of any length. A transport that counts in 32 bits divides it.
///
/// Where a rank has died, waiting for it is an error, or the transport ends all ranks, as MPI does.
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

    /// Waits until all ranks are here.
    ///
    /// # Errors
    /// [`Error::Backend`] if a rank is gone.
    fn barrier(&self) -> Result<()>;

    /// The message of `root`, which all others' `message` is ignored for.
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
