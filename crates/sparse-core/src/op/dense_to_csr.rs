//! Dense to CSR, CSC and COO: one matrix or a batch.
//!
//! CSC of A is CSR of Aᵀ, and the transpose of a dense view is free: one kernel serves both. Indices come out sorted
//! and unique on every backend.

use super::{ConvertKernel, ConvertPlan, RealOf};
use crate::backend::{Backend, Buf, SpaceOf};
use crate::checks::check_context;
use crate::error::{Error, Result, check_allocation, checked_product};
use crate::format::{
    Axis, BatchCompressed, Compressed, Coo, Csr, DenseBatchView, DenseView, IndexOrder, Order, Row,
};
use crate::index::Index;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::{Accumulator, Scalar};
use crate::space::View;
use std::marker::PhantomData;

/// The reciprocal of the largest part of a result's capacity that is unused: backends shrink arrays beyond it.
///
/// So the arrays of a result take at most 8/7 of the memory of its entries.
pub const CAPACITY_SLACK: usize = 8;

/// The elements that become entries. NaN and subnormals always do under [`NonZero`](Self::NonZero).
///
/// ```
/// use sparse_core::op::Keep;
///
/// assert_eq!(Keep::<f64>::default(), Keep::NonZero);
/// assert!(Keep::<f64>::NonZero.keeps(1e-300) && !Keep::<f64>::NonZero.keeps(-0.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Keep<T: Scalar> {
    /// All but zeros of either sign.
    #[default]
    NonZero,
    /// Elements for which `!(|v| <= tol)`, NaN included.
    Above(RealOf<T>),
}

impl<T: Scalar> Keep<T> {
    /// True if `value` becomes an entry.
    ///
    /// ```
    /// use sparse_core::op::Keep;
    ///
    /// let large = Keep::<f64>::Above(0.5);
    /// assert!(large.keeps(-0.75) && large.keeps(f64::NAN) && !large.keeps(0.5));
    /// ```
    #[inline(always)]
    pub fn keeps(self, value: T) -> bool {
        match self {
            Self::NonZero => !value.is_zero(),
            Self::Above(tolerance) => !matches!(
                value.to_acc().abs().partial_cmp(&tolerance),
                Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal)
            ),
        }
    }
}

/// The result of [`DenseToCsrKernel::run_dense_to_csr`]: the arrays of a [`BatchCompressed`], sorted and unique.
#[derive(Debug)]
pub struct CompressedArrays<B: Backend, T: Scalar, I: Index, O: Index> {
    /// The first entry of each member, and nnz.
    pub member_ptr: Vec<usize>,
    /// `count · (major + 1)` offsets, each member's starting at 0.
    pub offsets: Buf<B, O>,
    /// One minor index per entry.
    pub indices: Buf<B, I>,
    /// One value per entry.
    pub values: Buf<B, T>,
}

/// Dense to sparse: implemented by backends, called through [`DenseToCompressedPlan`].
///
/// ```compile_fail,E0200
/// use sparse_core::op::{CompressedArrays, DenseToCsrKernel, Keep};
/// use sparse_core::{Algorithm, Choice, DenseBatchView, PlanOptions, Result, reference::Reference};
/// # use sparse_core::{Backend, Caps, ContextId, Element, Host};
/// # #[derive(Debug, Clone)]
/// # struct Careless;
/// # unsafe impl Backend for Careless {
/// #     type Space = Host;
/// #     fn caps(&self) -> &Caps { Reference.caps() }
/// #     fn context(&self) -> ContextId { ContextId::HOST }
/// #     fn upload<T: Element>(&self, host: &[T]) -> Result<Vec<T>> { Reference.upload(host) }
/// #     fn download_into<T: Element>(&self, from: &[T], to: &mut [T]) -> Result<()> { Reference.download_into(from, to) }
/// #     fn copy<T: Element>(&self, from: &[T], to: &mut [T]) -> Result<()> { Reference.copy(from, to) }
/// #     fn synchronize(&self) -> Result<()> { Ok(()) }
/// # }
///
/// impl DenseToCsrKernel<f64, i32, i32> for Careless {
///     type Plan = Choice;
///     fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] { &[] }
///     fn plan_dense_to_csr(&self, _: &DenseBatchView<'_, f64>, _: Keep<f64>, _: &PlanOptions) -> Result<Choice> {
///         Ok(Choice { algorithm: "careless", reason: "always".into() })
///     }
///     unsafe fn run_dense_to_csr(
///         &self,
///         _: &mut Choice,
///         _: DenseBatchView<'_, f64>,
///     ) -> Result<CompressedArrays<Self, f64, i32, i32>> {
///         // Column 9 may be outside of the matrix: a product would read beyond the end of x.
///         Ok(CompressedArrays { member_ptr: vec![0, 1], offsets: vec![0, 1], indices: vec![9], values: vec![1.0] })
///     }
/// }
/// ```
///
/// # Safety
/// A matrix is made of the arrays without another check. So they are those of as many members as `a` has, each valid
/// for its rows and columns as [`CompressedPattern::new_unchecked`](crate::CompressedPattern::new_unchecked) demands,
/// with indices sorted and unique; there is a value for each index, and all arrays are in the backend's context.
///
/// An implementation without `unsafe` does not compile:
pub unsafe trait DenseToCsrKernel<T: Scalar, I: Index, O: Index>: Backend {
    /// A plan for one shape, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms, the default first.
    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm for matrices of the shape and order of `a` and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist.
    fn plan_dense_to_csr(
        &self,
        a: &DenseBatchView<'_, T, SpaceOf<Self>>,
        keep: Keep<T>,
        options: &PlanOptions,
    ) -> Result<Self::Plan>;

    /// Compresses every member by rows. Shapes may be empty.
    ///
    /// # Errors
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if a member's nnz does not fit `O`; what the device's runtime
    /// reports.
    ///
    /// # Safety
    /// `plan` was made by this backend for views of the shape and order of `a`, which is in its context; rows and
    /// columns fit `I`.
    unsafe fn run_dense_to_csr(
        &self,
        plan: &mut Self::Plan,
        a: DenseBatchView<'_, T, SpaceOf<Self>>,
    ) -> Result<CompressedArrays<Self, T, I, O>>;
}

/// The shapes that a plan was made for.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    count: usize,
    rows: usize,
    cols: usize,
    order: Order,
}

impl Shape {
    fn of<T: Scalar, S: crate::space::Space>(a: &DenseBatchView<'_, T, S>) -> Self {
        Self { count: a.count(), rows: a.nrows(), cols: a.ncols(), order: a.order() }
    }
}

/// A plan that compresses dense matrices of one shape and order: to CSR for `A` = [`Row`], to CSC for
/// [`Col`](crate::format::Col).
#[derive(Debug)]
pub struct DenseToCompressedPlan<B, A, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    backend: B,
    shape: Shape,
    kernel: B::Plan,
    target: PhantomData<(A, T, I, O)>,
}

impl<B, A, T, I, O> DenseToCompressedPlan<B, A, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    /// A plan for views of the shape and order of `a`: a [`DenseView`] or a [`DenseBatchView`].
    ///
    /// ```
    /// use sparse_core::op::{DenseToCompressedPlan, Keep};
    /// use sparse_core::{Col, Csc, DenseView, PlanOptions, reference::Reference};
    ///
    /// let dense = DenseView::row_major(&[1.0, 0.0, 0.0, 2.0, 3.0, 0.0], 2, 3)?;
    /// let mut plan = DenseToCompressedPlan::<_, Col, f64, i32, i32>::new(
    ///     &Reference, dense, Keep::NonZero, &PlanOptions::default(),
    /// )?;
    /// let csc: Csc<f64> = plan.run(dense)?;
    /// assert_eq!(csc.row_idx(), &[0, 1, 1]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if an extent does not fit `I`, or the number of offsets `usize`;
    /// else those of [`DenseToCsrKernel::plan_dense_to_csr`].
    pub fn new<'a>(
        backend: &B,
        a: impl Into<DenseBatchView<'a, T, SpaceOf<B>>>,
        keep: Keep<T>,
        options: &PlanOptions,
    ) -> Result<Self> {
        let a = a.into();
        I::try_new("rows", a.nrows())?;
        I::try_new("columns", a.ncols())?;
        check_offsets(a.count(), A::swap(a.nrows(), a.ncols()).0)?;
        let kernel = backend.plan_dense_to_csr(&by_rows::<A, T, SpaceOf<B>>(a), keep, options)?;
        Ok(Self { backend: backend.clone(), shape: Shape::of(&a), kernel, target: PhantomData })
    }

    fn arrays(&mut self, a: DenseBatchView<'_, T, SpaceOf<B>>) -> Result<CompressedArrays<B, T, I, O>> {
        if Shape::of(&a) != self.shape {
            return Err(Error::PlanMismatch {
                op: "dense_to_csr",
                reason: format!("the plan was made for {:?}, the operand is {:?}", self.shape, Shape::of(&a)),
            });
        }
        check_context("dense_to_csr", "the dense matrix", self.backend.context(), a.data().context())?;
        // SAFETY: shape, order and context were checked, the extents in `new`.
        unsafe { self.backend.run_dense_to_csr(&mut self.kernel, by_rows::<A, T, SpaceOf<B>>(a)) }
    }

    /// Compresses one matrix.
    ///
    /// ```
    /// use sparse_core::op::{DenseToCompressedPlan, Keep};
    /// use sparse_core::{DenseView, PlanOptions, Row, reference::Reference};
    ///
    /// let first = DenseView::row_major(&[1.0, 0.0, 0.0, 2.0], 2, 2)?;
    /// let second = DenseView::row_major(&[0.0, 0.0, 3.0, 4.0], 2, 2)?;
    /// let options = PlanOptions::default();
    /// let mut plan =
    ///     DenseToCompressedPlan::<_, Row, f64, i32, i32>::new(&Reference, first, Keep::NonZero, &options)?;
    /// assert_eq!(plan.run(first)?.row_ptr(), &[0, 1, 2]);
    /// assert_eq!(plan.run(second)?.row_ptr(), &[0, 0, 2]); // one shape, other zeros
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for another shape or order,
    /// [`WrongContext`](crate::Error::WrongContext), [`IndexOverflow`](crate::Error::IndexOverflow) if nnz does not
    /// fit `O`.
    pub fn run(&mut self, a: DenseView<'_, T, SpaceOf<B>>) -> Result<Compressed<A, T, SpaceOf<B>, I, O>> {
        let (rows, cols) = (a.nrows(), a.ncols());
        let arrays = self.arrays(a.into())?;
        // SAFETY: the kernel, whose trait is unsafe, returns the arrays of one valid member, sorted and unique.
        Ok(unsafe {
            Compressed::new_unchecked(
                rows,
                cols,
                arrays.offsets,
                arrays.indices,
                arrays.values,
                IndexOrder::CANONICAL,
            )
        })
    }

    /// Compresses a batch at once.
    ///
    /// ```
    /// use sparse_core::op::{DenseToCompressedPlan, Keep};
    /// use sparse_core::{DenseBatchView, Order, PlanOptions, Row, SparseFormat, reference::Reference};
    ///
    /// let two = [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0];
    /// let two = DenseBatchView::<f64>::new(&two[..], 2, 4, (2, 2), 2, Order::RowMajor)?;
    /// let options = PlanOptions::default();
    /// let mut plan =
    ///     DenseToCompressedPlan::<_, Row, f64, i32, i32>::new(&Reference, two, Keep::NonZero, &options)?;
    /// let batch = plan.run_batch(two)?;
    /// assert_eq!((batch.count(), batch.nnz(), batch.member_ptr()), (2, 3, &[0, 2, 3][..]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`run`](Self::run), for the nnz of each member.
    pub fn run_batch(
        &mut self,
        a: DenseBatchView<'_, T, SpaceOf<B>>,
    ) -> Result<BatchCompressed<A, T, SpaceOf<B>, I, O>> {
        let arrays = self.arrays(a)?;
        // SAFETY: the kernel, whose trait is unsafe, returns the arrays of valid members, sorted and unique.
        Ok(unsafe {
            BatchCompressed::new_unchecked(
                (a.nrows(), a.ncols()),
                arrays.member_ptr,
                arrays.offsets,
                arrays.indices,
                arrays.values,
                IndexOrder::CANONICAL,
            )
        })
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }

    /// Bytes of workspace that the plan owns.
    pub fn workspace_bytes(&self) -> usize {
        self.kernel.workspace_bytes()
    }
}

impl<B, T, I, O> DenseToCompressedPlan<B, Row, T, I, O>
where
    B: DenseToCsrKernel<T, I, O> + ConvertKernel<Csr<T, SpaceOf<B>, I, O>, Coo<T, SpaceOf<B>, I>>,
    T: Scalar,
    I: Index,
    O: Index,
{
    /// Compresses one matrix to COO, sorted by rows.
    ///
    /// ```
    /// use sparse_core::op::{DenseToCompressedPlan, Keep};
    /// use sparse_core::{DenseView, PlanOptions, Row, reference::Reference};
    ///
    /// let dense = DenseView::row_major(&[1.0, 0.0, 0.0, 2.0], 2, 2)?;
    /// let options = PlanOptions::once();
    /// let mut plan =
    ///     DenseToCompressedPlan::<_, Row, f64, i32, i32>::new(&Reference, dense, Keep::NonZero, &options)?;
    /// let coo = plan.run_coo(dense)?;
    /// assert!(coo.triplets().eq([(0, 0, 1.0), (1, 1, 2.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_coo(&mut self, a: DenseView<'_, T, SpaceOf<B>>) -> Result<Coo<T, SpaceOf<B>, I>> {
        let csr = self.run(a)?;
        ConvertPlan::new(&self.backend, &csr, &(), &PlanOptions::once())?.run(&csr)
    }
}

/// Fails unless the offsets of `count` members with `lines` rows (CSR) or columns (CSC) can be counted.
fn check_offsets(count: usize, lines: usize) -> Result<()> {
    check_allocation::<usize>("the first entries of the members", count.saturating_add(1))?;
    checked_product("members x offsets", count, lines.saturating_add(1)).map(drop)
}

fn by_rows<'a, A: Axis, T: Scalar, S: crate::space::Space>(
    a: DenseBatchView<'a, T, S>,
) -> DenseBatchView<'a, T, S> {
    if A::IS_ROW { a } else { a.transposed() }
}
