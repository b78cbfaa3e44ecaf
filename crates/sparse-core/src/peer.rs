//! The exchange of elements among the memories of several devices.

use crate::error::Result;
use crate::space::{Element, Space};
use std::fmt::Debug;
use std::ops::Range;

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
