//! Direct solution on the host, and factors for many systems.

use super::preconditioner_kind::return_of_compressed;
use super::same_pattern::in_pattern_of;
use super::solve::{AnySolver, Callback};
use super::typed_solver::with_operands;
use crate::Device;
use crate::device::HostBackend;
use crate::runtime::{Format, Matrix, Method, SolveOptions, Vector};
use sparse_core::{Accumulator, Choice, Csc, DType, Error, IndexOrder, Result, c32, c64};
use sparse_solvers::{Factorization, Solution};
use std::marker::PhantomData;

/// The subject of errors.
const WHAT: &str = "a factorization";

/// Factors.
impl Matrix {
    /// The factors of A, as [`Method::Direct`] uses them, for any number of systems with A and its transpose.
    ///
    /// ```
    /// use nnz::prelude::*;
    /// let a = Csc::<f64>::new(2, 2, vec![0, 1, 3], vec![0, 0, 1], vec![2.0, 1.0, 4.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// let mut factors = a.factorize()?;
    /// for exact in [1.0, 0.5] {
    ///     let mut x = [0.0; 2];
    ///     let (b, column) = (DenseView::col_major(&[3.0, 4.0], 2, 1)?, DenseViewMut::col_major(&mut x, 2, 1)?);
    ///     factors.apply(Op::None, b, column)?;
    ///     assert_eq!(x, [exact; 2]);
    ///     a.scaled(2.0)?.refactor(&mut factors)?; // the same pattern: no new analysis
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Singular`](Error::Singular) if A is singular; [`Unsupported`](Error::Unsupported) for another device than the
    /// CPU, for values of 16 bits and for values that are not finite.
    pub fn factorize(&self) -> Result<Factorization> {
        check_device(self)?;
        match self.dtype() {
            DType::F32 => factorize::<f32>(self),
            DType::F64 => factorize::<f64>(self),
            DType::C32 => factorize::<c32>(self),
            DType::C64 => factorize::<c64>(self),
            DType::F16 | DType::Bf16 => Err(unsupported_values(self.dtype())),
        }
    }

    /// Replaces the factors of another matrix with this pattern, which [`factorize`](Self::factorize) has made.
    ///
    /// Patterns are compared as CSC, with rows in order and without duplicates: equal ones fit, of any format. LU
    /// replaces Cholesky's factorization of values that are no longer Hermitian positive definite. After an error the
    /// old factors remain.
    ///
    /// # Errors
    /// [`PlanMismatch`](Error::PlanMismatch) for factors of another pattern; else as [`factorize`](Self::factorize).
    pub fn refactor(&self, factors: &mut Factorization) -> Result<()> {
        check_device(self)?;
        match self.dtype() {
            DType::F32 => refactor::<f32>(self, factors),
            DType::F64 => refactor::<f64>(self, factors),
            DType::C32 => refactor::<c32>(self, factors),
            DType::C64 => refactor::<c64>(self, factors),
            DType::F16 | DType::Bf16 => Err(unsupported_values(self.dtype())),
        }
    }
}

fn check_device(a: &Matrix) -> Result<()> {
    match a.device() {
        Device::Cpu(_) => Ok(()),
        device => {
            let reason = "the CPU has it";
            Err(Error::unsupported(format_args!("{} on {device}", Method::Direct), reason))
        }
    }
}

fn unsupported_values(dtype: DType) -> Error {
    let instead = "f32, f64, c32 and c64 have it";
    Error::unsupported(format_args!("a factorization of {dtype} values"), instead)
}

/// The factors of a matrix, behind the interface of iterative solvers.
struct DirectSolver<T> {
    matrix: Matrix,
    factors: Factorization,
    tolerance: f64,
    types: PhantomData<fn() -> T>,
}

pub(in crate::runtime) fn solver<T: Accumulator>(
    a: &Matrix,
    options: &SolveOptions,
) -> Result<Box<dyn AnySolver>> {
    check_device(a)?;
    let factors = factorize::<T>(a)?;
    let tolerance = options.solver.tolerance;
    Ok(Box::new(DirectSolver::<T> { matrix: a.clone(), factors, tolerance, types: PhantomData }))
}

fn factorize<T: Accumulator>(a: &Matrix) -> Result<Factorization> {
    return_of_compressed!(Csc, ordered_columns::<T>(a)?, T, WHAT, a => Factorization::new(a))
}

fn refactor<T: Accumulator>(a: &Matrix, factors: &mut Factorization) -> Result<()> {
    return_of_compressed!(Csc, ordered_columns::<T>(a)?, T, WHAT, a => factors.update(a))
}

/// `a` itself if it is CSC, sorted and without duplicates; else converted through COO, which sorts and adds duplicates.
fn ordered_columns<T: Accumulator>(a: &Matrix) -> Result<Matrix> {
    match a.format() == Format::Csc && is_canonical::<T>(a)? {
        true => Ok(a.clone()),
        false => a.to_format(Format::Coo)?.to_format(Format::Csc),
    }
}

fn is_canonical<T: Accumulator>(columns: &Matrix) -> Result<bool> {
    return_of_compressed!(Csc, columns, T, WHAT, a => Ok(a.order() == IndexOrder::CANONICAL))
}

impl<T: Accumulator> AnySolver for DirectSolver<T> {
    /// Solves by the factors; there are no iterations to report.
    fn solve(&mut self, b: &Vector, x: &mut Vector, _: &mut Callback<'_>) -> Result<Solution> {
        let Self { matrix, factors, tolerance, .. } = self;
        with_operands::<HostBackend, T>(matrix, b, x, |b, x| factors.solve(b, x, *tolerance))
    }

    fn update(&mut self, a: &Matrix) -> Result<()> {
        let a = in_pattern_of("the solver", &self.matrix, a)?;
        refactor::<T>(&a, &mut self.factors)?;
        self.matrix = a;
        Ok(())
    }

    fn choice(&self) -> &Choice {
        self.factors.choice()
    }
}
