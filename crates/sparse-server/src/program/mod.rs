//! Programs: several operations in one request.
//!
//! A step applies an operation to stored matrices or to the results of earlier steps, which are named `$step`, and to
//! an array: the body, `$body`, or an earlier result. Results of all steps but the last stay in the device's memory,
//! with their bytes in the ledger, until the request ends.

mod memory;
mod steps;

use crate::answer::Outcome;
use crate::device_state::DeviceState;
use crate::handlers::matrices::find;
use crate::objects::Store;
use crate::operation_requests::{Request, receive_operand};
use crate::problem::Problem;
use crate::request::arguments::{PUT_PARAMETERS, Pairs, parameters_among};
use crate::request::idempotency::RequestLine;
use crate::security::auth::Identity;
use crate::upload::ArrayBody;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use memory::Memory;
use std::ops::ControlFlow;
use steps::{ArraySource, MatrixSource, Step};
pub(crate) use steps::{parse, stored_names};

/// A program with everything that it needs, for a worker.
#[derive(Debug)]
struct Program {
    request: Request,
    steps: Vec<Step>,
    body: Option<ArrayBody>,
}

/// The parameters of the request of a program.
pub(crate) fn known_parameters() -> Vec<&'static str> {
    [&["program", "into"][..], &PUT_PARAMETERS, &["timeout", "async"]].concat()
}

pub(crate) async fn run(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    pairs: Pairs,
    headers: HeaderMap,
    line: RequestLine,
    body: Body,
) -> Result<Response, Problem> {
    let parameters = parameters_among(pairs, &known_parameters())?;
    let (request, reply) = match Request::begin(&state, identity, &parameters, &headers, line)? {
        ControlFlow::Continue(begun) => begun,
        ControlFlow::Break(earlier) => return earlier.answer(body, &state.config.limits).await,
    };
    let text: String = parameters.required("program")?;
    let steps = parse(&text, |name| find(&state.store, &request.identity, name))?;
    if let Some(last) = steps.last() {
        request.check_result(last.operation.result)?;
    }
    let tenant = request.identity.tenant.clone();
    reply.check(&state, &tenant)?;
    let takes_body = steps.iter().any(|step| matches!(step.operand, Some(ArraySource::Body)));
    let body = match takes_body {
        true => {
            let (body, who) = (request.hashed(body), (&*tenant, "the program"));
            Some(request.task.within(receive_operand(&state, who, &headers, body)).await??)
        }
        false => None,
    };
    let program = Program { request, steps, body };
    let admitted = state.threads.admit(&tenant)?;
    if reply.is_job() {
        let subject = program.request.subject("program", program.matrix());
        return reply.into_job(&state, admitted, subject, &tenant, |store| program.run(store));
    }
    let store = state.store.clone();
    state.threads.run_admitted(admitted, &reply.caller.task, move || program.run(&store)).await?.respond()
}

impl Program {
    /// The first stored matrix.
    fn matrix(&self) -> String {
        let stored = self.steps.iter().find_map(|step| match &step.a {
            MatrixSource::Stored(object) => Some(object.label()),
            MatrixSource::Step(_) => None,
        });
        stored.unwrap_or_default()
    }

    fn run(self, store: &Store) -> Result<Outcome, Problem> {
        let Self { request, steps, body } = self;
        let (count, task) = (steps.len(), request.task.clone());
        let mut memory = Memory::new(store, &request.identity.tenant, body, &task)?;
        for (position, step) in steps.into_iter().enumerate() {
            task.check()?;
            task.log(&*step.label);
            let label = step.label.clone();
            let within = |problem: Problem| problem.within(&label);
            let (answer, reserved) = memory.compute(step, &task).map_err(within)?;
            if position + 1 == count {
                drop(memory);
                return request.deliver(store, answer, reserved);
            }
            memory.keep(answer, reserved).map_err(within)?;
        }
        Err(Problem::internal("a program without steps"))
    }
}
