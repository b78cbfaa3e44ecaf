//! Compressed matrices in the memory of a device.

use sparse_core::backend::SpaceOf;
use sparse_core::op::CAPACITY_SLACK;
use sparse_core::space::{Buffer as _, Space};
use sparse_core::{Backend, BatchCsr, Host, Index, Result, Scalar, SparseFormat};
use std::any::Any;
use std::fmt::Debug;

/// Compressed matrices of one shape in the memory of a device, freed when dropped. A matrix compressed by columns is
/// stored as the CSR of its transpose.
pub trait Resident<T: Scalar, I: Index, O: Index>: Send + Sync {
    /// The first entry of each member, and nnz.
    fn member_ptr(&self) -> &[usize];

    /// Bytes of the members' arrays.
    fn bytes(&self) -> u64;

    /// Bytes of the device's memory that the arrays have allocated: [`bytes`](Self::bytes), unless some capacity is
    /// unused.
    fn reserved_bytes(&self) -> u64 {
        self.bytes()
    }

    /// A copy of all members on the host.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn to_host(&self) -> Result<BatchCsr<T, Host, I, O>>;

    /// Copies of the offsets, indices and values of member `k` on the host.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn member(&self, k: usize) -> Result<(Vec<O>, Vec<I>, Vec<T>)>;

    /// The [`BatchCsr`] of the backend that made it, for operations on the device.
    fn as_any(&self) -> &dyn Any;
}

/// A batch in the memory of a backend.
#[derive(Debug)]
pub(crate) struct DeviceBatch<B: Backend, T: Scalar, I: Index, O: Index> {
    pub(crate) backend: B,
    pub(crate) batch: BatchCsr<T, SpaceOf<B>, I, O>,
    pub(crate) capacity: Capacity,
}

/// The capacity of the arrays of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capacity {
    /// As many elements as entries.
    Exact,
    /// As a device plan leaves it: up to 1/8 unused ([`CAPACITY_SLACK`]).
    OfPlan,
}

impl<B: Backend, T: Scalar, I: Index, O: Index> Resident<T, I, O> for DeviceBatch<B, T, I, O> {
    fn member_ptr(&self) -> &[usize] {
        self.batch.member_ptr()
    }

    fn bytes(&self) -> u64 {
        batch_bytes(&self.batch)
    }

    fn reserved_bytes(&self) -> u64 {
        match self.capacity {
            Capacity::Exact => self.bytes(),
            Capacity::OfPlan => {
                let entries = self.batch.nnz() * (size_of::<I>() + size_of::<T>());
                self.bytes() + entries.div_ceil(CAPACITY_SLACK - 1) as u64
            }
        }
    }

    fn to_host(&self) -> Result<BatchCsr<T, Host, I, O>> {
        self.batch.to_host(&self.backend)
    }

    fn member(&self, k: usize) -> Result<(Vec<O>, Vec<I>, Vec<T>)> {
        let member = self.batch.member(k);
        let (lines, entries) = (member.major + 1, self.batch.member_range(k).len());
        let (mut offsets, mut indices) = (vec![O::default(); lines], vec![I::default(); entries]);
        let mut values = vec![T::ZERO; entries];
        self.backend.download_into(member.offsets, &mut offsets)?;
        self.backend.download_into(member.indices, &mut indices)?;
        self.backend.download_into(member.values, &mut values)?;
        Ok((offsets, indices, values))
    }

    fn as_any(&self) -> &dyn Any {
        &self.batch
    }
}

/// Bytes of the arrays of a batch.
pub(crate) fn batch_bytes<T: Scalar, S: Space, I: Index, O: Index>(batch: &BatchCsr<T, S, I, O>) -> u64 {
    let (offsets, entries) = (batch.offsets().len(), batch.nnz());
    (offsets * size_of::<O>() + entries * (size_of::<I>() + size_of::<T>())) as u64
}
