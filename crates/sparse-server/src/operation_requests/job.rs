//! Operations as jobs: the request is answered at once, and the result is fetched later.

use crate::answer::Outcome;
use crate::device_state::DeviceState;
use crate::execution::jobs::{Job, Subject};
use crate::execution::task::Task;
use crate::execution::thread_pool::Admitted;
use crate::objects::Store;
use crate::problem::Problem;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tokio::time::timeout;

/// Lists a job, and runs it; its result goes after [`Limits::result_time`](crate::Limits::result_time).
pub(super) fn start_job(
    state: &DeviceState,
    admitted: Admitted,
    (tenant, subject, task): (&str, Subject, Task),
    work: impl FnOnce(&Store) -> Result<Outcome, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let job = state.jobs.add(tenant, subject, task)?;
    let location = HeaderValue::from_str(&format!("/v1/jobs/{}", job.id)).map_err(Problem::internal)?;
    let answer = (StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(job.view())).into_response();
    tokio::spawn(run_job(state.clone(), admitted, job, work));
    Ok(answer)
}

/// Runs a job, keeps its result for a while, and removes it.
async fn run_job(
    state: DeviceState,
    admitted: Admitted,
    job: Arc<Job>,
    work: impl FnOnce(&Store) -> Result<Outcome, Problem> + Send + 'static,
) {
    let (store, begun) = (state.store.clone(), job.clone());
    let done = state.threads.run_admitted(admitted, &job.task, move || {
        begun.begin();
        work(&store)
    });
    let result = done.await;
    let code = result.as_ref().map_or_else(|problem| problem.status, |_| StatusCode::OK);
    state.metrics.observe_job(job.subject.operation, code.as_u16(), job.task.elapsed());
    job.finish(result);
    // The sender goes with the job, and so this task ends once that is deleted.
    let (number, mut deleted) = (job.number, job.is_finished.subscribe());
    drop(job);
    if timeout(state.config.limits.result_time, deleted.wait_for(|_| false)).await.is_err() {
        state.jobs.remove(number);
    }
}
