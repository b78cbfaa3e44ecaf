//! Room for entries whose number is not known yet.
//!
//! How many entries a matrix has is known when the device has counted them. Where a guess gives room to them before,
//! they are written without a wait, and the host waits once, at the end.

use crate::Device;
use crate::program::IndexType;
use crate::space::RawBuffer;
use sparse_core::{DType, Result};

/// Of so many entries that there was room for, one may be missing before arrays are copied to others of their size.
const SLACK: usize = 8;

/// Room for the entries of another matrix like one with `nnz` of them.
pub(super) fn room_for(nnz: usize) -> usize {
    nnz + nnz / (2 * SLACK)
}

/// The arrays of entries.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) indices: RawBuffer,
    pub(super) values: RawBuffer,
}

impl Entries {
    /// Room for `n` of them.
    pub(super) fn new(backend: &Device, index: IndexType, dtype: DType, n: usize) -> Result<Self> {
        let indices = backend.allocate_raw(n, index.bytes())?;
        Ok(Self { indices, values: backend.allocate_raw(n, dtype.bytes())? })
    }

    /// The first `n`, in the same memory if little of it is left over.
    pub(super) fn cut(self, backend: &Device, n: usize) -> Result<Self> {
        Ok(Self { indices: cut(backend, self.indices, n)?, values: cut(backend, self.values, n)? })
    }
}

fn cut(backend: &Device, mut buffer: RawBuffer, n: usize) -> Result<RawBuffer> {
    if n >= buffer.len - buffer.len / SLACK {
        buffer.len = n;
        return Ok(buffer);
    }
    backend.joined(&[(&buffer, n)])
}
