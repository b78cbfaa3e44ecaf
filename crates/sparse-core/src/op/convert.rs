//! Conversions from one sparse format to another.
//!
//! | from | to | layout |
//! |---|---|---|
//! | COO | CSR, CSC | [`Duplicates`] |
//! | CSR, CSC | COO | |
//! | CSR | CSC (and back): the transpose of the pattern | |
//! | batch of CSR | batch of CSC (and back), each member as one matrix | |
//! | CSR | ELL | [`EllLayout`] |
//! | CSR | HYB | [`HybWidth`] |
//! | CSR | SELL | [`SellLayout`] |
//! | ELL, HYB, SELL | CSR | |
//!
//! Explicit zeros are entries and stay. COO → CSR, CSR ↔ CSC and those of batches give sorted indices; the others keep
//! the order that entries have within a row.

use super::bound_pattern::BoundPattern;
use crate::backend::{Backend, SpaceOf};
use crate::error::Result;
use crate::format::{
    Axis, BatchCompressed, Compressed, Coo, Csr, Ell, EllLayout, Hyb, HybWidth, Row, Sell, SellLayout,
    SparseFormat,
};
use crate::index::Index;
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use crate::space::Space;
use std::fmt::Debug;
use std::marker::PhantomData;

/// Treatment of entries with the same coordinate; "first" and "last" are of the input's order.
///
/// ```
/// use sparse_core::op::{Duplicates, Operations};
/// use sparse_core::{Coo, Csr, reference::Reference};
///
/// let coo = Coo::<f64>::from_triplets(1, 2, [(0, 1, 1.0), (0, 1, 2.0)])?;
/// let csr = |duplicates| -> sparse_core::Result<Csr<f64>> { Reference.convert(&coo, &duplicates) };
/// assert_eq!(csr(Duplicates::Sum)?.values(), &[3.0]);
/// assert_eq!(csr(Duplicates::Keep)?.values(), &[1.0, 2.0]);
/// assert_eq!(csr(Duplicates::Last)?.values(), &[2.0]);
/// assert!(csr(Duplicates::Error).is_err());
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Duplicates {
    /// Adds them, in input order, in the accumulator's type.
    #[default]
    Sum,
    /// Keeps all, side by side, in input order.
    Keep,
    /// Takes the last one.
    Last,
    /// Refuses them with an error that names the coordinate.
    Error,
}

/// A format that can be turned into `To`.
pub trait Conversion<To>: SparseFormat {
    /// The parameters of the target format.
    type Layout: Debug + Clone + Default + Send + Sync;
    /// The operation's name: `coo_to_csr`.
    const NAME: &'static str;
}

macro_rules! conversion {
    ($name:literal, [$($generics:tt)*], $from:ty => $to:ty, $layout:ty) => {
        impl<T: Scalar, S: Space, $($generics)*> Conversion<$to> for $from {
            type Layout = $layout;
            const NAME: &'static str = $name;
        }
    };
}

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> Conversion<Compressed<A, T, S, I, O>>
    for Coo<T, S, I>
{
    type Layout = Duplicates;
    const NAME: &'static str = if A::IS_ROW { "coo_to_csr" } else { "coo_to_csc" };
}

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> Conversion<Coo<T, S, I>>
    for Compressed<A, T, S, I, O>
{
    type Layout = ();
    const NAME: &'static str = if A::IS_ROW { "csr_to_coo" } else { "csc_to_coo" };
}

impl<A: Axis, T: Scalar, S: Space, I: Index, O: Index> Conversion<BatchCompressed<A::Other, T, S, I, O>>
    for BatchCompressed<A, T, S, I, O>
{
    type Layout = ();
    const NAME: &'static str = if A::IS_ROW { "batch_csr_to_batch_csc" } else { "batch_csc_to_batch_csr" };
}

conversion!("csr_to_csc", [I: Index, O: Index], Csr<T, S, I, O> => Compressed<crate::format::Col, T, S, I, O>, ());
conversion!("csc_to_csr", [I: Index, O: Index], Compressed<crate::format::Col, T, S, I, O> => Compressed<Row, T, S, I, O>, ());
conversion!("csr_to_ell", [I: Index, O: Index], Csr<T, S, I, O> => Ell<T, S, I>, EllLayout);
conversion!("csr_to_hyb", [I: Index, O: Index], Csr<T, S, I, O> => Hyb<T, S, I>, HybWidth);
conversion!("csr_to_sell", [I: Index, O: Index], Csr<T, S, I, O> => Sell<T, S, I, O>, SellLayout);
conversion!("ell_to_csr", [I: Index, O: Index], Ell<T, S, I> => Csr<T, S, I, O>, ());
conversion!("hyb_to_csr", [I: Index, O: Index], Hyb<T, S, I> => Csr<T, S, I, O>, ());
conversion!("sell_to_csr", [I: Index, O: Index], Sell<T, S, I, O> => Csr<T, S, I, O>, ());

/// Conversion of a format to another: implemented by backends, called through [`ConvertPlan`].
pub trait ConvertKernel<From, To>: Backend
where
    From: Conversion<To> + SparseFormat<Space = SpaceOf<Self>>,
    To: SparseFormat<Space = SpaceOf<Self>>,
{
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this pair of formats, the default first.
    fn convert_algorithms(&self) -> &'static [Algorithm];

    /// Inspects the pattern, chooses an algorithm and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist, or the layout is refused;
    /// [`Format`](crate::Error::Format) for [`Duplicates::Error`], if the plan looks for them already.
    fn plan_convert(&self, from: &From, layout: &From::Layout, options: &PlanOptions) -> Result<Self::Plan>;

    /// Runs the plan.
    ///
    /// # Errors
    /// [`Format`](crate::Error::Format) for [`Duplicates::Error`]; [`IndexOverflow`](crate::Error::IndexOverflow) if
    /// nnz does not fit the offset type; an error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by `plan_convert` of this backend for the pattern of `from`, which is in its context.
    unsafe fn run_convert(&self, plan: &mut Self::Plan, from: &From) -> Result<To>;
}

/// A plan that turns matrices of one pattern into another format.
#[derive(Debug)]
pub struct ConvertPlan<B, From, To>
where
    B: ConvertKernel<From, To>,
    From: Conversion<To> + SparseFormat<Space = SpaceOf<B>>,
    To: SparseFormat<Space = SpaceOf<B>>,
{
    backend: B,
    bound: BoundPattern,
    kernel: B::Plan,
    target: PhantomData<fn() -> To>,
}

impl<B, From, To> ConvertPlan<B, From, To>
where
    B: ConvertKernel<From, To>,
    From: Conversion<To> + SparseFormat<Space = SpaceOf<B>>,
    To: SparseFormat<Space = SpaceOf<B>>,
{
    /// Inspects the pattern of `from` and chooses an algorithm.
    ///
    /// ```
    /// use sparse_core::op::ConvertPlan;
    /// use sparse_core::{Csr, Ell, EllLayout, PlanOptions, SparseFormat, reference::Reference};
    ///
    /// let csr = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let mut plan = ConvertPlan::new(&Reference, &csr, &EllLayout::default(), &PlanOptions::once())?;
    /// let ell: Ell<f64> = plan.run(&csr)?;
    /// assert_eq!(ell.nnz(), 3);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `from` is in another context; else those of
    /// [`ConvertKernel::plan_convert`].
    pub fn new(backend: &B, from: &From, layout: &From::Layout, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new(From::NAME, backend.context(), from.context(), from.pattern_id())?;
        let kernel = backend.plan_convert(from, layout, options)?;
        Ok(Self { backend: backend.clone(), bound, kernel, target: PhantomData })
    }

    /// `from` in the other format.
    ///
    /// ```
    /// use sparse_core::op::{ConvertPlan, Duplicates};
    /// use sparse_core::{Coo, Csr, PlanOptions, reference::Reference};
    ///
    /// let mut coo = Coo::<f64>::from_triplets(2, 2, [(1, 0, 3.0), (0, 1, 1.0)])?;
    /// let mut plan = ConvertPlan::new(&Reference, &coo, &Duplicates::Sum, &PlanOptions::default())?;
    /// let first: Csr<f64> = plan.run(&coo)?;
    /// coo.values_mut()[0] = 9.0; // the pattern stays, and with it the plan
    /// assert_eq!((first.values(), plan.run(&coo)?.values()), (&vec![1.0, 3.0], &vec![1.0, 9.0]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for another pattern; else those of [`ConvertKernel::run_convert`].
    pub fn run(&mut self, from: &From) -> Result<To> {
        self.bound.check(from.pattern_id())?;
        // SAFETY: the plan was made for this pattern, and `BoundPattern::new` checked its context.
        unsafe { self.backend.run_convert(&mut self.kernel, from) }
    }

    /// The algorithm that runs, and the reason.
    pub fn choice(&self) -> &Choice {
        self.kernel.choice()
    }
}
