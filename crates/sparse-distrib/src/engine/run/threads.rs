//! The threads of a run: streams of a device, and those that fill its slots.

use super::Run;
use crate::engine::parallelism::Parallelism;
use crate::engine::worker::{DEVICE_STREAMS, PORTION_BYTES};
use crate::scheme::Scheme;
use sparse_core::Scalar;
use std::num::NonZero;
use std::thread;

/// The most slots of a device that are filled at the same time: each is pinned when first filled (7 ms for 16 MiB), and
/// 32 threads write faster than a link copies.
const MAX_FILLERS: usize = 8;
/// Threads that fill one slot together, if there are enough: a portion has four matrices of 1024² in f32.
const THREADS_OF_SLOT: usize = 4;

impl<'a, T: Scalar> Run<'a, T> {
    /// The number of streams of a device that can have work, at least one. The host has one stream if all threads
    /// compress one matrix after the other.
    pub(super) fn most_streams(&self, index: usize) -> usize {
        if !self.hosts[index] {
            return match self.schemes[index] {
                Scheme::Sfc if self.is_in_place => self.queue.chunks_of(index).clamp(1, DEVICE_STREAMS),
                Scheme::Sfc => DEVICE_STREAMS,
                _ => usize::MAX,
            };
        }
        if self.options.parallelism == Parallelism::IntraTask {
            return 1;
        }
        let portions = self.total_bytes.div_ceil(PORTION_BYTES).clamp(1, self.items.len().max(1) as u64);
        portions as usize
    }

    /// The number of threads that fill slots for a device: one for each stream, for a device behind a link one for
    /// every [`THREADS_OF_SLOT`] of its share of the host's threads, up to [`MAX_FILLERS`], or as many as it has where
    /// they compress on the host; no more than there are items.
    pub(super) fn fillers(&self, index: usize, streams: usize) -> usize {
        let fillers = match self.schemes[index] {
            Scheme::Sfc if self.hosts[index] => streams,
            Scheme::Sfc => (self.share_of_threads() / THREADS_OF_SLOT).min(MAX_FILLERS).max(streams),
            _ => {
                let compressing = self.schemes.iter().filter(|&&scheme| scheme != Scheme::Sfc).count();
                (available_threads() / compressing).max(streams)
            }
        };
        fillers.min(self.items.len().max(1))
    }

    /// The threads that write a slot together: a device's share of the host's threads, divided among its fillers.
    pub(super) fn threads_of_filler(&self, fillers: usize) -> usize {
        (self.share_of_threads() / fillers).max(1)
    }

    /// The threads of the host for each device behind a link, or for the host where there is none.
    fn share_of_threads(&self) -> usize {
        available_threads() / self.hosts.iter().filter(|&&is_host| !is_host).count().max(1)
    }
}

/// The threads of the host.
pub(crate) fn available_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
