//! Conversions between formats: takes the entries out, sorts them as the target demands, and puts them in again.

use super::entries::{merge, sorted};
use super::{Entries, Entry, Reference, algorithms, sequential};
use crate::backend::zeroed_vec;
use crate::error::Result;
use crate::format::estimate::{self, Sizes};
use crate::format::{
    Axis, BatchCompressed, Col, Compressed, Coo, Csc, Csr, Ell, EllLayout, Hyb, HybWidth, Row, Sell,
    SellLayout, SparseFormat,
};
use crate::index::Index;
use crate::op::{Conversion, ConvertKernel, Duplicates};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use crate::space::Host;
use std::fmt::Debug;

/// A conversion of the reference.
pub trait Convert<To>: Conversion<To> {
    /// An error if the layout is refused for this pattern.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) or [`Format`](crate::Error::Format), with the reason.
    fn check(&self, _: &Self::Layout) -> Result<()> {
        Ok(())
    }

    /// The matrix in the other format; the layout has passed [`check`](Self::check).
    ///
    /// # Errors
    /// Those of [`ConvertKernel::run_convert`].
    fn convert(&self, layout: &Self::Layout) -> Result<To>;
}

/// The plan of a conversion that needs no workspace: the layout of the target.
#[derive(Debug)]
pub struct ConversionPlan<L> {
    /// The algorithm, and why.
    pub choice: Choice,
    /// The layout, which has been checked.
    pub layout: L,
}

impl<L: Debug + Send> KernelPlan for ConversionPlan<L> {
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

impl<From, To> ConvertKernel<From, To> for Reference
where
    From: Convert<To> + SparseFormat<Space = Host>,
    To: SparseFormat<Space = Host>,
{
    type Plan = ConversionPlan<From::Layout>;

    fn convert_algorithms(&self) -> &'static [Algorithm] {
        algorithms()
    }

    fn plan_convert(&self, from: &From, layout: &From::Layout, options: &PlanOptions) -> Result<Self::Plan> {
        from.check(layout)?;
        Ok(ConversionPlan { choice: sequential(From::NAME, options)?, layout: layout.clone() })
    }

    unsafe fn run_convert(&self, plan: &mut Self::Plan, from: &From) -> Result<To> {
        from.convert(&plan.layout)
    }
}

/// The compressed matrix of entries that are in order of their major index.
pub(super) fn compress<A: Axis, T: Scalar, I: Index, O: Index>(
    rows: usize,
    cols: usize,
    entries: Vec<Entry<T>>,
) -> Result<Compressed<A, T, Host, I, O>> {
    O::try_new("nnz", entries.len())?;
    let (major, _) = A::swap(rows, cols);
    let mut offsets: Vec<O> = zeroed_vec(major.saturating_add(1))?;
    let (mut indices, mut values) = (vec![], vec![]);
    for (i, j, value) in entries {
        let (k, index) = A::swap(i, j);
        indices.push(I::cast(index));
        values.push(value);
        offsets[k + 1] = O::cast(indices.len());
    }
    // Rows (columns of CSC) without entries end where the one before does.
    for k in 1..offsets.len() {
        offsets[k] = offsets[k].max(offsets[k - 1]);
    }
    Compressed::new_unsorted(rows, cols, offsets, indices, values)
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Convert<Compressed<A, T, Host, I, O>> for Coo<T, Host, I> {
    fn convert(&self, duplicates: &Duplicates) -> Result<Compressed<A, T, Host, I, O>> {
        let entries = merge(sorted(self.entries(), &A::swap), *duplicates)?;
        compress(self.nrows(), self.ncols(), entries)
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Convert<Coo<T, Host, I>> for Compressed<A, T, Host, I, O> {
    fn convert(&self, (): &()) -> Result<Coo<T, Host, I>> {
        Coo::from_triplets(self.nrows(), self.ncols(), self.entries())
    }
}

impl<T: Scalar, I: Index, O: Index> Convert<Csc<T, Host, I, O>> for Csr<T, Host, I, O> {
    fn convert(&self, (): &()) -> Result<Csc<T, Host, I, O>> {
        compress(self.nrows(), self.ncols(), sorted(self.entries(), &Col::swap))
    }
}

impl<T: Scalar, I: Index, O: Index> Convert<Csr<T, Host, I, O>> for Csc<T, Host, I, O> {
    fn convert(&self, (): &()) -> Result<Csr<T, Host, I, O>> {
        compress(self.nrows(), self.ncols(), sorted(self.entries(), &Row::swap))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Convert<BatchCompressed<A::Other, T, Host, I, O>>
    for BatchCompressed<A, T, Host, I, O>
{
    fn convert(&self, (): &()) -> Result<BatchCompressed<A::Other, T, Host, I, O>> {
        self.to_other_axis()
    }
}

impl<T: Scalar, I: Index, O: Index> Convert<Ell<T, Host, I>> for Csr<T, Host, I, O> {
    fn check(&self, layout: &EllLayout) -> Result<()> {
        layout.resolve(&self.row_lengths(), Sizes::of::<T, I, O>()).map(drop)
    }

    fn convert(&self, layout: &EllLayout) -> Result<Ell<T, Host, I>> {
        let width = layout.resolve(&self.row_lengths(), Sizes::of::<T, I, O>())?;
        ell_of_width(self, width)
    }
}

/// The first `width` entries of each row.
fn ell_of_width<T: Scalar, I: Index, O: Index>(
    a: &Csr<T, Host, I, O>,
    width: usize,
) -> Result<Ell<T, Host, I>> {
    let rows = a.nrows();
    let slots = crate::error::checked_product("rows x width", rows, width)?;
    let (mut col_idx, mut values) = (vec![I::PADDING; slots], vec![T::ZERO; slots]);
    for i in 0..rows {
        for (k, (j, value)) in a.major_entries(i).take(width).enumerate() {
            col_idx[k * rows + i] = I::cast(j);
            values[k * rows + i] = value;
        }
    }
    Ell::new(rows, a.ncols(), width, col_idx, values)
}

impl<T: Scalar, I: Index, O: Index> Convert<Hyb<T, Host, I>> for Csr<T, Host, I, O> {
    fn check(&self, layout: &HybWidth) -> Result<()> {
        let (lengths, sizes) = (self.row_lengths(), Sizes::of::<T, I, O>());
        let width = layout.resolve(&lengths, self.ncols(), sizes);
        estimate::check_cap(estimate::hyb(&lengths, width, sizes)?, &lengths, sizes, None)
    }

    fn convert(&self, layout: &HybWidth) -> Result<Hyb<T, Host, I>> {
        let width = layout.resolve(&self.row_lengths(), self.ncols(), Sizes::of::<T, I, O>());
        let overflow = (0..self.nrows())
            .flat_map(|i| self.major_entries(i).skip(width).map(move |(j, value)| (i, j, value)));
        Hyb::new(ell_of_width(self, width)?, Coo::from_triplets(self.nrows(), self.ncols(), overflow)?)
    }
}

impl<T: Scalar, I: Index, O: Index> Convert<Sell<T, Host, I, O>> for Csr<T, Host, I, O> {
    fn check(&self, layout: &SellLayout) -> Result<()> {
        let (lengths, sizes) = (self.row_lengths(), Sizes::of::<T, I, O>());
        let sell = estimate::sell(&lengths, *layout, sizes)?;
        O::try_new("slots of sell", sell.slots as usize)?;
        estimate::check_cap(sell, &lengths, sizes, None)
    }

    fn convert(&self, layout: &SellLayout) -> Result<Sell<T, Host, I, O>> {
        let lengths = self.row_lengths();
        let row_order = layout.row_order(&lengths)?;
        let height = layout.slice_height;
        let slots = layout.slice_widths(&lengths, &row_order).sum::<usize>() * height;
        let (mut col_idx, mut values) = (vec![I::PADDING; slots], vec![T::ZERO; slots]);
        let mut slice_ptr = vec![O::default()];
        let mut start = 0;
        for (slice, width) in row_order.chunks(height).zip(layout.slice_widths(&lengths, &row_order)) {
            for (lane, &row) in slice.iter().enumerate() {
                for (k, (j, value)) in self.major_entries(row).enumerate() {
                    col_idx[start + k * height + lane] = I::cast(j);
                    values[start + k * height + lane] = value;
                }
            }
            start += width * height;
            slice_ptr.push(O::cast(start));
        }
        let row_order = row_order.into_iter().map(I::cast).collect();
        Sell::new((self.nrows(), self.ncols()), height, slice_ptr, row_order, col_idx, values)
    }
}

/// CSR with the entries of each row in the order in which `a` stores them.
fn to_csr<T: Scalar, I: Index, O: Index>(a: &impl Entries<Scalar = T>) -> Result<Csr<T, Host, I, O>> {
    compress(a.nrows(), a.ncols(), sorted(a.entries(), &|i, _| (i, 0)))
}

impl<T: Scalar, I: Index, O: Index> Convert<Csr<T, Host, I, O>> for Ell<T, Host, I> {
    fn convert(&self, (): &()) -> Result<Csr<T, Host, I, O>> {
        to_csr(self)
    }
}

impl<T: Scalar, I: Index, O: Index> Convert<Csr<T, Host, I, O>> for Hyb<T, Host, I> {
    fn convert(&self, (): &()) -> Result<Csr<T, Host, I, O>> {
        to_csr(self)
    }
}

impl<T: Scalar, I: Index, O: Index> Convert<Csr<T, Host, I, O>> for Sell<T, Host, I, O> {
    fn convert(&self, (): &()) -> Result<Csr<T, Host, I, O>> {
        to_csr(self)
    }
}
