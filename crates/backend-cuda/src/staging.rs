//! Uploads and downloads through two buffers of pinned memory, in turn: while the device copies one, the host fills or
//! empties the other. Pageable memory would be copied at a fifth of the speed.

use crate::pinned::Pinned;
use crate::queue::Queue;
use cudarc::driver::sys::CUdeviceptr;
use sparse_core::Result;
use std::sync::Arc;

/// Bytes of a buffer: large enough to hide the cost of a copy's start, small enough to stay in the host's cache.
const PIECE: usize = 4 << 20;

/// Two buffers of pinned memory.
#[derive(Debug)]
pub(crate) struct Staging {
    pieces: [Pinned; 2],
    /// The buffer of the next upload: the device may still be copying the other one.
    next: usize,
}

impl Staging {
    pub(crate) fn new(queue: &Arc<Queue>) -> Result<Self> {
        Ok(Self { pieces: [Pinned::new(PIECE, queue)?, Pinned::new(PIECE, queue)?], next: 0 })
    }

    /// Copies to the device. When the call returns, `host` has been read; the device may still be copying.
    pub(crate) fn upload(&mut self, host: &[u8], to: CUdeviceptr) -> Result<()> {
        for (number, part) in host.chunks(PIECE).enumerate() {
            let piece = &mut self.pieces[self.next];
            self.next = 1 - self.next;
            piece.bytes()?[..part.len()].copy_from_slice(part);
            piece.upload(part.len(), to + (number * PIECE) as u64)?;
        }
        Ok(())
    }

    /// Copies to the host, after all work before it.
    pub(crate) fn download(&mut self, from: CUdeviceptr, host: &mut [u8]) -> Result<()> {
        let len = |number: usize, total: usize| PIECE.min(total.saturating_sub(number * PIECE));
        let total = host.len();
        for number in 0..2.min(total.div_ceil(PIECE)) {
            self.pieces[number].download(len(number, total), from + (number * PIECE) as u64)?;
        }
        for (number, part) in host.chunks_mut(PIECE).enumerate() {
            let piece = &mut self.pieces[number % 2];
            part.copy_from_slice(&piece.bytes()?[..part.len()]);
            let next = number + 2;
            if len(next, total) > 0 {
                piece.download(len(next, total), from + (next * PIECE) as u64)?;
            }
        }
        Ok(())
    }
}
