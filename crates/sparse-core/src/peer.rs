//! The exchange of elements among the memories of several devices, and channels between ranks of one process.

use crate::error::Result;
use crate::space::{Element, Space};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// The elements of a vector that go to, or come from, one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The number of the other rank.
    pub rank: usize,
    /// The positions of the elements.
    pub range: Range<usize>,
}

/// One rank's end of the connections among the devices of several ranks: elements `T` in the space `S` travel between
/// their memories without passing through the host's.
///
/// A rank is a backend, whose queue orders the exchange with its other work. Backends offer it where their devices
/// reach each other, as `backend_cuda::connect` does for CUDA; matrices that are distributed over ranks use it.
pub trait PeerExchange<T: Element, S: Space>: Debug + Send + Sync {
    /// Sends segments of `outgoing`, each to its rank, receives segments of `incoming`, each from its rank, and calls
    /// `meanwhile` once while they travel.
    ///
    /// The exchange takes its turn in the queue: it sends what work before it has computed, and work after it reads
    /// what was received, and may change `outgoing`. Work that `meanwhile` enqueues runs beside the exchange. The host
    /// waits for other ranks to make their calls, never for a device.
    ///
    /// Segments of `incoming` do not overlap. A rank sends at most one segment to each other rank, which names the
    /// sender and a range of the same length in its own call.
    ///
    /// # Errors
    /// An error of a device's runtime, of this rank or of one that sends to it: a rank that fails leaves no rank
    /// waiting. `meanwhile` was called even so, and `incoming` has unspecified elements.
    fn exchange(
        &self,
        outgoing: S::View<'_, T>,
        sends: &[Segment],
        incoming: S::ViewMut<'_, T>,
        receives: &[Segment],
        meanwhile: &mut dyn FnMut(),
    ) -> Result<()>;

    /// Ends the exchanges of this rank for good, if other processes may wait in one of them: all ranks call it after a
    /// product of which one of them failed.
    fn abandon(&self) {}
}

/// One rank's channels to and from every rank, itself included, where ranks are threads of one process.
///
/// Sending never waits.
///
/// ```
/// use sparse_core::peer::{Channels, RankEnded};
///
/// let [first, second]: [Channels<&str>; 2] = Channels::group(2).try_into().unwrap();
/// first.send(1, "to rank 1")?;
/// assert_eq!(second.receive(0)?, "to rank 1");
/// drop(second);
/// assert_eq!(first.receive(1), Err(RankEnded(1)));
/// # Ok::<_, RankEnded>(())
/// ```
#[derive(Debug)]
pub struct Channels<M> {
    to: Vec<Sender<M>>,
    from: Vec<Mutex<Receiver<M>>>,
}

/// The error of a channel whose other end, that of this rank, was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("rank {0} has ended")]
pub struct RankEnded(pub usize);

impl<M> Channels<M> {
    /// The channels of each of `ranks` ranks.
    pub fn group(ranks: usize) -> Vec<Self> {
        let mut group: Vec<_> = (0..ranks).map(|_| Self { to: vec![], from: vec![] }).collect();
        for sender in 0..ranks {
            for receiver in 0..ranks {
                let (to, from) = channel();
                group[sender].to.push(to);
                group[receiver].from.push(Mutex::new(from));
            }
        }
        group
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.to.len()
    }

    /// Sends a message to a rank.
    ///
    /// # Errors
    /// [`RankEnded`] if the rank has dropped its channels.
    ///
    /// # Panics
    /// If `to` is not below [`ranks`](Self::ranks).
    pub fn send(&self, to: usize, message: M) -> std::result::Result<(), RankEnded> {
        self.to[to].send(message).map_err(|_| RankEnded(to))
    }

    /// Waits for the next message of a rank.
    ///
    /// # Errors
    /// [`RankEnded`] if the rank has dropped its channels and has sent no more.
    ///
    /// # Panics
    /// If `from` is not below [`ranks`](Self::ranks).
    pub fn receive(&self, from: usize) -> std::result::Result<M, RankEnded> {
        let receiver = self.from[from].lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv().map_err(|_| RankEnded(from))
    }
}
