//! The softmax of the lines that a format stores, the rows of CSR and the columns of CSC, over their entries:
//! `y_k = exp(x_k − m) / Σ_l exp(x_l − m)`, where m is the largest value of the line.
//!
//! | elsewhere | here |
//! |---|---|
//! | `torch.sparse.softmax(A, dim=1)`, `dgl.sparse.softmax(A)` | CSR |
//! | `torch.sparse.softmax(A, dim=0)` | CSC |
//! | `torch_geometric.utils.softmax(x, index)` | CSR whose rows are the groups of `index` |
//!
//! Elements that are not stored count as −∞: they are no terms of the sum, and stay unstored. Entries of one coordinate
//! count each, as parallel edges do. The subtraction of m lets no exponential overflow. Values are real; they are
//! computed in the accumulator's type and rounded once. A line with NaN or +∞, or of −∞ alone, gives NaN.
//!
//! Y is an array of one value for each entry, in their order, as of [SDDMM](super::sddmm): attention is SDDMM, softmax
//! and SpMM on one pattern. Memory traffic: values are read once from memory and again from a cache, Y is written once.

use super::RealOf;
use super::bound_pattern::BoundPattern;
use super::reduce::StoredLines;
use crate::backend::{Backend, SpaceOf, ViewMutOf};
use crate::error::{Error, Result};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::{Accumulator, Scalar};
use crate::space::ViewMut as _;
use num_traits::{Float, Zero};

/// Writes the softmax of the values of a line; `terms` is a workspace.
///
/// ```
/// use sparse_core::op::softmax::softmax_of_line;
///
/// let (mut y, mut terms) = ([0.0; 2], vec![]);
/// softmax_of_line(&[1000.0_f64, 1000.0], &mut y, &mut terms);
/// assert_eq!(y, [0.5, 0.5]);
/// ```
pub fn softmax_of_line<T: Scalar>(values: &[T], y: &mut [T], terms: &mut Vec<RealOf<T>>) {
    let real = |value: &T| value.to_acc().re();
    let larger = |a: RealOf<T>, b: RealOf<T>| if b > a || b.is_nan() { b } else { a };
    let largest = values.iter().map(real).fold(RealOf::<T>::neg_infinity(), larger);
    terms.clear();
    terms.extend(values.iter().map(|value| (real(value) - largest).exp()));
    let sum = terms.iter().fold(RealOf::<T>::zero(), |sum, &term| sum + term);
    for (y, &term) in y.iter_mut().zip(&*terms) {
        *y = T::from_acc(T::Acc::from_real(term / sum));
    }
}

/// Softmax of rows or columns: implemented by backends, called through [`SoftmaxPlan`].
pub trait SoftmaxKernel<M: StoredLines<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn softmax_algorithms(&self) -> &'static [Algorithm];

    /// Chooses an algorithm for the pattern of `a`, whose values are real.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) if the forced algorithm does not exist.
    fn plan_softmax(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan>;

    /// Writes a value for each entry of `a`, of which there is at least one.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`, which is in its context, as `y` is; `y` has an element
    /// for each entry.
    unsafe fn run_softmax(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        y: ViewMutOf<'_, Self, M::Scalar>,
    ) -> Result<()>;
}

/// A plan for the softmax of the lines of matrices of one pattern.
#[derive(Debug)]
pub struct SoftmaxPlan<B: SoftmaxKernel<M>, M: StoredLines<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    kernel: B::Plan,
}

impl<B: SoftmaxKernel<M>, M: StoredLines<Space = SpaceOf<B>>> SoftmaxPlan<B, M> {
    /// A plan for the pattern of `a`.
    ///
    /// # Errors
    /// [`WrongContext`](Error::WrongContext) if `a` is in another context; [`Unsupported`](Error::Unsupported) for
    /// complex values; those of [`SoftmaxKernel::plan_softmax`].
    pub fn new(backend: &B, a: &M, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new("softmax", backend.context(), a.context(), a.pattern_id())?;
        if M::Scalar::DTYPE.is_complex() {
            return Err(Error::unsupported("the softmax of complex numbers", "they have no order"));
        }
        let kernel = backend.plan_softmax(a, options)?;
        Ok(Self { backend: backend.clone(), bound, kernel })
    }

    /// Writes a value for each entry to `y`, which is not read.
    ///
    /// ```
    /// use sparse_core::op::SoftmaxPlan;
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![2.0_f64.ln(), 0.0, 7.0])?;
    /// let mut y = vec![f64::NAN; 3];
    /// SoftmaxPlan::new(&Reference, &a, &PlanOptions::default())?.run(&a, &mut y)?;
    /// assert!((y[0] - 2.0 / 3.0).abs() < 1e-15 && (y[1] - 1.0 / 3.0).abs() < 1e-15 && y[2] == 1.0);
    /// let attention = a.with_values(y)?; // shares the pattern of A
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](Error::PlanMismatch) for another pattern; [`WrongContext`](Error::WrongContext) if `y` is in
    /// another context; [`Shape`](Error::Shape) unless it has an element for each entry; else those of
    /// [`SoftmaxKernel::run_softmax`].
    pub fn run(&mut self, a: &M, y: ViewMutOf<'_, B, M::Scalar>) -> Result<()> {
        let contexts = [("the matrix", a.context()), ("y", y.context())];
        self.bound.check_operands(a.pattern_id(), &[("the length of y", a.nnz(), y.len())], &contexts)?;
        if a.nnz() == 0 {
            return Ok(());
        }
        // SAFETY: pattern, length and contexts were checked above.
        unsafe { self.backend.run_softmax(&mut self.kernel, a, y) }
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
