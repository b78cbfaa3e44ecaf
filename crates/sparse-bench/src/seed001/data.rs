//! Generated matrices, of which only a few exist at once.

use crate::workload;
use anyhow::{Result, ensure};
use sparse_core::op::{Keep, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Axis, Compressed, Csr, DenseView};
use sparse_distrib::{Generated, Source};

/// The matrices that differ; all others repeat them.
pub(super) const DIFFERENT: usize = 8;

/// Any amount of square matrices of `f32` with one order and ratio of nonzeros.
pub(super) struct Data {
    pub(super) order: usize,
    members: Vec<Vec<f32>>,
    compressed: Vec<Csr<f32>>,
}

impl Data {
    /// Matrices of which `percent` of 100 elements are not zero.
    pub(super) fn new(order: usize, percent: u32) -> Result<Self> {
        let members: Vec<_> = (0..DIFFERENT)
            .map(|k| workload::dense(order, order, percent, 100 * percent + k as u32))
            .collect();
        let compress = |member: &Vec<f32>| -> sparse_core::Result<Csr<f32>> {
            Operations::dense_to_csr(&Reference, DenseView::row_major(member, order, order)?, Keep::NonZero)
        };
        let compressed = members.iter().map(compress).collect::<sparse_core::Result<_>>()?;
        Ok(Self { order, members, compressed })
    }

    /// Matrix `item`, row by row.
    pub(super) fn member(&self, item: usize) -> &[f32] {
        &self.members[item % DIFFERENT]
    }

    /// The reference's CSR of matrix `item`.
    pub(super) fn csr(&self, item: usize) -> &Csr<f32> {
        &self.compressed[item % DIFFERENT]
    }

    /// `count` matrices, which are copied when they are read.
    pub(super) fn source(&self, count: usize) -> impl Source<f32> {
        Generated::new(vec![(self.order, self.order); count], |item, elements: &mut [f32]| {
            elements.copy_from_slice(self.member(item));
            Ok(())
        })
    }

    /// `count` matrices one after the other.
    pub(super) fn elements(&self, count: usize) -> Vec<f32> {
        (0..count).flat_map(|item| self.member(item)).copied().collect()
    }

    /// The entries of `count` matrices.
    pub(super) fn nnz(&self, count: usize) -> usize {
        (0..count).map(|item| self.csr(item).nnz()).sum()
    }

    /// Bytes of the elements of `count` matrices.
    pub(super) fn dense_bytes(&self, count: usize) -> usize {
        count * self.order * self.order * size_of::<f32>()
    }

    /// Bytes of `count` matrices as CSR: an index and a value for each entry, and offsets.
    pub(super) fn csr_bytes(&self, count: usize) -> usize {
        8 * self.nnz(count) + 4 * count * (self.order + 1)
    }

    /// Fails unless a matrix has the entries that the reference finds in matrix `item`.
    pub(super) fn check<A: Axis>(&self, who: &str, item: usize, made: &Compressed<A, f32>) -> Result<()> {
        let mut entries: Vec<_> = made.triplets().collect();
        entries.sort_by_key(|&(row, col, _)| (row, col));
        let same = entries.into_iter().eq(self.csr(item).triplets());
        ensure!(same, "{who}: matrix {item} differs from the reference's");
        Ok(())
    }
}
