//! `nnz solve`: A·X = B.

mod outcome;
mod right_hand_sides;

use crate::algorithm::print_choice;
use crate::context::Context;
use crate::divided_rows;
use crate::failure::usage;
use crate::file;
use crate::named_device::{self, NamedDevice, NamedDevices};
use crate::operand::{self, Operand};
use crate::option_values::parse_not_negative;
use crate::ranks::Ranks;
use anyhow::Result;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use nnz::distrib::SharedTransport;
use nnz::io::MatrixFile;
use nnz::solvers::{Iteration, LeastSquaresOptions, Solution, SolverOptions};
use nnz::{
    DType, DenseMatrix, Device, ExchangePath, Matrix, MatrixOnDevices, Method, PreconditionerKind,
    SolveOptions, Solver,
};
use outcome::{Column, Outcome};
use right_hand_sides::RightHandSides;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// Solves A·X = B for every column of B, by an iterative or a direct method
///
/// Iterative methods stop at ‖b − A·x‖₂ ≤ tol·‖b‖₂, with b − A·x computed from x. If that is not reached, X has the
/// last iterate, the error names its residual, and the exit status is 1. lsqr and lsmr minimize ‖b − A·x‖₂ for A of any
/// shape, and stop by SciPy's two criteria with atol = btol = tol. direct factorizes A on the CPU in double precision
/// by Cholesky, LU or, if A has more rows than columns, QR; it needs a build with the feature direct.
///
/// With MPI (`mpirun -n 4 nnz solve …`, built with the feature mpi), cg and bicgstab divide the rows of A among ranks
/// so that each has about equally many entries. Each rank uses the device of its number on its host. It reads only its
/// own rows if A is CSR in .npz, a folder of parts, or an uncompressed .mtx; else rank 0 reads A and sends them. Rank 0
/// writes, and prints the rows of each rank.
#[derive(Debug, Args)]
pub(crate) struct Solve {
    /// Matrix A, which must be square except for lsqr, lsmr and direct; - is stdin
    matrix: PathBuf,
    /// Right-hand sides B: a vector or a matrix; - is stdin
    #[arg(value_name = "B.npy")]
    b: PathBuf,
    /// File to write X to; - is stdout, and the report goes to stderr
    #[arg(short = 'o', long = "out", value_name = "X.npy")]
    out: PathBuf,
    /// Method: cg or enqueued-cg (A Hermitian positive definite), minres (Hermitian), bicgstab or gmres (square), lsqr
    /// or lsmr (any shape), direct (at least as many rows as columns). enqueued-cg is cg that waits for the device only
    /// every 32 iterations
    #[arg(long, value_name = "NAME", ignore_case = true, value_parser = method_parser())]
    method: Method,
    /// Residual at which to stop, relative to ‖b‖₂
    #[arg(long, value_name = "TOL", default_value = "1e-10", value_parser = parse_tolerance, allow_negative_numbers = true)]
    tol: f64,
    /// Preconditioner: none, jacobi (the diagonal of A), block-jacobi:N (diagonal blocks of N rows; 8 without :N),
    /// ilu0, or ic0 (A Hermitian positive definite); the last two are factorized on the host. For cg, enqueued-cg,
    /// minres, bicgstab and gmres; with --devices or MPI only jacobi
    #[arg(long, value_name = "NAME", default_value = "none")]
    preconditioner: PreconditionerKind,
    /// Same as --preconditioner jacobi
    #[arg(long, conflicts_with = "preconditioner")]
    jacobi: bool,
    /// Maximum number of iterations for each column [default: 10 × rows of A; lsqr 2 × columns; lsmr min(rows,
    /// columns)]
    #[arg(long, value_name = "N")]
    max_iterations: Option<usize>,
    /// Iterations of gmres between restarts; it stores N + 1 vectors [default: 20]
    #[arg(long, value_name = "N")]
    restart: Option<NonZero<usize>>,
    /// For lsqr and lsmr: minimizes ‖b − A·x‖₂² + X²·‖x‖₂² [default: 0]
    #[arg(long, value_name = "X", value_parser = parse_tolerance, allow_negative_numbers = true)]
    damp: Option<f64>,
    /// For enqueued-cg: exactly N iterations for each column, and then one check of b − A·x
    #[arg(long, value_name = "N", conflicts_with = "max_iterations")]
    fixed_iterations: Option<usize>,
    /// For cg and bicgstab: divides the rows of A among devices, as in cpu,cuda:0,cuda:1, so that each has about
    /// equally many entries
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named_device::parse,
          conflicts_with_all = ["backend", "device"])]
    devices: Vec<NamedDevice>,
    /// Path on which devices or ranks exchange elements of vectors: nccl, peer (CUDA devices of --devices), host
    /// (through the host's memory) or auto, the first of these that is available. -v prints the choice and the reason
    #[arg(long, value_name = "PATH", default_value = "auto")]
    exchange: ExchangePath,
}

fn method_parser() -> impl TypedValueParser<Value = Method> {
    let names = Method::ALL.iter().map(|method| method.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Method>())
}

/// The solver: one device, or several that have some rows each.
enum LinearSolver {
    OneDevice(Solver),
    SeveralDevices(MatrixOnDevices),
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let tolerance = parse_not_negative(text)?;
    if tolerance.is_infinite() { Err("a finite number is needed".into()) } else { Ok(tolerance) }
}

impl Solve {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let ranks = Ranks::join()?;
        if let Some(transport) = ranks.shared() {
            return self.run_on_ranks(&ranks, transport, context);
        }
        self.check()?;
        divided_rows::check_exchange(NamedDevices { list: &self.devices, exchange: self.exchange })?;
        let devices = named_device::open(&self.devices, context)?;
        let device = match self.method {
            Method::Direct => context.device_or_host()?,
            _ if devices.is_empty() => context.device()?,
            _ => Context::host()?,
        };
        let system = System::read(&self, &device, context)?;
        let mut solver = self.solver(&system.a, &devices, context)?;
        let (x, columns) = self.solve(&mut solver, &system.sides, context)?;
        self.finish(&x, &system.sides, self.outcome(columns), context)
    }

    /// Solves with rows of A at every rank. The root reads, writes and reports.
    fn run_on_ranks(
        &self,
        ranks: &Ranks,
        transport: &Arc<dyn SharedTransport>,
        context: &Context,
    ) -> Result<()> {
        let device = ranks.agree(self.check_on_ranks().and_then(|()| context.device()))?;
        let inputs = ranks.at_root(|| {
            self.check()?;
            Inputs::read(self, context)
        })?;
        let (opened, b) = inputs.map(|inputs| ((inputs.matrix, inputs.dtype), inputs.b)).unzip();
        let (mut a, parts) = divided_rows::read_on_ranks(
            ranks,
            transport,
            (&device, self.exchange),
            (&self.matrix, opened),
            context,
        )?;
        let sides = ranks.at_root(|| {
            let host = Context::host()?;
            b.map(|b| RightHandSides::new(b, a.dtype(), &host, a.shape())).transpose()
        })?;
        let sides = sides.flatten();
        let columns =
            ranks.at_root(|| sides.iter().flat_map(RightHandSides::columns).collect::<Result<Vec<_>>>())?;
        let mut columns = columns.unwrap_or_default();
        let mut outcomes = vec![];
        for j in 0..ranks.broadcast(columns.len())? {
            let (b, x) = columns.get_mut(j).map(|(b, x)| (&*b, x)).unzip();
            let solve = |watch: &mut Watch<'_>| a.solve_from(b, x, &self.options(), watch);
            outcomes.push(self.solve_column(j, context, solve).map_err(|error| ranks.report(error))?);
        }
        ranks.agree(sides.map_or(Ok(()), |sides| {
            let mut solved = sides.zeros()?;
            for (j, (_, x)) in columns.iter().enumerate() {
                solved.set_column(j, x)?;
            }
            let exchange = Some(a.exchange().to_owned());
            self.finish(
                &solved,
                &sides,
                Outcome { ranks: parts, exchange, ..self.outcome(outcomes) },
                context,
            )
        }))
    }

    /// Checks the options and the names of the files.
    fn check(&self) -> Result<()> {
        self.check_method()?;
        file::check_inputs([&*self.matrix, &*self.b])?;
        file::check_npy_output(&self.out)
    }

    /// Fails if ranks lack an option.
    fn check_on_ranks(&self) -> Result<()> {
        divided_rows::check_ranks_devices(&self.devices)?;
        if !matches!(self.method, Method::Cg | Method::BiCgStab) {
            let method = self.method;
            return Err(usage(format!(
                "{method} runs on one device: start one process, or use cg or bicgstab"
            )));
        }
        self.check_divided_preconditioner()
    }

    /// Fails if several devices or ranks lack the preconditioner.
    fn check_divided_preconditioner(&self) -> Result<()> {
        match self.preconditioner() {
            PreconditionerKind::None | PreconditionerKind::Jacobi => Ok(()),
            other => {
                Err(usage(format!("--preconditioner {other}: several devices or ranks take jacobi alone")))
            }
        }
    }

    fn outcome(&self, columns: Vec<Column>) -> Outcome {
        Outcome { method: self.method.name(), tolerance: self.tol, columns, ranks: vec![], exchange: None }
    }

    /// Writes X and reports.
    fn finish(
        &self,
        x: &DenseMatrix,
        sides: &RightHandSides,
        outcome: Outcome,
        context: &Context,
    ) -> Result<()> {
        operand::write(&self.out, x, sides.dimensions)?;
        if file::is_stdout(&self.out) {
            context.report_beside_data(&outcome)?;
        } else {
            context.report(&outcome)?;
        }
        outcome.check()
    }

    /// Fails if an option is not for the method.
    fn check_method(&self) -> Result<()> {
        let method = self.method;
        if self.preconditioner() != PreconditionerKind::None && !method.takes_preconditioner() {
            let option = if self.jacobi { "--jacobi" } else { "--preconditioner" };
            return Err(usage(format!("{method} takes no preconditioner: leave out {option}")));
        }
        if !self.devices.is_empty() && !matches!(method, Method::Cg | Method::BiCgStab) {
            return Err(usage(format!("{method} runs on one device: leave out --devices")));
        }
        if !self.devices.is_empty() {
            self.check_divided_preconditioner()?;
        }
        if self.fixed_iterations.is_some() && method != Method::EnqueuedCg {
            return Err(usage("--fixed-iterations is for --method enqueued-cg: use --max-iterations"));
        }
        if self.max_iterations.is_some() && method == Method::Direct {
            return Err(usage("direct takes no iterations: leave out --max-iterations"));
        }
        if self.restart.is_some() && method != Method::Gmres {
            return Err(usage(format!("--restart is for --method gmres: leave it out for {method}")));
        }
        if self.damp.is_some() && !method.is_for_least_squares() {
            return Err(usage(format!("--damp is for --method lsqr and lsmr: leave it out for {method}")));
        }
        Ok(())
    }

    fn options(&self) -> SolveOptions {
        let default = SolverOptions::default();
        let least_squares =
            LeastSquaresOptions { damp: self.damp.unwrap_or(0.0), ..LeastSquaresOptions::default() };
        SolveOptions {
            method: self.method,
            preconditioner: self.preconditioner(),
            solver: SolverOptions {
                tolerance: self.tol,
                max_iterations: self.max_iterations,
                restart: self.restart.map_or(default.restart, NonZero::get),
                least_squares,
                ..default
            },
        }
    }

    fn preconditioner(&self) -> PreconditionerKind {
        if self.jacobi { PreconditionerKind::Jacobi } else { self.preconditioner }
    }

    fn solver(&self, a: &Matrix, devices: &[Device], context: &Context) -> Result<LinearSolver> {
        if !devices.is_empty() {
            return divided_rows::distribute(a, devices, self.exchange, context)
                .map(LinearSolver::SeveralDevices);
        }
        let solver = a.solver(&self.options())?;
        let op = if self.method == Method::Direct { "solve" } else { "spmv" };
        print_choice(context, op, a.format().name(), solver.choice());
        Ok(LinearSolver::OneDevice(solver))
    }

    /// Solves for every column of B, from x = 0: X, and the outcome of each of its columns.
    fn solve(
        &self,
        solver: &mut LinearSolver,
        sides: &RightHandSides,
        context: &Context,
    ) -> Result<(DenseMatrix, Vec<Column>)> {
        let mut solved = sides.zeros()?;
        let mut columns = vec![];
        for (j, column) in sides.columns().enumerate() {
            let (b, mut x) = column?;
            let solve = |watch: &mut Watch<'_>| match (&mut *solver, self.fixed_iterations) {
                (LinearSolver::OneDevice(solver), Some(iterations)) => {
                    solver.solve_fixed(&b, &mut x, iterations)
                }
                (LinearSolver::OneDevice(solver), None) => solver.solve_from(&b, &mut x, watch),
                (LinearSolver::SeveralDevices(a), _) => a.solve_from(&b, &mut x, &self.options(), watch),
            };
            columns.push(self.solve_column(j, context, solve)?);
            solved.set_column(j, &x)?;
        }
        Ok((solved, columns))
    }

    /// Solves for a column by `solve`, whose iterations are shown.
    fn solve_column(
        &self,
        j: usize,
        context: &Context,
        solve: impl FnOnce(&mut Watch<'_>) -> nnz::Result<Solution>,
    ) -> Result<Column> {
        let spinner = context.spinner(format_args!("column {j}"));
        let solution = solve(&mut |iteration: Iteration| {
            let (number, residual) = (iteration.number, iteration.relative_residual);
            let progress = format!("iteration {number}, relative residual {residual:.3e}");
            spinner.set_message(format!("column {j}: {progress}"));
            ControlFlow::Continue(())
        })?;
        spinner.finish_and_clear();
        Ok(Column::new(&solution))
    }
}

/// Sees each iteration.
type Watch<'a> = dyn FnMut(Iteration) -> ControlFlow<()> + Send + 'a;

/// The files of a system: the matrix opened, B read.
struct Inputs {
    matrix: MatrixFile,
    dtype: DType,
    b: Operand,
}

impl Inputs {
    fn read(solve: &Solve, context: &Context) -> Result<Self> {
        let b = Operand::read(&solve.b)?;
        let matrix = file::open(&solve.matrix)?;
        let dtype = operand::common_dtype(context, &matrix, [&b])?;
        Ok(Self { matrix, dtype, b })
    }
}

/// A·X = B, with A in the memory of a device.
struct System {
    a: Matrix,
    sides: RightHandSides,
}

impl System {
    /// Reads the files, A to the memory of `device`.
    fn read(solve: &Solve, device: &Device, context: &Context) -> Result<Self> {
        let Inputs { matrix, dtype, b } = Inputs::read(solve, context)?;
        let a = file::read(&matrix, dtype, device)?;
        drop(matrix);
        Ok(Self { sides: RightHandSides::new(b, dtype, device, a.shape())?, a })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::CommandFactory;

    #[test]
    fn the_default_tolerance_is_that_of_the_library() {
        let command = Arguments::command();
        let arguments = command.find_subcommand("solve").unwrap().get_arguments();
        let tolerance = arguments.into_iter().find(|argument| argument.get_id() == "tol").unwrap();
        let default = tolerance.get_default_values()[0].to_str().unwrap();
        assert_eq!(parse_tolerance(default), Ok(SolverOptions::default().tolerance));
    }
}
