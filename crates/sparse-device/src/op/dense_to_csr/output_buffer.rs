//! Output arrays allocated before nnz is known.
//!
//! nnz is known when the device has counted the entries. If the estimated capacity suffices, the entries are written
//! without waiting for nnz, and the host waits once, at the end.

use crate::Device;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use sparse_core::op::CAPACITY_SLACK;
use sparse_core::{DType, Result};

/// The capacity for a matrix like one with `nnz` entries.
pub(super) fn capacity_for(nnz: usize) -> usize {
    nnz + nnz / (2 * CAPACITY_SLACK)
}

/// The arrays of entries.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) indices: RawBuffer,
    pub(super) values: RawBuffer,
}

impl Entries {
    /// Arrays for `n` entries.
    pub(super) fn new(backend: &Device, index: IndexType, dtype: DType, n: usize) -> Result<Self> {
        let indices = backend.allocate_raw(n, index.bytes())?;
        Ok(Self { indices, values: backend.allocate_raw(n, dtype.bytes())? })
    }

    /// The first `n` entries, in the same memory if little of it is unused.
    pub(super) fn cut(self, backend: &Device, n: usize) -> Result<Self> {
        Ok(Self { indices: cut(backend, self.indices, n)?, values: cut(backend, self.values, n)? })
    }
}

fn cut(backend: &Device, mut buffer: RawBuffer, n: usize) -> Result<RawBuffer> {
    if n >= buffer.len - buffer.len / CAPACITY_SLACK {
        buffer.len = n;
        return Ok(buffer);
    }
    backend.joined(&[(&buffer, n)])
}
