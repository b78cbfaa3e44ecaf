//! Uploads of large arrays on streams of their own: they run beside the kernels of the device's stream, and beside each
//! other.

use crate::cu::is_copied_directly;
use crate::error::failed;
use crate::memory::CuMemory;
use crate::queue::Queue;
use crate::staging::Staging;
use cudarc::driver::result;
use sparse_core::Result;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// New memory of `bytes` bytes, at least those of `host`, which begins with a copy of them. The copy is over when the
    /// call returns. The memory belongs to `owner`, and work of `owner` that is enqueued is not waited for.
    pub(crate) fn upload(&self, host: &[u8], bytes: usize, owner: &Arc<Queue>) -> Result<CuMemory> {
        owner.refuse_in_recording("writing memory from the host")?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut upload = match idle {
            Some(upload) => upload,
            None => Upload { queue: Arc::new(owner.sibling()?), staging: None },
        };
        let memory = upload.run(host, bytes, owner)?;
        // After an error the stream is not used again.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(upload);
        Ok(memory)
    }
}

impl Upload {
    fn run(&mut self, host: &[u8], bytes: usize, owner: &Arc<Queue>) -> Result<CuMemory> {
        let memory = CuMemory::allocate_on(&self.queue, bytes, owner)?;
        let copied = self.copy(host, &memory);
        // Always, since `owner` knows nothing of this stream's work.
        self.queue.synchronize()?;
        copied.map(|()| memory)
    }

    /// Enqueues the copy.
    fn copy(&mut self, host: &[u8], memory: &CuMemory) -> Result<()> {
        let to = memory.range(0, host.len())?;
        if is_copied_directly(host, &self.queue)? {
            let _enqueues = self.queue.enqueue()?;
            // SAFETY: the range lies inside the memory, and `run` waits for the copy before `host` can change.
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
