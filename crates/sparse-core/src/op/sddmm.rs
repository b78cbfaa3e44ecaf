//! `C ← alpha·P ∘ (U·Vᵀ) + beta·C` on the pattern of a sparse P: the sampled product of two dense matrices (SDDMM).
//!
//! Entry (i, j) of P gets `alpha·p_ij·Σ_t u_it·v_jt + beta·c_ij`, for U of m × k and V of n × k; nothing is conjugated.
//! A [`Sampling`] says whether `p_ij` is P's value or 1:
//!
//! | elsewhere | here |
//! |---|---|
//! | `dgl.sparse.sddmm(P, U, Vᵀ)`, SciPy's `P.multiply(U @ V.T)` | [`Sampling::Values`], beta 0 |
//! | `cusparseSDDMM` and `torch.sparse.sampled_addmm` of C | [`Sampling::Pattern`], P any matrix of C's pattern |
//!
//! A batch P is the block-diagonal matrix of its members, as for every product.
//!
//! C is an array of one value for each entry of P, in the order of its entries, which
//! [`with_values`](crate::Compressed::with_values) makes a matrix that shares the pattern: plans for P fit it. Entries
//! of one coordinate have a value each. The heads of graph attention are k columns each of wider U and V, which one
//! plan takes in turn:
//!
//! ```
//! use sparse_core::op::{Sampling, SddmmPlan};
//! use sparse_core::{Csr, DenseView, PlanOptions, reference::Reference};
//!
//! let p = Csr::<f64>::new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, 1.0])?;
//! let u = DenseView::row_major(&[1.0, 10.0], 1, 2)?; // two heads of one column
//! let v = DenseView::row_major(&[1.0, 2.0, 3.0, 4.0], 2, 2)?;
//! let mut plan = SddmmPlan::new(&Reference, &p, Sampling::Values, 1, &PlanOptions::default())?;
//! let mut c = [[0.0; 2]; 2];
//! for (head, c) in c.iter_mut().enumerate() {
//!     let columns = head..head + 1;
//!     plan.run(1.0, &p, u.columns(columns.clone())?, v.columns(columns)?, 0.0, c)?;
//! }
//! assert_eq!(c, [[1.0, 3.0], [20.0, 40.0]]);
//! # Ok::<(), sparse_core::Error>(())
//! ```
//!
//! Memory traffic for `nnz` entries, `s` bytes a value: `nnz·(4 + 2·s)` bytes of indices, P and C, `4·m` of offsets and
//! `k·s·m` of U are read or written once; of V at least `k·s·n`, and at most `k·s·nnz` where no row of it stays in a
//! cache.

use super::bound_pattern::BoundPattern;
use super::{AccOf, Coefficient, VectorKernel};
use crate::backend::{Backend, SpaceOf, ViewMutOf};
use crate::error::Result;
use crate::format::{DenseView, SparseFormat};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::Scalar;
use crate::space::{View, ViewMut};
use std::fmt::{self, Display};

/// The factor of an entry of a sampled product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sampling {
    /// The stored value of P.
    #[default]
    Values,
    /// 1: the values of P are not read.
    Pattern,
}

impl Sampling {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Values, Self::Pattern];

    /// The element of `P ∘ (U·Vᵀ)` for a value of P and an element of `U·Vᵀ`.
    ///
    /// ```
    /// use sparse_core::op::Sampling;
    ///
    /// assert_eq!((Sampling::Values.scaled(3.0_f64, 2.0), Sampling::Pattern.scaled(3.0_f64, 2.0)), (6.0, 2.0));
    /// ```
    #[inline(always)]
    pub fn scaled<T: Scalar>(self, value: T, product: T::Acc) -> T::Acc {
        match self {
            Self::Values => value.to_acc() * product,
            Self::Pattern => product,
        }
    }
}

impl Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Values => "values",
            Self::Pattern => "pattern",
        })
    }
}

/// `C ← alpha·P ∘ (U·Vᵀ) + beta·C`: implemented by backends, called through [`SddmmPlan`].
pub trait SddmmKernel<M: SparseFormat<Space = SpaceOf<Self>>>: Backend {
    /// A plan for one pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn sddmm_algorithms(&self) -> &'static [Algorithm];

    /// Inspects the pattern, chooses an algorithm for `inner` columns of U and V and allocates what it needs.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported) if the forced algorithm does not exist;
    /// [`OutOfMemory`](crate::Error::OutOfMemory).
    fn plan_sddmm(
        &self,
        p: &M,
        sampling: Sampling,
        inner: usize,
        options: &PlanOptions,
    ) -> Result<Self::Plan>;

    /// Runs the plan. `beta == 0` does not read `c`; every element of `c` is written.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `plan` was made by `plan_sddmm` of this backend for the pattern of `p`; U has as many rows as `p`, V as many as
    /// `p` has columns, and both have the columns that the plan was made for; `c` has an element for each entry of `p`;
    /// all are in this backend's context. There are an entry and a column, and `alpha` is not zero.
    #[expect(clippy::too_many_arguments, reason = "the operands and factors of the formula")]
    unsafe fn run_sddmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        p: &M,
        u: DenseView<'_, M::Scalar, SpaceOf<Self>>,
        v: DenseView<'_, M::Scalar, SpaceOf<Self>>,
        beta: AccOf<M>,
        c: ViewMutOf<'_, Self, M::Scalar>,
    ) -> Result<()>;
}

/// A plan for `C ← alpha·P ∘ (U·Vᵀ) + beta·C` with one pattern and one number of columns of U and V; values may change
/// between runs, as may the order and the leading dimension of U and V.
#[derive(Debug)]
pub struct SddmmPlan<B: SddmmKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    inner: usize,
    kernel: B::Plan,
}

impl<B, M> SddmmPlan<B, M>
where
    B: SddmmKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    /// Inspects the pattern of `p` and chooses an algorithm for `inner` columns of U and V.
    ///
    /// ```
    /// use sparse_core::op::{Sampling, SddmmPlan};
    /// use sparse_core::{Csr, PlanOptions, reference::Reference};
    ///
    /// let p = Csr::<f32>::identity(2)?;
    /// let plan = SddmmPlan::new(&Reference, &p, Sampling::Values, 64, &PlanOptions::default())?;
    /// assert_eq!(plan.choice().algorithm, "sequential");
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongContext`](crate::Error::WrongContext) if `p` is in another context; else those of
    /// [`SddmmKernel::plan_sddmm`].
    pub fn new(backend: &B, p: &M, sampling: Sampling, inner: usize, options: &PlanOptions) -> Result<Self> {
        let bound = BoundPattern::new("sddmm", backend.context(), p.context(), p.pattern_id())?;
        let kernel = backend.plan_sddmm(p, sampling, inner, options)?;
        Ok(Self { backend: backend.clone(), bound, inner, kernel })
    }

    /// `C ← alpha·P ∘ (U·Vᵀ) + beta·C`, where `c` has a value for each entry of `p`. `beta == 0` does not read `c`;
    /// `alpha == 0` reads neither the values of `p` nor U and V.
    ///
    /// ```
    /// use sparse_core::op::{Sampling, SddmmPlan};
    /// use sparse_core::{Csr, DenseView, PlanOptions, reference::Reference};
    ///
    /// let p = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let u = DenseView::row_major(&[1.0, 10.0], 2, 1)?;
    /// let v = DenseView::row_major(&[1.0, 2.0, 3.0], 3, 1)?;
    /// let mut plan = SddmmPlan::new(&Reference, &p, Sampling::Values, 1, &PlanOptions::default())?;
    /// let mut c = vec![1.0; 3];
    /// plan.run(2.0, &p, u, v, 1.0, &mut c)?;
    /// assert_eq!(c, [3.0, 13.0, 121.0]);
    /// let c = p.with_values(c)?; // shares the pattern of P
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PlanMismatch`](crate::Error::PlanMismatch) for another pattern, [`Shape`](crate::Error::Shape) and
    /// [`WrongContext`](crate::Error::WrongContext) for wrong operands, all before anything is written.
    pub fn run(
        &mut self,
        alpha: AccOf<M>,
        p: &M,
        u: DenseView<'_, M::Scalar, SpaceOf<B>>,
        v: DenseView<'_, M::Scalar, SpaceOf<B>>,
        beta: AccOf<M>,
        c: ViewMutOf<'_, B, M::Scalar>,
    ) -> Result<()> {
        self.bound.check_operands(
            p.pattern_id(),
            &[
                ("the number of rows of U", p.nrows(), u.nrows()),
                ("the number of rows of V", p.ncols(), v.nrows()),
                ("the number of columns of U", self.inner, u.ncols()),
                ("the number of columns of V", self.inner, v.ncols()),
                ("the number of values of C", p.nnz(), c.len()),
            ],
            &[
                ("the matrix", p.context()),
                ("U", u.data().context()),
                ("V", v.data().context()),
                ("C", c.context()),
            ],
        )?;
        if p.nnz() == 0 {
            return Ok(());
        }
        if self.inner == 0 || alpha.is_zero() {
            // SAFETY: C is in this backend's context.
            return unsafe { self.backend.scal(Coefficient::from(beta), c) };
        }
        // SAFETY: pattern, shapes and contexts were checked above; there is work to do.
        unsafe { self.backend.run_sddmm(&mut self.kernel, alpha, p, u, v, beta, c) }
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
