//! Sums and element-wise products of two matrices of one shape.
//!
//! | operation | C | stores |
//! |---|---|---|
//! | [`Elementwise::Add`] | `alpha·A + beta·B` | the union of the patterns |
//! | [`Elementwise::Multiply`] | `(alpha·A) ∘ (beta·B)` | the intersection of the patterns |
//!
//! Operands may be unsorted and may hold duplicates, which count as their sum; C is sorted and has none. An element
//! that is not stored is an exact zero: it leaves the other one as it is, and annihilates it in a product. Elements
//! that become zero stay stored: the pattern of C follows from the patterns of A and B alone, and
//! [`PrunePlan`](super::PrunePlan) removes them. A factor of 0 does not read the values that it multiplies.

use super::AccOf;
use super::bound_pattern::BoundPattern;
use crate::backend::{Backend, SpaceOf};
use crate::checks::check_size;
use crate::error::Result;
use crate::format::SparseFormat;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::{Accumulator, Scalar};
use std::fmt::{self, Display};

/// An operation on the elements of two matrices.
///
/// ```
/// use sparse_core::op::Elementwise;
///
/// assert_eq!(Elementwise::Add.combine::<f64>((2.0, Some(5.0)), (-1.0, None)), Some(10.0));
/// assert_eq!(Elementwise::Multiply.combine::<f64>((2.0, Some(5.0)), (-1.0, None)), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elementwise {
    /// `alpha·A + beta·B`, on the union of the patterns.
    Add,
    /// `(alpha·A) ∘ (beta·B)`, on the intersection of the patterns.
    Multiply,
}

impl Elementwise {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Add, Self::Multiply];

    /// The name of the method that does it: `add`, `multiply`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Multiply => "multiply",
        }
    }

    /// The element of C for one of A and one of B, each with its factor; `None` where nothing is stored. It is computed
    /// in the accumulator's type and rounded once.
    pub fn combine<T: Scalar>(self, a: (T::Acc, Option<T>), b: (T::Acc, Option<T>)) -> Option<T> {
        let scale = |(factor, value): (T::Acc, Option<T>)| value.map(|value| scaled(factor, value));
        let element = match (self, scale(a), scale(b)) {
            (Self::Add, Some(a), Some(b)) => a + b,
            (Self::Multiply, Some(a), Some(b)) => a.times(b),
            (Self::Add, Some(only), None) | (Self::Add, None, Some(only)) => only,
            (Self::Add, None, None) | (Self::Multiply, ..) => return None,
        };
        Some(T::from_acc(element))
    }
}

impl Display for Elementwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// `factor·value` in the accumulator's type. A factor of 0 does not read the value, and a real one multiplies the parts
/// of a complex value alone.
///
/// ```
/// use sparse_core::op::elementwise::scaled;
///
/// assert_eq!((scaled(0.0, f64::NAN), scaled(2.0, 3.0_f64)), (0.0, 6.0));
/// ```
#[inline(always)]
pub fn scaled<T: Scalar>(factor: T::Acc, value: T) -> T::Acc {
    // The product comes first, so that what is chosen does not branch.
    let product = value.to_acc().times(factor);
    if factor == T::Acc::ZERO { T::Acc::ZERO } else { product }
}

/// Sums and element-wise products: implemented by backends, called through [`ElementwisePlan`].
pub trait ElementwiseKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for two patterns, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn elementwise_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm and finds what depends on the patterns of `a` and `b` alone, which have one shape.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist;
    /// [`IndexOverflow`](crate::Error::IndexOverflow) if the nnz of C does not fit the type of offsets.
    fn plan_elementwise(&self, op: Elementwise, a: &M, b: &M, options: &PlanOptions) -> Result<Self::Plan>;

    /// `alpha·a + beta·b` or `(alpha·a) ∘ (beta·b)`, sorted and without duplicates.
    ///
    /// # Errors
    /// As [`plan_elementwise`](Self::plan_elementwise), and an error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the patterns of `a` and `b`, which are in its context.
    unsafe fn run_elementwise(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        beta: AccOf<M>,
        b: &M,
    ) -> Result<M>;
}

/// A plan for sums or element-wise products of matrices of two patterns.
#[derive(Debug)]
pub struct ElementwisePlan<B: ElementwiseKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    a: BoundPattern,
    b: BoundPattern,
    kernel: B::Plan,
}

impl<B: ElementwiseKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> ElementwisePlan<B, M> {
    /// A plan for the patterns of `a` and `b`.
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if an operand is in another context; [`Shape`](crate::Error::Shape)
    /// if the shapes differ; else those of [`ElementwiseKernel::plan_elementwise`].
    pub fn new(backend: &B, op: Elementwise, a: &M, b: &M, options: &PlanOptions) -> Result<Self> {
        let bind = |m: &M| BoundPattern::new(op.name(), backend.context(), m.context(), m.pattern_id());
        let (bound_a, bound_b) = (bind(a)?, bind(b)?);
        check_size(op.name(), "the number of rows of B", a.nrows(), b.nrows())?;
        check_size(op.name(), "the number of columns of B", a.ncols(), b.ncols())?;
        let kernel = backend.plan_elementwise(op, a, b, options)?;
        Ok(Self { backend: backend.clone(), a: bound_a, b: bound_b, kernel })
    }

    /// `alpha·a + beta·b` or `(alpha·a) ∘ (beta·b)`, sorted and without duplicates.
    ///
    /// ```
    /// use sparse_core::op::{Elementwise, ElementwisePlan};
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 2.0)])?;
    /// let b = Csr::<f64>::from_triplets(2, 2, [(0, 1, 2.0), (1, 1, 5.0)])?;
    /// let mut plan = ElementwisePlan::new(&Reference, Elementwise::Add, &a, &b, &PlanOptions::default())?;
    /// let c = plan.run(1.0, &a, -1.0, &b)?;
    /// assert!(c.triplets().eq([(0, 0, 1.0), (0, 1, 0.0), (1, 1, -5.0)])); // a zero stays stored
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for other patterns; else those of
    /// [`ElementwiseKernel::run_elementwise`].
    pub fn run(&mut self, alpha: AccOf<M>, a: &M, beta: AccOf<M>, b: &M) -> Result<M> {
        self.a.check(a.pattern_id())?;
        self.b.check(b.pattern_id())?;
        // SAFETY: the plan was made for these patterns, and `BoundPattern::new` checked their context.
        unsafe { self.backend.run_elementwise(&mut self.kernel, alpha, a, beta, b) }
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
