//! Uploads of large arrays on streams of their own: they run beside the kernels of the device's stream, and beside each
//! other.

use crate::cu::is_copied_directly;
use crate::error::failed;
use crate::memory::CuMemory;
use crate::queue::Queue;
use crate::staging::Staging;
use cudarc::driver::{result, sys};
use sparse_core::Result;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Bytes of memory that is not pinned for which one more thread copies it to pinned memory: at 11 GB/s a thread copies
/// them in 12 ms, and to pin its own memory takes it 4 ms, once.
const BYTES_OF_THREAD: usize = 128 << 20;
/// The threads that copy one array at most: together they are as fast as a link of 55 GB/s.
const MAX_THREADS: usize = 8;

/// The uploads of a device: as many streams as there were ever uploads at once.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    idle: Mutex<Vec<Upload>>,
}

/// A stream, and pinned memory once memory that is not pinned was uploaded.
#[derive(Debug)]
struct Upload {
    queue: Arc<Queue>,
    staging: Option<Staging>,
}

impl Uploads {
    /// New memory of `bytes` bytes, at least those of `host`, which begins with a copy of them. The copy is over when
    /// the call returns. The memory belongs to `owner`, and work of `owner` that is enqueued is not waited for.
    pub(crate) fn upload(&self, host: &[u8], bytes: usize, owner: &Arc<Queue>) -> Result<CuMemory> {
        owner.refuse_in_recording("writing memory from the host")?;
        let memory = self.with_idle(owner, |upload| {
            let memory = CuMemory::allocate_on(&upload.queue, bytes, owner)?;
            // Other streams write it, too, and `owner` knows nothing of this one's work.
            upload.queue.synchronize().map(|()| memory)
        })?;
        let to = memory.range(0, host.len())?;
        let threads = match is_copied_directly(host, owner)? {
            true => 1,
            false => (host.len() / BYTES_OF_THREAD).clamp(1, MAX_THREADS),
        };
        let len = host.len().div_ceil(threads).max(1);
        let copy = |(number, part): (usize, &[u8])| {
            self.with_idle(owner, |upload| upload.run(part, to + (number * len) as u64))
        };
        thread::scope(|scope| {
            let mut parts = host.chunks(len).enumerate();
            let own = parts.next();
            let others: Vec<_> = parts.map(|part| scope.spawn(move || copy(part))).collect();
            let own = own.map_or(Ok(()), copy);
            let join = |other: thread::ScopedJoinHandle<'_, _>| {
                other.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            others.into_iter().map(join).fold(own, Result::and)
        })?;
        Ok(memory)
    }

    /// Works with a stream that nobody else uses meanwhile. After an error it is not used again.
    fn with_idle<R>(&self, owner: &Queue, work: impl FnOnce(&mut Upload) -> Result<R>) -> Result<R> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut upload = match idle {
            Some(upload) => upload,
            None => Upload { queue: Arc::new(owner.sibling()?), staging: None },
        };
        let done = work(&mut upload)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(upload);
        Ok(done)
    }
}

impl Upload {
    /// Copies `host` to an address with as many bytes of the caller's memory, and waits for the end.
    fn run(&mut self, host: &[u8], to: sys::CUdeviceptr) -> Result<()> {
        let copied = self.copy(host, to);
        // Also after an error, since nobody else knows of this stream's work.
        self.queue.synchronize()?;
        copied
    }

    /// Enqueues the copy.
    fn copy(&mut self, host: &[u8], to: sys::CUdeviceptr) -> Result<()> {
        if is_copied_directly(host, &self.queue)? {
            let _enqueues = self.queue.enqueue()?;
            // SAFETY: the range belongs to the caller's memory, and `run` waits for the copy before `host` can change.
            return unsafe { result::memcpy_htod_async(to, host, self.queue.stream) }
                .map_err(failed("cuMemcpyHtoDAsync"));
        }
        let staging = match self.staging.take() {
            Some(staging) => staging,
            None => Staging::new(&self.queue)?,
        };
        self.staging.insert(staging).upload(host, to)
    }
}
