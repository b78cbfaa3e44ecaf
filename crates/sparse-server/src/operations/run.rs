//! The operations of the table, by the methods of [`nnz::Matrix`].

use super::spy_plot::Picture;
use super::{Answer, Call, Columns, Convergence};
use crate::execution::task::Progress;
use crate::problem::Problem;
use crate::request::parameters::Parameters;
use nnz::op::{Op, Triangular};
use nnz::solvers::{Iteration, Solution, SolverOptions};
use nnz::{
    DType, DenseMatrix, Device, Each, Matrix, Method, Order, PreconditionerKind, Reduction, Scalar,
    SolveOptions, Vector, c64,
};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// The array of a result, of one dimension if the operand was.
fn answer(values: DenseMatrix, is_vector: bool) -> Answer {
    if is_vector { Answer::Vector(values.into_values()) } else { Answer::Dense(values) }
}

/// The most vectors that are multiplied together: as many as a cache line has sums of them, 8 of `f64` and 4 of `c64`.
///
/// A row of the packed operand is one cache line then, and a product of them reads little more than one of one vector.
/// Twice as many do not pay: with 20 000 rows of 200 entries the operand no longer fits in the second cache (2 MiB),
/// and a product took 10 ms in place of 2.3 (Xeon with AVX-512, two cores, 2026-11-28). More would have other bits,
/// too.
pub(crate) fn merged_columns(dtype: DType) -> usize {
    const LINE: usize = 64;
    // Numbers of 16 bits are summed in 32.
    LINE / dtype.bytes().max(size_of::<f32>())
}

/// True if a column of a product with up to [`merged_columns`] columns has the same bits as with that column alone, for
/// a matrix on this device, or a batch of so many members.
///
/// SpMM on the CPU sums these columns of a row in the lanes of one vector, or in as many scalars, and each in the
/// order of the entries, whatever the other lanes have. SpMV sums in another order, so that single vectors are
/// multiplied by SpMM too. Devices choose algorithms by the number of columns, and a batch has another vector for each
/// member: those are multiplied by SpMV, one vector after the other.
pub(crate) fn are_columns_independent(device: &Device, members: Option<usize>) -> bool {
    matches!(device, Device::Cpu(_)) && members.is_none()
}

/// True for columns without elements, of which an array of a few bytes may have very many, so that they are not
/// visited.
pub(super) fn has_no_rows(x: &Columns) -> bool {
    x.values.nrows() == 0
}

/// A result with as many columns as `x`, without elements.
pub(super) fn empty_columns(call: &Call<'_>, x: &Columns) -> Result<Answer, Problem> {
    let y = DenseMatrix::zeros(call.a.device(), call.a.dtype(), 0, x.values.ncols(), Order::ColMajor)?;
    Ok(answer(y, x.is_vector()))
}

pub(super) fn multiply_dense(call: &Call<'_>) -> Result<Answer, Problem> {
    let (op, alpha, x) = (call.parameters.op()?, call.parameters.factor("alpha")?, call.operand()?);
    let (rows, _) = call.a.shape_of(op);
    let (dtype, columns, order) = (call.a.dtype(), x.values.ncols(), x.values.order());
    if rows == 0 && has_no_rows(x) {
        return empty_columns(call, x);
    }
    if columns == 1 && !are_columns_independent(call.a.device(), call.a.members()) {
        let mut y = Vector::zeros(call.a.device(), dtype, rows)?;
        call.a.spmv(op, alpha, &x.values.column(0)?, 0.0, &mut y)?;
        return Ok(answer(DenseMatrix::new(y, rows, 1, rows, Order::ColMajor)?, x.is_vector()));
    }
    let mut y = DenseMatrix::zeros(call.a.device(), dtype, rows, columns, order)?;
    call.a.spmm(op, alpha, &x.values, 0.0, &mut y)?;
    Ok(answer(y, x.is_vector()))
}

/// `alpha·op(A)·x` for up to [`merged_columns`] vectors, one after the other, with the bits that each has alone.
///
/// The columns that are missing are zeros, so that one plan serves any number of vectors.
pub(crate) fn multiply_together(
    a: &Matrix,
    (op, alpha): (Op, c64),
    vectors: &[&DenseMatrix],
) -> Result<Vector, Problem> {
    let ((rows, cols), columns) = (a.shape_of(op), merged_columns(a.dtype()));
    let x = nnz::with_dtype!(a.dtype(), T => {
        let mut values: Vec<T> = Vec::with_capacity(cols * columns);
        for vector in vectors {
            values.extend_from_slice(vector.values().as_slice::<T>().unwrap_or_default());
        }
        values.resize(cols * columns, T::ZERO);
        DenseMatrix::from_vec(a.device(), values, cols, columns, Order::ColMajor)?
    });
    let mut y = DenseMatrix::zeros(a.device(), a.dtype(), rows, columns, Order::ColMajor)?;
    a.spmm(op, alpha, &x, 0.0, &mut y)?;
    Ok(y.into_values())
}

pub(super) fn sampled_product(call: &Call<'_>) -> Result<Answer, Problem> {
    let (both, (rows, cols)) = (&call.operand()?.values, call.a.shape());
    if rows + cols == 0 {
        return Ok(Answer::Matrix(call.a.clone()));
    }
    let (u, v) = (both.rows(0..rows)?, both.rows(rows..rows + cols)?);
    call.task.check()?;
    Ok(Answer::Matrix(call.a.sddmm(&u, &v)?))
}

pub(super) fn select(call: &Call<'_>) -> Result<Answer, Problem> {
    let rows = call.parameters.positions("rows", call.a.nrows())?;
    let columns = call.parameters.positions("columns", call.a.ncols())?;
    Ok(Answer::Matrix(call.a.select(rows.selection(), columns.selection())?))
}

pub(super) fn diagonal(call: &Call<'_>) -> Result<Answer, Problem> {
    Ok(Answer::Vector(call.a.diagonal(call.parameters.get_or("k", 0)?)?))
}

pub(super) fn reduce(call: &Call<'_>) -> Result<Answer, Problem> {
    let by = call.parameters.get_or("by", Reduction::Sum)?;
    Ok(Answer::Vector(call.a.reduce(reduced_lines(call)?, by)?))
}

/// The lines of which there is a number each.
pub(super) fn reduced_lines(call: &Call<'_>) -> Result<Each, Problem> {
    match call.parameters.text("each") {
        None | Some("row") => Ok(Each::Row),
        Some("column") => Ok(Each::Column),
        Some(other) => {
            let other = other.escape_debug();
            Err(Problem::bad_request(format!("parameter each={other}: one of row, column")))
        }
    }
}

pub(super) fn statistics(call: &Call<'_>) -> Result<Answer, Problem> {
    let rows = call.a.row_statistics()?;
    Ok(Answer::Json(json!({
        "rows": rows.rows, "nnz": rows.nnz, "empty": rows.empty, "shortest": rows.shortest,
        "longest": rows.longest, "mean": number(rows.mean), "deviation": number(rows.deviation),
        "histogram": rows.histogram,
    })))
}

/// The most cells of a side of the grid of `spy`.
const SPY_CELLS: usize = 512;

/// The cells of a side.
pub(super) fn spy_cells(call: &Call<'_>) -> Result<usize, Problem> {
    let size = call.parameters.get_or("size", 64)?;
    if (1..=SPY_CELLS).contains(&size) {
        return Ok(size);
    }
    Err(Problem::bad_request(format!("parameter size={size}: 1 to {SPY_CELLS} are needed")))
}

pub(super) fn spy(call: &Call<'_>) -> Result<Answer, Problem> {
    let size = spy_cells(call)?;
    let (rows, cols) = call.a.shape();
    let (height, width) = (size.min(rows), size.min(cols));
    let mut counts = vec![0_u64; height * width];
    // Positions and sizes are below 2^63 and 512: their products fit in 128 bits.
    let cell = |position, cells, extent| (position as u128 * cells as u128 / extent as u128) as usize;
    call.a.for_each_entry(&mut |row, col, _| {
        counts[cell(row, height, rows) * width + cell(col, width, cols)] += 1;
    })?;
    Ok(Answer::Picture(Picture { rows: height, columns: width, counts }))
}

/// The columns that have a line in the log each; of the others those that did not converge have.
const LOGGED_COLUMNS: usize = 64;

pub(super) fn solve(call: &Call<'_>) -> Result<Answer, Problem> {
    let (a, b) = (call.a, call.operand()?);
    // Columns one after the other are copied within the device's memory.
    let right_sides = b.values.to_order(Order::ColMajor)?;
    let options = solve_options(call.parameters)?;
    let mut solver = a.solver(&options)?;
    let mut x = DenseMatrix::zeros(a.device(), a.dtype(), a.ncols(), b.values.ncols(), Order::ColMajor)?;
    let method = options.method.name();
    let mut reached = Convergence { method, converged: true, iterations: 0, relative_residual: 0.0 };
    let columns = if a.ncols() == 0 && has_no_rows(b) { 0 } else { b.values.ncols() };
    for column in 0..columns {
        call.task.check()?;
        let mut solved = Vector::zeros(a.device(), a.dtype(), a.ncols())?;
        let mut stopped = None;
        let solution = solver.solve_from(&right_sides.column(column)?, &mut solved, |at: Iteration| {
            let (iteration, relative_residual) = (at.number, at.relative_residual);
            call.task.report(Progress { column, columns, iteration, relative_residual });
            stopped = call.task.check().err();
            if stopped.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some(problem) = stopped {
            return Err(problem);
        }
        x.set_column(column, &solved)?;
        let (converged, Solution { iterations, relative_residual, .. }) = (solution.converged(), solution);
        if column < LOGGED_COLUMNS || !converged {
            let how = if converged { "converged" } else { "did not converge" };
            let end = format!("{iterations} iterations, residual {relative_residual:.3e}");
            call.task.log(format!("column {column} {how}: {end}"));
        }
        reached = reached.and(Convergence { method, converged, iterations, relative_residual });
    }
    Ok(Answer::Solved(Box::new(answer(x, b.is_vector())), reached))
}

pub(super) fn solve_options(parameters: &Parameters) -> Result<SolveOptions, Problem> {
    let default = SolverOptions::default();
    let options = SolverOptions {
        tolerance: parameters.get_or("tol", default.tolerance)?,
        max_iterations: parameters.get("max_iterations")?,
        restart: parameters.get_or("restart", default.restart)?,
        ..default
    };
    if !(options.tolerance.is_finite() && options.tolerance >= 0.0) {
        return Err(Problem::bad_request("parameter tol: a finite number of at least 0 is needed"));
    }
    let preconditioner = match parameters.text("preconditioner") {
        None | Some("none") => PreconditionerKind::None,
        Some("jacobi") => PreconditionerKind::Jacobi,
        Some("ilu0") => PreconditionerKind::Ilu0,
        Some("ic0") => PreconditionerKind::Ic0,
        Some(other) => {
            let other = other.escape_debug();
            let detail = format!("parameter preconditioner={other}: one of none, jacobi, ilu0, ic0");
            return Err(Problem::bad_request(detail));
        }
    };
    Ok(SolveOptions {
        method: parameters.get_or("method", Method::default())?,
        preconditioner,
        solver: options,
    })
}

pub(super) fn solve_triangular(call: &Call<'_>) -> Result<Answer, Problem> {
    let (b, system) = (call.operand()?, triangular_system(call.parameters)?);
    if call.a.shape() == (0, 0) && has_no_rows(b) {
        return empty_columns(call, b);
    }
    if b.is_vector() {
        return Ok(Answer::Vector(call.a.solve_triangular(system, &b.values.column(0)?)?));
    }
    Ok(Answer::Dense(call.a.solve_triangular_many(system, &b.values)?))
}

/// The triangle of the parameters.
pub(super) fn triangular_system(parameters: &Parameters) -> Result<Triangular, Problem> {
    let system = match parameters.text("triangle") {
        None | Some("lower") => Triangular::lower(),
        Some("upper") => Triangular::upper(),
        Some(other) => {
            let other = other.escape_debug();
            return Err(Problem::bad_request(format!("parameter triangle={other}: one of lower, upper")));
        }
    };
    let system = if parameters.flag("unit")? { system.unit_diagonal() } else { system };
    Ok(Triangular { op: parameters.op()?, ..system })
}

/// A number as JSON, which has neither NaN nor infinities: they become text.
pub(super) fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnz::{Format, IndexType};

    /// A matrix whose rows have 0 to 40 entries each, and one row 5000, and vectors for it, of doubles.
    fn operands(dtype: DType) -> (Matrix, Vec<DenseMatrix>) {
        let (rows, cols) = (60, 6000);
        let value = |k: usize| ((k * 2_654_435_761) % 1_000_003) as f64 / 1e5 - 5.0;
        let entries_of = |row: usize| if row == 7 { 5000 } else { row % 41 };
        let entries: Vec<_> = (0..rows)
            .flat_map(|row| (0..entries_of(row)).map(move |k| (row, k + row)))
            .enumerate()
            .map(|(k, (row, col))| (row, col, c64::new(value(k), 0.0)))
            .collect();
        let device: Device = "cpu".parse().unwrap();
        let a = Matrix::from_triplets(&device, dtype, IndexType::I32, (rows, cols), &entries).unwrap();
        let a = a.to_format(Format::Csr).unwrap();
        let vector = |k: usize| {
            let values = (0..cols).map(|i| value(i + 31 * k)).collect();
            let x = Vector::from_vec::<f64>(&device, values).unwrap().cast(dtype).unwrap();
            DenseMatrix::new(x, cols, 1, cols, Order::ColMajor).unwrap()
        };
        (a, (0..merged_columns(dtype)).map(vector).collect())
    }

    fn bytes(values: &Vector) -> Vec<u8> {
        nnz::with_dtype!(values.dtype(), T => bytemuck::cast_slice(values.as_slice::<T>().unwrap()).to_vec())
    }

    #[test]
    fn a_vector_of_each_type_has_the_same_bits_with_others_and_alone() {
        for dtype in [DType::F16, DType::Bf16, DType::F32, DType::F64, DType::C32, DType::C64] {
            let (a, vectors) = operands(dtype);
            let rows = a.nrows();
            let each = rows * dtype.bytes();
            let all: Vec<_> = vectors.iter().collect();
            for count in 2..=all.len() {
                let together =
                    bytes(&multiply_together(&a, (Op::None, c64::new(1.5, 0.0)), &all[..count]).unwrap());
                for (k, x) in vectors[..count].iter().enumerate() {
                    let mut y = DenseMatrix::zeros(a.device(), dtype, rows, 1, Order::ColMajor).unwrap();
                    a.spmm(Op::None, 1.5, x, 0.0, &mut y).unwrap();
                    let alone = bytes(&y.into_values());
                    assert_eq!(together[k * each..][..each], alone, "{dtype:?}, vector {k} of {count}");
                }
            }
        }
    }
}
