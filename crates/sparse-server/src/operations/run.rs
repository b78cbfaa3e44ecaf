//! The operations of the table, by the methods of [`nnz::Matrix`].

use super::{Answer, Call};
use crate::parameters::Parameters;
use crate::problem::Problem;
use nnz::op::Triangular;
use nnz::solvers::{Iteration, Options};
use nnz::{DenseMatrix, Each, Format, Method, Order, Preconditioning, SolveOptions, Vector, c64};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The array of a result, of one dimension if the operand was.
fn answer(values: DenseMatrix, is_vector: bool) -> Answer {
    if is_vector { Answer::Vector(values.into_values()) } else { Answer::Dense(values) }
}

pub(super) fn multiply_dense(call: &Call<'_>) -> Result<Answer, Problem> {
    let (op, alpha, x) = (call.op()?, call.factor("alpha")?, call.operand()?);
    let (rows, _) = call.a.shape_of(op);
    if x.values.ncols() == 1 {
        let mut y = Vector::zeros(call.a.device(), call.a.dtype(), rows)?;
        call.a.spmv(op, alpha, &x.values.column(0)?, 0.0, &mut y)?;
        return match x.is_vector {
            true => Ok(Answer::Vector(y)),
            false => Ok(Answer::Dense(DenseMatrix::new(y, rows, 1, rows, Order::ColMajor)?)),
        };
    }
    let (dtype, columns, order) = (call.a.dtype(), x.values.ncols(), x.values.order());
    let mut y = DenseMatrix::zeros(call.a.device(), dtype, rows, columns, order)?;
    call.a.spmm(op, alpha, &x.values, 0.0, &mut y)?;
    Ok(answer(y, x.is_vector))
}

pub(super) fn sampled_product(call: &Call<'_>) -> Result<Answer, Problem> {
    let (both, (rows, cols)) = (&call.operand()?.values, call.a.shape());
    if both.nrows() != rows + cols {
        let (found, needed) = (both.nrows(), rows + cols);
        let detail = format!(
            "sddmm: the body has {found} rows where {needed} are needed: {rows} of U above {cols} of V"
        );
        return Err(Problem::unprocessable(detail));
    }
    let inner = both.ncols();
    let (mut u, mut v) = (
        DenseMatrix::zeros(call.a.device(), both.dtype(), rows, inner, Order::ColMajor)?,
        DenseMatrix::zeros(call.a.device(), both.dtype(), cols, inner, Order::ColMajor)?,
    );
    for j in 0..inner {
        let column = both.column(j)?;
        u.set_column(j, &part(&column, 0, rows)?)?;
        v.set_column(j, &part(&column, rows, cols)?)?;
    }
    Ok(Answer::Matrix(call.a.sddmm(&u, &v)?))
}

/// The elements from `start` on, by way of the host.
fn part(x: &Vector, start: usize, len: usize) -> Result<Vector, Problem> {
    nnz::with_dtype!(x.dtype(), T => {
        Ok(Vector::from_slice(x.device(), &x.to_vec::<T>()?[start..start + len])?)
    })
}

pub(super) fn convert(call: &Call<'_>) -> Result<Answer, Problem> {
    match call.parameters.required::<Format>("format")? {
        format @ (Format::Csr | Format::Csc | Format::Coo) => Ok(Answer::Matrix(call.a.to_format(format)?)),
        format => Err(Problem::unprocessable(format!("convert: no file holds {format}: csr, csc or coo"))),
    }
}

pub(super) fn select(call: &Call<'_>) -> Result<Answer, Problem> {
    let rows = call.parameters.positions("rows", call.a.nrows())?;
    let columns = call.parameters.positions("columns", call.a.ncols())?;
    Ok(Answer::Matrix(call.a.select(&rows, &columns)?))
}

pub(super) fn diagonal(call: &Call<'_>) -> Result<Answer, Problem> {
    let a = call.a;
    let mut diagonal = vec![c64::new(0.0, 0.0); a.nrows().min(a.ncols())];
    a.for_each_entry(&mut |row, col, value| {
        if row == col {
            diagonal[row] += value;
        }
    })?;
    let typed = if a.dtype().is_complex() {
        Vector::from_vec(a.device(), diagonal)?
    } else {
        Vector::from_vec(a.device(), diagonal.iter().map(|value| value.re).collect())?
    };
    Ok(Answer::Vector(typed.cast(a.dtype())?))
}

pub(super) fn reduce(call: &Call<'_>) -> Result<Answer, Problem> {
    let each = match call.parameters.text("each") {
        None | Some("row") => Each::Row,
        Some("column") => Each::Column,
        Some(other) => {
            let other = other.escape_debug();
            return Err(Problem::bad_request(format!("parameter each={other}: one of row, column")));
        }
    };
    Ok(Answer::Vector(call.a.reduce(each, call.parameters.get_or("by", nnz::Reduction::Sum)?)?))
}

pub(super) fn statistics(call: &Call<'_>) -> Result<Answer, Problem> {
    let rows = call.a.row_statistics()?;
    Ok(Answer::Json(json!({
        "rows": rows.rows, "nnz": rows.nnz, "empty": rows.empty, "shortest": rows.shortest,
        "longest": rows.longest, "mean": number(rows.mean), "deviation": number(rows.deviation),
        "histogram": rows.histogram,
    })))
}

pub(super) fn solve(call: &Call<'_>) -> Result<Answer, Problem> {
    let (a, b) = (call.a, call.operand()?);
    let options = solve_options(&call.parameters)?;
    let mut solver = a.solver(&options)?;
    let mut x = DenseMatrix::zeros(a.device(), a.dtype(), a.ncols(), b.values.ncols(), Order::ColMajor)?;
    let (mut converged, mut iterations, mut residual) = (true, 0, 0.0_f64);
    let begun = Instant::now();
    for j in 0..b.values.ncols() {
        let mut solved = Vector::zeros(a.device(), a.dtype(), a.ncols())?;
        let mut is_stopped = false;
        let solution = solver.solve_from(&b.values.column(j)?, &mut solved, |_: Iteration| {
            is_stopped = begun.elapsed() > call.solve_time || call.cancel.load(Ordering::Relaxed);
            if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if is_stopped {
            let detail =
                format!("solve: column {j} was stopped after {:?}, as long as may be", call.solve_time);
            return Err(Problem::unprocessable(detail));
        }
        x.set_column(j, &solved)?;
        converged &= solution.converged();
        iterations = iterations.max(solution.iterations);
        residual = residual.max(solution.relative_residual);
    }
    let how = json!({
        "method": options.method.name(), "converged": converged, "iterations": iterations,
        "relative_residual": number(residual),
    });
    Ok(Answer::Solved(Box::new(answer(x, b.is_vector)), how))
}

fn solve_options(parameters: &Parameters) -> Result<SolveOptions, Problem> {
    let default = Options::default();
    let options = Options {
        tolerance: parameters.get_or("tol", default.tolerance)?,
        max_iterations: parameters.get("max_iterations")?,
        restart: parameters.get_or("restart", default.restart)?,
        ..default
    };
    if !(options.tolerance.is_finite() && options.tolerance >= 0.0) {
        return Err(Problem::bad_request("parameter tol: a finite number of at least 0 is needed"));
    }
    let preconditioner = match parameters.text("preconditioner") {
        None | Some("none") => Preconditioning::None,
        Some("jacobi") => Preconditioning::Jacobi,
        Some("ilu0") => Preconditioning::Ilu0,
        Some("ic0") => Preconditioning::Ic0,
        Some(other) => {
            let other = other.escape_debug();
            let detail = format!("parameter preconditioner={other}: one of none, jacobi, ilu0, ic0");
            return Err(Problem::bad_request(detail));
        }
    };
    Ok(SolveOptions { method: parameters.get_or("method", Method::default())?, preconditioner, options })
}

pub(super) fn solve_triangular(call: &Call<'_>) -> Result<Answer, Problem> {
    let b = call.operand()?;
    let system = match call.parameters.text("triangle") {
        None | Some("lower") => Triangular::lower(),
        Some("upper") => Triangular::upper(),
        Some(other) => {
            let other = other.escape_debug();
            return Err(Problem::bad_request(format!("parameter triangle={other}: one of lower, upper")));
        }
    };
    let system = if call.parameters.flag("unit")? { system.unit_diagonal() } else { system };
    let system = Triangular { op: call.op()?, ..system };
    if b.is_vector {
        return Ok(Answer::Vector(call.a.solve_triangular(system, &b.values.column(0)?)?));
    }
    Ok(Answer::Dense(call.a.solve_triangular_many(system, &b.values)?))
}

/// A number as JSON, which has neither NaN nor infinities: they become text.
pub(super) fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}
