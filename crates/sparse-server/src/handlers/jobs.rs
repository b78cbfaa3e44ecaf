//! Handlers of jobs: list, description, result and deletion.

use crate::device_state::DeviceState;
use crate::problem::Problem;
use crate::request::arguments::{Pairs, Segment, parameters, segment};
use crate::security::auth::Identity;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::timeout;

pub(crate) async fn list(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
) -> Json<Value> {
    let jobs = state.jobs.all();
    let own = jobs.iter().filter(|job| job.tenant == identity.tenant);
    Json(json!({ "jobs": own.map(|job| job.view()).collect::<Vec<_>>() }))
}

/// The longest time that a request for a job waits for its end.
const LONGEST_WAIT: f64 = 30.0;

pub(crate) async fn describe(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    id: Segment<String>,
    pairs: Pairs,
) -> Result<Response, Problem> {
    let job = state.jobs.find(&identity.tenant, &segment(id)?)?;
    let wait: f64 = parameters(pairs)?.get_or("wait", 0.0)?;
    if !(0.0..=LONGEST_WAIT).contains(&wait) {
        let detail = format!("parameter wait={wait}: a number of seconds up to {LONGEST_WAIT} is needed");
        return Err(Problem::bad_request(detail));
    }
    // After the wait the job is described, finished or not.
    let _ = timeout(Duration::from_secs_f64(wait), job.finished()).await;
    Ok(Json(job.view()).into_response())
}

pub(crate) async fn result(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    id: Segment<String>,
) -> Result<Response, Problem> {
    state.jobs.find(&identity.tenant, &segment(id)?)?.result()?.respond()
}

pub(crate) async fn remove(
    State(state): State<DeviceState>,
    Extension(identity): Extension<Identity>,
    id: Segment<String>,
) -> Result<StatusCode, Problem> {
    let job = state.jobs.find(&identity.tenant, &segment(id)?)?;
    identity.check(job.subject.scope)?;
    job.task.stop();
    state.jobs.remove(job.number);
    Ok(StatusCode::NO_CONTENT)
}
