//! Room for entries whose number is not known yet.
//!
//! How many entries a matrix has is known when the device has counted them. Where a guess gives room to them before,
//! they are written without a wait, and the host waits once, at the end.

use crate::{Buffer, Device};
use sparse_core::{Backend, Element, Index, Result, Space};

/// Of so many entries that there was room for, one may be missing before arrays are copied to others of their size.
const SLACK: usize = 8;

/// Room for the entries of another matrix like one with `nnz` of them.
pub(super) fn room_for(nnz: usize) -> usize {
    nnz + nnz / (2 * SLACK)
}

/// The arrays of entries.
#[derive(Debug)]
pub(super) struct Entries<T, I> {
    pub(super) indices: Buffer<I>,
    pub(super) values: Buffer<T>,
}

impl<T: Element, I: Index> Entries<T, I> {
    /// Room for `n` of them.
    pub(super) fn new(backend: &Device, n: usize) -> Result<Self> {
        Ok(Self { indices: backend.allocate(n)?, values: backend.allocate(n)? })
    }

    /// The first `n`, in the same memory if little of it is left over.
    pub(super) fn cut(self, backend: &Device, n: usize) -> Result<Self> {
        Ok(Self { indices: cut(backend, self.indices, n)?, values: cut(backend, self.values, n)? })
    }
}

fn cut<T: Element>(backend: &Device, mut buffer: Buffer<T>, n: usize) -> Result<Buffer<T>> {
    if n >= buffer.len - buffer.len / SLACK {
        buffer.len = n;
        return Ok(buffer);
    }
    let mut exact = backend.allocate(n)?;
    let first = Device::slice(Device::view(&buffer), 0..n);
    backend.copy(first, Device::view_mut(&mut exact))?;
    Ok(exact)
}
