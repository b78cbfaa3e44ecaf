//! Pinned memory that is used again: to pin new memory takes 0.4 to 0.5 ms a MiB, longer than to fill it and to copy it
//! to the device.

use crate::pinned::PinnedVec;
use crate::queue::Queue;
use sparse_core::Result;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that a device retains at most for the next who asks: 16 buffers of 16 MiB.
const MAX_UNUSED_BYTES: usize = 256 << 20;

/// Pinned memory of a device that nobody uses, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct PinnedPool {
    unused: Mutex<VecDeque<PinnedVec<u8>>>,
}

impl PinnedPool {
    /// Allocates `bytes` zeros: in unused memory, or else in new memory of the queue's context.
    pub(crate) fn zeros(self: &Arc<Self>, bytes: usize, queue: &Arc<Queue>) -> Result<PooledBytes> {
        let memory = match self.take(bytes) {
            Some(mut memory) => {
                memory[..bytes].fill(0);
                memory
            }
            None => PinnedVec::on(queue, bytes)?,
        };
        Ok(PooledBytes { memory: Some(memory), bytes, pool: self.clone() })
    }

    /// The smallest unused memory of at least `bytes` and at most twice as many.
    fn take(&self, bytes: usize) -> Option<PinnedVec<u8>> {
        let mut unused = self.unused();
        let fitting = unused.iter().enumerate().filter(|(_, memory)| {
            let len = memory.len();
            len >= bytes && len <= bytes.saturating_mul(2)
        });
        let (position, _) = fitting.min_by_key(|(_, memory)| memory.len())?;
        unused.remove(position)
    }

    /// Retains memory, and frees the oldest where there is too much of it.
    fn retain(&self, memory: PinnedVec<u8>) {
        let mut freed = vec![];
        let mut unused = self.unused();
        unused.push_back(memory);
        let mut bytes: usize = unused.iter().map(|memory| memory.len()).sum();
        while bytes > MAX_UNUSED_BYTES
            && let Some(oldest) = unused.pop_front()
        {
            bytes -= oldest.len();
            freed.push(oldest);
        }
        // To free pinned memory takes long: others may use the pool meanwhile.
        drop(unused);
    }

    fn unused(&self) -> MutexGuard<'_, VecDeque<PinnedVec<u8>>> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pinned bytes that return to their pool when dropped.
#[derive(Debug)]
pub(crate) struct PooledBytes {
    /// There until it returns to the pool; at least `bytes` long.
    memory: Option<PinnedVec<u8>>,
    bytes: usize,
    pool: Arc<PinnedPool>,
}

impl Deref for PooledBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| &memory[..self.bytes])
    }
}

impl DerefMut for PooledBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.memory.as_mut().map_or(&mut [], |memory| &mut memory[..self.bytes])
    }
}

impl Drop for PooledBytes {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.pool.retain(memory);
        }
    }
}
