//! Requests to a service of several devices: each goes to the worker of the device that has what it names.

use super::DeviceWorkers;
use super::device_workers::{QUESTION_TIME, answer_of, in_time, status_of};
use super::directory::Claim;
use super::distributed::{self, DistributedMatrix, needs_whole};
use super::forward::{json_of, path_of};
use crate::execution::task::Task;
use crate::operations::Operation;
use crate::problem::Problem;
use crate::program;
use crate::request::arguments::Pairs;
use crate::request::etag::Tags;
use crate::request::parameters::Parameters;
use crate::routes::Destination;
use crate::routes::addresses::{MATRIX, OPERATION};
use crate::security::auth::Identity;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, Query, RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::future::Future;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Sends a request to its devices. What is wrong with it a worker says, and any will do.
pub(crate) async fn dispatch(
    State((workers, destination)): State<(Arc<DeviceWorkers>, Destination)>,
    Extension(identity): Extension<Identity>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    pairs: Pairs,
    request: Request,
) -> Result<Response, Problem> {
    let in_path = |name| {
        let found = path.iter().flatten().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| value)
    };
    let parameters = Parameters::checked(pairs.map(|Query(pairs)| pairs).unwrap_or_default());
    match destination {
        Destination::Matrices => {
            let (name, operation) = (in_path("name"), in_path("operation"));
            match workers.distributed.find(&identity.tenant, identity.target(name))? {
                Some(matrix) => {
                    workers.answer_in_parts((&matrix, name), operation, &parameters, identity, request).await
                }
                None => {
                    workers
                        .compute(&names(name, operation, &parameters), &parameters, identity, request)
                        .await
                }
            }
        }
        Destination::NewMatrix => match workers.part_count(&parameters, request.headers())? {
            Some(count) => {
                workers.upload_in_parts(count, in_path("name"), &parameters, identity, request).await
            }
            None => workers.upload(in_path("name"), &parameters, identity, request).await,
        },
        Destination::Job => {
            let device = workers.device_of_job(in_path("id")).unwrap_or_else(|| workers.first_ready());
            workers.workers[device].forward(&identity, request).await
        }
        Destination::Lists(key) => {
            // None that is in parts has labels.
            let has_parts = key == "matrices" && parameters.text("label").is_none_or(str::is_empty);
            let in_parts = if has_parts { workers.distributed.views(&identity.tenant) } else { vec![] };
            workers.lists((key, in_parts), identity, path_of(request.uri())).await
        }
        Destination::Status => Ok(workers.status(identity).await),
    }
}

/// The answer to a request that has claimed the name under which it stores something.
async fn within(
    claim: Option<Claim>,
    answer: impl Future<Output = Result<Response, Problem>>,
) -> Result<Response, Problem> {
    let answer = answer.await;
    let is_refused = matches!(&answer, Ok(response) if response.status().is_client_error());
    claim.into_iter().for_each(|claim| claim.answered(is_refused));
    answer
}

/// The stored matrices that a request takes: those of its program, or of its path and its operation.
fn names(in_path: &str, operation: &str, parameters: &Parameters) -> Vec<String> {
    if in_path.is_empty() {
        return parameters.text("program").map(program::stored_names).unwrap_or_default();
    }
    let takes_other = Operation::find(operation).is_ok_and(|operation| operation.has_other);
    let other = parameters.text("other").filter(|_| takes_other);
    [Some(in_path), other].into_iter().flatten().map(str::to_owned).collect()
}

/// Bytes that an upload may take on a device: those of its body, or some if it does not say.
fn body_bytes(headers: &HeaderMap) -> u64 {
    content_length(headers).unwrap_or(1 << 20)
}

/// The bytes of a body, if its headers say.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl DeviceWorkers {
    /// Sends a request to the device that has its result's name, or else the first of the matrices that it names;
    /// others are copied there.
    async fn compute(
        &self,
        named: &[String],
        parameters: &Parameters,
        mut identity: Identity,
        request: Request,
    ) -> Result<Response, Problem> {
        let tenant = identity.tenant.clone();
        let names: Vec<_> = named.iter().map(|name| identity.target(name).to_owned()).collect();
        self.distributed.check_whole(&tenant, &names)?;
        let device = names.iter().find_map(|name| self.device_of(&tenant, name));
        let device = device.unwrap_or_else(|| self.first_ready());
        let claim = parameters.text("into").map(|name| self.claim(device, &tenant, name));
        let device = claim.as_ref().map_or(device, |claim| claim.device);
        let answer = async {
            let mut request = request;
            if let Some(name) = parameters.text("into") {
                self.distributed.check_free(&tenant, name)?;
                request = match self.made_elsewhere(&identity, Some(device), request).await? {
                    ControlFlow::Continue(request) => request,
                    ControlFlow::Break(made) => return Ok(made),
                };
            }
            let copies = self.copy_all(device, &names, &mut identity);
            match Task::new(self.copy_time(parameters)).within(copies).await?? {
                ControlFlow::Continue(_copies) => self.send(device, &mut identity, request).await,
                ControlFlow::Break(refused) => Ok(refused),
            }
        };
        within(claim, answer).await
    }

    /// Sends a matrix to the device that has its name, or is to have it.
    async fn upload(
        &self,
        name: &str,
        parameters: &Parameters,
        mut identity: Identity,
        request: Request,
    ) -> Result<Response, Problem> {
        let tenant = identity.tenant.clone();
        let claim = match parameters.get::<usize>("device")? {
            Some(device) => self.claim_on(self.check_device(device)?, &tenant, name).await?,
            None => self.claim_anywhere(&tenant, name, body_bytes(request.headers())).await,
        };
        let device = claim.device;
        let answer = async {
            self.distributed.check_free(&tenant, name)?;
            match self.made_elsewhere(&identity, Some(device), request).await? {
                ControlFlow::Break(made) => Ok(made),
                ControlFlow::Continue(request) => self.send(device, &mut identity, request).await,
            }
        };
        within(Some(claim), answer).await
    }

    /// The first device whose worker is ready, or the first.
    fn first_ready(&self) -> usize {
        self.workers.iter().position(|worker| worker.check().is_ok()).unwrap_or(0)
    }

    /// The time that copies for a request may take: as much as its operation.
    fn copy_time(&self, parameters: &Parameters) -> Duration {
        let seconds = parameters.get("timeout").ok().flatten();
        // What is wrong with others the worker says.
        let valid = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let valid = valid.filter(|time| !time.is_zero());
        let longest = self.limits.operation_time;
        valid.map_or(longest, |time| time.min(longest))
    }

    fn check_device(&self, device: usize) -> Result<usize, Problem> {
        let count = self.workers.len();
        if device < count {
            return Ok(device);
        }
        Err(Problem::bad_request(format!("parameter device={device}: the devices are 0 to {}", count - 1)))
    }

    /// Answers a request for a matrix in parts, whose name is `in_path`.
    async fn answer_in_parts(
        self: &Arc<Self>,
        (matrix, in_path): (&Arc<DistributedMatrix>, &str),
        operation: &str,
        parameters: &Parameters,
        identity: Identity,
        request: Request,
    ) -> Result<Response, Problem> {
        let pattern = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        match (request.method(), pattern) {
            (&Method::GET | &Method::HEAD, Some(MATRIX)) => Ok(matrix.respond(StatusCode::OK)),
            (&Method::DELETE, Some(MATRIX)) => {
                let if_match = Tags::of(request.headers(), header::IF_MATCH);
                self.distributed.remove(&identity.tenant, in_path, if_match.as_ref())?;
                Ok(StatusCode::NO_CONTENT.into_response())
            }
            (_, Some(OPERATION)) => {
                let operation = Operation::find(operation)?;
                self.multiply_parts(matrix, operation, parameters, identity, request).await
            }
            _ => Err(needs_whole(matrix)),
        }
    }

    /// The lists of all devices as one, with the matrices in parts, and the devices whose workers do not answer.
    async fn lists(
        &self,
        (key, in_parts): (&str, Vec<distributed::View>),
        identity: Identity,
        path: String,
    ) -> Result<Response, Problem> {
        let answers = self.each(|worker| {
            let (path, identity) = (path.clone(), identity.clone());
            // One that starts is waited for.
            async move {
                in_time(&worker, QUESTION_TIME, async {
                    let answer = worker.ask(Method::GET, &path, &identity).await?;
                    match answer.status().is_success() {
                        true => json_of(answer).await.map(ControlFlow::Continue),
                        false => Ok(ControlFlow::Break(answer)),
                    }
                })
                .await
            }
        });
        let (mut entries, mut unavailable) = (vec![], vec![]);
        for (device, answer) in answers.await.into_iter().enumerate() {
            match answer {
                Ok(ControlFlow::Continue(mut list)) => {
                    if let Value::Array(list) = list[key].take() {
                        entries.extend(list);
                    }
                }
                Ok(ControlFlow::Break(refused)) => return Ok(refused),
                Err(problem) if unavailable.len() + 1 == self.workers.len() => return Err(problem),
                Err(problem) => unavailable.push(json!({ "device": device, "detail": problem.detail() })),
            }
        }
        for view in in_parts {
            entries.push(serde_json::to_value(view).map_err(Problem::internal)?);
        }
        entries.sort_by(compare_entries);
        let mut list = json!({ key: entries });
        if !unavailable.is_empty() {
            list["unavailable"] = unavailable.into();
        }
        Ok(Json(list).into_response())
    }

    /// The numbers of all devices, and their sums.
    async fn status(&self, identity: Identity) -> Response {
        let answers = self.each(|worker| {
            let identity = identity.clone();
            async move { answer_of(&worker, QUESTION_TIME, status_of(&worker, &identity)).await }
        });
        let devices: Vec<_> = answers.await.into_iter().enumerate().map(device_status).collect();
        let sum = |part: &str, name: &str| -> u64 {
            devices.iter().filter_map(|device| device[part][name].as_u64()).sum()
        };
        let memory = |part| json!({ "capacity_bytes": sum(part, "capacity_bytes"), "used_bytes": sum(part, "used_bytes") });
        let mut of_devices = memory("memory");
        let counted: Option<u64> =
            devices.iter().map(|device| device["memory"]["driver_used_bytes"].as_u64()).sum();
        of_devices["driver_used_bytes"] = counted.into();
        let mut tenant = memory("tenant");
        if let Some(quota) = self.quota {
            tenant["capacity_bytes"] = quota.into();
        }
        tenant["name"] = identity.tenant.into();
        let status = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "memory": of_devices,
            "host_memory": memory("host_memory"),
            "tenant": tenant,
            "operations": { "running": sum("operations", "running"), "waiting": sum("operations", "waiting") },
            "process": { "id": std::process::id(), "worker": null },
            "devices": devices,
        });
        Json(status).into_response()
    }
}

/// The status of a device in the list of all: what its worker says, or why it says nothing.
fn device_status((number, answer): (usize, Result<Value, Problem>)) -> Value {
    let mut status = answer.unwrap_or_else(|problem| json!({ "problem": problem.detail() }));
    status["number"] = number.into();
    status
}

/// The order of matrices in a list, by name and version, and of jobs, by time.
fn compare_entries(a: &Value, b: &Value) -> Ordering {
    let version = |entry: &Value| (entry["name"].as_str().map(str::to_owned), entry["version"].as_u64());
    let created = |entry: &Value| entry["created"].as_f64().unwrap_or(0.0);
    version(a).cmp(&version(b)).then(created(a).total_cmp(&created(b)))
}
