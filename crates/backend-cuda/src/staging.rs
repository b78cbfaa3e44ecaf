//! Uploads and downloads through two buffers of pinned memory, in turn: while the device copies one, the host fills or
//! empties the other. Pageable memory would be copied at a fifth of the speed.

use crate::pinned::Pinned;
use crate::queue::Queue;
use cudarc::driver::sys::CUdeviceptr;
use sparse_core::Result;
use std::sync::Arc;

/// Bytes of a buffer: large enough to hide the cost of a copy's start, small enough to stay in the host's cache.
const BUFFER_BYTES: usize = 4 << 20;

/// Two buffers of pinned memory.
#[derive(Debug)]
pub(crate) struct Staging {
    buffers: [Pinned; 2],
    /// The buffer of the next upload: the device may still be copying the other one.
    next: usize,
}

impl Staging {
    pub(crate) fn new(queue: &Arc<Queue>) -> Result<Self> {
        Ok(Self { buffers: [Pinned::new(BUFFER_BYTES, queue)?, Pinned::new(BUFFER_BYTES, queue)?], next: 0 })
    }

    /// Copies to the device. When the call returns, `host` has been read; the device may still be copying.
    pub(crate) fn upload(&mut self, host: &[u8], to: CUdeviceptr) -> Result<()> {
        for (number, part) in host.chunks(BUFFER_BYTES).enumerate() {
            let buffer = &mut self.buffers[self.next];
            self.next = 1 - self.next;
            buffer.bytes()?[..part.len()].copy_from_slice(part);
            buffer.upload(part.len(), to + (number * BUFFER_BYTES) as u64)?;
        }
        Ok(())
    }

    /// Copies to the host, after all work before it.
    pub(crate) fn download(&mut self, from: CUdeviceptr, host: &mut [u8]) -> Result<()> {
        let len = |number: usize, total: usize| BUFFER_BYTES.min(total.saturating_sub(number * BUFFER_BYTES));
        let total = host.len();
        for number in 0..2.min(total.div_ceil(BUFFER_BYTES)) {
            self.buffers[number].download(len(number, total), from + (number * BUFFER_BYTES) as u64)?;
        }
        for (number, part) in host.chunks_mut(BUFFER_BYTES).enumerate() {
            let buffer = &mut self.buffers[number % 2];
            part.copy_from_slice(&buffer.bytes()?[..part.len()]);
            let next = number + 2;
            if len(next, total) > 0 {
                buffer.download(len(next, total), from + (next * BUFFER_BYTES) as u64)?;
            }
        }
        Ok(())
    }
}
