//! Prefix sums of a row-major `rows × cols` array of integers.
//!
//! - TPS: the whole array as one series, in row-major order; rows × cols is its length.
//! - HPS: series after series, in row-major order: TPS of each row, then each row's total carried into the next.
//! - VPS: in column-major order: down column 0, then column 1, …
//!
//! TPS and HPS of one array give the same numbers by different steps. The exclusive form is the same order shifted by
//! one, zero first. Sums wrap in two's complement, as on devices.

use crate::backend::{Backend, ViewMutOf, ViewOf};
use crate::checks::{check_context, check_size};
use crate::error::{Result, checked_product};
use crate::index::Index;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::space::{View, ViewMut};

/// An integer that can be scanned: `i32` or `i64`.
pub trait ScanElement: Index {
    /// The sum, in two's complement.
    ///
    /// ```
    /// use sparse_core::op::ScanElement;
    ///
    /// assert_eq!(ScanElement::wrapping_add(i32::MAX, 1), i32::MIN);
    /// ```
    #[must_use]
    fn wrapping_add(self, other: Self) -> Self;
}

impl ScanElement for i32 {
    #[inline(always)]
    fn wrapping_add(self, other: Self) -> Self {
        i32::wrapping_add(self, other)
    }
}

impl ScanElement for i64 {
    #[inline(always)]
    fn wrapping_add(self, other: Self) -> Self {
        i64::wrapping_add(self, other)
    }
}

/// The order in which a scan visits the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScanOrder {
    /// All elements as one series (total prefix sums, TPS).
    #[doc(alias = "Tps")]
    Flat,
    /// Along each row (horizontal prefix sums, HPS).
    #[doc(alias = "Hps")]
    RowMajor,
    /// Along each column (vertical prefix sums, VPS).
    #[doc(alias = "Vps")]
    ColumnMajor,
}

/// Inclusive or exclusive prefix sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScanKind {
    /// An element is part of its own prefix.
    Inclusive,
    /// An element is not part of its own prefix; the first result is zero.
    Exclusive,
}

/// Prefix sums: implemented by backends, called through [`ScanPlan`].
pub trait ScanKernel<T: ScanElement>: Backend {
    /// A plan for one shape, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this order, the default first.
    fn scan_algorithms(&self, order: ScanOrder) -> &'static [Algorithm];

    /// Chooses an algorithm and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist.
    fn plan_scan(
        &self,
        shape: (usize, usize),
        order: ScanOrder,
        kind: ScanKind,
        options: &PlanOptions,
    ) -> Result<Self::Plan>;

    /// Runs the plan.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend; input and output have `rows · cols` elements, at least one, and are in this
    /// backend's context.
    unsafe fn run_scan(
        &self,
        plan: &mut Self::Plan,
        input: ViewOf<'_, Self, T>,
        output: ViewMutOf<'_, Self, T>,
    ) -> Result<()>;
}

/// A plan for prefix sums of arrays of one shape.
#[derive(Debug)]
pub struct ScanPlan<B: ScanKernel<T>, T: ScanElement> {
    backend: B,
    len: usize,
    kernel: B::Plan,
}

impl<B: ScanKernel<T>, T: ScanElement> ScanPlan<B, T> {
    /// A plan for `rows × cols` elements.
    ///
    /// ```
    /// use sparse_core::op::{ScanKind, ScanOrder, ScanPlan};
    /// use sparse_core::{PlanOptions, reference::Reference};
    ///
    /// let (options, shape) = (PlanOptions::once(), (2, 2));
    /// let mut down_columns =
    ///     ScanPlan::<_, i64>::new(&Reference, shape, ScanOrder::ColumnMajor, ScanKind::Inclusive, &options)?;
    /// let mut sums = [0; 4];
    /// down_columns.run(&[1, 2, 3, 4], &mut sums)?;
    /// assert_eq!(sums, [1, 6, 4, 10]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if the size does not fit; else those of
    /// [`ScanKernel::plan_scan`].
    pub fn new(
        backend: &B,
        (rows, cols): (usize, usize),
        order: ScanOrder,
        kind: ScanKind,
        options: &PlanOptions,
    ) -> Result<Self> {
        let len = checked_product("rows x columns", rows, cols)?;
        let kernel = backend.plan_scan((rows, cols), order, kind, options)?;
        Ok(Self { backend: backend.clone(), len, kernel })
    }

    /// Writes the prefix sums of `input` to `output`.
    ///
    /// ```
    /// use sparse_core::op::{ScanKind, ScanOrder, ScanPlan};
    /// use sparse_core::{PlanOptions, reference::Reference};
    ///
    /// // The lengths of four rows, and where each of them starts.
    /// let (shape, options) = ((1, 4), PlanOptions::once());
    /// let mut plan =
    ///     ScanPlan::<_, i32>::new(&Reference, shape, ScanOrder::Flat, ScanKind::Exclusive, &options)?;
    /// let mut starts = [0; 4];
    /// plan.run(&[3, 0, 2, 5], &mut starts)?;
    /// assert_eq!(starts, [0, 3, 3, 5]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) and [`WrongContext`](crate::Error::WrongContext) for wrong operands.
    pub fn run(&mut self, input: ViewOf<'_, B, T>, output: ViewMutOf<'_, B, T>) -> Result<()> {
        check_size("scan", "the length of the input", self.len, input.len())?;
        check_size("scan", "the length of the output", self.len, output.len())?;
        check_context("scan", "the input", self.backend.context(), input.context())?;
        check_context("scan", "the output", self.backend.context(), output.context())?;
        if self.len == 0 {
            return Ok(());
        }
        // SAFETY: lengths and contexts were checked; there is work to do.
        unsafe { self.backend.run_scan(&mut self.kernel, input, output) }
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }
}
