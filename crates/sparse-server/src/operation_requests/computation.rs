//! Operations within their memory: what they need is predicted and reserved before they run.

use crate::memory::ledger::Reservation;
use crate::objects::Store;
use crate::operations::{Answer, Call, Columns, MemberSelection, Operation, Results};
use crate::problem::Problem;
use nnz::Matrix;
use std::time::Instant;

/// The tenant of a request, and the bytes that it has beside its reservations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) leased: u64,
}

impl Owner<'_> {
    /// Reserves more bytes for the request.
    pub(crate) fn reserve(
        self,
        store: &Store,
        bytes: u64,
        reserved: &mut Reservation,
    ) -> Result<(), Problem> {
        let owned = self.leased.saturating_add(reserved.bytes());
        reserved.merge(store.reserve_beside(self.tenant, bytes, owned)?);
        Ok(())
    }
}

/// Bytes that an operation needs and moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prediction {
    /// Bytes beside the operands, from above.
    pub(crate) needed: u64,
    /// Bytes of the host, from above, that it needs for what it does for an accelerator.
    of_host: u64,
    /// As [`Operation::moved_bytes`].
    pub(crate) moved: Option<u64>,
}

/// The prediction for a call whose matrix is that of the request, perhaps a batch. The bytes of copies of its members
/// are reserved.
pub(crate) fn predict(
    store: &Store,
    owner: Owner<'_>,
    operation: &Operation,
    call: &Call<'_>,
    reserved: &mut Reservation,
) -> Result<Prediction, Problem> {
    let member = copy_member(store, owner, call, reserved)?;
    let prediction = predict_selected(operation, &call.with_matrix(member.as_ref()))?;
    store.host_work.check(prediction.of_host)?;
    Ok(prediction)
}

/// The result of a call whose matrix is that of the request, perhaps a batch. The bytes that it may need are reserved.
pub(crate) fn compute(
    store: &Store,
    owner: Owner<'_>,
    operation: &Operation,
    call: &Call<'_>,
    reserved: &mut Reservation,
) -> Result<Answer, Problem> {
    let member = copy_member(store, owner, call, reserved)?;
    let call = call.with_matrix(member.as_ref());
    let Prediction { needed, of_host, moved } = predict_selected(operation, &call)?;
    let _on_host = store.host_work.reserve(owner.tenant, of_host)?;
    owner.reserve(store, needed, reserved)?;
    call.task.check()?;
    let began = Instant::now();
    let answer = run_selected(operation, &call)?;
    // Else the time of a device that computes after the call would be that of the call.
    store.device.synchronize()?;
    if let Some(moved) = moved {
        store.traffic.observe(operation.name, moved, began.elapsed());
    }
    Ok(answer)
}

/// A copy of the member that the parameters name, if they name one. Its bytes are reserved, or those of the copies that
/// are made one after the other where the operation is for each.
fn copy_member(
    store: &Store,
    owner: Owner<'_>,
    call: &Call<'_>,
    reserved: &mut Reservation,
) -> Result<Option<Matrix>, Problem> {
    match MemberSelection::of(call.parameters)? {
        MemberSelection::Whole => Ok(None),
        MemberSelection::One(index) => {
            owner.reserve(store, call.a.bytes() as u64, reserved)?;
            Ok(Some(call.a.member(index)?))
        }
        MemberSelection::All => {
            let operands = [Some(call.a), call.other].into_iter().flatten();
            let batches = operands.filter(|matrix| matrix.members().is_some());
            let batches: u64 = batches.map(|batch| batch.bytes() as u64).sum();
            // Once in the order of the members, and one of them.
            let operand = call.operand.map_or(0, Columns::bytes).saturating_mul(2);
            owner.reserve(store, batches.saturating_add(operand), reserved)?;
            Ok(None)
        }
    }
}

fn predict_selected(operation: &Operation, call: &Call<'_>) -> Result<Prediction, Problem> {
    let (mut results, mut workspace, mut of_host, mut moved) = (0_u64, 0, 0, Some(0_u64));
    let mut add = |call: &Call<'_>| {
        let needed = operation.predict(call)?;
        results = results.saturating_add(needed.result);
        workspace = needed.workspace.max(workspace);
        of_host = operation.host_bytes(call, needed)?.max(of_host);
        let of_call = operation.moved_bytes(call, needed.total());
        moved = moved.zip(of_call).map(|(sum, more)| sum.saturating_add(more));
        Ok(())
    };
    if MemberSelection::of(call.parameters)? == MemberSelection::All {
        call.for_each_member(add)?;
        // Matrices are copied to a batch.
        results = results.saturating_mul(2);
    } else {
        add(call)?;
    }
    Ok(Prediction { needed: results.saturating_add(workspace), of_host, moved })
}

fn run_selected(operation: &Operation, call: &Call<'_>) -> Result<Answer, Problem> {
    if MemberSelection::of(call.parameters)? != MemberSelection::All {
        return operation.run(call);
    }
    let count = call.a.members().unwrap_or_default();
    let (mut results, mut done) = (Results::new(count), 0);
    call.for_each_member(|member| {
        results.push(operation.run(member)?)?;
        done += 1;
        call.task.report_members(done, count);
        Ok(())
    })?;
    results.finish(call.a.device())
}
