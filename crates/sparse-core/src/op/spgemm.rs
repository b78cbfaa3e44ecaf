//! `C ← A·B`: sparse matrix times sparse matrix.

use super::bound_pattern::BoundPattern;
use crate::backend::{Backend, SpaceOf};
use crate::checks::{check_context, check_size};
use crate::error::{Error, Result};
use crate::format::estimate::Sizes;
use crate::format::{Axis, Compressed, CompressedPattern, PatternId, SparseFormat};
use crate::index::Index;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use crate::space::Space;
use std::marker::PhantomData;
use std::sync::Arc;

const OP: &str = "spgemm";

/// `C ← A·B` of sparse matrices: implemented by backends, called through [`SpgemmPlan`].
pub trait SpgemmKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// The pattern of C for two patterns, with the workspace of the products.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn spgemm_algorithms(&self) -> &'static [Algorithm];

    /// Counts the products, which bounds C, and allocates nothing of its size.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `a` has as many columns as `b` has rows; both are in this backend's context.
    unsafe fn spgemm_bound(&self, a: &M, b: &M) -> Result<SpgemmBound>;

    /// Finds the pattern of C, which has an entry wherever a product arises: sorted and unique. With a mask it is that
    /// of the mask.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) if the forced algorithm does not exist;
    /// [`IndexOverflow`](Error::IndexOverflow) if C's entries are more than its offsets can count; those of
    /// [`mask_pattern`].
    ///
    /// # Safety
    /// As for [`spgemm_bound`](Self::spgemm_bound); the mask has the shape of C, and is in this backend's context.
    unsafe fn plan_spgemm(&self, a: &M, b: &M, mask: Option<&M>, options: &PlanOptions)
    -> Result<Self::Plan>;

    /// Id and number of entries of C's pattern, which all matrices that the plan makes share.
    fn spgemm_pattern(&self, plan: &Self::Plan) -> (PatternId, usize);

    /// A matrix of C's pattern with zeros as values.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory).
    fn spgemm_output(&self, plan: &Self::Plan) -> Result<M>;

    /// Writes the values of C without reading them, in the order of summation that [`SpgemmPlan`] describes.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the patterns of `a` and `b`, and `c` has the pattern that it found; all are
    /// in its context. C has an entry.
    unsafe fn run_spgemm(&self, plan: &mut Self::Plan, a: &M, b: &M, c: &mut M) -> Result<()>;

    /// A new C with its values. A backend whose [`run_spgemm`](Self::run_spgemm) writes all of them need not set them
    /// before.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), and those of [`run_spgemm`](Self::run_spgemm).
    ///
    /// # Safety
    /// As for [`run_spgemm`](Self::run_spgemm).
    unsafe fn run_spgemm_new(&self, plan: &mut Self::Plan, a: &M, b: &M) -> Result<M> {
        let mut c = self.spgemm_output(plan)?;
        // SAFETY: the caller's promise, and C is of the plan's pattern.
        unsafe { self.run_spgemm(plan, a, b, &mut c)? };
        Ok(c)
    }

    /// `A·B` in one pass, without a plan, where the backend has that and it takes less time than a plan and its run.
    ///
    /// # Errors
    /// Those of [`plan_spgemm`](Self::plan_spgemm) and [`run_spgemm_new`](Self::run_spgemm_new).
    ///
    /// # Safety
    /// As for [`spgemm_bound`](Self::spgemm_bound).
    unsafe fn spgemm_in_one_pass(&self, _a: &M, _b: &M) -> Option<Result<M>> {
        None
    }
}

/// The work of a product and an upper bound of its result's memory, computed before any of it is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpgemmBound {
    /// Products of an entry of A and one of B: half the floating-point operations.
    pub products: u64,
    /// The most entries that C can have: in each row as many as products, or as columns if those are fewer.
    pub nnz: u64,
    /// The most bytes that the arrays of C can take.
    pub bytes: u64,
}

impl SpgemmBound {
    /// The bound of a C from the number of products of each row (CSC: column); `minor` is the length of a row.
    ///
    /// ```
    /// use sparse_core::format::estimate::Sizes;
    /// use sparse_core::op::SpgemmBound;
    ///
    /// let bound = SpgemmBound::new([2, 9], 5, Sizes::of::<f64, i32, i32>());
    /// assert_eq!((bound.products, bound.nnz, bound.bytes), (11, 7, 7 * 12 + 3 * 4));
    /// ```
    pub fn new(products: impl IntoIterator<Item = usize>, minor: usize, sizes: Sizes) -> Self {
        let (mut rows, mut total, mut nnz) = (0, 0_u64, 0_u64);
        for products in products {
            rows += 1;
            total = total.saturating_add(products as u64);
            nnz = nnz.saturating_add(products.min(minor) as u64);
        }
        Self::of_totals(rows, total, nnz, sizes)
    }

    /// The bound of a C with this number of rows (CSC: columns), of products, and of entries at most.
    pub fn of_totals(rows: usize, products: u64, nnz: u64, sizes: Sizes) -> Self {
        let entries = nnz.saturating_mul((sizes.scalar + sizes.index) as u64);
        Self { products, nnz, bytes: entries.saturating_add((rows as u64 + 1) * sizes.offset as u64) }
    }
}

/// The factors in the order in which a row-wise product takes them: (A, B) for CSR; (B, A) for CSC, whose columns are
/// the rows of `Cᵀ = Bᵀ·Aᵀ`.
pub fn row_factors<A: Axis, M>(a: M, b: M) -> (M, M) {
    if A::IS_ROW { (a, b) } else { (b, a) }
}

/// The pattern of a mask.
///
/// # Errors
/// [`Format`](Error::Format) unless it is sorted and has each coordinate once.
pub fn mask_pattern<A: Axis, T: Scalar, S: Space, I: Index, O: Index>(
    mask: &Compressed<A, T, S, I, O>,
) -> Result<&Arc<CompressedPattern<S, I, O>>> {
    let order = mask.order();
    if order.sorted && order.unique {
        return Ok(mask.pattern());
    }
    Err(Error::format(A::FORMAT, "the mask of a product must be sorted, with each coordinate once"))
}

/// A plan for `C ← A·B` with the patterns of A and B: the pattern of C, and what fills it; values may change between
/// runs.
///
/// - C is sorted and has no duplicates; A and B may be unsorted. It has an entry wherever a product of stored entries
///   arises: sums that cancel leave an explicit zero, which [`PrunePlan`](super::PrunePlan) removes.
/// - An entry of C is a sum from +0 on in the accumulator's type, rounded once. Its products are added in the order in
///   which A stores the entries of their row (of CSC: B those of their column); a device's plan for many calls may
///   first add neighbours in this order, and then their sums. So it has the same bits on every run and with any number
///   of threads, and a sum of −0 alone is +0.
/// - All matrices that a plan makes have one pattern: plans for C outlive changes of values.
/// - A plan with a mask M, [`masked`](Self::masked), computes `C⟨M⟩ = A·B`: only the elements of A·B at the entries of
///   M, whose values are ignored. C has the pattern of M, and zeros where no product arises.
///
/// ```
/// use sparse_core::op::SpgemmPlan;
/// use sparse_core::{Csr, PlanOptions, reference::Reference};
///
/// let mut a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
/// let mut plan = SpgemmPlan::new(&Reference, &a, &a, &PlanOptions::default())?;
/// let mut c = plan.run(&a, &a)?;
/// assert!(c.triplets().eq([(0, 0, 1.0), (0, 1, 8.0), (1, 1, 9.0)]));
/// a.values_mut()[2] = -1.0; // other values in the same pattern: no new plan, and no new C
/// plan.run_into(&a, &a, &mut c)?;
/// assert_eq!(c.values(), &[1.0, 0.0, 1.0]); // 1·2 + 2·(−1) stays as an explicit zero
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct SpgemmPlan<B: SpgemmKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    a: BoundPattern,
    b: BoundPattern,
    kernel: B::Plan,
    matrix: PhantomData<fn() -> M>,
}

impl<B: SpgemmKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> SpgemmPlan<B, M> {
    /// Finds the pattern of A·B.
    ///
    /// ```
    /// # use sparse_core::{Csr, PlanOptions, op::SpgemmPlan, reference::Reference};
    /// let (a, b) = (Csr::<f64>::zeros(2, 3)?, Csr::<f64>::zeros(2, 4)?);
    /// let error = SpgemmPlan::new(&Reference, &a, &b, &PlanOptions::once()).unwrap_err();
    /// assert_eq!(error.to_string(), "spgemm: the number of rows of B is 2 where 3 is needed");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) unless A has as many columns as B has rows, [`WrongContext`](Error::WrongContext) if one
    /// is in another context; else those of [`SpgemmKernel::plan_spgemm`].
    pub fn new(backend: &B, a: &M, b: &M, options: &PlanOptions) -> Result<Self> {
        Self::of(backend, a, b, None, options)
    }

    /// A plan for the elements of A·B at the entries of `mask`; C has the mask's pattern.
    ///
    /// The work is that of A·B, the memory that of the mask. Triangles of an undirected graph are the sum of
    /// `A⟨A⟩ = A·A`.
    ///
    /// ```
    /// # use sparse_core::{Csr, PlanOptions, SparseFormat, op::SpgemmPlan, reference::Reference};
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let mask = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![7.0, 7.0])?;
    /// let c = SpgemmPlan::masked(&Reference, &a, &a, &mask, &PlanOptions::once())?.run(&a, &a)?;
    /// assert!(c.triplets().eq([(0, 1, 8.0), (1, 0, 0.0)])); // no product at (1, 0)
    /// assert_eq!(c.pattern_id(), mask.pattern_id());
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Shape`](Error::Shape) for a mask of another shape than C, [`Format`](Error::Format)
    /// for one that is not sorted or has a coordinate twice.
    #[doc(alias("mxm", "masked_spgemm"))]
    pub fn masked(backend: &B, a: &M, b: &M, mask: &M, options: &PlanOptions) -> Result<Self> {
        check_context(OP, "the mask", backend.context(), mask.context())?;
        check_size(OP, "the number of rows of the mask", a.nrows(), mask.nrows())?;
        check_size(OP, "the number of columns of the mask", b.ncols(), mask.ncols())?;
        Self::of(backend, a, b, Some(mask), options)
    }

    fn of(backend: &B, a: &M, b: &M, mask: Option<&M>, options: &PlanOptions) -> Result<Self> {
        check_factors(backend, a, b)?;
        let bound =
            |matrix: &M| BoundPattern::new(OP, backend.context(), matrix.context(), matrix.pattern_id());
        // SAFETY: shapes and contexts were checked.
        let kernel = unsafe { backend.plan_spgemm(a, b, mask, options)? };
        Ok(Self { backend: backend.clone(), a: bound(a)?, b: bound(b)?, kernel, matrix: PhantomData })
    }

    /// A matrix of C's pattern with zeros as values, which [`run_into`](Self::run_into) fills. Where only the pattern
    /// of the product is needed, this is the result.
    ///
    /// ```
    /// # use sparse_core::{Csr, PlanOptions, op::SpgemmPlan, reference::Reference};
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let c = SpgemmPlan::new(&Reference, &a, &a, &PlanOptions::once())?.output()?;
    /// assert!(c.triplets().eq([(0, 0, 0.0), (0, 1, 0.0), (1, 1, 0.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory).
    pub fn output(&self) -> Result<M> {
        self.backend.spgemm_output(&self.kernel)
    }

    /// The number of products and an upper bound of C's memory, computed before any of it is allocated.
    ///
    /// ```
    /// # use sparse_core::{Csr, PlanOptions, op::SpgemmPlan, reference::Reference};
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let bound = SpgemmPlan::bound(&Reference, &a, &a)?;
    /// assert_eq!((bound.products, bound.nnz), (4, 3));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new), except for those about the size of C.
    pub fn bound(backend: &B, a: &M, b: &M) -> Result<SpgemmBound> {
        check_factors(backend, a, b)?;
        // SAFETY: shapes and contexts were checked.
        unsafe { backend.spgemm_bound(a, b) }
    }

    /// `A·B`.
    ///
    /// # Errors
    /// [`PlanMismatch`](Error::PlanMismatch) for other patterns; an error of the device's runtime.
    pub fn run(&mut self, a: &M, b: &M) -> Result<M> {
        self.check(a, b)?;
        if self.nnz() == 0 {
            return self.output();
        }
        // SAFETY: patterns and contexts were checked; C has an entry.
        unsafe { self.backend.run_spgemm_new(&mut self.kernel, a, b) }
    }

    /// `C ← A·B` into a matrix that a run of this plan returned; its values are not read.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`PlanMismatch`](Error::PlanMismatch) for a C of another pattern.
    pub fn run_into(&mut self, a: &M, b: &M, c: &mut M) -> Result<()> {
        self.check(a, b)?;
        check_context(OP, "C", self.backend.context(), c.context())?;
        if c.pattern_id() != self.backend.spgemm_pattern(&self.kernel).0 {
            let reason = "C has another pattern than the matrices that this plan returns".into();
            return Err(Error::PlanMismatch { op: OP, reason });
        }
        if self.nnz() == 0 {
            return Ok(());
        }
        // SAFETY: patterns and contexts were checked; C has an entry.
        unsafe { self.backend.run_spgemm(&mut self.kernel, a, b, c) }
    }

    fn check(&self, a: &M, b: &M) -> Result<()> {
        self.a.check_operands(a.pattern_id(), &[], &[("A", a.context())])?;
        self.b.check_operands(b.pattern_id(), &[], &[("B", b.context())])
    }

    /// The number of entries of C.
    ///
    /// ```
    /// # use sparse_core::{Csr, PlanOptions, op::SpgemmPlan, reference::Reference};
    /// let a = Csr::<f64>::new(2, 1, vec![0, 1, 2], vec![0, 0], vec![1.0, 2.0])?;
    /// let b = Csr::<f64>::new(1, 3, vec![0, 2], vec![0, 2], vec![5.0, 6.0])?;
    /// assert_eq!(SpgemmPlan::new(&Reference, &a, &b, &PlanOptions::once())?.nnz(), 4);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn nnz(&self) -> usize {
        self.backend.spgemm_pattern(&self.kernel).1
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }

    /// Bytes of workspace that the plan owns, the pattern of C among them.
    pub fn workspace_bytes(&self) -> usize {
        self.kernel.workspace_bytes()
    }
}

/// `A·B` for one call.
///
/// # Errors
/// Those of [`SpgemmPlan::new`] and [`SpgemmPlan::run`].
pub(super) fn multiply_once<B, M>(backend: &B, a: &M, b: &M) -> Result<M>
where
    B: SpgemmKernel<M>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    check_factors(backend, a, b)?;
    // SAFETY: shapes and contexts were checked.
    match unsafe { backend.spgemm_in_one_pass(a, b) } {
        Some(product) => product,
        None => SpgemmPlan::new(backend, a, b, &PlanOptions::once())?.run(a, b),
    }
}

/// An error unless A·B exists and both factors are in the backend's context.
fn check_factors<B: Backend, M: SparseFormat>(backend: &B, a: &M, b: &M) -> Result<()> {
    for (operand, context) in [("A", a.context()), ("B", b.context())] {
        check_context(OP, operand, backend.context(), context)?;
    }
    check_size(OP, "the number of rows of B", a.ncols(), b.nrows())
}
