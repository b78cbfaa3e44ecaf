//! Operations on each matrix of a batch: one call for each, and their results as one.
//!
//! Sparse results become a batch again, arrays an array with one dimension more, and numbers a list.

use super::{Answer, Call, Columns, Convergence, MEMBER};
use crate::problem::Problem;
use crate::request::parameters::Parameters;
use nnz::{DenseMatrix, Device, Matrix, Order, Vector, with_dtype};
use serde_json::Value;
use std::str::FromStr;

/// The matrices of a batch to which an operation applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberSelection {
    /// The batch itself, or a matrix that is none.
    Whole,
    One(usize),
    /// Each of them by itself.
    All,
}

impl FromStr for MemberSelection {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            _ => text
                .parse()
                .map(Self::One)
                .map_err(|_| "the number of a matrix of the batch, or all, is needed"),
        }
    }
}

impl MemberSelection {
    pub(crate) fn of(parameters: &Parameters) -> Result<Self, Problem> {
        parameters.get_or(MEMBER, Self::Whole)
    }
}

impl Call<'_> {
    /// Calls `work` for each matrix of the batch: with that of the same number of a second batch, and with its part of
    /// the operand. A second matrix that is no batch, and an operand whose first dimension is 1, are for each.
    pub(crate) fn for_each_member(
        &self,
        mut work: impl FnMut(&Call<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let count = self.a.members().unwrap_or_default();
        if count == 0 {
            let found =
                if self.a.members().is_some() { "it has no matrices" } else { "the matrix is no batch" };
            return Err(Problem::unprocessable(format!("parameter {MEMBER}=all: {found}")));
        }
        let others = self.other.and_then(Matrix::members);
        if let Some(others) = others.filter(|others| *others != count) {
            let detail =
                format!("the batch has {count} matrices, and `other` {others}: as many are needed, or one");
            return Err(Problem::unprocessable(detail));
        }
        let stack = self.operand.map(|operand| OperandStack::of(operand, count)).transpose()?;
        for k in 0..count {
            self.task.check()?;
            let a = self.a.member(k)?;
            let paired = self.other.filter(|_| others.is_some()).map(|other| other.member(k)).transpose()?;
            let operand = stack.as_ref().map(|stack| stack.member(k, self.a.device())).transpose()?;
            let (other, operand) = (paired.as_ref().or(self.other), operand.as_ref());
            let done = work(&Call { a: &a, other, operand, ..*self });
            done.map_err(|problem| problem.within(&format!("member {k}")))?;
        }
        Ok(())
    }
}

/// The operands of the matrices of a batch, one after the other in the host's memory.
struct OperandStack {
    values: Vector,
    /// The shape of each.
    shape: Vec<usize>,
    /// True if there is one for all.
    is_shared: bool,
}

impl OperandStack {
    fn of(operand: &Columns, count: usize) -> Result<Self, Problem> {
        let [found, shape @ ..] = &operand.shape[..] else {
            return Err(Problem::internal("an operand without dimensions"));
        };
        if !matches!(*found, 1) && *found != count {
            let detail = format!(
                "the first dimension of the operand is {found}, and the batch has {count} matrices: as many are needed, or 1"
            );
            return Err(Problem::unprocessable(detail));
        }
        let values = &operand.values;
        // Without elements there may be very many rows.
        let values =
            if values.values().is_empty() { values.clone() } else { values.to_order(Order::RowMajor)? };
        Ok(Self { values: on_host(values.into_values())?, shape: shape.to_vec(), is_shared: *found == 1 })
    }

    fn member(&self, k: usize, device: &Device) -> Result<Columns, Problem> {
        let shape = &self.shape;
        let (rows, cols) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
        let len = rows.saturating_mul(cols);
        let start = if self.is_shared { 0 } else { k * len };
        let values = with_dtype!(self.values.dtype(), T => {
            let all = self.values.as_slice::<T>().unwrap_or_default();
            let part = all.get(start..start.saturating_add(len));
            let part = part.ok_or_else(|| Problem::internal("an operand without its elements"))?;
            DenseMatrix::from_vec(device, part.to_vec(), rows, cols, Order::RowMajor)?
        });
        Ok(Columns { values, shape: shape.clone() })
    }
}

/// The results of the matrices of a batch, which are of one kind.
#[derive(Debug)]
pub(crate) struct Results {
    count: usize,
    numbers: Vec<Value>,
    matrices: Vec<Matrix>,
    arrays: Option<ResultStack>,
    reached: Option<Convergence>,
}

/// Arrays of one shape, one after the other in the host's memory.
#[derive(Debug)]
struct ResultStack {
    values: Vector,
    /// Elements that are there.
    filled: usize,
    /// Rows and columns of each, if it has two dimensions.
    shape: Option<(usize, usize)>,
}

impl Results {
    /// An empty list of results, of `count` matrices.
    pub(crate) fn new(count: usize) -> Self {
        Self { count, numbers: vec![], matrices: vec![], arrays: None, reached: None }
    }

    pub(crate) fn push(&mut self, answer: Answer) -> Result<(), Problem> {
        match answer {
            Answer::Json(value) => self.numbers.push(value),
            Answer::Picture(picture) => self.numbers.push(picture.to_json()),
            // A batch keeps the order of the entries.
            Answer::Matrix(matrix) => self.matrices.push(matrix.sort()?),
            Answer::Vector(values) => self.push_array(values, None)?,
            Answer::Dense(values) => {
                let (rows, cols) = values.shape();
                let values =
                    if rows == 0 || cols == 0 { values } else { values.to_order(Order::RowMajor)? };
                self.push_array(values.into_values(), Some((rows, cols)))?;
            }
            Answer::Stack(..) => {
                return Err(Problem::unprocessable("the result of a matrix is several arrays"));
            }
            Answer::Solved(values, reached) => {
                self.reached = Some(self.reached.map_or(reached, |before| before.and(reached)));
                self.push(*values)?;
            }
        }
        Ok(())
    }

    fn push_array(&mut self, values: Vector, shape: Option<(usize, usize)>) -> Result<(), Problem> {
        let values = on_host(values)?;
        let stack = match &mut self.arrays {
            Some(stack) => stack,
            None => {
                let len = values.len().checked_mul(self.count);
                let len = len.ok_or_else(|| Problem::unprocessable("the results fit no memory"))?;
                let values = Vector::zeros(values.device(), values.dtype(), len)?;
                self.arrays.insert(ResultStack { values, filled: 0, shape })
            }
        };
        stack.push(&values)
    }

    /// The results as one, in the memory of this device.
    pub(crate) fn finish(self, device: &Device) -> Result<Answer, Problem> {
        let answer = match self.arrays {
            Some(stack) => stack.finish(self.count, device)?,
            None if self.matrices.is_empty() => Answer::Json(self.numbers.into()),
            None => Answer::Matrix(Matrix::from_members(&self.matrices)?),
        };
        Ok(match self.reached {
            Some(reached) => Answer::Solved(Box::new(answer), reached),
            None => answer,
        })
    }
}

impl ResultStack {
    fn push(&mut self, values: &Vector) -> Result<(), Problem> {
        let end = self.filled + values.len();
        let is_copied = with_dtype!(self.values.dtype(), T => {
            let free = self.values.as_mut_slice::<T>().and_then(|all| all.get_mut(self.filled..end));
            match free.zip(values.as_slice::<T>()) {
                Some((free, values)) => {
                    free.copy_from_slice(values);
                    true
                }
                None => false,
            }
        });
        if !is_copied {
            return Err(Problem::internal(
                "the results of two matrices of a batch have other types or shapes",
            ));
        }
        self.filled = end;
        Ok(())
    }

    fn finish(self, count: usize, device: &Device) -> Result<Answer, Problem> {
        let len = self.values.len() / count.max(1);
        let values = match device {
            Device::Cpu(_) => self.values,
            _ => self.values.to_device(device)?,
        };
        let rows_of =
            |values, rows, cols: usize| DenseMatrix::new(values, rows, cols, cols.max(1), Order::RowMajor);
        Ok(match self.shape {
            None => Answer::Dense(rows_of(values, count, len)?),
            Some((rows, cols)) => Answer::Stack(rows_of(values, count.saturating_mul(rows), cols)?, count),
        })
    }
}

/// The values in the host's memory.
pub(crate) fn on_host(values: Vector) -> Result<Vector, Problem> {
    Ok(match values.device() {
        Device::Cpu(_) => values,
        _ => values.to_device(&Device::host_with_threads(1)?)?,
    })
}
