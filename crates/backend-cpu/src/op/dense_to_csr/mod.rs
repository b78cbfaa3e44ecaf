//! Dense to CSR: the elements to keep are found once and stored as one bit each, then packed: at once where the plan
//! knows from an earlier run how many there may be, else in a second pass.

mod bits;
mod pack;
mod parts;
#[cfg_attr(target_arch = "x86_64", path = "x86.rs")]
#[cfg_attr(target_arch = "aarch64", path = "neon.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "other.rs")]
mod vectors;

use super::SEQUENTIAL;
use super::compiled::{dense_to_csr_table, find};
use crate::Cpu;
use crate::parallel::{chunks, split_mut};
use crate::primitive::fill::{try_zeroed, zeroed};
use parts::{find_and_pack, pack_all};
use sparse_core::backend::vec_with_capacity;
use sparse_core::error::checked_product;
use sparse_core::op::{CompressedArrays, DenseToCsrKernel, Keep};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, AlgorithmSet, Choice, DenseBatchView, Index, KernelPlan, Order, PlanOptions, Result, Scalar,
    algorithms,
};
use std::fmt::Debug;
use std::ops::Range;

algorithms! {
    /// The algorithms of dense → compressed rows.
    enum DenseAlgorithm {
        CompressStore = Algorithm::new(
            "compress_store",
            "always: one bit per element, counted and scanned; then the kept elements are packed by vectors",
        )
        .preprocessing("memory for the bits and the row lengths");

        RowPerWarp =
            Algorithm::new("row_per_warp", "never: count, scan and fill with one task per row");

        Sequential = SEQUENTIAL;
    }
}

/// Elements of a part, which one thread processes at a time: few enough to stay in its cache.
const PART: usize = 64 * 1024;

/// Columns of one word of bits.
const WORD: usize = 64;

/// Rows of a column-major matrix per strip: the more, the longer the parts of its columns.
const STRIP: usize = 512;

/// The plan of a compression: the elements to keep, and memory for bits and counts.
pub struct CompressionPlan<T: Scalar> {
    algorithm: DenseAlgorithm,
    choice: Choice,
    keep: Keep<T>,
    /// For every row of every member, `cols / 64` words, rounded up.
    bits: Vec<u64>,
    /// Entries of every row of every member.
    lengths: Vec<usize>,
    /// The most entries of an earlier run, which is the capacity of the next.
    most_entries: usize,
}

impl<T: Scalar> Debug for CompressionPlan<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut plan = f.debug_struct("CompressionPlan");
        plan.field("choice", &self.choice).field("keep", &self.keep);
        plan.field("workspace_bytes", &self.workspace_bytes()).finish()
    }
}

impl<T: Scalar> KernelPlan for CompressionPlan<T> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        size_of_val(&*self.bits) + size_of_val(&*self.lengths)
    }
}

/// The functions for one triple of types, which are compiled in this crate.
pub(super) struct Functions<T: Scalar, I: Index, O: Index> {
    run: RunOf<T, I, O>,
}

/// As for [`DenseToCsrKernel::run_dense_to_csr`].
type RunOf<T, I, O> =
    fn(&Cpu, &mut CompressionPlan<T>, DenseBatchView<'_, T>) -> Result<CompressedArrays<Cpu, T, I, O>>;

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(super) const ALL: Self = Self { run };
}

// SAFETY: offsets are prefix sums of the lengths of rows, each of which is filled with its columns in their order.
unsafe impl<T: Scalar, I: Index, O: Index> DenseToCsrKernel<T, I, O> for Cpu {
    type Plan = CompressionPlan<T>;

    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] {
        DenseAlgorithm::table(&|_| true)
    }

    fn plan_dense_to_csr(
        &self,
        a: &DenseBatchView<'_, T>,
        keep: Keep<T>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let (offered, preferred) = (DenseAlgorithm::table(&|_| true), DenseAlgorithm::CompressStore);
        let (algorithm, choice) =
            options.choose_among("dense_to_csr", offered, preferred, preferred.row().chosen)?;
        let rows = checked_product("matrices x rows", a.count(), a.nrows())?;
        let words = match algorithm {
            DenseAlgorithm::CompressStore => a.ncols().div_ceil(WORD),
            DenseAlgorithm::RowPerWarp | DenseAlgorithm::Sequential => 0,
        };
        Ok(CompressionPlan {
            algorithm,
            choice,
            keep,
            bits: try_zeroed(checked_product("rows x words", rows, words)?)?,
            lengths: try_zeroed(rows)?,
            most_entries: 0,
        })
    }

    unsafe fn run_dense_to_csr(
        &self,
        plan: &mut Self::Plan,
        a: DenseBatchView<'_, T>,
    ) -> Result<CompressedArrays<Self, T, I, O>> {
        let functions: &Functions<T, I, O> = find(dense_to_csr_table(), "dense_to_csr", "dense")?;
        (functions.run)(self, plan, a)
    }
}

fn run<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    plan: &mut CompressionPlan<T>,
    a: DenseBatchView<'_, T>,
) -> Result<CompressedArrays<Cpu, T, I, O>> {
    match plan.algorithm {
        DenseAlgorithm::Sequential => return sequential(a, plan.keep),
        DenseAlgorithm::RowPerWarp => return row_per_warp(cpu, a, plan.keep, &mut plan.lengths),
        DenseAlgorithm::CompressStore => {}
    }
    let parts = row_parts(&a);
    let memory = (&mut plan.bits[..], &mut plan.lengths[..]);
    let packed = find_and_pack(cpu, &a, plan.keep, &parts, memory, plan.most_entries);
    let (member_ptr, offsets) = scan(cpu, &a, &plan.lengths)?;
    let nnz = member_ptr[a.count()];
    plan.most_entries = plan.most_entries.max(nnz);
    let (indices, values) = packed.unwrap_or_else(|| pack_all(cpu, &a, &parts, &plan.bits, &plan.lengths));
    let (indices, values) = (shortened(indices, nnz), shortened(values, nnz));
    Ok(CompressedArrays { member_ptr, offsets, indices, values })
}

/// The first `len` elements.
fn shortened<T>(mut elements: Vec<T>, len: usize) -> Vec<T> {
    elements.truncate(len);
    elements.shrink_to_fit();
    elements
}

fn sequential<T: Scalar, I: Index, O: Index>(
    a: DenseBatchView<'_, T>,
    keep: Keep<T>,
) -> Result<CompressedArrays<Cpu, T, I, O>> {
    let mut plan =
        DenseToCsrKernel::<T, I, O>::plan_dense_to_csr(&Reference, &a, keep, &PlanOptions::once())?;
    // SAFETY: the plan was made for this view, and its extents fit, as the caller of the kernel promises.
    let arrays = unsafe { DenseToCsrKernel::<T, I, O>::run_dense_to_csr(&Reference, &mut plan, a)? };
    let CompressedArrays { member_ptr, offsets, indices, values } = arrays;
    Ok(CompressedArrays { member_ptr, offsets, indices, values })
}

/// The first entry of each member, and the offsets of all members, each starting at 0.
fn scan<T: Scalar, O: Index>(
    cpu: &Cpu,
    a: &DenseBatchView<'_, T>,
    lengths: &[usize],
) -> Result<(Vec<usize>, Vec<O>)> {
    let mut member_ptr = vec_with_capacity(a.count() + 1)?;
    let mut all = vec_with_capacity(a.count() * (a.nrows() + 1))?;
    member_ptr.push(0);
    for k in 0..a.count() {
        let member: Vec<O> = cpu.offsets(&lengths[k * a.nrows()..][..a.nrows()])?;
        member_ptr.push(member_ptr[k] + member[a.nrows()].as_usize());
        all.extend(member);
    }
    Ok((member_ptr, all))
}

/// Ranges of the rows of all members: of [`PART`] elements where they are row-major, else strips of a member.
fn row_parts<T: Scalar>(a: &DenseBatchView<'_, T>) -> Vec<Range<usize>> {
    match a.order() {
        Order::RowMajor => chunks(a.count() * a.nrows(), PART.div_ceil(a.ncols().max(1))),
        Order::ColMajor => {
            let strips = |member: usize| {
                let first = member * a.nrows();
                chunks(a.nrows(), STRIP).into_iter().map(move |strip| first + strip.start..first + strip.end)
            };
            (0..a.count()).flat_map(strips).collect()
        }
    }
}

/// The entries of each part.
fn entries_of(parts: &[Range<usize>], lengths: &[usize]) -> Vec<Range<usize>> {
    let mut end = 0;
    parts
        .iter()
        .map(|part| {
            let start = end;
            end += lengths[part.clone()].iter().sum::<usize>();
            start..end
        })
        .collect()
}

/// Count, scan, fill: counts every row, scans the counts, fills every row.
fn row_per_warp<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: DenseBatchView<'_, T>,
    keep: Keep<T>,
    lengths: &mut [usize],
) -> Result<CompressedArrays<Cpu, T, I, O>> {
    let elements = lengths.len() * a.ncols();
    let kept_of = |row: usize| {
        let (member, i) = (a.member(row / a.nrows()), row % a.nrows());
        (0..a.ncols()).map(move |j| (j, member.at(i, j))).filter(move |&(_, value)| keep.keeps(value))
    };
    cpu.for_each(elements, lengths.iter_mut().enumerate().collect(), |(row, length)| {
        *length = kept_of(row).count()
    });
    let (member_ptr, offsets) = scan(cpu, &a, lengths)?;
    let rows: Vec<_> = (0..lengths.len()).map(|row| row..row + 1).collect();
    let entries = entries_of(&rows, lengths);
    let nnz = member_ptr[a.count()];
    let (mut indices, mut values) = (zeroed::<I>(nnz), zeroed::<T>(nnz));
    let outputs = split_mut(&mut indices, &entries).into_iter().zip(split_mut(&mut values, &entries));
    cpu.for_each(elements, outputs.enumerate().collect(), |(row, (indices, values))| {
        for ((index, value), kept) in indices.iter_mut().zip(values).zip(kept_of(row)) {
            (*index, *value) = (I::cast(kept.0), kept.1);
        }
    });
    Ok(CompressedArrays { member_ptr, offsets, indices, values })
}
