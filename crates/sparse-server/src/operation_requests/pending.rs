//! Runs an operation that was requested: leases its matrices, reads its operand, delivers its result.

use super::operand_body::read_columns;
use super::request::{Request, Target};
use crate::answer::Outcome;
use crate::execution::jobs::Subject;
use crate::memory::ledger::Reservation;
use crate::objects::{Object, Resident, Store};
use crate::operation_requests::computation::{Owner, Prediction, compute, predict};
use crate::operations::{Call, Columns, MemberSelection, Operation, are_columns_independent};
use crate::problem::Problem;
use crate::request::parameters::Parameters;
use crate::upload::{ArrayBody, Received};
use nnz::{Device, c64};
use serde_json::json;
use std::sync::Arc;

/// The most bytes of a matrix and its vectors whose product is computed by the thread that has received the request.
const BRIEF_BYTES: u64 = 256 << 10;
/// The number of its entries from which on the CPU's threads may share a product, and wait for each other.
const BRIEF_ENTRIES: usize = 16 << 10;

/// An operation that waits for a worker, with its matrices and the body of its request.
#[derive(Debug)]
pub(crate) struct PendingOperation {
    pub(crate) operation: &'static Operation,
    pub(crate) request: Request,
    pub(crate) object: Arc<Object>,
    pub(crate) other: Option<Arc<Object>>,
    pub(crate) body: Option<ArrayBody>,
    pub(crate) parameters: Parameters,
}

impl PendingOperation {
    pub(super) fn subject(&self) -> Subject {
        self.request.subject(self.operation.name, self.object.label())
    }

    /// Computes, stores or predicts the result.
    pub(crate) fn run(mut self, store: &Store) -> Result<Outcome, Problem> {
        let ready = self.prepare(store)?;
        self.finish(store, ready)
    }

    fn leased_bytes(&self, store: &Store) -> u64 {
        store.leased_bytes([&self.object].into_iter().chain(&self.other))
    }

    /// True if the result is answered at once, and computed with those of others that wait.
    pub(super) fn is_merged(&self, device: &Device) -> bool {
        let is_answered = matches!(self.request.target, Target::Answer(_));
        let is_whole = MemberSelection::of(&self.parameters).is_ok_and(|it| it == MemberSelection::Whole);
        let members = self.object.description.members;
        self.operation.is_merged() && is_answered && is_whole && are_columns_independent(device, members)
    }

    /// A lease on the matrix of a product that takes less time than handing it to another thread, and for which nothing
    /// is to be read from disk or written to it.
    pub(super) fn brief_lease(&self, store: &Store) -> Option<Arc<Resident>> {
        let Some(ArrayBody::Received(Received::Memory(body))) = &self.body else { return None };
        let matrix = &self.object.description;
        let lines = (matrix.rows as u64).saturating_add(matrix.cols as u64);
        let (body, number) = (body.len() as u64, size_of::<c64>() as u64);
        let bytes = matrix.bytes.saturating_add(lines.saturating_mul(number)).saturating_add(body);
        // Each element of the body, of a byte at least, as it is read and as it is packed.
        let needed = bytes.saturating_mul(4).saturating_add(body.saturating_mul(2 * number));
        let is_brief = bytes <= BRIEF_BYTES && matrix.nnz < BRIEF_ENTRIES;
        let has_free = is_brief && store.ledger.has_free(&self.request.identity.tenant, needed);
        has_free.then(|| self.object.resident()).flatten()
    }

    /// Leases the matrices and reads the body.
    pub(crate) fn prepare(&mut self, store: &Store) -> Result<Operands, Problem> {
        self.request.task.check()?;
        self.operation.check_result_type(&self.parameters)?;
        let a = store.lease(&self.object)?;
        let owned = store.leased_bytes([&self.object]);
        let other = self.other.as_ref().map(|other| store.lease_beside(other, owned)).transpose()?;
        self.request.task.check()?;
        let selection = MemberSelection::of(&self.parameters)?;
        if self.operation.makes_batch(&a.matrix, selection) {
            self.request.check_batch_result()?;
        }
        let dtype = Some(a.matrix.dtype());
        let task = &self.request.task;
        let body_bytes = self.body.as_ref().map_or(Ok(0), |body| body.array_bytes(dtype, task))?;
        let leased = self.leased_bytes(store);
        let reserved = store.reserve_beside(&self.request.identity.tenant, body_bytes, leased)?;
        let read = |body| read_columns(body, (self.operation, selection), (a.matrix.device(), dtype), task);
        let operand = self.body.take().map(read).transpose()?;
        Ok(Operands { a, other, operand, reserved })
    }

    /// Computes, stores or predicts the result of operands that are ready.
    pub(crate) fn finish(self, store: &Store, ready: Operands) -> Result<Outcome, Problem> {
        let Operands { a, other, operand, mut reserved } = ready;
        let owner = Owner { tenant: &self.request.identity.tenant, leased: self.leased_bytes(store) };
        let call = Call {
            a: &a.matrix,
            other: other.as_ref().map(|other| &other.matrix),
            operand: operand.as_ref(),
            parameters: &self.parameters,
            task: &self.request.task,
        };
        if let Target::DryRun(_) = self.request.target {
            let Prediction { needed, moved, .. } =
                predict(store, owner, self.operation, &call, &mut reserved)?;
            let seconds = moved.and_then(|moved| store.traffic.predict(self.operation.name, moved));
            return Ok(Outcome::from(json!({
                "bytes": needed.saturating_add(reserved.bytes()), "moved_bytes": moved, "seconds": seconds,
            })));
        }
        let answer = compute(store, owner, self.operation, &call, &mut reserved)?;
        self.request.deliver(store, answer, reserved)
    }
}

/// The operands of an operation in the device's memory, with their bytes in the ledger.
#[derive(Debug)]
pub(crate) struct Operands {
    pub(crate) a: Arc<Resident>,
    other: Option<Arc<Resident>>,
    pub(crate) operand: Option<Columns>,
    reserved: Reservation,
}
