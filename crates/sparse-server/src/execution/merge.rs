//! Products of one matrix with the vectors of several requests at once.
//!
//! Requests for the same product wait in a queue of their own, which one worker at a time serves: it multiplies by up
//! to [`merged_columns`] vectors in one product, so that the matrix is read once for all of them. Requests that come
//! meanwhile wait for the next product. Nobody waits for others to come: a request that finds no queue is computed
//! alone, with the same bits. Only products whose bits do not depend on their width come here
//! ([`are_columns_independent`](crate::operations::are_columns_independent)), and of those not the small ones that the
//! thread of their request computes at once.

use crate::answer::{Array, Outcome};
use crate::device_state::DeviceState;
use crate::execution::thread_pool::{Admitted, Permit};
use crate::lock::lock;
use crate::objects::Store;
use crate::operation_requests::{Operands, PendingOperation};
use crate::operations::{merged_columns, multiply_together};
use crate::problem::Problem;
use nnz::op::Op;
use nnz::{DenseMatrix, c64};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use tokio::sync::oneshot;

/// The requests that wait, by their product. A product has a queue, perhaps an empty one, from its first request until
/// a worker finds no further one.
#[derive(Debug, Default)]
pub(crate) struct Queues(Mutex<HashMap<Product, VecDeque<Waiting>>>);

/// `alpha·op(A)` of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Product {
    /// The address of the object, which lives as long as requests wait for it.
    object: usize,
    op: Op,
    alpha_bits: [u64; 2],
    /// Vectors that are multiplied together.
    columns: usize,
}

/// A request, and where its answer goes.
#[derive(Debug)]
struct Waiting {
    pending: PendingOperation,
    /// Counts it as one that waits or runs, until it is answered.
    admitted: Admitted,
    answer: oneshot::Sender<Result<Outcome, Problem>>,
}

impl Product {
    fn of(pending: &PendingOperation) -> Result<Self, Problem> {
        let (op, alpha) = factors(pending)?;
        let object = Arc::as_ptr(&pending.object).addr();
        let columns = merged_columns(pending.object.description.dtype.parse()?);
        Ok(Self { object, op, alpha_bits: [alpha.re.to_bits(), alpha.im.to_bits()], columns })
    }
}

fn factors(pending: &PendingOperation) -> Result<(Op, c64), Problem> {
    Ok((pending.parameters.op()?, pending.parameters.factor("alpha")?))
}

impl Queues {
    /// Adds a request; true if no worker serves its queue, or is about to.
    fn push(&self, product: Product, waiting: Waiting) -> bool {
        match self.lock().entry(product) {
            Entry::Occupied(mut queue) => {
                queue.get_mut().push_back(waiting);
                false
            }
            Entry::Vacant(vacant) => {
                vacant.insert(VecDeque::from([waiting]));
                true
            }
        }
    }

    /// Takes the next requests whose clients still wait.
    fn take(&self, product: &Product) -> Vec<Waiting> {
        let mut queues = self.lock();
        let mut taken = vec![];
        while taken.len() < product.columns
            && let Some(waiting) = queues.get_mut(product).and_then(VecDeque::pop_front)
        {
            match waiting.pending.request.task.check() {
                Ok(()) => taken.push(waiting),
                Err(problem) => send(waiting.answer, Err(problem)),
            }
        }
        taken
    }

    /// Removes a queue if no request waits in it; true if one does.
    fn has_more(&self, product: &Product) -> bool {
        let mut queues = self.lock();
        let is_empty = queues.get(product).is_none_or(VecDeque::is_empty);
        if is_empty {
            queues.remove(product);
        }
        !is_empty
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Product, VecDeque<Waiting>>> {
        lock(&self.0)
    }
}

/// Computes the result of a request, with those of others for the same product that wait at the same time.
pub(crate) async fn run(
    state: &DeviceState,
    admitted: Admitted,
    pending: PendingOperation,
) -> Result<Outcome, Problem> {
    let (product, task) = (Product::of(&pending)?, pending.request.task.clone());
    let _leave = Leave { queues: &state.queues, product };
    // Closed before the queue is left, also where the client is gone.
    let (answer, answered) = oneshot::channel();
    if state.queues.push(product, Waiting { pending, admitted, answer }) {
        dispatch(state.clone(), product);
    }
    let answered = task.within(answered).await?;
    answered.unwrap_or_else(|_| Err(Problem::internal("the operation failed")))
}

/// Takes what nobody waits for any more out of a queue: it counts no longer as what waits for a worker.
struct Leave<'a> {
    queues: &'a Queues,
    product: Product,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if let Some(queue) = self.queues.lock().get_mut(&self.product) {
            queue.retain(|waiting| !waiting.answer.is_closed());
        }
    }
}

/// Sends a worker to a queue, once there is one.
fn dispatch(state: DeviceState, product: Product) {
    if let Some(permit) = state.threads.try_permit() {
        return serve(state, product, permit);
    }
    tokio::spawn(async move {
        if let Ok(permit) = state.threads.permit().await {
            serve(state, product, permit);
        }
    });
}

/// Computes one product of a queue.
fn serve(state: DeviceState, product: Product, permit: Permit) {
    tokio::task::spawn_blocking(move || {
        let turn = Turn { state, product };
        // Given back before the next turn, so that products of other matrices take turns with it.
        let _permit = permit;
        let taken = turn.state.queues.take(&product);
        if !taken.is_empty() {
            turn.state.metrics.observe_merged(taken.len());
            answer(taken, &turn.state);
        }
    });
}

/// The service of a queue by one worker. The next one follows where more requests wait, after a panic too.
struct Turn {
    state: DeviceState,
    product: Product,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.state.queues.has_more(&self.product) {
            dispatch(self.state.clone(), self.product);
        }
    }
}

fn answer(waiting: Vec<Waiting>, state: &DeviceState) {
    let (store, began, count) = (&state.store, Instant::now(), waiting.len() as u32);
    let mut ready = vec![];
    for mut waiting in waiting {
        match waiting.pending.prepare(store) {
            Ok(operands) => ready.push((waiting, operands)),
            Err(problem) => send(waiting.answer, Err(problem)),
        }
    }
    match multiply(&ready, store) {
        Some(columns) => {
            for ((waiting, operands), column) in ready.into_iter().zip(columns) {
                drop(operands);
                state.threads.charge(&waiting.admitted, began.elapsed() / count);
                send(waiting.answer, Ok(Outcome::Array(column)));
            }
        }
        None => {
            for (Waiting { pending, answer, admitted }, operands) in ready {
                let began = Instant::now();
                let done = pending.finish(store, operands);
                state.threads.charge(&admitted, began.elapsed());
                send(answer, done);
            }
        }
    }
}

fn send(answer: oneshot::Sender<Result<Outcome, Problem>>, result: Result<Outcome, Problem>) {
    // A client that is gone meanwhile needs no answer.
    drop(answer.send(result));
}

/// The results of all requests by one product; nothing where that cannot be, and each says why for itself.
fn multiply(ready: &[(Waiting, Operands)], store: &Store) -> Option<Vec<Array>> {
    let [(first, operands), _, ..] = ready else { return None };
    let (a, (op, alpha)) = (&operands.a.matrix, factors(&first.pending).ok()?);
    let (rows, cols) = a.shape_of(op);
    let vectors: Vec<_> = ready.iter().filter_map(|(_, operands)| operands.operand.as_ref()).collect();
    if vectors.len() != ready.len() || vectors.iter().any(|x| x.values.nrows() != cols) {
        return None;
    }
    let column_bytes = |len: usize| (len * merged_columns(a.dtype()) * a.dtype().bytes()) as u64;
    let tenant = &first.pending.request.identity.tenant;
    let mut reserved = store.reserve(tenant, column_bytes(cols + rows)).ok()?;
    let values: Vec<&DenseMatrix> = vectors.iter().map(|x| &x.values).collect();
    let began = Instant::now();
    let y = multiply_together(a, (op, alpha), &values).ok()?;
    let moved = a.bytes() as u64 + column_bytes(cols + rows);
    store.traffic.observe(first.pending.operation.name, moved, began.elapsed());
    reserved.shrink_to(column_bytes(rows));
    let is_vector: Vec<_> = vectors.iter().map(|x| x.is_vector()).collect();
    Array::columns(y, rows, &is_vector, reserved).ok()
}
