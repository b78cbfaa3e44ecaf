//! Operations: from a request to its result, at once or by a job.

use crate::answer::{Outcome, ResultForm, accepted_form};
use crate::app::App;
use crate::auth::{Identity, Scope};
use crate::computation::{Owner, Prediction, compute, predict};
use crate::config::Limits;
use crate::front_end::check_scope;
use crate::idempotency::{Begun, Claim, Earlier, Made, RequestLine, hashed};
use crate::jobs::{self, Subject};
use crate::ledger::Reservation;
use crate::matrices::{
    PUT_PARAMETERS, Pairs, Segment, find, new_name, parameters_among, put_options, segment,
};
use crate::merge;
use crate::objects::{Object, PutOptions, Resident, Store};
use crate::operations::{
    Answer, Call, Columns, MemberSelection, Operand, Operation, ResultKind, are_columns_independent,
};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::task::{StopOnDrop, Task};
use crate::thread_pool::Admitted;
use crate::upload::{
    self, ArrayBody, DeviceArray, RESULT_ARRAY, Received, Reception, check_headers, check_integers,
    is_on_device, kind_of, unsupported_media,
};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use nnz::io::FileKind;
use nnz::{DType, DenseMatrix, Device, c64};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The destination of a result.
#[derive(Debug)]
pub(crate) enum Target {
    Answer(ResultForm),
    /// The array of the client on the device that is to have the result.
    Device(DeviceArray),
    Object(String, PutOptions),
    /// Nothing is computed, only predicted.
    DryRun,
}

/// A request for an operation or a program: its caller, the destination of its result, and its task.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) identity: Identity,
    pub(crate) target: Target,
    claim: Option<Claim>,
    pub(crate) task: Task,
}

/// The form of an answer: the result itself, or a job.
pub(crate) struct Reply {
    /// Stops the request with its client.
    pub(crate) caller: StopOnDrop,
    is_job: bool,
    /// True if the client has asked for a job by a preference.
    is_preferred: bool,
}

impl Target {
    fn new(parameters: &Parameters, headers: &HeaderMap, identity: &Identity) -> Result<Self, Problem> {
        if parameters.flag("dry_run")? {
            return Ok(Self::DryRun);
        }
        match parameters.text("into") {
            None => match PUT_PARAMETERS.iter().find(|parameter| parameters.text(parameter).is_some()) {
                Some(parameter) => Err(Problem::bad_request(format!(
                    "parameter `{parameter}` is for a result that is stored: `into` is needed"
                ))),
                None => match headers.get(RESULT_ARRAY) {
                    Some(array) => DeviceArray::of_header(array).map(Self::Device),
                    None => accepted_form(headers).map(Self::Answer),
                },
            },
            Some(_) if headers.contains_key(RESULT_ARRAY) => Err(Problem::bad_request(format!(
                "{RESULT_ARRAY} is for a result that is answered: leave out `into`, or this header"
            ))),
            Some(name) => {
                check_scope(identity, Scope::Write)?;
                Ok(Self::Object(new_name(name)?.to_owned(), put_options(parameters, headers)?))
            }
        }
    }
}

impl Request {
    /// The request, or the effect of an earlier one with its key.
    pub(crate) fn begin(
        app: &App,
        identity: Identity,
        parameters: &Parameters,
        headers: &HeaderMap,
        line: RequestLine,
    ) -> Result<ControlFlow<Earlier, (Self, Reply)>, Problem> {
        let is_preferred = prefers_async(headers);
        let is_job = is_preferred || parameters.flag("async")?;
        let limits = &app.config.limits;
        let longest = if is_job { limits.job_time } else { limits.operation_time };
        let caller = StopOnDrop::new(time_limit(parameters, longest)?);
        let target = Target::new(parameters, headers, &identity)?;
        let claim = match &target {
            Target::Object(..) => match app.keys.begin(&identity.tenant, headers, line)? {
                Begun::First(claim) => claim,
                Begun::Before(earlier) => return Ok(ControlFlow::Break(earlier)),
            },
            Target::Answer(_) | Target::Device(_) | Target::DryRun => None,
        };
        let task = caller.task.clone();
        let reply = Reply { caller, is_job, is_preferred };
        Ok(ControlFlow::Continue((Self { identity, target, claim, task }, reply)))
    }

    /// Fails before anything is computed if a result of this kind cannot go where the request wants it.
    pub(crate) fn check_result(&self, kind: ResultKind) -> Result<(), Problem> {
        match (&self.target, kind) {
            (Target::Object(..), ResultKind::Array | ResultKind::Numbers) => Err(Problem::bad_request(
                format!("the result is {kind}, and only a matrix is stored: leave out `into`"),
            )),
            (Target::Device(_), ResultKind::Matrix) => Err(Problem::unprocessable(format!(
                "{RESULT_ARRAY}: the result is a sparse matrix, which an array does not hold"
            ))),
            _ => Ok(()),
        }
    }

    /// The body of the request, which is compared with that of others with its key.
    pub(crate) fn hashed(&self, body: Body) -> Body {
        hashed(self.claim.as_ref(), body)
    }

    /// The subject of the job that the request may be.
    pub(crate) fn subject(&self, operation: &'static str, matrix: String) -> Subject {
        let (into, scope) = match &self.target {
            Target::Object(name, _) => (Some(name.clone()), Scope::Write),
            Target::Answer(_) | Target::Device(_) | Target::DryRun => (None, Scope::Read),
        };
        Subject { operation, matrix, into, scope }
    }

    /// Answers with a result, or stores it.
    pub(crate) fn deliver(
        self,
        store: &Store,
        answer: Answer,
        mut reserved: Reservation,
    ) -> Result<Outcome, Problem> {
        let tenant = &*self.identity.tenant;
        match self.target {
            Target::DryRun => Err(Problem::internal("a dry run was run")),
            Target::Answer(form) => {
                self.task.check()?;
                Outcome::new(answer, form, (store, tenant), reserved)
            }
            Target::Device(array) => {
                self.task.commit()?;
                answer.write_to(&array)
            }
            Target::Object(name, options) => {
                let Answer::Matrix(matrix) = answer else {
                    return Err(Problem::internal("the result of a request that stores one is no matrix"));
                };
                let matrix = if matrix.members().is_some() { matrix } else { matrix.sort()? };
                store.settle(&mut reserved, tenant, matrix.bytes() as u64)?;
                self.task.commit()?;
                let object = store.put((tenant, &name), (matrix, reserved), options)?;
                let made = Made::of(&object);
                self.claim.iter().for_each(|claim| claim.made(made.clone()));
                Ok(Outcome::Created(made))
            }
        }
    }
}

impl Reply {
    pub(crate) fn is_job(&self) -> bool {
        self.is_job
    }

    /// Fails if the request would be refused once its body has arrived; meanwhile it does not count as one that waits.
    pub(crate) fn check(&self, app: &App, tenant: &str) -> Result<(), Problem> {
        drop(app.threads.admit(tenant)?);
        if self.is_job { app.jobs.check(tenant) } else { Ok(()) }
    }

    /// Starts a job where one is asked for.
    pub(crate) fn into_job(
        self,
        app: &App,
        admitted: Admitted,
        subject: Subject,
        tenant: &str,
        work: impl FnOnce(&Store) -> Result<Outcome, Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let task = self.caller.task.clone();
        let mut response = jobs::start(app, admitted, (tenant, subject, task), work)?;
        self.caller.release();
        if self.is_preferred {
            let applied = HeaderValue::from_static(RESPOND_ASYNC);
            response.headers_mut().insert("preference-applied", applied);
        }
        Ok(response)
    }
}

pub(crate) async fn operate(
    State(app): State<App>,
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
    let (request, reply) = match Request::begin(&app, identity, &parameters, &headers, line)? {
        ControlFlow::Continue(begun) => begun,
        ControlFlow::Break(earlier) => return earlier.answer(body, &app.config.limits).await,
    };
    request.check_result(operation.result)?;
    let identity = &request.identity;
    let object = find(&app.store, identity, &name)?;
    let other = match (operation.has_other, parameters.text("other")) {
        (true, Some(name)) => Some(find(&app.store, identity, name)?),
        (true, None) => return Err(Problem::bad_request("parameter `other`: a second matrix is needed")),
        (false, _) => None,
    };
    reply.check(&app, &identity.tenant)?;
    let body = match operation.operand {
        Operand::None => None,
        _ => {
            let body = request.hashed(body);
            Some(request.task.within(receive_operand(&app, operation.name, &headers, body)).await??)
        }
    };
    let work = Work { operation, request, object, other, body, parameters };
    let tenant = work.request.identity.tenant.clone();
    let admitted = app.threads.admit(&tenant)?;
    if reply.is_job {
        let subject = work.subject();
        return reply.into_job(&app, admitted, subject, &tenant, |store| work.run(store));
    }
    if work.is_merged(&app.store.device) {
        if let Some(_lease) = work.brief_lease(&app.store)
            && let Some(permit) = app.threads.try_permit()
        {
            return app.threads.run_here((permit, admitted), || work.run(&app.store))?.respond();
        }
        return merge::run(&app, admitted, work).await?.respond();
    }
    let store = app.store.clone();
    app.threads.run_admitted(admitted, &reply.caller.task, move || work.run(&store)).await?.respond()
}

/// The preference (RFC 7240) for an answer before the operation is done.
const RESPOND_ASYNC: &str = "respond-async";

pub(crate) fn prefers_async(headers: &HeaderMap) -> bool {
    let mut preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    preferences.any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(RESPOND_ASYNC)))
}

/// The time that a request gives its operation, in seconds by `timeout`.
pub(crate) fn time_limit(parameters: &Parameters, longest: Duration) -> Result<Duration, Problem> {
    let Some(seconds) = parameters.get::<f64>("timeout")? else { return Ok(longest) };
    match Duration::try_from_secs_f64(seconds) {
        Ok(limit) if limit <= longest && !limit.is_zero() => Ok(limit),
        _ => Err(Problem::bad_request(format!(
            "parameter timeout={seconds}: a number of seconds above 0 and up to {} is needed",
            longest.as_secs_f64()
        ))),
    }
}

/// Receives the array that `who` takes.
pub(crate) async fn receive_operand(
    app: &App,
    who: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<ArrayBody, Problem> {
    if is_on_device(headers) {
        return ArrayBody::on_device(body).await;
    }
    array_reception((&app.config.limits, app.store.disk.uploads()), who, headers)?.receive_array(body).await
}

/// The reception of the `.npy` body that `who` takes, in a folder if it is large.
pub(crate) fn array_reception<'a>(
    (limits, folder): (&'a Limits, &'a Path),
    who: &str,
    headers: &HeaderMap,
) -> Result<Reception<'a>, Problem> {
    if !kind_of(headers).is_ok_and(|kind| kind == FileKind::Npy) {
        let needed = format!("{who} takes an array as its body, which needs {}", upload::NPY);
        return Err(unsupported_media(headers, needed));
    }
    let encoding = check_headers(headers, limits.operand_bytes)?;
    let (kind, limit) = (FileKind::Npy, limits.operand_bytes);
    Ok(Reception { kind, encoding, limit, limits, folder })
}

/// The most bytes of a matrix and its vectors whose product is computed by the thread that has received the request.
const BRIEF_BYTES: u64 = 256 << 10;
/// The number of its entries from which on the CPU's threads may share a product, and wait for each other.
const BRIEF_ENTRIES: usize = 16 << 10;

/// An operation with everything that it needs, for a worker.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) operation: &'static Operation,
    pub(crate) request: Request,
    pub(crate) object: Arc<Object>,
    pub(crate) other: Option<Arc<Object>>,
    pub(crate) body: Option<ArrayBody>,
    pub(crate) parameters: Parameters,
}

impl Work {
    fn subject(&self) -> Subject {
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
    fn is_merged(&self, device: &Device) -> bool {
        let is_answered = matches!(self.request.target, Target::Answer(_));
        let is_whole = MemberSelection::of(&self.parameters).is_ok_and(|it| it == MemberSelection::Whole);
        let members = self.object.description.members;
        self.operation.is_merged() && is_answered && is_whole && are_columns_independent(device, members)
    }

    /// A lease on the matrix of a product that takes less time than handing it to another thread, and for which nothing
    /// is to be read from disk or written to it.
    fn brief_lease(&self, store: &Store) -> Option<Arc<Resident>> {
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
    pub(crate) fn prepare(&mut self, store: &Store) -> Result<Ready, Problem> {
        self.request.task.check()?;
        let a = store.lease(&self.object)?;
        let held = store.leased_bytes([&self.object]);
        let other = self.other.as_ref().map(|other| store.lease_beside(other, held)).transpose()?;
        self.request.task.check()?;
        let dtype = Some(a.matrix.dtype());
        let task = &self.request.task;
        let body_bytes = self.body.as_ref().map_or(Ok(0), |body| body.array_bytes(dtype, task))?;
        let leased = self.leased_bytes(store);
        let reserved = store.reserve_beside(&self.request.identity.tenant, body_bytes, leased)?;
        let selection = MemberSelection::of(&self.parameters)?;
        let read = |body| read_columns(body, (self.operation, selection), (a.matrix.device(), dtype), task);
        let operand = self.body.take().map(read).transpose()?;
        Ok(Ready { a, other, operand, reserved })
    }

    /// Computes, stores or predicts the result of operands that are ready.
    pub(crate) fn finish(self, store: &Store, ready: Ready) -> Result<Outcome, Problem> {
        let Ready { a, other, operand, mut reserved } = ready;
        let owner = Owner { tenant: &self.request.identity.tenant, leased: self.leased_bytes(store) };
        let call = Call {
            a: &a.matrix,
            other: other.as_ref().map(|other| &other.matrix),
            operand: operand.as_ref(),
            parameters: &self.parameters,
            task: &self.request.task,
        };
        if let Target::DryRun = self.request.target {
            let Prediction { needed, moved } = predict(store, owner, self.operation, &call, &mut reserved)?;
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
pub(crate) struct Ready {
    pub(crate) a: Arc<Resident>,
    other: Option<Arc<Resident>>,
    pub(crate) operand: Option<Columns>,
    reserved: Reservation,
}

/// The array of a body that an operation takes, in this type or, without one, in its own.
pub(crate) fn read_columns(
    body: ArrayBody,
    (operation, selection): (&Operation, MemberSelection),
    (device, dtype): (&Device, Option<DType>),
    task: &Task,
) -> Result<Columns, Problem> {
    let received = match body {
        ArrayBody::Received(received) => received,
        ArrayBody::Compressed(body) => body.into_memory(task)?,
        ArrayBody::OnDevice(array) => {
            operation.operand.check(operation.name, &array.shape, selection)?;
            return Ok(Columns { values: array.read(device, dtype)?, shape: array.shape });
        }
    };
    let array = received.into_array()?;
    check_integers(array.values.rounded_integers::<f64>())?;
    operation.operand.check(operation.name, &array.shape, selection)?;
    let (shape, dtype) = (array.shape.clone(), dtype.unwrap_or(array.values.dtype()));
    check_real(array.values.dtype(), dtype)?;
    Ok(Columns { values: DenseMatrix::from_array(device, array, dtype)?, shape })
}

/// Fails for complex numbers that are to be values of a real matrix.
pub(crate) fn check_real(found: DType, needed: DType) -> Result<(), Problem> {
    if !found.is_complex() || needed.is_complex() {
        return Ok(());
    }
    let detail = format!(
        "the operand is {found} and the matrix {needed}: send its real and imaginary parts one after the other, or \
         `cast` the matrix to {found} first"
    );
    Err(Problem::unprocessable(detail))
}
