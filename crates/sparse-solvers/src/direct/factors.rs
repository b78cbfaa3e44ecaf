//! The factorizations of faer, in double precision.

use super::DirectMethod;
use super::columns::{Columns, Values};
use faer::linalg::solvers::{SolveCore, SolveLstsqCore};
use faer::sparse::linalg::solvers::{Llt, Lu, Qr, SymbolicLlt, SymbolicLu, SymbolicQr};
use faer::sparse::linalg::{LltError, LuError};
use faer::sparse::{FaerError, SparseColMatRef};
use faer::traits::ComplexField;
use faer::{Conj, MatMut, Par, Side};
use sparse_core::backend::is_forked;
use sparse_core::op::Op;
use sparse_core::{Accumulator, Error, Result, c64};

/// The elimination order and the patterns of the factors.
#[derive(Debug, Clone)]
pub(super) enum Symbolic {
    Cholesky(SymbolicLlt<usize>),
    Lu(SymbolicLu<usize>),
    Qr(SymbolicQr<usize>),
}

impl Symbolic {
    pub(super) fn new(columns: &Columns, method: DirectMethod) -> Result<Self> {
        let pattern = columns.as_faer();
        let symbolic = match method {
            DirectMethod::Cholesky => SymbolicLlt::try_new(pattern, Side::Lower).map(Self::Cholesky),
            DirectMethod::Lu => SymbolicLu::try_new(pattern).map(Self::Lu),
            DirectMethod::Qr => SymbolicQr::try_new(pattern).map(Self::Qr),
        };
        symbolic.map_err(out_of_memory)
    }

    fn method(&self) -> DirectMethod {
        match self {
            Self::Cholesky(_) => DirectMethod::Cholesky,
            Self::Lu(_) => DirectMethod::Lu,
            Self::Qr(_) => DirectMethod::Qr,
        }
    }
}

/// Factors of a real or complex matrix.
#[derive(Debug)]
pub(super) enum AnyFactors {
    Real(Factors<f64>),
    Complex(Factors<c64>),
}

impl AnyFactors {
    pub(super) fn new(symbolic: &Symbolic, columns: &Columns, values: &Values) -> Result<Self> {
        avoid_lost_threads();
        if let Some((row, col, at)) = columns.entries().find(|&(.., at)| !values.get(at).is_finite()) {
            let reason = format!("the element in row {row} and column {col} is {}", values.get(at));
            return Err(Error::unsupported("a factorization of values that are not finite", reason));
        }
        let factors = match values {
            Values::Real(values) => Factors::new(symbolic, columns, values).map(Self::Real),
            Values::Complex(values) => Factors::new(symbolic, columns, values).map(Self::Complex),
        };
        factors.map_err(|failure| match failure {
            Failure::NotPositiveDefinite => not_positive_definite(columns, values),
            Failure::Singular => singular(symbolic.method(), columns),
            Failure::Memory(error) => out_of_memory(error),
        })
    }

    /// The solutions of op(A)·x = b for `count` right-hand sides of `rows` elements each, at the start of as many
    /// elements each. QR has those of A alone.
    pub(super) fn solve(&self, op: Op, b: &[c64], rows: usize, count: usize) -> Vec<c64> {
        avoid_lost_threads();
        match self {
            Self::Complex(factors) => {
                let mut x = b.to_vec();
                factors.solve(op, &mut x, rows, count);
                x
            }
            Self::Real(factors) if b.iter().all(|b| b.im == 0.0) => {
                let mut x: Vec<f64> = b.iter().map(|b| b.re).collect();
                factors.solve(op, &mut x, rows, count);
                x.into_iter().map(c64::from).collect()
            }
            Self::Real(factors) => {
                let mut x: Vec<f64> = b.iter().map(|b| b.re).chain(b.iter().map(|b| b.im)).collect();
                factors.solve(op, &mut x, rows, 2 * count);
                let (re, im) = x.split_at(b.len());
                re.iter().zip(im).map(|(&re, &im)| c64::new(re, im)).collect()
            }
        }
    }
}

/// Has faer compute in the calling thread of a forked process: where a program has its feature `rayon`, it uses the
/// global pool, whose threads only the parent has.
fn avoid_lost_threads() {
    if is_forked() {
        faer::set_global_parallelism(Par::Seq);
    }
}

/// Factors with elements of one type.
#[derive(Debug)]
pub(super) enum Factors<F> {
    Cholesky(Llt<usize, F>),
    Lu(Box<Lu<usize, F>>),
    Qr(Qr<usize, F>),
}

/// The reasons why there are no factors.
enum Failure {
    NotPositiveDefinite,
    Singular,
    Memory(FaerError),
}

impl<F: ComplexField + Accumulator> Factors<F> {
    fn new(symbolic: &Symbolic, columns: &Columns, values: &[F]) -> Result<Self, Failure> {
        let a = SparseColMatRef::new(columns.as_faer(), values);
        let factors = match symbolic.clone() {
            Symbolic::Cholesky(symbolic) => {
                Self::Cholesky(Llt::try_new_with_symbolic(symbolic, a, Side::Lower)?)
            }
            Symbolic::Lu(symbolic) => Self::Lu(Box::new(Lu::try_new_with_symbolic(symbolic, a)?)),
            Symbolic::Qr(symbolic) => {
                Self::Qr(Qr::try_new_with_symbolic(symbolic, a).map_err(Failure::Memory)?)
            }
        };
        // faer divides by pivots of zero without an error: they show in any solution.
        let mut ones = vec![F::from_real(num_traits::One::one()); columns.rows];
        factors.solve(Op::None, &mut ones, columns.rows, 1);
        match ones[..columns.cols].iter().all(|x| x.is_finite()) {
            true => Ok(factors),
            false => Err(Failure::Singular),
        }
    }

    /// Replaces each column of b by x, in its first elements.
    fn solve(&self, op: Op, b: &mut [F], rows: usize, count: usize) {
        let b = MatMut::from_column_major_slice_mut(b, rows, count);
        match self {
            Self::Cholesky(factors) => solve_square(factors, op, b),
            Self::Lu(factors) => solve_square(&**factors, op, b),
            Self::Qr(factors) => factors.solve_lstsq_in_place_with_conj(Conj::No, b),
        }
    }
}

fn solve_square<F: ComplexField>(factors: &impl SolveCore<F>, op: Op, b: MatMut<'_, F>) {
    match op {
        Op::None => factors.solve_in_place_with_conj(Conj::No, b),
        Op::Transpose => factors.solve_transpose_in_place_with_conj(Conj::No, b),
        Op::ConjugateTranspose => factors.solve_transpose_in_place_with_conj(Conj::Yes, b),
    }
}

impl From<LltError> for Failure {
    fn from(error: LltError) -> Self {
        match error {
            LltError::Numeric(_) => Self::NotPositiveDefinite,
            LltError::Generic(error) => Self::Memory(error),
        }
    }
}

impl From<LuError> for Failure {
    fn from(error: LuError) -> Self {
        match error {
            LuError::SymbolicSingular { .. } => Self::Singular,
            LuError::Generic(error) => Self::Memory(error),
        }
    }
}

fn not_positive_definite(columns: &Columns, values: &Values) -> Error {
    match columns.diagonal_not_positive(values) {
        Some((row, element)) => {
            let reason = format!("the diagonal element is {element}, positive ones are needed; LU takes any");
            Error::singular("cholesky", row, reason)
        }
        None => {
            let reason = "the matrix is not positive definite; LU takes any regular matrix";
            Error::singular_matrix("cholesky", reason)
        }
    }
}

fn singular(method: DirectMethod, columns: &Columns) -> Error {
    let reason = match columns.column_without_pivot() {
        Some(col) => {
            format!("the matrix is structurally singular: column {col} has no entry that can be a pivot")
        }
        None => "the matrix is singular: a pivot is zero".to_string(),
    };
    Error::singular_matrix(method.name(), reason)
}

fn out_of_memory(error: FaerError) -> Error {
    Error::unsupported("a factorization of this size", format_args!("{error}"))
}
