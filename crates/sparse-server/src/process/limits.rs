//! Limits of tenants that are for all devices of a service together: bytes, jobs and matrices, in parts or whole.
//!
//! Each worker keeps them with what the tenant has elsewhere, which the front end tells it with each request. The front
//! end learns it from the answers to requests that store something, and asks for it each second. Requests that are sent
//! to several devices at once can pass a limit by what they store.

use super::device_workers::{DeviceWorkers, QUESTION_TIME, answer_of};
use super::forward::json_of;
use super::supervisor::Supervisor;
use crate::device_state::DeviceState;
use crate::execution::task::Task;
use crate::limits::usage::Usage;
use crate::problem::{LACKING, Problem};
use crate::request::arguments::{Pairs, parameters};
use crate::security::auth::Identity;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use axum::{Extension, Json};
use std::collections::HashMap;
use std::future::pending;
use std::time::Duration;
use tokio::time::sleep;

/// The address at which a worker says what each tenant has.
pub(crate) const USAGES: &str = "/usages";
/// The address at which a worker moves matrices of a tenant to disk.
pub(crate) const EVICT: &str = "/evict";
/// The header in which a worker says what the tenant has after a request.
const USAGE: &str = "nnz-usage";

/// Time between two questions for what tenants have.
const USAGES_PERIOD: Duration = Duration::from_secs(1);
/// Time that a worker has to move matrices to disk.
const EVICTION_TIME: Duration = Duration::from_secs(60);

impl DeviceWorkers {
    /// Sends a request to the worker of a device, with what its caller has elsewhere. Where that leaves too little of
    /// the quota, it moves to disk.
    pub(super) async fn send(
        &self,
        device: usize,
        identity: &mut Identity,
        request: Request,
    ) -> Result<Response, Problem> {
        identity.elsewhere = Some(self.elsewhere(device, &identity.tenant));
        let worker = &self.workers[device];
        let mut response = worker.forward(identity, request).await?;
        if let Some(usage) = number_of(response.headers_mut(), USAGE) {
            worker.usages.set(&identity.tenant, usage);
        }
        match number_of(response.headers_mut(), LACKING) {
            Some(bytes) => self.evict_elsewhere(device, identity, bytes, response).await,
            None => Ok(response),
        }
    }

    /// The usage of a tenant on the other devices, with its matrices in parts, which no worker counts as stored.
    pub(super) fn elsewhere(&self, device: usize, tenant: &str) -> Usage {
        let others = self.workers.iter().enumerate().filter(|(number, _)| *number != device);
        let in_parts = Usage { stored_bytes: self.distributed.stored_bytes(tenant), ..Usage::default() };
        others.map(|(_, worker)| worker.usages.of(tenant)).fold(in_parts, Usage::and)
    }

    /// Moves matrices of the caller on other devices to disk, and lets the caller try again if there were any.
    async fn evict_elsewhere(
        &self,
        device: usize,
        identity: &Identity,
        bytes: u64,
        refused: Response,
    ) -> Result<Response, Problem> {
        let mut evicted: u64 = 0;
        for (number, worker) in self.workers.iter().enumerate() {
            if number == device || evicted >= bytes {
                continue;
            }
            match answer_of(worker, EVICTION_TIME, evict_on(worker, identity, bytes - evicted)).await {
                Ok(bytes) => {
                    let usage = worker.usages.of(&identity.tenant);
                    let rest = usage.bytes.saturating_sub(bytes);
                    worker.usages.set(&identity.tenant, Usage { bytes: rest, ..usage });
                    evicted += bytes;
                }
                Err(problem) => tracing::debug!("device {number}: {}", problem.detail()),
            }
        }
        if evicted == 0 {
            return Ok(refused);
        }
        let detail = format!("{evicted} bytes of your quota have moved to disk on other devices: try again");
        Err(Problem::busy(detail))
    }

    /// Asks for what tenants have, each second.
    pub(super) async fn keep_usages_current(&self) {
        if self.single().is_some() {
            return pending().await;
        }
        loop {
            sleep(USAGES_PERIOD).await;
            let answers = self
                .each(|worker| async move { answer_of(&worker, QUESTION_TIME, usages_of(&worker)).await });
            for (worker, answer) in self.workers.iter().zip(answers.await) {
                // One that has ended has nothing.
                worker.usages.replace(answer.unwrap_or_default());
            }
        }
    }
}

async fn usages_of(worker: &Supervisor) -> Result<HashMap<String, Usage>, Problem> {
    let usages = json_of(worker.ask(Method::GET, USAGES, &Identity::anonymous()).await?).await?;
    serde_json::from_value(usages).map_err(Problem::internal)
}

/// The bytes that a worker has moved to disk.
async fn evict_on(worker: &Supervisor, identity: &Identity, bytes: u64) -> Result<u64, Problem> {
    let path = format!("{EVICT}?bytes={bytes}");
    let answer = worker.ask(Method::POST, &path, &identity.uncounted()).await?;
    json_of(answer).await?.as_u64().ok_or_else(|| Problem::internal("a worker that evicts answers a number"))
}

/// The value of a header between worker and front end, which is removed.
fn number_of<T: serde::de::DeserializeOwned>(headers: &mut HeaderMap, name: &str) -> Option<T> {
    serde_json::from_slice(headers.remove(name)?.as_bytes()).ok()
}

/// Takes over what a caller has elsewhere, at the worker.
pub(super) fn learn(state: &DeviceState, identity: &Identity) {
    if let Some(usage) = identity.elsewhere {
        state.store.ledger.elsewhere.set(&identity.tenant, usage);
    }
}

/// Tells the front end what a caller has now, if that may have changed for longer than the request.
pub(super) fn tell(state: &DeviceState, tenant: &str, response: &mut Response) {
    let is_change =
        matches!(response.status(), StatusCode::CREATED | StatusCode::ACCEPTED | StatusCode::NO_CONTENT);
    if is_change && state.store.device_number.is_some() {
        let usage = serde_json::to_string(&state.usage(tenant)).unwrap_or_default();
        if let Ok(usage) = HeaderValue::from_str(&usage) {
            response.headers_mut().insert(USAGE, usage);
        }
    }
}

/// Says what each tenant has.
pub(crate) async fn usages(State(state): State<DeviceState>) -> Json<HashMap<String, Usage>> {
    Json(state.usages())
}

/// Moves unused matrices of the caller to disk until `bytes` bytes are free.
pub(crate) async fn evict(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    pairs: Pairs,
) -> Result<Json<u64>, Problem> {
    let bytes = parameters(pairs)?.required("bytes")?;
    let (store, tenant) = (state.store.clone(), identity.tenant);
    let evict = move || store.evict_bytes(&tenant, bytes);
    Ok(Json(state.threads.run_brief(&Task::new(EVICTION_TIME), evict).await?))
}
