//! Operations: from a request to its result, at once or by a job.

use crate::answer::{Outcome, accepted_kind};
use crate::app::{App, OperationName, check_scope};
use crate::auth::{Identity, Scope};
use crate::jobs::{self, Subject};
use crate::ledger::Reservation;
use crate::matrices::{Pairs, Segment, find, new_name, parameters, segment, wishes};
use crate::merge;
use crate::objects::{Object, Resident, Store, Wishes};
use crate::operations::{Answer, Call, Columns, Operand, Operation};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::task::{StopOnDrop, Task};
use crate::upload::{self, Received, check_headers, kind_of, receive};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nnz::DenseMatrix;
use nnz::io::FileKind;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Where the result of an operation goes.
#[derive(Debug)]
pub(crate) enum Target {
    Answer(FileKind),
    Object(String, Wishes),
    /// Nothing is computed, only predicted.
    DryRun,
}

impl Target {
    fn new(parameters: &Parameters, headers: &HeaderMap, identity: &Identity) -> Result<Self, Problem> {
        if parameters.flag("dry_run")? {
            return Ok(Self::DryRun);
        }
        match parameters.text("into") {
            None => accepted_kind_of_result(headers).map(Self::Answer),
            Some(name) => {
                check_scope(identity, Scope::Write)?;
                Ok(Self::Object(new_name(name)?.to_owned(), wishes(parameters, headers)?))
            }
        }
    }
}

/// As [`accepted_kind`]; JSON is for results that are numbers.
fn accepted_kind_of_result(headers: &HeaderMap) -> Result<FileKind, Problem> {
    match headers.get(header::ACCEPT) {
        Some(accept) if accept == "application/json" => Ok(FileKind::Npz),
        _ => accepted_kind(headers),
    }
}

pub(crate) async fn operate(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    path: Segment<(String, String)>,
    pairs: Pairs,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (name, operation) = segment(path)?;
    let operation = Operation::find(&operation)?;
    let answered = answer(&app, identity, (operation, &name), pairs, (&headers, body)).await;
    let mut response = answered.unwrap_or_else(Problem::into_response);
    response.extensions_mut().insert(OperationName(operation.name));
    Ok(response)
}

async fn answer(
    app: &App,
    identity: Identity,
    (operation, name): (&'static Operation, &str),
    pairs: Pairs,
    (headers, body): (&HeaderMap, Body),
) -> Result<Response, Problem> {
    let parameters = parameters(pairs, &operation.known_parameters())?;
    let is_preferred = prefers_async(headers);
    let is_job = is_preferred || parameters.flag("async")?;
    let limits = &app.config.limits;
    let longest = if is_job { limits.job_time } else { limits.operation_time };
    let caller = StopOnDrop::new(time_limit(&parameters, longest)?);
    let target = Target::new(&parameters, headers, &identity)?;
    let object = find(&app.store, &identity, name)?;
    let other = match (operation.has_other, parameters.text("other")) {
        (true, Some(name)) => Some(find(&app.store, &identity, name)?),
        (true, None) => return Err(Problem::bad_request("parameter `other`: a second matrix is needed")),
        (false, _) => None,
    };
    // What would be refused behind the body is refused before it; no place is held while it comes.
    drop(app.workers.admit()?);
    if is_job {
        app.jobs.check(&identity.tenant)?;
    }
    let body = caller.task.within(receive_operand(app, operation, headers, body)).await??;
    let task = caller.task.clone();
    let work = Work { operation, identity, object, other, body, parameters, target, task };
    let admitted = app.workers.admit()?;
    if is_job {
        let mut response = jobs::start(app, admitted, work.subject(), work)?;
        caller.release();
        if is_preferred {
            let applied = HeaderValue::from_static(RESPOND_ASYNC);
            response.headers_mut().insert("preference-applied", applied);
        }
        return Ok(response);
    }
    if work.is_merged() {
        return merge::run(app, admitted, work).await?.respond();
    }
    let store = app.store.clone();
    app.workers.run_admitted(admitted, &caller.task, move || work.run(&store)).await?.respond()
}

/// The preference (RFC 7240) for an answer before the operation is done.
const RESPOND_ASYNC: &str = "respond-async";

fn prefers_async(headers: &HeaderMap) -> bool {
    let mut preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    preferences.any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(RESPOND_ASYNC)))
}

/// The time that a request gives its operation, in seconds by `timeout`.
fn time_limit(parameters: &Parameters, longest: Duration) -> Result<Duration, Problem> {
    let Some(seconds) = parameters.get::<f64>("timeout")? else { return Ok(longest) };
    match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if limit <= longest && !limit.is_zero() => Ok(limit),
        _ => Err(Problem::bad_request(format!(
            "parameter timeout={seconds}: a number of seconds above 0 and up to {} is needed",
            longest.as_secs_f64()
        ))),
    }
}

async fn receive_operand(
    app: &App,
    operation: &Operation,
    headers: &HeaderMap,
    body: Body,
) -> Result<Option<Received>, Problem> {
    if operation.operand == Operand::None {
        return Ok(None);
    }
    if kind_of(headers)? != FileKind::Npy {
        let detail = format!("{} takes an array: Content-Type {} is needed", operation.name, upload::NPY);
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail));
    }
    let limits = &app.config.limits;
    check_headers(headers, limits.operand_bytes)?;
    let folder = app.store.disk.uploads();
    receive(body, limits.operand_bytes, limits, folder, ".npy").await.map(Some)
}

/// An operation with everything that it needs, for a worker.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) operation: &'static Operation,
    pub(crate) identity: Identity,
    pub(crate) object: Arc<Object>,
    pub(crate) other: Option<Arc<Object>>,
    pub(crate) body: Option<Received>,
    pub(crate) parameters: Parameters,
    pub(crate) target: Target,
    pub(crate) task: Task,
}

impl Work {
    fn subject(&self) -> Subject {
        let scope = if matches!(self.target, Target::Object(..)) { Scope::Write } else { Scope::Read };
        Subject { operation: self.operation.name, matrix: self.object.label(), scope }
    }

    /// Computes, stores or predicts the result.
    pub(crate) fn run(mut self, store: &Store) -> Result<Outcome, Problem> {
        let ready = self.prepare(store)?;
        self.finish(store, ready)
    }

    /// True if the result is answered at once, and may be computed with those of others.
    fn is_merged(&self) -> bool {
        self.operation.is_merged() && matches!(self.target, Target::Answer(_))
    }

    /// Leases the matrices and reads the body.
    pub(crate) fn prepare(&mut self, store: &Store) -> Result<Ready, Problem> {
        self.task.check()?;
        let a = store.lease(&self.object)?;
        let other = self.other.as_ref().map(|other| store.lease(other)).transpose()?;
        self.task.check()?;
        // As it was received, as it is read, and with the matrix's type.
        let body_bytes = self.body.as_ref().map_or(Ok(0), Received::len)?.saturating_mul(3);
        let reserved = store.reserve(&self.identity.tenant, body_bytes)?;
        let read = |body| read_operand(body, self.operation, &a.matrix);
        let operand = self.body.take().map(read).transpose()?;
        Ok(Ready { a, other, operand, reserved })
    }

    /// Computes, stores or predicts the result of operands that are ready.
    pub(crate) fn finish(self, store: &Store, ready: Ready) -> Result<Outcome, Problem> {
        let tenant = &*self.identity.tenant;
        let Ready { a, other, operand, mut reserved } = ready;
        let call = Call {
            a: &a.matrix,
            other: other.as_ref().map(|other| &other.matrix),
            operand,
            parameters: self.parameters,
            task: self.task.clone(),
        };
        let predicted = self.operation.predict(&call)?;
        if let Target::DryRun = self.target {
            return Ok(Outcome::Json(json!({ "bytes": predicted.saturating_add(reserved.bytes()) })));
        }
        reserved.merge(store.reserve(tenant, predicted)?);
        self.task.check()?;
        let answer = self.operation.run(&call)?;
        drop(call);
        match self.target {
            Target::DryRun => Err(Problem::internal("a dry run was run")),
            Target::Answer(kind) => {
                self.task.check()?;
                Outcome::new(answer, kind, (store, tenant), reserved)
            }
            Target::Object(name, wishes) => {
                let Answer::Matrix(matrix) = answer else {
                    let detail = format!("{} has no matrix to store: leave out `into`", self.operation.name);
                    return Err(Problem::bad_request(detail));
                };
                let matrix = matrix.sort()?;
                store.settle(&mut reserved, tenant, matrix.bytes() as u64)?;
                self.task.commit()?;
                Ok(Outcome::Created(store.put((tenant, &name), (matrix, reserved), wishes)?))
            }
        }
    }
}

/// The operands of an operation in the device's memory, with their bytes in the ledger.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) a: Arc<Resident>,
    other: Option<Arc<Resident>>,
    pub(crate) operand: Option<Columns>,
    reserved: Reservation,
}

/// The array of a body in the type of the matrix.
fn read_operand(body: Received, operation: &Operation, a: &nnz::Matrix) -> Result<Columns, Problem> {
    let array = body.into_array()?;
    let fits = match operation.operand {
        Operand::None => false,
        Operand::Vector => matches!(array.shape[..], [_] | [_, 1]),
        Operand::Dense => matches!(array.shape[..], [_, _]),
        Operand::Columns => matches!(array.shape[..], [_] | [_, _]),
    };
    if !fits {
        let needed = match operation.operand {
            Operand::None => "nothing",
            Operand::Vector => "(n,) or (n, 1)",
            Operand::Dense => "(n, columns)",
            Operand::Columns => "(n,) or (n, columns)",
        };
        let (name, shape) = (operation.name, &array.shape);
        return Err(Problem::unprocessable(format!(
            "{name}: the shape of the body is {shape:?}, {needed} is needed"
        )));
    }
    let is_vector = array.shape.len() == 1;
    Ok(Columns { values: DenseMatrix::from_array(a.device(), array, a.dtype())?, is_vector })
}
