//! `C ← ⊕ A·B`: SpMM with the sum, mean, minimum or maximum of products, as message passing in graph learning uses it.
//!
//! Element (i, t) of C combines the products `a_ij·b_jt` of the entries of row i. Elements that are not stored are no
//! products: a row without entries gives 0. Entries of one coordinate give a product each, as parallel edges do.
//!
//! | [`Aggregation`] | of n products p | `torch.sparse.mm(A, B, reduce=…)` |
//! |---|---|---|
//! | [`Aggregation::Sum`] | `Σ p` | `"sum"` |
//! | [`Aggregation::Mean`] | `Σ p / n` | `"mean"` |
//! | [`Aggregation::Min`] | the least p, of real numbers | `"amin"` |
//! | [`Aggregation::Max`] | the largest p, of real numbers | `"amax"` |
//!
//! Products are compared and added in the accumulator's type and rounded once. The least and the largest also have an
//! argument: the position of the entry among all of A that gave it, the first of several equal ones and the first NaN,
//! and the nnz of A for a row without entries, as `torch_scatter` has it.

use super::bound_pattern::BoundPattern;
use crate::DType;
use crate::backend::{Backend, SpaceOf};
use crate::error::{Error, Result};
use crate::format::{DenseView, DenseViewMut, SparseFormat};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::{Real, Scalar};
use crate::space::{View, ViewMut};
use std::fmt::{self, Display};
use std::str::FromStr;

const OP: &str = "spmm_reduce";

/// A way to combine the products of a row of A.
///
/// ```
/// use sparse_core::op::Aggregation;
///
/// assert_eq!("mean".parse::<Aggregation>()?, Aggregation::Mean);
/// assert_eq!(Aggregation::Max.to_string(), "max");
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregation {
    /// The sum.
    Sum,
    /// The sum divided by the number of products.
    Mean,
    /// The least product, of real numbers.
    Min,
    /// The largest product, of real numbers.
    Max,
}

impl Aggregation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Mean, Self::Min, Self::Max];

    /// The name in options and files: `sum`, `mean`, `min`, `max`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// True if one product is taken, whose entry is the argument.
    pub fn has_argument(self) -> bool {
        matches!(self, Self::Min | Self::Max)
    }

    /// True if `next` is taken in place of `found`, which came before; never by sums and means.
    ///
    /// ```
    /// use sparse_core::op::Aggregation;
    ///
    /// assert!(Aggregation::Min.prefers(1.0, 2.0) && !Aggregation::Min.prefers(2.0, 2.0));
    /// assert!(Aggregation::Max.prefers(f64::NAN, 2.0) && !Aggregation::Max.prefers(3.0, f64::NAN));
    /// ```
    #[inline(always)]
    pub fn prefers<R: Real>(self, next: R, found: R) -> bool {
        let is_better = match self {
            Self::Sum | Self::Mean => return false,
            Self::Min => next < found,
            Self::Max => next > found,
        };
        is_better || next.is_nan() && !found.is_nan()
    }

    /// An error unless values of this type can be combined.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for the least and the largest of complex numbers.
    pub fn check(self, dtype: DType) -> Result<()> {
        if self.has_argument() && dtype.is_complex() {
            return Err(Error::unsupported("the least or largest of complex numbers", "they have no order"));
        }
        Ok(())
    }
}

impl Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Aggregation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let unknown = || Error::unknown_name("aggregation", name, &Self::ALL.map(Self::name));
        Self::ALL.into_iter().find(|known| known.name() == name).ok_or_else(unknown)
    }
}

/// `C ← ⊕ A·B`: implemented by backends, called through [`SpmmReducePlan`].
pub trait SpmmReduceKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn spmm_reduce_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm for `columns` columns of B; [`Aggregation::check`] allows `by`.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) if the forced algorithm does not exist.
    fn plan_spmm_reduce(
        &self,
        by: Aggregation,
        a: &M,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<Self::Plan>;

    /// Runs the plan. Every element of `c` is written, and of `arg`, if there is one; their padding never.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`; B has as many rows as `a` has columns, C and `arg` as
    /// many as `a` has rows, and all have as many columns as the plan was made for; all are in this backend's context.
    /// C has an element, and there is an `arg` only if the aggregation has arguments.
    unsafe fn run_spmm_reduce(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        b: DenseView<'_, M::Scalar, SpaceOf<Self>>,
        c: DenseViewMut<'_, M::Scalar, SpaceOf<Self>>,
        arg: Option<DenseViewMut<'_, i64, SpaceOf<Self>>>,
    ) -> Result<()>;
}

/// A plan for `C ← ⊕ A·B` with one pattern and one number of columns; values may change between runs, as may the order
/// and the leading dimension of B and C.
#[derive(Debug)]
pub struct SpmmReducePlan<B: SpmmReduceKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    by: Aggregation,
    columns: usize,
    kernel: B::Plan,
}

impl<B: SpmmReduceKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> SpmmReducePlan<B, M> {
    /// A plan for the pattern of `a` and `columns` columns of B and C.
    ///
    /// # Errors
    /// [`WrongContext`](Error::WrongContext) if `a` is in another context; those of [`Aggregation::check`] and of
    /// [`SpmmReduceKernel::plan_spmm_reduce`].
    pub fn new(backend: &B, by: Aggregation, a: &M, columns: usize, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new(OP, backend.context(), a.context(), a.pattern_id())?;
        by.check(M::Scalar::DTYPE)?;
        let kernel = backend.plan_spmm_reduce(by, a, columns, options)?;
        Ok(Self { backend: backend.clone(), bound, by, columns, kernel })
    }

    /// `C ← ⊕ A·B`, and the arguments to `arg`, where it is given. Neither C nor `arg` is read.
    ///
    /// ```
    /// use sparse_core::op::{Aggregation, SpmmReducePlan};
    /// use sparse_core::{Csr, DenseView, DenseViewMut, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 2], vec![0, 2], vec![1.0, 2.0])?; // no entry in row 1
    /// let b = DenseView::row_major(&[5.0, 1.0, 0.0, 0.0, 1.0, 4.0], 3, 2)?;
    /// let mut plan = SpmmReducePlan::new(&Reference, Aggregation::Max, &a, 2, &PlanOptions::default())?;
    /// let (mut c, mut arg) = ([f64::NAN; 4], [-1; 4]);
    /// let at = DenseViewMut::row_major(&mut arg, 2, 2)?;
    /// plan.run(&a, b, DenseViewMut::row_major(&mut c, 2, 2)?, Some(at))?;
    /// assert_eq!(c, [5.0, 8.0, 0.0, 0.0]);
    /// assert_eq!(arg, [0, 1, 2, 2]); // nnz where there is no entry
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for arguments of sums and means; [`PlanMismatch`](Error::PlanMismatch) for
    /// another pattern, [`Shape`](Error::Shape) and [`WrongContext`](Error::WrongContext) for wrong operands, all
    /// before anything is written.
    pub fn run(
        &mut self,
        a: &M,
        b: DenseView<'_, M::Scalar, SpaceOf<B>>,
        mut c: DenseViewMut<'_, M::Scalar, SpaceOf<B>>,
        mut arg: Option<DenseViewMut<'_, i64, SpaceOf<B>>>,
    ) -> Result<()> {
        let (rows, columns) = (a.nrows(), self.columns);
        let mut sizes = vec![
            ("the number of rows of B", a.ncols(), b.nrows()),
            ("the number of rows of C", rows, c.nrows()),
            ("the number of columns of B", columns, b.ncols()),
            ("the number of columns of C", columns, c.ncols()),
        ];
        let mut contexts =
            vec![("the matrix", a.context()), ("B", b.data().context()), ("C", c.data_mut().context())];
        if let Some(arg) = &mut arg {
            if !self.by.has_argument() {
                let what = format_args!("the argument of a {}", self.by);
                return Err(Error::unsupported(what, "min and max have one"));
            }
            sizes.push(("the number of rows of the arguments", rows, arg.nrows()));
            sizes.push(("the number of columns of the arguments", columns, arg.ncols()));
            contexts.push(("the argument", arg.data_mut().context()));
        }
        self.bound.check_operands(a.pattern_id(), &sizes, &contexts)?;
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        // SAFETY: pattern, shapes and contexts were checked above; C has an element.
        unsafe { self.backend.run_spmm_reduce(&mut self.kernel, a, b, c, arg) }
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
