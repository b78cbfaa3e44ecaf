//! Direct solution on the host.

use super::preconditioner::return_of_compressed;
use super::solve::{AnySolver, Callback, check_preconditioner, with_operands};
use super::{Format, Matrix, Method, SolveOptions, Vector};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::{Accumulator, Choice, Csc, Error, Result};
use sparse_solvers::{Factorization, Solution};
use std::marker::PhantomData;

/// The factors of a matrix, behind the interface of iterative solvers.
struct DirectSolver<T> {
    matrix: Matrix,
    factors: Factorization,
    tolerance: f64,
    types: PhantomData<fn() -> T>,
}

pub(super) fn solver<T: Accumulator>(a: &Matrix, options: &SolveOptions) -> Result<Box<dyn AnySolver>> {
    let Device::Cpu(_) = a.device() else {
        let reason = "the CPU has it: a.to_device(&Device::host()?)?";
        return Err(Error::unsupported(format_args!("{} on {}", Method::Direct, a.device()), reason));
    };
    check_preconditioner(options)?;
    let factors = factorize::<T>(a)?;
    let tolerance = options.options.tolerance;
    Ok(Box::new(DirectSolver::<T> { matrix: a.clone(), factors, tolerance, types: PhantomData }))
}

/// Factorizes `a` by way of COO, from which columns come in order and without duplicates.
fn factorize<T: Accumulator>(a: &Matrix) -> Result<Factorization> {
    let columns = a.to_format(Format::Coo)?.to_format(Format::Csc)?;
    return_of_compressed!(Csc, columns, T, "a factorization", a => Factorization::new(a))
}

impl<T: Accumulator> AnySolver for DirectSolver<T> {
    /// SolverKernels by the factors; there are no iterations to report.
    fn solve(&mut self, b: &Vector, x: &mut Vector, _: &mut Callback<'_>) -> Result<Solution> {
        let Self { matrix, factors, tolerance, .. } = self;
        with_operands::<HostBackend, T>(matrix, b, x, |b, x| factors.solve(b, x, *tolerance))
    }

    fn choice(&self) -> &Choice {
        self.factors.choice()
    }
}
