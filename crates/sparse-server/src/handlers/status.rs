//! Answers about the server itself.

use crate::device_state::DeviceState;
use crate::front_end::{ComputeProcess, FrontEnd};
use crate::problem::Problem;
use crate::routes::open_api;
use crate::security::auth::{Identity, to_hex};
#[cfg(unix)]
use axum::extract::Path;
use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse};
use axum::{Extension, Json};
use serde_json::{Value, json};

/// The page, whose scripts and styles alone run in it.
pub(crate) async fn page(State(front_end): State<FrontEnd>) -> Result<impl IntoResponse, Problem> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(Problem::internal)?;
    let nonce = to_hex(&random);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::REFERRER_POLICY, "no-referrer".into()),
        (header::CACHE_CONTROL, "no-store".into()),
    ];
    let needs_token = if front_end.asks_for_tokens() { "true" } else { "false" };
    let page = include_str!("page.html").replace("NONCE", &nonce).replace("NEEDS_TOKEN", needs_token);
    Ok((headers, Html(page)))
}

pub(crate) async fn live() -> &'static str {
    "live\n"
}

pub(crate) async fn ready(State(front_end): State<FrontEnd>) -> Result<&'static str, Problem> {
    front_end.check_ready().map(|()| "ready\n")
}

/// The metrics of requests, and those of each device from the process that holds it.
pub(crate) async fn metrics(State(front_end): State<FrontEnd>) -> Result<impl IntoResponse, Problem> {
    let mut text = front_end.metrics.text().map_err(Problem::internal)?;
    match &front_end.compute {
        ComputeProcess::ThisProcess(state) => text += &device_metrics(State(state.clone())).await?,
        #[cfg(unix)]
        ComputeProcess::Workers(workers) => text += &workers.metrics().await?,
    }
    Ok(([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text))
}

/// Each `tenant/name` that this process has, or may have once a job is done. Jobs come first: one that has ended
/// meanwhile has stored its result.
#[cfg(unix)]
pub(crate) async fn names(State(state): State<DeviceState>) -> Result<Json<Vec<String>>, Problem> {
    Ok(Json([state.jobs.targets(), state.store.names()?, state.keys.names()].concat()))
}

/// True if the caller has a matrix of a name in this process, or a job may make one.
#[cfg(unix)]
pub(crate) async fn is_taken(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    Path(name): Path<String>,
) -> Json<bool> {
    Json(state.is_taken(&identity.tenant, &name))
}

/// The part of the metrics that the process with the device has.
pub(crate) async fn device_metrics(State(state): State<DeviceState>) -> Result<String, Problem> {
    let bandwidth = state.bandwidth().await;
    state.metrics.text(state.snapshot(bandwidth)).map_err(Problem::internal)
}

pub(crate) async fn open_api() -> Json<Value> {
    Json(open_api::document())
}

pub(crate) async fn status(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
) -> Json<Value> {
    let (ledger, caps) = (&state.store.ledger, state.store.device.caps());
    let host =
        state.store.host_tier.as_ref().map_or((0, 0), |tier| (tier.ledger.capacity(), tier.ledger.used()));
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "device": { "backend": caps.backend, "name": caps.device },
        "memory": {
            "capacity_bytes": ledger.capacity(), "used_bytes": ledger.used(),
            "driver_used_bytes": state.store.device.allocated_bytes(),
        },
        "host_memory": { "capacity_bytes": host.0, "used_bytes": host.1 },
        "tenant": {
            "name": identity.tenant, "capacity_bytes": ledger.tenant_capacity(),
            "used_bytes": ledger.used_by(&identity.tenant),
        },
        "operations": { "running": state.threads.running(), "waiting": state.threads.waiting() },
        "process": { "id": std::process::id(), "worker": state.generation },
    }))
}

/// Lists the caller's requests.
pub(crate) async fn running_requests(
    State(front_end): State<FrontEnd>,
    Extension(identity): Extension<Identity>,
) -> Json<Value> {
    Json(front_end.listed.of(&identity.tenant))
}
