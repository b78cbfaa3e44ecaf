//! SELL-C-σ: the rows of a slice side by side.

use super::slab_sums::add_slab;
use super::{Needs, Prepared, Product, SpmvFormat, TRANSPOSED_PATTERN};
use crate::Cpu;
use crate::op::SEQUENTIAL;
use crate::parallel::{CHUNK, rows_by_entries};
use crate::primitive::slab::{Columns, LANES, NO_DELTA, Slab};
use crate::primitive::update::{Disjoint, Update};
use crate::simd::{Isa, Vectorize};
use sparse_core::op::Op;
use sparse_core::{Algorithm, Error, Host, Index, Result, Scalar, Sell, algorithms};
use std::ops::Range;

algorithms! {
    /// The algorithms of SELL.
    pub enum SellAlgorithm needs Needs {
        RowPerThread = Algorithm::new("row_per_thread", "columns of neighbouring rows lie far apart")
            .preprocessing("parts with equal numbers of elements"),
        Needs::Own;

        Delta16 = Algorithm::new("delta16", "columns of neighbouring rows lie less than 65535 apart")
            .preprocessing("16-bit column deltas, a base for each column of a slice"),
        Needs::Own;

        TransposedPattern = TRANSPOSED_PATTERN, Needs::RowPattern;
        Sequential = SEQUENTIAL, Needs::Own;
    }
}

/// The plan for SELL.
pub struct SellParts<I> {
    /// Ranges of slices with about equal numbers of elements.
    parts: Vec<Range<usize>>,
    deltas: Option<Deltas<I>>,
}

/// Columns as one base for the lanes at a position of a slice's rows, and 16-bit distances from it.
struct Deltas<I> {
    bases: Vec<I>,
    deltas: Vec<u16>,
}

impl<I: Index> Deltas<I> {
    /// The deltas of columns whose lanes are `height` neighbours; none may be a [`misfit`].
    fn new(col_idx: &[I], height: usize) -> Self {
        let bases: Vec<I> = col_idx.chunks(height).map(|lanes| least_and_greatest(lanes).0).collect();
        let delta = |base: I, column: I| {
            if column == I::PADDING { NO_DELTA } else { (column.as_usize() - base.as_usize()) as u16 }
        };
        let lanes = col_idx.chunks(height).zip(&bases);
        let deltas = lanes.flat_map(|(lanes, &base)| lanes.iter().map(move |&column| delta(base, column)));
        let deltas = deltas.collect();
        Self { bases, deltas }
    }
}

/// The least and the greatest of some columns, padding excepted.
fn least_and_greatest<I: Index>(columns: &[I]) -> (I, I) {
    let mut stored = columns.iter().copied().filter(|&column| column != I::PADDING);
    let first = stored.next().unwrap_or_default();
    stored.fold((first, first), |(least, greatest), column| (least.min(column), greatest.max(column)))
}

/// The first element of the lanes whose columns are too far apart for 16-bit deltas.
fn misfit<I: Index>(col_idx: &[I], height: usize) -> Option<usize> {
    let too_far = |lanes: &[I]| {
        let (least, greatest) = least_and_greatest(lanes);
        greatest.as_usize() - least.as_usize() >= NO_DELTA.into()
    };
    col_idx.chunks(height).position(too_far).map(|at| at * height)
}

impl<T: Scalar, I: Index, O: Index> SpmvFormat for Sell<T, Host, I, O> {
    type Native = SellParts<I>;

    type Algorithm = SellAlgorithm;
    const SEQUENTIAL: Self::Algorithm = SellAlgorithm::Sequential;

    fn fits(algorithm: Self::Algorithm, op: Op) -> bool {
        match algorithm {
            SellAlgorithm::RowPerThread | SellAlgorithm::Delta16 => !op.transposes(),
            SellAlgorithm::TransposedPattern => op.transposes(),
            SellAlgorithm::Sequential => true,
        }
    }

    fn automatic(&self, op: Op) -> (Self::Algorithm, String) {
        if op.transposes() {
            let reason = "the entries of a column are not contiguous";
            return (SellAlgorithm::TransposedPattern, reason.into());
        }
        match misfit(self.col_idx(), self.slice_height()) {
            None => (SellAlgorithm::Delta16, "every column is within 16 bits of its slice's base".into()),
            Some(at) => {
                let reason = format!("the columns from element {at} on do not fit 16-bit deltas");
                (SellAlgorithm::RowPerThread, reason)
            }
        }
    }

    fn prepare(&self, _: &Cpu, algorithm: Self::Algorithm, _: Op) -> Result<Prepared<Self::Native>> {
        let deltas = match algorithm {
            SellAlgorithm::Sequential => return Ok(Prepared::Sequential),
            SellAlgorithm::TransposedPattern => return Ok(Prepared::RowPattern),
            SellAlgorithm::RowPerThread => None,
            SellAlgorithm::Delta16 => {
                if let Some(at) = misfit(self.col_idx(), self.slice_height()) {
                    let what = "spmv algorithm `delta16` for this pattern";
                    let why = format_args!("the columns from element {at} on lie 65535 or more apart");
                    return Err(Error::unsupported(what, why));
                }
                Some(Deltas::new(self.col_idx(), self.slice_height()))
            }
        };
        Ok(Prepared::Native(SellParts { parts: rows_by_entries(self.slice_ptr(), CHUNK), deltas }))
    }

    fn native_bytes(SellParts { parts, deltas }: &Self::Native) -> usize {
        let deltas = deltas.as_ref();
        size_of_val(parts.as_slice())
            + deltas.map_or(0, |d| size_of_val(d.bases.as_slice()) + size_of_val(d.deltas.as_slice()))
    }

    unsafe fn multiply(&self, cpu: &Cpu, native: &mut Self::Native, product: Product<'_, T>) {
        let Product { x, y, update, op } = product;
        let y = Disjoint::new(y);
        let columns = match &native.deltas {
            Some(Deltas { bases, deltas }) => Columns::Deltas { bases, deltas, height: self.slice_height() },
            None => Columns::Plain(self.col_idx()),
        };
        cpu.for_each_in_runs(self.values().len(), native.parts.iter().collect(), |slices| {
            cpu.simd().run(Slices { a: self, slices: slices.clone(), columns, x, y, update, op });
        });
    }
}

/// Neighbouring slices of a SELL matrix.
struct Slices<'a, T: Scalar, I: Index, O: Index> {
    a: &'a Sell<T, Host, I, O>,
    slices: Range<usize>,
    columns: Columns<'a, I>,
    x: &'a [T],
    y: Disjoint<T>,
    update: Update<T::Acc>,
    op: Op,
}

impl<T: Scalar, I: Index, O: Index> Vectorize for Slices<'_, T, I, O> {
    type Out = ();

    #[inline(always)]
    fn run<S: Isa>(self) {
        let height = self.a.slice_height();
        for slice in self.slices {
            let slots = self.a.slice_ptr()[slice].as_usize()..self.a.slice_ptr()[slice + 1].as_usize();
            let rows = &self.a.row_order()[slice * height..];
            for (k, rows) in rows[..rows.len().min(height)].chunks(LANES).enumerate() {
                let mut sums = [T::Acc::ZERO; LANES];
                let slab = Slab {
                    columns: self.columns,
                    values: self.a.values(),
                    start: slots.start + k * LANES,
                    stride: height,
                    width: slots.len() / height,
                    lanes: rows.len(),
                };
                // SAFETY: lanes of a slice that have rows; the length of `x` was checked against the columns.
                unsafe { add_slab::<S, T, I>(&slab, &mut sums, self.x, self.op) };
                for (row, &sum) in rows.iter().zip(&sums) {
                    // SAFETY: the row order is a permutation, and each of its positions belongs to one slice.
                    self.update.write(unsafe { self.y.at(row.as_usize()) }, sum);
                }
            }
        }
    }
}
