//! Room for entries whose number is not known yet.
//!
//! How many entries a matrix has is known when the device has counted them. Where a guess gives room to them before,
//! they are written without a wait, and the host waits once, at the end.

use crate::{Buffer, Device, Driver};
use sparse_core::{Backend, Element, Index, Result, Space};

/// Of so many entries that there was room for, one may be missing before arrays are copied to others of their size.
const SLACK: usize = 8;

/// Room for the entries of another matrix like one with `nnz` of them.
pub(super) fn room_for(nnz: usize) -> usize {
    nnz + nnz / (2 * SLACK)
}

/// The arrays of entries.
#[derive(Debug)]
pub(super) struct Entries<D: Driver, T, I> {
    pub(super) indices: Buffer<D, I>,
    pub(super) values: Buffer<D, T>,
}

impl<D: Driver, T: Element, I: Index> Entries<D, T, I> {
    /// Room for `n` of them.
    pub(super) fn new(backend: &Device<D>, n: usize) -> Result<Self> {
        Ok(Self { indices: backend.allocate(n)?, values: backend.allocate(n)? })
    }

    /// The first `n`, in the same memory if little of it is left over.
    pub(super) fn cut(self, backend: &Device<D>, n: usize) -> Result<Self> {
        Ok(Self { indices: cut(backend, self.indices, n)?, values: cut(backend, self.values, n)? })
    }
}

fn cut<D: Driver, T: Element>(
    backend: &Device<D>,
    mut buffer: Buffer<D, T>,
    n: usize,
) -> Result<Buffer<D, T>> {
    if n >= buffer.len - buffer.len / SLACK {
        buffer.len = n;
        return Ok(buffer);
    }
    let mut exact = backend.allocate(n)?;
    let first = Device::<D>::slice(Device::<D>::view(&buffer), 0..n);
    backend.copy(first, Device::<D>::view_mut(&mut exact))?;
    Ok(exact)
}
