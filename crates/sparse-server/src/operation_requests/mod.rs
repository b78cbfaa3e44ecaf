//! Handles requests for operations: from the request to its result, at once or by a job.
//!
//! The checks and the computation of each operation are in [`crate::operations`].

pub(crate) mod computation;
mod job;
mod operand_body;
mod pending;
mod request;

use crate::device_state::DeviceState;
use crate::execution::merge;
use crate::handlers::matrices::find;
use crate::operations::{Operand, Operation};
use crate::problem::Problem;
use crate::request::arguments::{Pairs, Segment, parameters_among, segment};
use crate::request::idempotency::RequestLine;
use crate::security::auth::Identity;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use std::ops::ControlFlow;

#[cfg(unix)]
pub(crate) use operand_body::array_reception;
pub(crate) use operand_body::{check_real, read_columns, receive_operand};
pub(crate) use pending::{Operands, PendingOperation};
pub(crate) use request::Request;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use request::{prefers_async, time_limit};

/// Handles a request for an operation on a matrix.
pub(crate) async fn run(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    path: Segment<(String, String)>,
    pairs: Pairs,
    headers: HeaderMap,
    line: RequestLine,
    body: Body,
) -> Result<Response, Problem> {
    let (name, operation) = segment(path)?;
    let operation = Operation::find(&operation)?;
    let parameters = parameters_among(pairs, &operation.known_parameters())?;
    let (request, reply) = match Request::begin(&state, identity, &parameters, &headers, line)? {
        ControlFlow::Continue(begun) => begun,
        ControlFlow::Break(earlier) => return earlier.answer(body, &state.config.limits).await,
    };
    request.check_result(operation.result)?;
    let identity = &request.identity;
    let object = find(&state.store, identity, &name)?;
    let other = match (operation.has_other, parameters.text("other")) {
        (true, Some(name)) => Some(find(&state.store, identity, name)?),
        (true, None) => return Err(Problem::bad_request("parameter `other`: a second matrix is needed")),
        (false, _) => None,
    };
    reply.check(&state, &identity.tenant)?;
    let body = match operation.operand {
        Operand::None => None,
        _ => {
            let (body, who) = (request.hashed(body), (&*identity.tenant, operation.name));
            Some(request.task.within(receive_operand(&state, who, &headers, body)).await??)
        }
    };
    let pending = PendingOperation { operation, request, object, other, body, parameters };
    let tenant = pending.request.identity.tenant.clone();
    let admitted = state.threads.admit(&tenant)?;
    if reply.is_job() {
        let subject = pending.subject();
        return reply.into_job(&state, admitted, subject, &tenant, |store| pending.run(store));
    }
    if pending.is_merged(&state.store.device) {
        if let Some(_lease) = pending.brief_lease(&state.store)
            && let Some(permit) = state.threads.try_permit()
        {
            return state.threads.run_here((permit, admitted), || pending.run(&state.store))?.respond();
        }
        return merge::run(&state, admitted, pending).await?.respond();
    }
    let store = state.store.clone();
    state.threads.run_admitted(admitted, &reply.caller.task, move || pending.run(&store)).await?.respond()
}
