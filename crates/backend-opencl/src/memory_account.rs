//! Bytes of a device's memory that a context has allocated.

use crate::devices::DeviceInfo;
use sparse_core::{Error, Result};
use sparse_device::WORD_BYTES;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `bytes` rounded up to whole words, the unit of allocations, at least one: OpenCL has no buffers of 0 bytes.
pub(crate) fn in_whole_words(bytes: usize) -> usize {
    bytes.max(1).checked_next_multiple_of(WORD_BYTES).unwrap_or(usize::MAX)
}

/// The number of bytes that a context has allocated of its device's memory.
#[derive(Debug, Clone)]
pub(crate) struct MemoryAccount {
    info: &'static DeviceInfo,
    used_bytes: Arc<AtomicU64>,
}

impl MemoryAccount {
    pub(crate) fn new(info: &'static DeviceInfo) -> Self {
        Self { info, used_bytes: Arc::default() }
    }

    /// Takes at least `bytes` bytes, in whole words.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has no more.
    pub(crate) fn take(&self, bytes: usize) -> Result<Allocation> {
        let bytes = in_whole_words(bytes) as u64;
        let used = self.used_bytes.load(Ordering::Relaxed);
        let available = self.info.largest_buffer.min(self.info.memory_bytes.saturating_sub(used));
        if bytes > available {
            return Err(Error::OutOfMemory { needed: bytes, available: Some(available) });
        }
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(Allocation { bytes, available: Some(available), used_bytes: self.used_bytes.clone() })
    }

    /// Counts memory of the context that the caller has allocated.
    pub(crate) fn count(&self, bytes: usize) -> Allocation {
        let bytes = bytes as u64;
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        Allocation { bytes, available: None, used_bytes: self.used_bytes.clone() }
    }

    /// An error if an allocation is of another context.
    pub(crate) fn check(&self, allocation: &Allocation) -> Result<()> {
        if Arc::ptr_eq(&self.used_bytes, &allocation.used_bytes) {
            return Ok(());
        }
        Err(Error::unsupported("this memory", "it belongs to another context"))
    }
}

/// A number of bytes of a device's memory, which are given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Allocation {
    bytes: u64,
    available: Option<u64>,
    used_bytes: Arc<AtomicU64>,
}

impl Allocation {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// The error of a runtime that has less memory than it reports.
    pub(crate) fn refused(&self) -> Error {
        Error::OutOfMemory { needed: self.bytes, available: self.available }
    }

    /// An error if the range passes the end.
    pub(crate) fn check(&self, offset: usize, bytes: usize) -> Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes() => Ok(()),
            _ => Err(Error::shape(
                "a range of memory",
                format_args!("{bytes} bytes from {offset} on, of {}", self.bytes),
            )),
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
