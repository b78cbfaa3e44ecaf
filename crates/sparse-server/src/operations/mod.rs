//! The table of operations on a matrix: one row each, which routes, documentation and admission follow.

mod members;
mod predict;
mod run;
mod traffic;

use crate::matrices::PUT_PARAMETERS;
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::spy_plot::Picture;
use crate::task::Task;
pub(crate) use members::{MemberSelection, Results, on_host};
use nnz::{DType, DenseMatrix, Format, Matrix, Norm, Vector};
use predict::Needed;
use run::*;
pub(crate) use run::{are_columns_independent, merged_columns, multiply_together};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::{Display, Formatter};
pub(crate) use traffic::Traffic;

/// An operation on a matrix.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) operand: Operand,
    /// True if `other` names a second matrix.
    pub(crate) has_other: bool,
    pub(crate) parameters: &'static [&'static str],
    pub(crate) result: ResultKind,
    predict: fn(&Call<'_>) -> Result<Needed, Problem>,
    run: fn(&Call<'_>) -> Result<Answer, Problem>,
}

/// What an operation answers; for each matrix of a batch a batch, an array with one dimension more, or a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// A sparse matrix, which can be stored.
    Matrix,
    Array,
    /// JSON, and for some operations a picture.
    Numbers,
}

impl Display for ResultKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Matrix => "a matrix",
            Self::Array => "an array",
            Self::Numbers => "numbers",
        })
    }
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

impl Operand {
    /// Fails for an array of a shape that the operation of this name does not take; for each matrix of a batch the
    /// array has one dimension more, the first.
    pub(crate) fn check(
        self,
        operation: &str,
        shape: &[usize],
        selection: MemberSelection,
    ) -> Result<(), Problem> {
        let (of_each, each) = match selection {
            MemberSelection::All => (shape.get(1..).unwrap_or_default(), " for each matrix of the batch"),
            MemberSelection::Whole | MemberSelection::One(_) => (shape, ""),
        };
        let (fits, needed) = match self {
            Self::None => (false, "nothing"),
            Self::Vector => (matches!(of_each, [_] | [_, 1]), "(n,) or (n, 1)"),
            Self::Dense => (matches!(of_each, [_, _]), "(n, columns)"),
            Self::Columns => (matches!(of_each, [_] | [_, _]), "(n,) or (n, columns)"),
        };
        if fits {
            return Ok(());
        }
        let detail = format!("{operation}: the shape of the operand is {shape:?}, {needed}{each} is needed");
        Err(Problem::unprocessable(detail))
    }
}

/// An operand in the device's memory.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Of three dimensions the matrices of the slowest, one below the other and row by row.
    pub(crate) values: DenseMatrix,
    pub(crate) shape: Vec<usize>,
}

impl Columns {
    /// True for an array of one dimension, which the result then is too.
    pub(crate) fn is_vector(&self) -> bool {
        self.shape.len() == 1
    }

    /// Bytes in the device's memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.values.values().len() as u64 * self.values.dtype().bytes() as u64
    }
}

/// The operands of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) a: &'a Matrix,
    pub(crate) other: Option<&'a Matrix>,
    pub(crate) operand: Option<&'a Columns>,
    pub(crate) parameters: &'a Parameters,
    pub(crate) task: &'a Task,
}

/// The result of an operation.
#[derive(Debug)]
pub(crate) enum Answer {
    Vector(Vector),
    Dense(DenseMatrix),
    /// Dense matrices of one shape, so many, one below the other and row by row.
    Stack(DenseMatrix, usize),
    Matrix(Matrix),
    Json(Value),
    /// As JSON or PNG.
    Picture(Picture),
    /// A solution, and how it was reached.
    Solved(Box<Answer>, Convergence),
}

impl Answer {
    /// The shape of a [`Stack`](Self::Stack).
    pub(crate) fn stack_shape(values: &DenseMatrix, count: usize) -> [usize; 3] {
        [count, values.nrows() / count.max(1), values.ncols()]
    }
}

/// The end of an iteration; of several columns the worst.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Convergence {
    pub(crate) method: &'static str,
    pub(crate) converged: bool,
    pub(crate) iterations: usize,
    pub(crate) relative_residual: f64,
}

impl Convergence {
    /// The worse of both.
    pub(crate) fn and(self, other: Self) -> Self {
        let (a, b) = (self.relative_residual, other.relative_residual);
        Self {
            converged: self.converged && other.converged,
            iterations: self.iterations.max(other.iterations),
            // NaN is worse than any number.
            relative_residual: if b.is_nan() || b > a { b } else { a },
            ..self
        }
    }

    pub(crate) fn to_json(self) -> Value {
        json!({
            "method": self.method, "converged": self.converged, "iterations": self.iterations,
            "relative_residual": number(self.relative_residual),
        })
    }
}

/// The parameter that names one matrix of a batch, or all of them, to which the operation applies then.
pub(crate) const MEMBER: &str = "member";

/// Every operation.
pub(crate) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "spmv",
        summary: "y = alpha * op(A) * x",
        operand: Operand::Vector,
        has_other: false,
        parameters: &["op", "alpha"],
        result: ResultKind::Array,
        predict: predict::product,
        run: multiply_dense,
    },
    Operation {
        name: "spmm",
        summary: "Y = alpha * op(A) * X, X dense",
        operand: Operand::Dense,
        has_other: false,
        parameters: &["op", "alpha"],
        result: ResultKind::Array,
        predict: predict::product,
        run: multiply_dense,
    },
    Operation {
        name: "sddmm",
        summary: "A ∘ (U * V^T); the body has U above V",
        operand: Operand::Dense,
        has_other: false,
        parameters: &[],
        result: ResultKind::Matrix,
        predict: predict::sampled_product,
        run: sampled_product,
    },
    Operation {
        name: "spgemm",
        summary: "C = A * B, both sparse",
        operand: Operand::None,
        has_other: true,
        parameters: &[],
        result: ResultKind::Matrix,
        predict: predict::sparse_product,
        run: |call| Ok(Answer::Matrix(call.a.matmul_sparse(&*call.other_as_first()?)?)),
    },
    Operation {
        name: "add",
        summary: "C = alpha * A + beta * B",
        operand: Operand::None,
        has_other: true,
        parameters: &["alpha", "beta"],
        result: ResultKind::Matrix,
        predict: predict::union,
        run: |call| {
            let (alpha, beta) = (call.parameters.factor("alpha")?, call.parameters.factor("beta")?);
            Ok(Answer::Matrix(call.a.add(&*call.other_as_first()?, alpha, beta)?))
        },
    },
    Operation {
        name: "multiply",
        summary: "C = A ∘ B, element by element",
        operand: Operand::None,
        has_other: true,
        parameters: &[],
        result: ResultKind::Matrix,
        predict: predict::union,
        run: |call| Ok(Answer::Matrix(call.a.multiply(&*call.other_as_first()?)?)),
    },
    Operation {
        name: "transpose",
        summary: "A^T",
        operand: Operand::None,
        has_other: false,
        parameters: &[],
        result: ResultKind::Matrix,
        predict: predict::copy,
        run: |call| Ok(Answer::Matrix(call.a.transpose()?)),
    },
    Operation {
        name: "scale",
        summary: "alpha * A",
        operand: Operand::None,
        has_other: false,
        parameters: &["alpha"],
        result: ResultKind::Matrix,
        predict: predict::copy,
        run: |call| Ok(Answer::Matrix(call.a.scaled(call.parameters.factor("alpha")?)?)),
    },
    Operation {
        name: "cast",
        summary: "A with values of another type: f32, f64, c32, c64",
        operand: Operand::None,
        has_other: false,
        parameters: &["dtype"],
        result: ResultKind::Matrix,
        predict: predict::copy,
        run: |call| Ok(Answer::Matrix(call.a.cast(call.parameters.required::<DType>("dtype")?)?)),
    },
    Operation {
        name: "convert",
        summary: "A in another format: csr, csc, coo",
        operand: Operand::None,
        has_other: false,
        parameters: &["format"],
        result: ResultKind::Matrix,
        predict: predict::copy,
        run: convert,
    },
    Operation {
        name: "prune",
        summary: "A without entries up to a magnitude, zeros if there is no tolerance",
        operand: Operand::None,
        has_other: false,
        parameters: &["tolerance"],
        result: ResultKind::Matrix,
        predict: predict::copy,
        run: prune,
    },
    Operation {
        name: "select",
        summary: "The rows and columns of A in lists such as 0,3,5..9",
        operand: Operand::None,
        has_other: false,
        parameters: &["rows", "columns"],
        result: ResultKind::Matrix,
        predict: predict::select,
        run: select,
    },
    Operation {
        name: "member",
        summary: "One matrix of a batch",
        operand: Operand::None,
        has_other: false,
        parameters: &["index"],
        result: ResultKind::Matrix,
        predict: predict::own,
        run: |call| Ok(Answer::Matrix(call.a.member(call.parameters.required("index")?)?)),
    },
    Operation {
        name: "dense",
        summary: "A as a dense array",
        operand: Operand::None,
        has_other: false,
        parameters: &[],
        result: ResultKind::Array,
        predict: predict::dense,
        run: |call| Ok(Answer::Dense(call.a.to_dense()?)),
    },
    Operation {
        name: "diagonal",
        summary: "The elements (i, i + k) of A, for k of any sign, 0 if it is not given",
        operand: Operand::None,
        has_other: false,
        parameters: &["k"],
        result: ResultKind::Array,
        predict: predict::diagonal,
        run: diagonal,
    },
    Operation {
        name: "reduce",
        summary: "The sum, mean, variance, min, max, norm1, norm2 or norminf (by) of each row or column (each)",
        operand: Operand::None,
        has_other: false,
        parameters: &["each", "by"],
        result: ResultKind::Array,
        predict: predict::lines,
        run: reduce,
    },
    Operation {
        name: "norm",
        summary: "A norm of A: fro, 1, inf",
        operand: Operand::None,
        has_other: false,
        parameters: &["ord"],
        result: ResultKind::Numbers,
        predict: predict::norm,
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
        result: ResultKind::Numbers,
        predict: predict::statistics,
        run: statistics,
    },
    Operation {
        name: "spy",
        summary: "The number of entries of A in each cell of a grid over it, up to `size` (64) cells a side: as JSON, row by row, or as PNG by `Accept: image/png`",
        operand: Operand::None,
        has_other: false,
        parameters: &["size"],
        result: ResultKind::Numbers,
        predict: predict::spy,
        run: spy,
    },
    Operation {
        name: "solve",
        summary: "A * X = B by iteration; the last iterate comes with its residual, converged or not",
        operand: Operand::Columns,
        has_other: false,
        parameters: &["method", "tol", "max_iterations", "restart", "preconditioner"],
        result: ResultKind::Array,
        predict: predict::solve,
        run: solve,
    },
    Operation {
        name: "trisolve",
        summary: "op(A) * X = B with the lower or upper triangle of A",
        operand: Operand::Columns,
        has_other: false,
        parameters: &["triangle", "unit", "op"],
        result: ResultKind::Array,
        predict: predict::triangular_solve,
        run: solve_triangular,
    },
];

impl Operation {
    /// The name as the table has it, if an operation has this name.
    pub(crate) fn name_of(name: &str) -> Option<&'static str> {
        OPERATIONS.iter().map(|operation| operation.name).find(|known| *known == name)
    }

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
        [self.parameters, other, &["into"], &PUT_PARAMETERS, &[MEMBER, "dry_run", "timeout", "async"]]
            .concat()
    }

    /// True if requests on one matrix that wait at the same time are computed together.
    pub(crate) fn is_merged(&self) -> bool {
        self.operand == Operand::Vector
    }

    pub(crate) fn predict(&self, call: &Call<'_>) -> Result<Needed, Problem> {
        (self.predict)(call)
    }

    /// Bytes that a call reads and writes, by those that it needs beside its operands; none if it does so as often as
    /// it iterates.
    pub(crate) fn moved_bytes(&self, call: &Call<'_>, needed: u64) -> Option<u64> {
        const ITERATIVE: &str = "solve";
        let matrices = [Some(call.a), call.other].into_iter().flatten();
        let matrices: u64 = matrices.map(|matrix| matrix.bytes() as u64).sum();
        let operand = call.operand.map_or(0, Columns::bytes);
        (self.name != ITERATIVE).then(|| needed.saturating_add(matrices).saturating_add(operand))
    }

    pub(crate) fn run(&self, call: &Call<'_>) -> Result<Answer, Problem> {
        (self.run)(call)
    }
}

impl<'a> Call<'a> {
    /// The call with this matrix in place of its own, if there is one.
    pub(crate) fn with_matrix(self, matrix: Option<&'a Matrix>) -> Self {
        Self { a: matrix.unwrap_or(self.a), ..self }
    }

    fn other(&self) -> Result<&Matrix, Problem> {
        self.other.ok_or_else(|| Problem::bad_request("parameter `other`: the second matrix is needed"))
    }

    /// The second matrix in the format of the first, as a transpose, which is CSC of CSR, is needed.
    fn other_as_first(&self) -> Result<Cow<'_, Matrix>, Problem> {
        let other = self.other()?;
        match self.converts_other() {
            true => Ok(Cow::Owned(other.to_format(self.a.format())?)),
            false => Ok(Cow::Borrowed(other)),
        }
    }

    /// True if one matrix is CSR and the other CSC or COO, or the other way round.
    fn converts_other(&self) -> bool {
        let Some(other) = self.other else { return false };
        let are_single = self.a.members().is_none() && other.members().is_none();
        are_single
            && matches!(self.a.format(), Format::Csr | Format::Csc)
            && other.format() != self.a.format()
    }

    fn operand(&self) -> Result<&Columns, Problem> {
        self.operand.ok_or_else(|| Problem::bad_request("a body of .npy is needed"))
    }
}
