//! The table of operations on a matrix: one row each, which routes, documentation and admission follow.

use crate::parameters::Parameters;
use crate::problem::Problem;
use nnz::op::{Op, Triangular};
use nnz::solvers::{Iteration, Options};
use nnz::{
    DType, DenseMatrix, Each, Format, Matrix, Method, Norm, Order, Preconditioning, SolveOptions, Vector, c64,
};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// An operation on a matrix.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) operand: Operand,
    /// True if `other` names a second matrix.
    pub(crate) has_other: bool,
    pub(crate) parameters: &'static [&'static str],
    /// Bytes of the result and of what is needed on the way, from above.
    predict: fn(&Call<'_>) -> Result<u64, Problem>,
    run: fn(&Call<'_>) -> Result<Answer, Problem>,
}

/// The body that an operation takes: `.npy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operand {
    None,
    /// Of one dimension, or of two with one column.
    Vector,
    /// Of two dimensions.
    Dense,
    /// Of one dimension or of two.
    Columns,
}

/// An operand in the device's memory.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) values: DenseMatrix,
    /// True for an array of one dimension, which the result then is too.
    pub(crate) is_vector: bool,
}

/// The operands of one call.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) a: &'a Matrix,
    pub(crate) other: Option<&'a Matrix>,
    pub(crate) operand: Option<Columns>,
    pub(crate) parameters: Parameters,
    /// True once nobody waits for the result.
    pub(crate) cancel: Cancel,
    pub(crate) solve_time: Duration,
}

/// A flag that is set when nobody waits for a result any more.
pub(crate) type Cancel = Arc<AtomicBool>;

/// The result of an operation.
#[derive(Debug)]
pub(crate) enum Answer {
    Vector(Vector),
    Dense(DenseMatrix),
    Matrix(Matrix),
    Json(Value),
    /// A solution, with the method and the worst of its columns.
    Solved(Box<Answer>, Value),
}

/// Every operation.
pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "spmv",
        summary: "y = alpha * op(A) * x",
        operand: Operand::Vector,
        has_other: false,
        parameters: &["op", "alpha"],
        predict: predict_product,
        run: multiply_dense,
    },
    Operation {
        name: "spmm",
        summary: "Y = alpha * op(A) * X, X dense",
        operand: Operand::Dense,
        has_other: false,
        parameters: &["op", "alpha"],
        predict: predict_product,
        run: multiply_dense,
    },
    Operation {
        name: "sddmm",
        summary: "A ∘ (U * V^T); the body has U above V",
        operand: Operand::Dense,
        has_other: false,
        parameters: &[],
        predict: |call| Ok(own_bytes(call)?.saturating_add(operand_bytes(call))),
        run: sampled_product,
    },
    Operation {
        name: "spgemm",
        summary: "C = A * B, both sparse",
        operand: Operand::None,
        has_other: true,
        parameters: &[],
        predict: predict_spgemm,
        run: |call| Ok(Answer::Matrix(call.a.matmul_sparse(call.other()?)?)),
    },
    Operation {
        name: "add",
        summary: "C = alpha * A + beta * B",
        operand: Operand::None,
        has_other: true,
        parameters: &["alpha", "beta"],
        predict: predict_union,
        run: |call| {
            let (alpha, beta) = (call.factor("alpha")?, call.factor("beta")?);
            Ok(Answer::Matrix(call.a.add(call.other()?, alpha, beta)?))
        },
    },
    Operation {
        name: "multiply",
        summary: "C = A ∘ B, element by element",
        operand: Operand::None,
        has_other: true,
        parameters: &[],
        predict: predict_union,
        run: |call| Ok(Answer::Matrix(call.a.multiply(call.other()?)?)),
    },
    Operation {
        name: "transpose",
        summary: "A^T",
        operand: Operand::None,
        has_other: false,
        parameters: &[],
        predict: predict_copy,
        run: |call| Ok(Answer::Matrix(call.a.transpose()?)),
    },
    Operation {
        name: "scale",
        summary: "alpha * A",
        operand: Operand::None,
        has_other: false,
        parameters: &["alpha"],
        predict: predict_copy,
        run: |call| Ok(Answer::Matrix(call.a.scaled(call.factor("alpha")?)?)),
    },
    Operation {
        name: "cast",
        summary: "A with values of another type: f32, f64, c32, c64",
        operand: Operand::None,
        has_other: false,
        parameters: &["dtype"],
        predict: predict_copy,
        run: |call| Ok(Answer::Matrix(call.a.cast(call.parameters.required::<DType>("dtype")?)?)),
    },
    Operation {
        name: "convert",
        summary: "A in another format: csr, csc, coo",
        operand: Operand::None,
        has_other: false,
        parameters: &["format"],
        predict: predict_copy,
        run: convert,
    },
    Operation {
        name: "prune",
        summary: "A without entries up to a magnitude, zeros if there is no tolerance",
        operand: Operand::None,
        has_other: false,
        parameters: &["tolerance"],
        predict: predict_copy,
        run: |call| Ok(Answer::Matrix(call.a.prune(call.parameters.get("tolerance")?)?)),
    },
    Operation {
        name: "select",
        summary: "The rows and columns of A in lists such as 0,3,5..9",
        operand: Operand::None,
        has_other: false,
        parameters: &["rows", "columns"],
        predict: predict_select,
        run: select,
    },
    Operation {
        name: "member",
        summary: "One matrix of a batch",
        operand: Operand::None,
        has_other: false,
        parameters: &["index"],
        predict: own_bytes,
        run: |call| Ok(Answer::Matrix(call.a.member(call.parameters.required("index")?)?)),
    },
    Operation {
        name: "dense",
        summary: "A as a dense array",
        operand: Operand::None,
        has_other: false,
        parameters: &[],
        predict: |call| Ok(array_bytes(call, call.a.nrows(), call.a.ncols())),
        run: |call| Ok(Answer::Dense(call.a.to_dense()?)),
    },
    Operation {
        name: "diagonal",
        summary: "The diagonal of A",
        operand: Operand::None,
        has_other: false,
        parameters: &[],
        predict: |call| Ok(lines_bytes(call).saturating_mul(3)),
        run: diagonal,
    },
    Operation {
        name: "reduce",
        summary: "The sum, mean, min or max (by) of each row or column (each)",
        operand: Operand::None,
        has_other: false,
        parameters: &["each", "by"],
        predict: |call| Ok(lines_bytes(call).saturating_mul(2)),
        run: reduce,
    },
    Operation {
        name: "norm",
        summary: "A norm of A: fro, 1, inf",
        operand: Operand::None,
        has_other: false,
        parameters: &["ord"],
        predict: |call| Ok(lines_bytes(call)),
        run: |call| {
            let norm = call.a.norm(call.parameters.get_or("ord", Norm::Frobenius)?)?;
            Ok(Answer::Json(json!({ "norm": number(norm) })))
        },
    },
    Operation {
        name: "statistics",
        summary: "The lengths of the rows of A",
        operand: Operand::None,
        has_other: false,
        parameters: &[],
        predict: |call| Ok(lines_bytes(call)),
        run: statistics,
    },
    Operation {
        name: "solve",
        summary: "A * X = B by iteration; the last iterate comes with its residual, converged or not",
        operand: Operand::Columns,
        has_other: false,
        parameters: &["method", "tol", "max_iterations", "restart", "preconditioner"],
        predict: |call| {
            let restart = call.parameters.get_or("restart", Options::default().restart)?;
            let workspace = lines_bytes(call).saturating_mul(restart.saturating_add(16) as u64);
            Ok(predict_product(call)?.saturating_add(workspace).saturating_add(own_bytes(call)?))
        },
        run: solve,
    },
    Operation {
        name: "trisolve",
        summary: "op(A) * X = B with the lower or upper triangle of A",
        operand: Operand::Columns,
        has_other: false,
        parameters: &["triangle", "unit", "op"],
        predict: |call| Ok(predict_product(call)?.saturating_add(lines_bytes(call))),
        run: solve_triangular,
    },
];

impl Operation {
    pub(crate) fn find(name: &str) -> Result<&'static Self, Problem> {
        OPERATIONS.iter().find(|operation| operation.name == name).ok_or_else(|| {
            let names: Vec<_> = OPERATIONS.iter().map(|operation| operation.name).collect();
            let name = name.escape_debug();
            Problem::not_found(format!("there is no operation `{name}`: one of {}", names.join(", ")))
        })
    }

    /// The parameters of the operation, and those of every one.
    pub(crate) fn known_parameters(&self) -> Vec<&'static str> {
        let other = if self.has_other { &["other"][..] } else { &[] };
        [self.parameters, other, &["into", "durable", "pinned", "replace", "dry_run"]].concat()
    }

    /// Bytes that a call needs beside its operands, from above.
    pub(crate) fn predict(&self, call: &Call<'_>) -> Result<u64, Problem> {
        (self.predict)(call)
    }

    pub(crate) fn run(&self, call: &Call<'_>) -> Result<Answer, Problem> {
        (self.run)(call)
    }
}

impl Call<'_> {
    fn other(&self) -> Result<&Matrix, Problem> {
        self.other.ok_or_else(|| Problem::bad_request("parameter `other`: the second matrix is needed"))
    }

    fn operand(&self) -> Result<&Columns, Problem> {
        self.operand.as_ref().ok_or_else(|| Problem::bad_request("a body of .npy is needed"))
    }

    /// A real or complex factor such as `2`, `0.5` or `1,-2`; 1 without the parameter.
    fn factor(&self, name: &'static str) -> Result<c64, Problem> {
        let Some(text) = self.parameters.text(name) else { return Ok(c64::ONE) };
        let (re, im) = text.split_once(',').unwrap_or((text, "0"));
        match (re.parse(), im.parse()) {
            (Ok(re), Ok(im)) => Ok(c64::new(re, im)),
            _ => Err(Problem::bad_request(format!(
                "parameter {name}={}: a number, or RE,IM, is needed",
                text.escape_debug()
            ))),
        }
    }

    fn op(&self) -> Result<Op, Problem> {
        self.parameters.get_or("op", Op::None)
    }
}

/// The array of a result, of one dimension if the operand was.
fn answer(values: DenseMatrix, is_vector: bool) -> Answer {
    if is_vector { Answer::Vector(values.into_values()) } else { Answer::Dense(values) }
}

fn multiply_dense(call: &Call<'_>) -> Result<Answer, Problem> {
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

fn sampled_product(call: &Call<'_>) -> Result<Answer, Problem> {
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

fn convert(call: &Call<'_>) -> Result<Answer, Problem> {
    match call.parameters.required::<Format>("format")? {
        format @ (Format::Csr | Format::Csc | Format::Coo) => Ok(Answer::Matrix(call.a.to_format(format)?)),
        format => Err(Problem::unprocessable(format!("convert: no file holds {format}: csr, csc or coo"))),
    }
}

fn select(call: &Call<'_>) -> Result<Answer, Problem> {
    let rows = call.parameters.positions("rows", call.a.nrows())?;
    let columns = call.parameters.positions("columns", call.a.ncols())?;
    Ok(Answer::Matrix(call.a.select(&rows, &columns)?))
}

fn diagonal(call: &Call<'_>) -> Result<Answer, Problem> {
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

fn reduce(call: &Call<'_>) -> Result<Answer, Problem> {
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

fn statistics(call: &Call<'_>) -> Result<Answer, Problem> {
    let rows = call.a.row_statistics()?;
    Ok(Answer::Json(json!({
        "rows": rows.rows, "nnz": rows.nnz, "empty": rows.empty, "shortest": rows.shortest,
        "longest": rows.longest, "mean": number(rows.mean), "deviation": number(rows.deviation),
        "histogram": rows.histogram,
    })))
}

fn solve(call: &Call<'_>) -> Result<Answer, Problem> {
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

fn solve_triangular(call: &Call<'_>) -> Result<Answer, Problem> {
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
fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}

fn array_bytes(call: &Call<'_>, rows: usize, cols: usize) -> u64 {
    (rows as u64).saturating_mul(cols as u64).saturating_mul(call.a.dtype().bytes() as u64)
}

/// Bytes of a double for each row and column.
fn lines_bytes(call: &Call<'_>) -> u64 {
    let lines = (call.a.nrows() as u64).saturating_add(call.a.ncols() as u64);
    lines.saturating_mul(size_of::<c64>() as u64)
}

fn own_bytes(call: &Call<'_>) -> Result<u64, Problem> {
    Ok(call.a.bytes() as u64)
}

fn operand_bytes(call: &Call<'_>) -> u64 {
    let operand = call.operand.as_ref();
    operand.map_or(0, |x| array_bytes(call, x.values.nrows(), x.values.ncols()))
}

/// The result of a product with dense columns, and a copy of the operand.
fn predict_product(call: &Call<'_>) -> Result<u64, Problem> {
    let columns = call.operand.as_ref().map_or(1, |x| x.values.ncols());
    let longest = call.a.nrows().max(call.a.ncols());
    Ok(array_bytes(call, longest, columns).saturating_mul(2))
}

/// A copy of A as a matrix of other index or value types, and one on the way; of CSC as CSR, other offsets.
fn predict_copy(call: &Call<'_>) -> Result<u64, Problem> {
    let entries = (call.a.nnz() as u64).saturating_mul((size_of::<c64>() + size_of::<i64>()) as u64);
    Ok(entries.saturating_mul(2).saturating_add(lines_bytes(call)))
}

fn predict_union(call: &Call<'_>) -> Result<u64, Problem> {
    let both = (call.a.bytes() as u64).saturating_add(call.other()?.bytes() as u64);
    Ok(both.saturating_mul(2).saturating_add(lines_bytes(call)))
}

/// The entries of the selected rows, as often as the most frequent column is repeated.
fn predict_select(call: &Call<'_>) -> Result<u64, Problem> {
    let rows = call.parameters.positions("rows", call.a.nrows())?;
    let columns = call.parameters.positions("columns", call.a.ncols())?;
    let lengths = call.a.row_lengths()?;
    let entries: u64 = rows.iter().map(|&row| lengths[row] as u64).sum();
    let mut repeats = vec![0_u64; call.a.ncols()];
    columns.iter().for_each(|&column| repeats[column] += 1);
    let most = repeats.into_iter().max().unwrap_or(0);
    let entry = (call.a.dtype().bytes() + size_of::<i64>()) as u64;
    Ok(entries.saturating_mul(most).saturating_mul(2 * entry).saturating_add(lines_bytes(call)))
}

/// One entry for each pair of entries that meet, or a dense result where that is less.
fn predict_spgemm(call: &Call<'_>) -> Result<u64, Problem> {
    let (a, b) = (call.a, call.other()?);
    let lengths = b.row_lengths()?;
    let mut products = 0_u64;
    a.for_each_entry(&mut |_, col, _| products += lengths.get(col).map_or(0, |&length| length as u64))?;
    let dense = (a.nrows() as u64).saturating_mul(b.ncols() as u64);
    let entry = (a.dtype().bytes() + size_of::<i64>()) as u64;
    Ok(products.min(dense).saturating_mul(entry).saturating_add(lines_bytes(call)))
}
