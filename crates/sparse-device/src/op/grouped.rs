//! Entries that a plan groups by rows of op(A); the device adds them group by group.

use super::numbered::{Values, position};
use super::positions::Positions;
use crate::launch::Launch;
use crate::program::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::Op;
use sparse_core::reference::Entries;
use sparse_core::{Algorithm, Backend, Element, Index, Result, Scalar};

pub(super) const GROUPED_ROWS: Algorithm =
    Algorithm::new("grouped_rows", "rows of op(A) are not what the format stores in order")
        .preprocessing("the entries by rows of op(A), with their columns and positions, sorted on the device; those of a batch on the host");

/// The entries of op(A) by rows.
#[derive(Debug)]
pub struct RowGroups<I> {
    pub(super) offsets: Buffer<i64>,
    pub(super) columns: Buffer<I>,
    pub(super) positions: Positions,
}

impl<I: Index> RowGroups<I> {
    /// The entries of a numbered matrix, sorted here.
    pub(super) fn numbered<M: Entries<Scalar = f64>>(backend: &Device, a: &M, op: Op) -> Result<Self> {
        let (rows, _) = op.shape(a);
        let mut entries: Vec<_> = a.entries().collect();
        if op.transposes() {
            entries.iter_mut().for_each(|(i, j, _)| std::mem::swap(i, j));
        }
        entries.sort_by_key(|&(i, _, _)| i);
        let mut offsets = vec![0; rows + 1];
        entries.iter().for_each(|&(i, _, _)| offsets[i + 1] += 1);
        (0..rows).for_each(|i| offsets[i + 1] += offsets[i]);
        let columns: Vec<_> = entries.iter().map(|&(_, j, _)| I::cast(j)).collect();
        let positions: Vec<_> = entries.iter().map(|&(_, _, number)| position(number)).collect();
        Ok(Self {
            offsets: backend.upload(&offsets)?,
            columns: backend.upload(&columns)?,
            positions: Positions::upload(backend, &positions)?,
        })
    }

    /// Bytes that the groups take.
    pub(super) fn bytes(&self) -> usize {
        self.offsets.bytes() + self.columns.bytes() + self.positions.bytes()
    }
}

impl Device {
    /// A kernel over grouped entries with columns of type `I` and such positions.
    pub(super) fn grouped_kernel<T: Scalar, I: Index>(
        &self,
        entry: &'static str,
        positions: &Positions,
        op: Op,
    ) -> Result<Kernel> {
        let defines = Defines::default().index::<I>().set("POS", positions.type_name());
        self.kernel_of::<T>("grouped", entry, defines.conj::<T>(op))
    }
}

impl<'a> Launch<'a> {
    /// The value arrays of a matrix, by position.
    pub(super) fn values<T: Element>(self, values: Values<'a, T>) -> Self {
        self.size(values.split).buffer(values.head).buffer(values.tail)
    }

    /// Groups and the matrix that they are of.
    pub(super) fn groups_of<T: Scalar, I: Index>(
        self,
        groups: &'a RowGroups<I>,
        values: Values<'a, T>,
    ) -> Self {
        self.buffer(&groups.offsets).buffer(&groups.columns).positions(&groups.positions).values(values)
    }
}
