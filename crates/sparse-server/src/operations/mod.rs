//! Operations on a matrix: a table with one row each, which routes, documentation and admission follow.
//!
//! Requests for them are handled in [`crate::operation_requests`].

mod check;
mod combine;
mod graph_learning;
mod members;
mod operand;
mod parameter;
mod predict;
mod run;
mod spy_plot;
mod table;
mod traffic;
mod values;

use crate::execution::task::Task;
use crate::problem::Problem;
use crate::request::arguments::PUT_PARAMETERS;
use crate::request::parameters::Parameters;
pub(crate) use members::{MemberSelection, Results, on_host};
use nnz::{DType, DenseMatrix, Format, Matrix, Vector};
pub(crate) use operand::{Columns, Operand};
use parameter::Parameter;
use predict::Needed;
use run::number;
pub(crate) use run::{are_columns_independent, merged_columns, multiply_together};
use serde_json::{Value, json};
use spy_plot::Picture;
use std::borrow::Cow;
use std::fmt::{Display, Formatter};
pub(crate) use table::OPERATIONS;
pub(crate) use traffic::Traffic;

/// An operation on a matrix.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) operand: Operand,
    /// True if `other` names a second matrix.
    pub(crate) has_other: bool,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) result: ResultKind,
    /// Fails for a call that is refused whatever its values are.
    check: fn(&Call<'_>) -> Result<(), Problem>,
    predict: fn(&Call<'_>) -> Result<Needed, Problem>,
    run: fn(&Call<'_>) -> Result<Answer, Problem>,
}

/// The kind of an operation's result.
///
/// For each matrix of a batch it is a batch, an array with one dimension more, or a list.
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

    /// The names of the operation's own parameters.
    pub(crate) fn own_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.parameters.iter().map(|parameter| parameter.name)
    }

    /// The names of the operation's parameters, its own and those of every one.
    pub(crate) fn known_parameters(&self) -> Vec<&'static str> {
        let other = if self.has_other { &["other"][..] } else { &[] };
        let common = [other, &["into"], &PUT_PARAMETERS, &[MEMBER, "dry_run", "timeout", "async"]].concat();
        self.own_parameters().chain(common).collect()
    }

    /// True if the operation can be applied to each matrix of a batch, in place of the whole or one of them.
    pub(crate) fn takes_each_member(&self) -> bool {
        self.name != "values"
    }

    /// True if requests on one matrix that wait at the same time are computed together.
    pub(crate) fn is_merged(&self) -> bool {
        self.name == "spmv"
    }

    /// True if the result for this matrix is a batch.
    pub(crate) fn makes_batch(&self, a: &Matrix, selection: MemberSelection) -> bool {
        const TAKES_ONE: &str = "member";
        let is_batch = match selection {
            MemberSelection::All => true,
            MemberSelection::One(_) => false,
            MemberSelection::Whole => a.members().is_some() && self.name != TAKES_ONE,
        };
        self.result == ResultKind::Matrix && is_batch
    }

    /// Fails for a result of a type that no file holds: steps of a program may have it, but no answer.
    pub(crate) fn check_result_type(&self, parameters: &Parameters) -> Result<(), Problem> {
        match (self.name, parameters.get::<DType>("dtype")?) {
            ("cast", Some(dtype @ (DType::F16 | DType::Bf16))) => Err(Problem::unprocessable(format!(
                "cast: no file holds a matrix of {dtype}: f32, f64, c32 or c64"
            ))),
            _ => Ok(()),
        }
    }

    /// Bytes of the host that a call needs which needs these bytes, where the device is none of the host's: for a
    /// result that the host makes whatever the device is, or for a preconditioner.
    pub(crate) fn host_bytes(&self, call: &Call<'_>, needed: Needed) -> Result<u64, Problem> {
        match self.name {
            "vstack" | "hstack" | "block_diag" | "kron" | "map" => Ok(needed.total()),
            "solve" => predict::preconditioner_bytes(call),
            _ => Ok(0),
        }
    }

    /// True for an iteration, which may end before it has converged.
    pub(crate) fn iterates(&self) -> bool {
        self.name == "solve"
    }

    /// The bytes that a call needs; fails for one that is refused whatever its values are.
    pub(crate) fn predict(&self, call: &Call<'_>) -> Result<Needed, Problem> {
        (self.check)(call)?;
        (self.predict)(call)
    }

    /// Bytes that a call reads and writes, by those that it needs beside its operands; none if it does so as often as
    /// it iterates.
    pub(crate) fn moved_bytes(&self, call: &Call<'_>, needed: u64) -> Option<u64> {
        let matrices = [Some(call.a), call.other].into_iter().flatten();
        let matrices: u64 = matrices.map(|matrix| matrix.bytes() as u64).sum();
        let operand = call.operand.map_or(0, Columns::bytes);
        (!self.iterates()).then(|| needed.saturating_add(matrices).saturating_add(operand))
    }

    /// The result of a call that was predicted.
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
