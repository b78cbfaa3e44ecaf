//! A request for an operation or a program: its sender, the name of its result, and whether it runs as a job.

use super::job::start_job;
use crate::answer::Outcome;
use crate::answer::accept::{ResultForm, accepted_form};
use crate::device_state::DeviceState;
use crate::execution::jobs::Subject;
use crate::execution::task::{StopOnDrop, Task};
use crate::execution::thread_pool::Admitted;
use crate::memory::ledger::Reservation;
use crate::objects::{PutOptions, Store};
use crate::operations::{Answer, ResultKind};
use crate::problem::Problem;
use crate::request::arguments::PUT_PARAMETERS;
use crate::request::idempotency::{Begun, Claim, Earlier, Made, RequestLine, hashed};
use crate::request::media::NPZ;
use crate::request::parameters::Parameters;
use crate::request::put_options::{new_name, put_options};
use crate::security::auth::{Identity, Scope};
use crate::upload::{DeviceArray, RESULT_ARRAY};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use std::ops::ControlFlow;
use std::time::Duration;

/// The destination of a result.
#[derive(Debug)]
pub(crate) enum Target {
    Answer(ResultForm),
    /// The array of the client on the device that is to have the result.
    Device(DeviceArray),
    Object(String, PutOptions),
    /// Nothing is computed, only predicted what this would take.
    DryRun(Box<Self>),
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
        let target = Self::of_result(parameters, headers, identity)?;
        Ok(if parameters.flag("dry_run")? { Self::DryRun(Box::new(target)) } else { target })
    }

    fn of_result(parameters: &Parameters, headers: &HeaderMap, identity: &Identity) -> Result<Self, Problem> {
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
                identity.check(Scope::Write)?;
                Ok(Self::Object(new_name(name)?.to_owned(), put_options(parameters, headers)?))
            }
        }
    }
}

impl Request {
    /// The request, or the effect of an earlier one with its key.
    pub(crate) fn begin(
        state: &DeviceState,
        identity: Identity,
        parameters: &Parameters,
        headers: &HeaderMap,
        line: RequestLine,
    ) -> Result<ControlFlow<Earlier, (Self, Reply)>, Problem> {
        let is_preferred = prefers_async(headers);
        let is_job = is_preferred || parameters.flag("async")?;
        let limits = &state.config.limits;
        let longest = if is_job { limits.job_time } else { limits.operation_time };
        let caller = StopOnDrop::new(time_limit(parameters, longest)?);
        let target = Target::new(parameters, headers, &identity)?;
        let claim = match &target {
            Target::Object(name, options) => match state.keys.begin(&identity.tenant, headers, line)? {
                Begun::First(claim) => {
                    state.store.check_conditions(&identity.tenant, name, options)?;
                    claim
                }
                Begun::Before(earlier) => return Ok(ControlFlow::Break(earlier)),
            },
            Target::DryRun(target) => {
                if let Target::Object(name, options) = &**target {
                    state.store.check_conditions(&identity.tenant, name, options)?;
                }
                None
            }
            Target::Answer(_) | Target::Device(_) => None,
        };
        let task = caller.task.clone();
        let reply = Reply { caller, is_job, is_preferred };
        Ok(ControlFlow::Continue((Self { identity, target, claim, task }, reply)))
    }

    /// Fails before anything is computed if a result of this kind cannot go where the request wants it.
    pub(crate) fn check_result(&self, kind: ResultKind) -> Result<(), Problem> {
        match (self.result_target(), kind) {
            (Target::Object(..), ResultKind::Array | ResultKind::Numbers) => Err(Problem::bad_request(
                format!("the result is {kind}, and only a matrix is stored: leave out `into`"),
            )),
            (Target::Device(_), ResultKind::Matrix) => Err(Problem::unprocessable(format!(
                "{RESULT_ARRAY}: the result is a sparse matrix, which an array does not hold"
            ))),
            _ => Ok(()),
        }
    }

    /// Fails for a batch as the result where the kind of file that the client takes has one matrix.
    pub(crate) fn check_batch_result(&self) -> Result<(), Problem> {
        match self.result_target() {
            Target::Answer(form) if !form.holds_batches() => Err(Problem::unprocessable(format!(
                "the result is a batch, which {NPZ} holds alone: ask for it by Accept, or store it by `into`"
            ))),
            _ => Ok(()),
        }
    }

    /// The destination that the result has, or would have.
    fn result_target(&self) -> &Target {
        match &self.target {
            Target::DryRun(target) => target,
            target => target,
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
            Target::Answer(_) | Target::Device(_) | Target::DryRun(_) => (None, Scope::Read),
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
            Target::DryRun(_) => Err(Problem::internal("a dry run was run")),
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
                let object = store.put((tenant, &name), (matrix, reserved), options, &self.task)?;
                let made = Made::of(&object);
                self.claim.iter().for_each(|claim| claim.record(made.clone()));
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
    pub(crate) fn check(&self, state: &DeviceState, tenant: &str) -> Result<(), Problem> {
        drop(state.threads.admit(tenant)?);
        if self.is_job { state.jobs.check(tenant) } else { Ok(()) }
    }

    /// Starts a job where one is asked for.
    pub(crate) fn into_job(
        self,
        state: &DeviceState,
        admitted: Admitted,
        subject: Subject,
        tenant: &str,
        work: impl FnOnce(&Store) -> Result<Outcome, Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let task = self.caller.task.clone();
        let mut response = start_job(state, admitted, (tenant, subject, task), work)?;
        self.caller.release();
        if self.is_preferred {
            let applied = HeaderValue::from_static(RESPOND_ASYNC);
            response.headers_mut().insert("preference-applied", applied);
        }
        Ok(response)
    }
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
