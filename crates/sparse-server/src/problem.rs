//! Errors of requests as JSON problem documents (RFC 9457).

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nnz::Error;
use serde::Serialize;
use std::io;

/// The header in which a worker says how many bytes of the quota it lacks that the tenant has elsewhere.
#[cfg(unix)]
pub(crate) const LACKING: &str = "nnz-lacking";

/// A request that was refused or failed: what, where, and what would be right.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    kind: &'static str,
    detail: String,
    retry_after: Option<u64>,
    /// Bytes of a quota that are taken on other devices, which the front end may free.
    lacking: u64,
    memory: Option<MemoryShortage>,
}

/// The bytes that led to a refusal for lack of memory, or of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct MemoryShortage {
    #[serde(rename = "needed_bytes")]
    pub(crate) needed: u64,
    #[serde(rename = "free_bytes")]
    pub(crate) free: u64,
    #[serde(rename = "evictable_bytes")]
    pub(crate) evictable: u64,
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(flatten)]
    memory: Option<MemoryShortage>,
}

/// Seconds after which a refused request may be tried again.
const RETRY_AFTER: u64 = 1;

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl ToString) -> Self {
        Self { status, kind, detail: detail.to_string(), retry_after: None, lacking: 0, memory: None }
    }

    /// The problem with the part of the request in which it lies.
    pub(crate) fn within(self, part: &str) -> Self {
        Self { detail: format!("{part}: {}", self.detail), ..self }
    }

    /// The description of the problem, for people to read.
    #[cfg(unix)]
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn bad_request(detail: impl ToString) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    pub(crate) fn forbidden(detail: impl ToString) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    pub(crate) fn not_found(detail: impl ToString) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    pub(crate) fn conflict(detail: impl ToString) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    /// The problem of an object that existed and cannot be restored.
    pub(crate) fn lost(detail: impl ToString) -> Self {
        Self::new(StatusCode::GONE, "lost", detail)
    }

    /// A worker process that does not answer now.
    #[cfg(unix)]
    pub(crate) fn unavailable(detail: impl ToString) -> Self {
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "worker", detail);
        Self { retry_after: Some(RETRY_AFTER), ..problem }
    }

    /// A server that is about to end.
    pub(crate) fn stopping(detail: impl ToString) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", detail)
    }

    pub(crate) fn unprocessable(detail: impl ToString) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", detail)
    }

    pub(crate) fn too_large(limit: u64) -> Self {
        let detail = format!("the body is larger than the {limit} bytes that are allowed");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    }

    pub(crate) fn internal(detail: impl ToString) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// A refusal because too much is going on, which may be tried again.
    pub(crate) fn busy(detail: impl ToString) -> Self {
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", detail);
        Self { retry_after: Some(RETRY_AFTER), ..problem }
    }

    /// The same refusal, with `Retry-After: seconds`.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// Memory that does not suffice: 429 where requests in flight will give enough of it back, else 507.
    pub(crate) fn memory(shortage: MemoryShortage, may_retry: bool, detail: String) -> Self {
        let problem = if may_retry {
            Self::busy(detail)
        } else {
            Self::new(StatusCode::INSUFFICIENT_STORAGE, "out-of-memory", detail)
        };
        Self { memory: Some(shortage), ..problem }
    }

    /// A quota of stored bytes that does not suffice.
    pub(crate) fn storage(shortage: MemoryShortage, detail: impl ToString) -> Self {
        let problem = Self::new(StatusCode::INSUFFICIENT_STORAGE, "too-much-stored", detail);
        Self { memory: Some(shortage), ..problem }
    }

    /// The problem with the bytes of a quota that are taken on other devices.
    pub(crate) fn lacking(self, bytes: u64) -> Self {
        Self { lacking: bytes, ..self }
    }

    /// The document that clients get.
    pub(crate) fn document(&self) -> impl Serialize + '_ {
        Document {
            r#type: format!("urn:nnz:problem:{}", self.kind),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            memory: self.memory,
        }
    }

    /// A result that is not there yet, and may be asked for again.
    pub(crate) fn not_finished(detail: impl ToString) -> Self {
        let problem = Self::new(StatusCode::CONFLICT, "not-finished", detail);
        Self { retry_after: Some(RETRY_AFTER), ..problem }
    }

    /// A failure of the device, which a worker process that replaces this one may not have.
    fn device(error: &Error) -> Self {
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "device", error);
        Self { retry_after: Some(RETRY_AFTER), ..problem }
    }

    /// A failure to write to the server's disk.
    pub(crate) fn disk(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "disk-full",
                "the server's disk is full: delete objects",
            ),
            _ => Self::internal(format!("the server's disk: {error}")),
        }
    }
}

/// Errors of operations and files: the client's operands, unless a device or the disk failed.
impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::File { line, reason, .. } => {
                let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
                Self::unprocessable(format!("body: {line}{reason}"))
            }
            Error::Io { source, .. } => Self::disk(&source),
            Error::OutOfMemory { .. } => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "out-of-memory", error.to_string())
            }
            Error::Backend { .. } => Self::device(&error),
            Error::WrongContext { .. } => Self::internal(error),
            error => Self::unprocessable(error),
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::disk(&error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.document())).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        #[cfg(unix)]
        if self.lacking > 0 {
            headers.insert(LACKING, HeaderValue::from(self.lacking));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, Problem, RETRY_AFTER, StatusCode};

    #[test]
    fn a_device_that_failed_may_be_asked_again() {
        let problem = Problem::from(Error::Backend { backend: "cuda", source: "launch failed".into() });
        assert_eq!(
            (problem.status, problem.retry_after),
            (StatusCode::SERVICE_UNAVAILABLE, Some(RETRY_AFTER))
        );
    }
}
