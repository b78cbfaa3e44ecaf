//! The matrices and arrays of a program while it runs.

use super::steps::{ArraySource, MatrixSource, Step};
use crate::execution::task::Task;
use crate::memory::ledger::Reservation;
use crate::objects::{Object, Resident, Store};
use crate::operation_requests::computation::{Owner, compute};
use crate::operation_requests::{check_real, read_columns};
use crate::operations::{Answer, Call, Columns, MemberSelection};
use crate::problem::Problem;
use crate::upload::ArrayBody;
use nnz::{DenseMatrix, Matrix, Order};
use std::sync::Arc;

/// The intermediate results of a program, its body, and the leases on stored matrices that it uses.
pub(super) struct Memory<'s> {
    store: &'s Store,
    tenant: String,
    body: Option<ArrayBody>,
    /// The body in its own type, once a step has taken it.
    array: Option<Columns>,
    results: Vec<(Intermediate, Reservation)>,
    /// The stored matrices that were used.
    leases: Vec<(Arc<Object>, Arc<Resident>)>,
    body_bytes: Reservation,
}

/// The result of a step that others may take.
enum Intermediate {
    Matrix(Matrix),
    Array(Columns),
    Numbers,
}

impl<'s> Memory<'s> {
    pub(super) fn new(
        store: &'s Store,
        tenant: &str,
        body: Option<ArrayBody>,
        task: &Task,
    ) -> Result<Self, Problem> {
        let bytes = body.as_ref().map_or(Ok(0), |body| body.array_bytes(None, task))?;
        let body_bytes = store.reserve(tenant, bytes)?;
        let (results, leases) = (vec![], vec![]);
        Ok(Self { store, tenant: tenant.into(), body, array: None, results, leases, body_bytes })
    }

    /// The bytes that the program has until it ends.
    fn owned_bytes(&self) -> u64 {
        let results: u64 = self.results.iter().map(|(_, reserved)| reserved.bytes()).sum();
        self.store.leased_bytes(self.leases.iter().map(|(object, _)| object))
            + self.body_bytes.bytes()
            + results
    }

    /// The result of a step, and the bytes that it takes.
    pub(super) fn compute(&mut self, step: Step, task: &Task) -> Result<(Answer, Reservation), Problem> {
        let Step { operation, a, other, operand, parameters, .. } = step;
        let selection = MemberSelection::of(&parameters)?;
        let (leased, leased_other) =
            (self.lease(&a)?, other.as_ref().map(|other| self.lease(other)).transpose()?);
        if let Some(ArraySource::Body) = operand
            && let Some(body) = self.body.take()
        {
            self.array = Some(read_columns(body, (operation, selection), (&self.store.device, None), task)?);
        }
        let a = self.matrix(&a, leased.as_deref())?;
        let other = match (&other, &leased_other) {
            (Some(other), Some(leased)) => Some(self.matrix(other, leased.as_deref())?),
            _ => None,
        };
        let mut reserved = self.store.reserve(&self.tenant, 0)?;
        let owner = Owner { tenant: &self.tenant, leased: self.owned_bytes() };
        let operand = operand.map(|source| self.columns(source)).transpose()?;
        let cast = match operand {
            Some(columns) if columns.values.dtype() != a.dtype() => {
                check_real(columns.values.dtype(), a.dtype())?;
                owner.reserve(self.store, columns.bytes().saturating_mul(2), &mut reserved)?;
                Some(Columns { values: columns.values.cast(a.dtype())?, shape: columns.shape.clone() })
            }
            _ => None,
        };
        let operand = cast.as_ref().or(operand);
        let check = |columns: &Columns| operation.operand.check(operation.name, &columns.shape, selection);
        operand.map_or(Ok(()), check)?;
        let call = Call { a, other, operand, parameters: &parameters, task };
        let answer = compute(self.store, owner, operation, &call, &mut reserved)?;
        Ok((answer, reserved))
    }

    /// Keeps the result of a step for others.
    pub(super) fn keep(&mut self, answer: Answer, mut reserved: Reservation) -> Result<(), Problem> {
        let result = Intermediate::of(answer)?;
        let bytes = match &result {
            Intermediate::Matrix(matrix) => matrix.bytes() as u64,
            Intermediate::Array(columns) => columns.bytes(),
            Intermediate::Numbers => 0,
        };
        self.store.settle(&mut reserved, &self.tenant, bytes)?;
        self.results.push((result, reserved));
        Ok(())
    }

    /// A lease on a stored matrix, which lasts as long as the program.
    fn lease(&mut self, source: &MatrixSource) -> Result<Option<Arc<Resident>>, Problem> {
        let MatrixSource::Stored(object) = source else { return Ok(None) };
        let leased = self.store.lease_beside(object, self.owned_bytes())?;
        self.leases.push((object.clone(), leased.clone()));
        Ok(Some(leased))
    }

    /// The matrix of a source, whose lease it is if it is stored.
    fn matrix<'a>(
        &'a self,
        source: &MatrixSource,
        leased: Option<&'a Resident>,
    ) -> Result<&'a Matrix, Problem> {
        let result = match (source, leased) {
            (_, Some(leased)) => return Ok(&leased.matrix),
            (MatrixSource::Step(position), None) => self.results.get(*position),
            (MatrixSource::Stored(_), None) => None,
        };
        match result {
            Some((Intermediate::Matrix(matrix), _)) => Ok(matrix),
            _ => Err(Problem::internal("a step without a matrix")),
        }
    }

    fn columns(&self, source: ArraySource) -> Result<&Columns, Problem> {
        let result = match source {
            ArraySource::Body => {
                return self.array.as_ref().ok_or_else(|| Problem::internal("no body was read"));
            }
            ArraySource::Step(position) => self.results.get(position),
        };
        match result {
            Some((Intermediate::Array(columns), _)) => Ok(columns),
            _ => Err(Problem::internal("a step without an array")),
        }
    }
}

impl Intermediate {
    fn of(answer: Answer) -> Result<Self, Problem> {
        Ok(match answer {
            Answer::Matrix(matrix) => Self::Matrix(matrix),
            Answer::Dense(values) => {
                let shape = vec![values.nrows(), values.ncols()];
                Self::Array(Columns { values, shape })
            }
            Answer::Stack(values, count) => {
                let shape = Answer::stack_shape(&values, count).to_vec();
                Self::Array(Columns { values, shape })
            }
            Answer::Vector(values) => {
                let rows = values.len();
                let values = DenseMatrix::new(values, rows, 1, rows, Order::ColMajor)?;
                Self::Array(Columns { values, shape: vec![rows] })
            }
            Answer::Json(_) | Answer::Picture(_) => Self::Numbers,
            Answer::Solved(values, reached) if reached.converged => Self::of(*values)?,
            Answer::Solved(_, reached) => {
                let detail = format!("the iteration did not converge: {}", reached.to_json());
                return Err(Problem::unprocessable(detail));
            }
        })
    }
}
