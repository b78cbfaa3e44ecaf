//! `C ← A·B` of arrays in the caller's memory, for one product: without a plan, and without a reason for the choice.

use super::across::{Functions, require_elements};
use super::partition::{Operands, SpmmPartition};
use super::short_rows::{self, are_short};
use super::thresholds::SpmmThresholds;
use crate::Cpu;
use crate::op::compiled::{find, spmm_across_table};
use crate::primitive::lines::Lines;
use crate::primitive::update::Update;
use crate::simd::{Isa, Vectorize};
use num_traits::One;
use sparse_core::op::Op;
use sparse_core::{DenseView, DenseViewMut, HostCsr, Index, Result, Scalar};

impl Cpu {
    /// `C ← A·B`, with A in CSR over the caller's arrays, and B and C of `columns` columns by rows.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// let (a, b, mut c) = ((&[0, 1, 3][..], &[1, 0, 1][..], &[1.0, 2.0, 3.0][..]), [1.0, 10.0], [f64::NAN; 2]);
    /// Cpu::new()?.multiply_dense((2, 2), a, &b, 1, &mut c)?;
    /// assert_eq!(c, [10.0, 32.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`HostCsr::borrow`]; [`Error::Shape`](sparse_core::Error::Shape) for a B or C of another size.
    pub fn multiply_dense<T: Scalar, I: Index, O: Index>(
        &self,
        (rows, cols): (usize, usize),
        (offsets, indices, values): (&[O], &[I], &[T]),
        b: &[T],
        columns: usize,
        c: &mut [T],
    ) -> Result<()> {
        require_elements((b, cols), (c, rows), columns)?;
        // SAFETY: the slices outlive the matrix, which is only checked.
        unsafe { self.borrow_csr((rows, cols), offsets, indices, values) }.map(drop::<HostCsr<T, I, O>>)?;
        let functions: &Functions<T, I, O> = find(spmm_across_table(), "spmm", "csr")?;
        let b = DenseView::row_major(b, cols, columns)?;
        let c = DenseViewMut::row_major(c, rows, columns)?;
        (functions.along)(self, Lines { offsets, indices, values }, b, c)
    }
}

/// The most entries of a row.
struct LongestRow<'a, O>(&'a [O]);

impl<O: Index> Vectorize for LongestRow<'_, O> {
    type Out = usize;

    #[inline(always)]
    fn run<S: Isa>(self) -> usize {
        let lengths = self.0.iter().zip(&self.0[1..]).map(|(start, end)| end.as_usize() - start.as_usize());
        lengths.fold(0, usize::max)
    }
}

/// The product, with the parts and sums of a plan.
pub(super) fn multiply<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    a: Lines<'_, T, I, O>,
    b: DenseView<'_, T>,
    mut c: DenseViewMut<'_, T>,
) -> Result<()> {
    if b.ncols() == 0 {
        return Ok(());
    }
    let longest = cpu.simd().run(LongestRow(a.offsets));
    if are_short(a, longest, (b.data(), b.ncols()), c.data_mut()) {
        // SAFETY: the caller has checked the matrix, and both views are by rows without gaps.
        unsafe { short_rows::multiply(cpu, a, (b.data(), b.ncols()), c.data_mut()) };
        return Ok(());
    }
    let splits_rows = longest > SpmmThresholds::CPU.segment;
    let mut work = SpmmPartition::new(cpu, &a, splits_rows, b.shape(), 1)?;
    let update = Update { alpha: T::Acc::one(), beta: T::Acc::ZERO };
    work.run(cpu, a, Operands { b, c, update, op: Op::None });
    Ok(())
}
