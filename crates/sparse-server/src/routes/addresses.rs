//! Addresses of routes, as patterns of axum.

use axum::extract::{MatchedPath, Request};
use axum::http::Method;

pub(crate) const MATRIX: &str = "/v1/matrices/{name}";
pub(crate) const ALIAS: &str = "/v1/aliases/{name}";
pub(super) const JOB: &str = "/v1/jobs/{id}";
pub(crate) const UPLOADS: &str = "/v1/uploads";
#[cfg(unix)]
pub(super) const UPLOAD: &str = "/v1/uploads/{upload}";
pub(super) const STATUS: &str = "/v1/status";
pub(super) const REQUESTS: &str = "/v1/requests";
pub(crate) const JOB_RESULT: &str = "/v1/jobs/{id}/result";
pub(crate) const PROGRAMS: &str = "/v1/programs";
pub(crate) const OPERATION: &str = "/v1/matrices/{name}/{operation}";

/// True for requests that ask what goes on, and may wait for it.
pub(crate) fn waits(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
        && matches!(pattern_of(request), Some(REQUESTS | JOB))
}

/// True for requests that end a job, or show at once how it or the server is: who has as many requests in flight as may
/// be needs them most.
pub(crate) fn oversees(request: &Request) -> bool {
    let waits = request.uri().query().is_some();
    match (request.method(), pattern_of(request)) {
        (&Method::GET | &Method::HEAD, Some(STATUS)) | (&Method::DELETE, Some(JOB)) => true,
        (&Method::GET | &Method::HEAD, Some(JOB)) => !waits,
        _ => false,
    }
}

fn pattern_of(request: &Request) -> Option<&str> {
    request.extensions().get::<MatchedPath>().map(MatchedPath::as_str)
}
