//! `op(A)·x = b` for triangular A: forward and back substitution.

use super::Op;
use super::bound_pattern::BoundPattern;
use crate::backend::{SpaceOf, ViewMutOf, ViewOf};
use crate::checks::{check_context, check_size};
use crate::error::{Error, Result, check_square};
use crate::format::{DenseView, DenseViewMut, Order, SparseFormat};
use crate::plan::{Algorithm, Choice, KernelPlan, PlanOptions};
use crate::scalar::{Accumulator, c64};
use crate::space::{View, ViewMut};

const OP: &str = "trisolve";

/// A triangle of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// The entries on and below the diagonal.
    Lower,
    /// The entries on and above the diagonal.
    Upper,
}

impl Triangle {
    /// True if element (row, col) lies in the triangle, but not on the diagonal.
    ///
    /// ```
    /// use sparse_core::op::Triangle;
    ///
    /// assert!(Triangle::Lower.has(2, 1) && !Triangle::Lower.has(1, 1) && !Triangle::Lower.has(0, 1));
    /// ```
    #[inline(always)]
    pub fn has(self, row: usize, col: usize) -> bool {
        match self {
            Self::Lower => col < row,
            Self::Upper => col > row,
        }
    }
}

/// The diagonal of a triangular system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Diagonal {
    /// The stored entries; those of one row are added.
    #[default]
    Stored,
    /// Ones; stored entries are not read.
    Unit,
}

/// The triangular system that a matrix stands for: triangle, diagonal and op.
///
/// ```
/// use sparse_core::op::{Diagonal, Op, Triangle, Triangular};
///
/// let system = Triangular::lower().unit_diagonal().with_op(Op::Transpose);
/// assert_eq!((system.triangle, system.diagonal), (Triangle::Lower, Diagonal::Unit));
/// assert_eq!(system.solved_triangle(), Triangle::Upper);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Triangular {
    /// The triangle of A that is read.
    pub triangle: Triangle,
    /// The diagonal of A.
    pub diagonal: Diagonal,
    /// op of op(A)·x = b.
    pub op: Op,
}

impl Triangular {
    /// A·x = b with the lower triangle of A.
    pub const fn lower() -> Self {
        Self { triangle: Triangle::Lower, diagonal: Diagonal::Stored, op: Op::None }
    }

    /// A·x = b with the upper triangle of A.
    pub const fn upper() -> Self {
        Self { triangle: Triangle::Upper, ..Self::lower() }
    }

    /// The system with ones on the diagonal.
    #[must_use]
    pub const fn unit_diagonal(self) -> Self {
        Self { diagonal: Diagonal::Unit, ..self }
    }

    /// The system with op(A) in place of A.
    #[must_use]
    pub const fn with_op(self, op: Op) -> Self {
        Self { op, ..self }
    }

    /// The triangle of op(A): the lower one is solved from the first row on, the upper one from the last.
    pub fn solved_triangle(self) -> Triangle {
        match (self.triangle, self.op.transposes()) {
            (Triangle::Lower, false) | (Triangle::Upper, true) => Triangle::Lower,
            (Triangle::Lower, true) | (Triangle::Upper, false) => Triangle::Upper,
        }
    }

    /// The rows of op(A) in the order of substitution.
    ///
    /// ```
    /// use sparse_core::op::Triangular;
    ///
    /// assert!(Triangular::upper().rows(3).eq([2, 1, 0]));
    /// ```
    pub fn rows(self, n: usize) -> impl Iterator<Item = usize> {
        let is_lower = self.solved_triangle() == Triangle::Lower;
        (0..n).map(move |k| if is_lower { k } else { n - 1 - k })
    }

    /// The error of a row without an entry on the diagonal.
    pub fn missing_diagonal(row: usize) -> Error {
        Error::singular(OP, row, "a diagonal entry is needed, none is stored; a unit diagonal needs none")
    }

    /// The error of a row whose diagonal is zero.
    pub fn zero_diagonal(row: usize) -> Error {
        Error::singular(OP, row, "the diagonal is zero")
    }
}

/// `dividend / divisor`, of complex numbers without overflow or underflow on the way.
///
/// ```
/// use sparse_core::{c32, op::quotient};
///
/// let divisor = c32::new(0.0, 1e30);
/// assert!((quotient(divisor, divisor) - c32::new(1.0, 0.0)).norm() < 1e-6);
/// assert_eq!(quotient(1.0, 4.0), 0.25);
/// ```
#[inline(always)]
pub fn quotient<A: Accumulator>(dividend: A, divisor: A) -> A {
    if !A::COMPLEX {
        return dividend / divisor;
    }
    A::from_c64(complex_quotient(dividend.to_c64(), divisor.to_c64()))
}

/// A quotient of numbers whose larger parts are brought between 1 and 2 by powers of two.
fn complex_quotient(dividend: c64, divisor: c64) -> c64 {
    let (up, down) = (exponent(dividend), exponent(divisor));
    scaled(scaled(dividend, -up) / scaled(divisor, -down), up - down)
}

/// The exponent of the larger part; 0 if there is none to scale by.
fn exponent(number: c64) -> i32 {
    let part = number.re.abs().max(number.im.abs());
    if part > 0.0 && part.is_finite() { libm::ilogb(part) } else { 0 }
}

/// The product with a power of two.
fn scaled(number: c64, exponent: i32) -> c64 {
    c64::new(libm::ldexp(number.re, exponent), libm::ldexp(number.im, exponent))
}

/// `op(A)·X = B` by substitution: implemented by backends, called through [`TrisolvePlan`].
pub trait TrisolveKernel<M: SparseFormat<Space = SpaceOf<Self>>>: crate::Backend {
    /// The order of substitution for a pattern, with its workspace.
    type Plan: KernelPlan;

    /// The algorithms for this format, the default first.
    fn trisolve_algorithms(&self) -> &'static [Algorithm];

    /// Inspects the pattern and chooses an algorithm.
    ///
    /// # Errors
    /// [`Singular`](Error::Singular) if the diagonal of a row is needed and not stored;
    /// [`Unsupported`](Error::Unsupported) if the forced algorithm does not exist.
    ///
    /// # Safety
    /// `a` is square and is in this backend's context.
    unsafe fn plan_trisolve(&self, a: &M, system: Triangular, options: &PlanOptions) -> Result<Self::Plan>;

    /// Writes all of X without reading it, in the order of summation that [`TrisolvePlan`] describes.
    ///
    /// # Errors
    /// [`Singular`](Error::Singular) with the first row whose diagonal is zero; then X has any values. An error of the
    /// device's runtime.
    ///
    /// # Safety
    /// `plan` was made by this backend for the pattern of `a`; B and X have as many rows as `a`, as many columns as
    /// each other, and at least one of both; all are in this backend's context.
    unsafe fn run_trisolve(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        b: DenseView<'_, M::Scalar, SpaceOf<Self>>,
        x: DenseViewMut<'_, M::Scalar, SpaceOf<Self>>,
    ) -> Result<()>;

    /// As [`run_trisolve`](Self::run_trisolve), which is the default. A device neither waits nor allocates for one
    /// column, and does not look for zeros on the diagonal.
    ///
    /// # Errors
    /// An error of the device's runtime; those of [`run_trisolve`](Self::run_trisolve) by default.
    ///
    /// # Safety
    /// As for [`run_trisolve`](Self::run_trisolve).
    unsafe fn enqueue_trisolve(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        b: DenseView<'_, M::Scalar, SpaceOf<Self>>,
        x: DenseViewMut<'_, M::Scalar, SpaceOf<Self>>,
    ) -> Result<()> {
        // SAFETY: the caller promises the same.
        unsafe { self.run_trisolve(plan, a, b, x) }
    }
}

/// A plan for `op(A)·x = b` with one pattern, a triangle of A and one or many right-hand sides; values may change
/// between runs.
///
/// - Entries in the other triangle are ignored, as by SciPy's `spsolve_triangular`: A may store both factors of an LU
///   factorization.
/// - A row is summed from b on, in the accumulator's type: its products are subtracted in the order in which they are
///   stored (of an op that transposes, or of CSC, in the order of their rows or columns), the sum is divided by the
///   diagonal and rounded. So x has the same bits on every run, with any number of threads and of columns.
/// - The computed x̂ satisfies |b − op(A)·x̂| ≤ γₖ·|op(A)|·|x̂| in every component, for rows of k entries (Higham:
///   Accuracy and stability of numerical algorithms. 2nd edition 2002, section 8.1).
///
/// ```
/// use sparse_core::op::{Op, Triangular, TrisolvePlan};
/// use sparse_core::{Csr, PlanOptions, reference::Reference};
///
/// let mut l = Csr::<f64>::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 4.0])?;
/// let mut plan = TrisolvePlan::new(&Reference, &l, Triangular::lower(), &PlanOptions::default())?;
/// let mut x = [f64::NAN; 2];
/// plan.run(&l, &[2.0, 9.0], &mut x)?;
/// assert_eq!(x, [1.0, 2.0]);
/// l.values_mut()[2] = 0.0; // other values in the same pattern: no new plan
/// let error = plan.run(&l, &[2.0, 9.0], &mut x).unwrap_err();
/// assert_eq!(error.to_string(), "trisolve: row 1: the diagonal is zero");
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TrisolvePlan<B: TrisolveKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> {
    backend: B,
    bound: BoundPattern,
    order: usize,
    kernel: B::Plan,
}

impl<B: TrisolveKernel<M>, M: SparseFormat<Space = SpaceOf<B>>> TrisolvePlan<B, M> {
    /// Checks the pattern of `a`, finds an order of substitution and chooses an algorithm.
    ///
    /// ```
    /// # use sparse_core::{Csr, PlanOptions, op::{Triangular, TrisolvePlan}, reference::Reference};
    /// let a = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![0, 0], vec![1.0, 2.0])?;
    /// let options = PlanOptions::default();
    /// assert!(TrisolvePlan::new(&Reference, &a, Triangular::lower().unit_diagonal(), &options).is_ok());
    /// let error = TrisolvePlan::new(&Reference, &a, Triangular::lower(), &options).unwrap_err();
    /// assert!(error.to_string().starts_with("trisolve: row 1: a diagonal entry is needed, none is stored"));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if A is not square, [`WrongContext`](Error::WrongContext) if it is in another context;
    /// else those of [`TrisolveKernel::plan_trisolve`].
    pub fn new(backend: &B, a: &M, system: Triangular, options: &PlanOptions) -> Result<Self> {
        let (rows, cols) = (a.nrows(), a.ncols());
        check_context(OP, "the matrix", backend.context(), a.context())?;
        check_square(OP, (rows, cols))?;
        let bound = BoundPattern::new(OP, backend.context(), a.context(), a.pattern_id())?;
        // SAFETY: shape and context were checked.
        let kernel = unsafe { backend.plan_trisolve(a, system, options)? };
        Ok(Self { backend: backend.clone(), bound, order: rows, kernel })
    }

    /// Solves `op(A)·x = b`; `x` is not read.
    ///
    /// # Errors
    /// [`Singular`](Error::Singular) with the first row whose diagonal is zero; then `x` has any values.
    /// [`PlanMismatch`](Error::PlanMismatch) for another pattern, [`Shape`](Error::Shape) and
    /// [`WrongContext`](Error::WrongContext) for wrong operands, before anything is written.
    pub fn run(&mut self, a: &M, b: ViewOf<'_, B, M::Scalar>, x: ViewMutOf<'_, B, M::Scalar>) -> Result<()> {
        let (b, x) = self.columns(b, x)?;
        self.run_many(a, b, x)
    }

    /// Solves `op(A)·x = b` for a matrix that is known to have no zero on the diagonal, as that of a factorization: a
    /// device neither waits nor allocates, so that the solve can be recorded in a CUDA graph. Where there is a zero,
    /// the device divides by it; the host finds it, as [`run`](Self::run) does.
    ///
    /// ```
    /// # use sparse_core::op::{Triangular, TrisolvePlan};
    /// # use sparse_core::{Csr, PlanOptions, reference::Reference};
    /// let l = Csr::<f64>::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 4.0])?;
    /// let mut plan = TrisolvePlan::new(&Reference, &l, Triangular::lower(), &PlanOptions::default())?;
    /// let mut x = [0.0; 2];
    /// plan.enqueue(&l, &[2.0, 9.0], &mut x)?;
    /// assert_eq!(x, [1.0, 2.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn enqueue(
        &mut self,
        a: &M,
        b: ViewOf<'_, B, M::Scalar>,
        x: ViewMutOf<'_, B, M::Scalar>,
    ) -> Result<()> {
        let (b, mut x) = self.columns(b, x)?;
        self.check(a, &b, &mut x)?;
        if self.order == 0 {
            return Ok(());
        }
        // SAFETY: pattern, shapes and contexts were checked; there is work to do.
        unsafe { self.backend.enqueue_trisolve(&mut self.kernel, a, b, x) }
    }

    /// Solves `op(A)·X = B` for every column of B; X is not read.
    ///
    /// ```
    /// # use sparse_core::op::{Op, Triangular, TrisolvePlan};
    /// # use sparse_core::{Csr, DenseView, DenseViewMut, PlanOptions, reference::Reference};
    /// let l = Csr::<f64>::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 4.0])?;
    /// let transpose = Triangular::lower().with_op(Op::Transpose);
    /// let mut plan = TrisolvePlan::new(&Reference, &l, transpose, &PlanOptions::default())?;
    /// let b = DenseView::row_major(&[4.0, 6.0, 8.0, 4.0], 2, 2)?;
    /// let mut x = [0.0; 4];
    /// plan.run_many(&l, b, DenseViewMut::row_major(&mut x, 2, 2)?)?;
    /// assert_eq!(x, [1.0, 2.5, 2.0, 1.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_many(
        &mut self,
        a: &M,
        b: DenseView<'_, M::Scalar, SpaceOf<B>>,
        mut x: DenseViewMut<'_, M::Scalar, SpaceOf<B>>,
    ) -> Result<()> {
        self.check(a, &b, &mut x)?;
        if self.order == 0 || b.ncols() == 0 {
            return Ok(());
        }
        // SAFETY: pattern, shapes and contexts were checked; there is work to do.
        unsafe { self.backend.run_trisolve(&mut self.kernel, a, b, x) }
    }

    /// b and x as matrices of one column.
    #[expect(clippy::type_complexity, reason = "two views of dense matrices")]
    fn columns<'b, 'x>(
        &self,
        b: ViewOf<'b, B, M::Scalar>,
        x: ViewMutOf<'x, B, M::Scalar>,
    ) -> Result<(DenseView<'b, M::Scalar, SpaceOf<B>>, DenseViewMut<'x, M::Scalar, SpaceOf<B>>)> {
        let n = self.order;
        check_size(OP, "the length of b", n, b.len())?;
        check_size(OP, "the length of x", n, x.len())?;
        Ok((DenseView::new(b, n, 1, n, Order::ColMajor)?, DenseViewMut::new(x, n, 1, n, Order::ColMajor)?))
    }

    /// An error unless the operands are those that the plan was made for.
    fn check(
        &self,
        a: &M,
        b: &DenseView<'_, M::Scalar, SpaceOf<B>>,
        x: &mut DenseViewMut<'_, M::Scalar, SpaceOf<B>>,
    ) -> Result<()> {
        self.bound.check_operands(
            a.pattern_id(),
            &[
                ("the number of rows of B", self.order, b.nrows()),
                ("the number of rows of X", self.order, x.nrows()),
                ("the number of columns of X", b.ncols(), x.ncols()),
            ],
            &[("the matrix", a.context()), ("B", b.data().context()), ("X", x.data_mut().context())],
        )
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::c32;

    #[test]
    fn complex_quotients_neither_overflow_nor_underflow() {
        for unit in [f64::from_bits(16), f64::MIN_POSITIVE, 1.0, 2.0_f64.powi(1021)] {
            let number = |re: f64, im: f64| c64::new(re * unit, im * unit);
            assert_eq!(quotient(number(3.0, 4.0), number(0.0, 1.0)), c64::new(4.0, -3.0), "{unit:e}");
            assert_eq!(quotient(number(1.0, -1.0), number(1.0, 1.0)), c64::new(0.0, -1.0), "{unit:e}");
            assert_eq!(quotient(number(3.0, 1.0), c64::new(0.0, 2.0)), number(0.5, -1.5), "{unit:e}");
        }
        for unit in [f32::from_bits(16), f32::MIN_POSITIVE, 1.0, 2.0_f32.powi(125)] {
            let number = |re: f32, im: f32| c32::new(re * unit, im * unit);
            assert_eq!(quotient(number(3.0, 4.0), number(0.0, 1.0)), c32::new(4.0, -3.0), "{unit:e}");
            assert_eq!(quotient(number(3.0, 1.0), c32::new(0.0, 2.0)), number(0.5, -1.5), "{unit:e}");
        }
        let largest = c64::new(f64::MAX, -f64::MAX);
        assert_eq!(quotient(largest, largest), c64::ONE);
        assert!(quotient(c64::ONE, c64::ZERO).re.is_nan());
        assert!(quotient(c64::new(f64::NAN, 0.0), c64::ONE).re.is_nan());
    }
}
