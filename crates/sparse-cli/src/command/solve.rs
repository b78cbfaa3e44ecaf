//! `nnz solve`: A·X = B by iteration.

use crate::claim;
use crate::context::Context;
use crate::dispatch::{Compute, compute, upload};
use crate::failure::usage;
use crate::file;
use crate::operand::{self, Operand};
use crate::product::{self, parse_not_negative, tell_choice};
use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use nnz::backend::{Buf, ViewMutOf, ViewOf};
use nnz::op::{FullBackend, SpmvKernel, VectorKernel};
use nnz::solvers::{
    BiCgStab, Cg, EnqueuedCg, Identity, Jacobi, Krylov, Options, Recurrence, Solution, inverse_diagonal,
};
use nnz::{Accumulator, Csr, Dense, Error, Host, Index, Space, SpaceOf, SparseFormat};
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Solves A·X = B by iteration, for every column of B
///
/// Stops at ‖b − A·x‖₂ ≤ tol·‖b‖₂, with b − A·x computed from x. If that is not reached, the exit status is 1, the error
/// names the residual that was, and X holds the last iterate.
#[derive(Debug, Args)]
pub(crate) struct Solve {
    /// The square matrix A; - is standard input
    matrix: PathBuf,
    /// The right-hand sides: a vector, or a matrix of them; - is standard input
    #[arg(value_name = "B.npy")]
    b: PathBuf,
    /// The file to write X to; - is standard output, and the report goes to stderr
    #[arg(short = 'o', long = "out", value_name = "X.npy")]
    out: PathBuf,
    /// The method: cg or enqueued-cg for Hermitian positive definite matrices, bicgstab for any other; enqueued-cg takes up
    /// to 32 iterations before it waits for the device
    #[arg(long, value_name = "NAME", ignore_case = true)]
    method: Method,
    /// The residual to reach, relative to that of x = 0
    #[arg(long, value_name = "TOL", default_value_t = Options::default().tolerance, value_parser = parse_tolerance, allow_negative_numbers = true)]
    tol: f64,
    /// Preconditions with the diagonal of A; not for enqueued-cg
    #[arg(long)]
    jacobi: bool,
    /// The most iterations for each column; without it ten times the rows of A
    #[arg(long, value_name = "N")]
    max_iterations: Option<usize>,
    /// Takes exactly N iterations of enqueued-cg for each column, and looks at b − A·x once, behind them
    #[arg(long, value_name = "N", conflicts_with = "max_iterations")]
    fixed_iterations: Option<usize>,
}

/// A value of `--method`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Method {
    Cg,
    #[value(name = "bicgstab")]
    BiCgStab,
    #[serde(rename = "enqueued-cg")]
    EnqueuedCg,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let tolerance = parse_not_negative(text)?;
    if tolerance.is_infinite() { Err("a finite number is needed".into()) } else { Ok(tolerance) }
}

impl Solve {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        if self.jacobi && self.method == Method::EnqueuedCg {
            return Err(usage("enqueued-cg takes no preconditioner: leave out --jacobi"));
        }
        if self.fixed_iterations.is_some() && self.method != Method::EnqueuedCg {
            return Err(usage("--fixed-iterations is for --method enqueued-cg: use --max-iterations"));
        }
        file::check_inputs([&*self.matrix, &*self.b])?;
        file::output(&self.out).check()?;
        let device = context.device()?;
        let b = Operand::read(&self.b)?;
        let matrix = file::open(&self.matrix)?;
        let dtype = product::dtype(context, &matrix, [&b])?;
        compute(matrix, dtype, &device, System { b, command: &self, context })
    }

    fn options(&self) -> Options {
        Options { tolerance: self.tol, max_iterations: self.max_iterations, ..Options::default() }
    }
}

struct System<'a> {
    b: Operand,
    command: &'a Solve,
    context: &'a Context,
}

impl Compute for System<'_> {
    fn call<T, I, O, B>(self, a: Csr<T, Host, I, O>, backend: &B) -> Result<()>
    where
        T: Accumulator,
        I: Index,
        O: Index,
        B: FullBackend<T, I, O> + FullBackend<T, i32, i32>,
    {
        let Self { b, command, context } = self;
        let dimensions = b.dimensions();
        let b = b.into_dense::<T>()?;
        check_right_hand_sides(&a, &b)?;
        let jacobi = if command.jacobi { Some(Jacobi::new(backend, inverse_diagonal(&a)?)?) } else { None };
        let a = upload(a, backend)?;
        let (columns, options) = (Columns { backend, a: &a, b: &b, context }, command.options());
        let (x, solutions) = match command.method {
            Method::Cg => columns.iterate(Cg::new(backend, &a, jacobi, &options)?),
            Method::BiCgStab => columns.iterate(BiCgStab::new(backend, &a, jacobi, &options)?),
            Method::EnqueuedCg => {
                let solver = EnqueuedCg::new(backend, &a, Identity, &options)?;
                match command.fixed_iterations {
                    None => columns.iterate(solver),
                    Some(iterations) => columns.iterate_fixed(solver, iterations),
                }
            }
        }?;
        operand::write(&command.out, &x, dimensions)?;
        let outcome = Outcome { method: command.method, tolerance: command.tol, columns: solutions };
        if file::is_standard(&command.out) {
            context.report_beside_data(&outcome)?;
        } else {
            context.report(&outcome)?;
        }
        outcome.check()
    }
}

/// Fails unless b has as many rows as A, and if it has so many columns and so few elements that the columns' outcomes would
/// fill the memory.
fn check_right_hand_sides<T: Accumulator>(a: &impl SparseFormat, b: &Dense<T>) -> Result<()> {
    let (found, needed, columns) = (b.rows(), a.rows(), b.cols());
    if found != needed {
        let reason = format!("the length of b is {found} where {needed} is needed");
        return Err(Error::shape("solve", reason).into());
    }
    let outcomes = columns.saturating_mul(size_of::<Column>());
    claim::check(&format!("the outcomes of {columns} columns"), outcomes, size_of_val(&b.data()[..]))
}

/// A system with one right-hand side for each column of b.
struct Columns<'a, B, M: SparseFormat> {
    backend: &'a B,
    a: &'a M,
    b: &'a Dense<M::Scalar>,
    context: &'a Context,
}

impl<B, M> Columns<'_, B, M>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
    M::Scalar: Accumulator,
{
    /// Solves with a solver that stops by itself.
    fn iterate<R: Recurrence<B, M>>(&self, mut solver: Krylov<B, M, R>) -> Result<Solved<M::Scalar>> {
        tell_choice(self.context, "spmv", M::FORMAT, solver.choice());
        self.solve(|spinner, j, b, x| {
            solver.solve(self.a, b, x, |iteration| {
                let (number, residual) = (iteration.number, iteration.relative_residual);
                spinner
                    .set_message(format!("column {j}: iteration {number}, relative residual {residual:.3e}"));
                ControlFlow::Continue(())
            })
        })
    }

    /// Solves with a number of iterations that does not depend on the residual.
    fn iterate_fixed(&self, mut solver: EnqueuedCg<B, M>, iterations: usize) -> Result<Solved<M::Scalar>> {
        tell_choice(self.context, "spmv", M::FORMAT, solver.choice());
        self.solve(|_, _, b, x| solver.solve_fixed(self.a, b, x, iterations))
    }

    /// Solves for every column, from x = 0.
    fn solve(
        &self,
        mut solve: impl FnMut(
            &ProgressBar,
            usize,
            ViewOf<'_, B, M::Scalar>,
            ViewMutOf<'_, B, M::Scalar>,
        ) -> nnz::Result<Solution>,
    ) -> Result<Solved<M::Scalar>> {
        let (rows, cols) = (self.b.rows(), self.b.cols());
        let mut solved = Dense::zeros(rows, cols, self.b.order())?;
        let mut solutions = Vec::with_capacity(cols);
        for j in 0..cols {
            let column: Vec<M::Scalar> = (0..rows).map(|i| self.b.as_view().at(i, j)).collect();
            let b = self.backend.upload(&column)?;
            let mut x: Buf<B, M::Scalar> = self.backend.zeros(rows)?;
            let spinner = self.context.spinner(format_args!("column {j}"));
            let solution = solve(&spinner, j, SpaceOf::<B>::view(&b), SpaceOf::<B>::view_mut(&mut x))?;
            spinner.finish_and_clear();
            let mut view = solved.as_view_mut();
            for (i, value) in self.backend.download(&x)?.into_iter().enumerate() {
                *view.at_mut(i, j) = value;
            }
            solutions.push(Column::new(&solution));
        }
        Ok((solved, solutions))
    }
}

/// X, and the outcome of each of its columns.
type Solved<T> = (Dense<T>, Vec<Column>);

/// The outcome of all columns.
#[derive(Debug, Serialize)]
struct Outcome {
    method: Method,
    tolerance: f64,
    columns: Vec<Column>,
}

/// The outcome of one column.
#[derive(Debug, Serialize)]
struct Column {
    converged: bool,
    outcome: String,
    iterations: usize,
    residual: f64,
    relative_residual: f64,
}

impl Column {
    fn new(solution: &Solution) -> Self {
        Self {
            converged: solution.converged(),
            outcome: solution.outcome.to_string(),
            iterations: solution.iterations,
            residual: solution.residual,
            relative_residual: solution.relative_residual,
        }
    }
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { outcome, iterations, relative_residual, .. } = self;
        write!(f, "{outcome} (iterations: {iterations}, relative residual: {relative_residual:.3e})")
    }
}

impl Outcome {
    /// Fails, with the residual that was reached, unless every column converged.
    fn check(&self) -> Result<()> {
        match self.columns.iter().enumerate().find(|(_, column)| !column.converged) {
            None => Ok(()),
            Some((j, column)) => Err(anyhow!("column {j}: not converged to {:e}: {column}", self.tolerance)),
        }
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let lines = self.columns.iter().enumerate().map(|(j, column)| format!("column {j}: {column}"));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}
