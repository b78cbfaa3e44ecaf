//! The part of a server that faces clients: who calls, what is counted and logged, and where requests go.

use crate::aliases::Aliases;
use crate::app::App;
use crate::audit::{self, AuditLog};
use crate::auth::{Identity, Scope, Tokens};
use crate::config::Config;
#[cfg(unix)]
use crate::descriptors::Descriptors;
use crate::error::StartError;
use crate::metrics::RequestMetrics;
use crate::name;
use crate::operations::Operation;
use crate::problem::Problem;
#[cfg(unix)]
use crate::process::DeviceWorkers;
use crate::rate::Rates;
#[cfg(unix)]
use crate::resumable::Uploads;
use crate::routes;
use crate::running_requests::{Requests, Subject};
#[cfg(unix)]
use crate::shared::SharedFolder;
use crate::unread_body;
use crate::upload::RESULT_ARRAY;
use axum::Extension;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::future::Future;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::available_parallelism;
use std::time::Instant;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The state of the part that faces clients; a clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct FrontEnd(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) compute: ComputeProcess,
    token_file: Option<PathBuf>,
    tokens: RwLock<Option<Tokens>>,
    rates: Rates,
    pub(crate) aliases: Arc<Aliases>,
    /// A permit for each thread that compresses answers.
    pub(crate) encoders: Arc<Semaphore>,
    pub(crate) audit: Arc<AuditLog>,
    pub(crate) listed: Arc<Requests>,
    #[cfg(unix)]
    pub(crate) shared: Option<SharedFolder>,
    #[cfg(unix)]
    pub(crate) descriptors: Option<Descriptors>,
    /// True if clients may name arrays of theirs on the GPU.
    pub(crate) cuda_ipc: bool,
    #[cfg(unix)]
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) metrics: RequestMetrics,
    pub(crate) is_stopping: AtomicBool,
    /// Cancelled when the time for the requests in flight is nearly over.
    pub(crate) closing: CancellationToken,
    /// Makes the ids of requests different from those of the service before.
    service: String,
    requests: AtomicU64,
}

/// The process that has the matrices and runs operations.
#[derive(Debug, Clone)]
pub(crate) enum ComputeProcess {
    ThisProcess(App),
    #[cfg(unix)]
    Workers(Arc<DeviceWorkers>),
}

impl ComputeProcess {
    /// True if the caller has a matrix of this `name`, or a job may make one.
    pub(crate) async fn is_taken(&self, identity: &Identity, name: &str) -> Result<bool, Problem> {
        match self {
            Self::ThisProcess(app) => Ok(app.is_taken(&identity.tenant, name)),
            #[cfg(unix)]
            Self::Workers(workers) => workers.is_taken(identity, name).await,
        }
    }

    /// True if the caller has a matrix of this `name`, or this `name@version`.
    pub(crate) async fn has_matrix(&self, identity: &Identity, text: &str) -> Result<bool, Problem> {
        match self {
            Self::ThisProcess(app) => {
                let (name, version) = name::parse(text).map_err(Problem::bad_request)?;
                Ok(app.store.get(&identity.tenant, name, version).is_ok())
            }
            #[cfg(unix)]
            Self::Workers(workers) => workers.has_matrix(identity, text).await,
        }
    }
}

impl std::ops::Deref for FrontEnd {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl FrontEnd {
    pub(crate) fn new(config: &Config, service: String, compute: ComputeProcess) -> Result<Self, StartError> {
        let front_end = Self(Arc::new(Shared {
            compute,
            token_file: config.tokens.clone(),
            tokens: RwLock::default(),
            rates: Rates::new(config.limits.tenant_rate),
            aliases: Aliases::open(&config.data, config.limits.longest_request())?,
            encoders: Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from))),
            listed: Requests::new(config.limits.slow_time),
            #[cfg(unix)]
            shared: config.shared.as_deref().map(SharedFolder::open).transpose()?,
            #[cfg(unix)]
            descriptors: config.descriptors.as_deref().map(Descriptors::listen).transpose()?,
            cuda_ipc: config.cuda_ipc,
            #[cfg(unix)]
            uploads: Uploads::open(&config.data, &config.limits)?,
            audit: AuditLog::open(&config.data, config.limits.audit_bytes)?,
            metrics: RequestMetrics::new(),
            is_stopping: AtomicBool::new(false),
            closing: CancellationToken::new(),
            service,
            requests: AtomicU64::new(0),
        }));
        front_end.read_tokens()?;
        Ok(front_end)
    }

    /// Reads files again, and records it; on an error nothing changes.
    pub(crate) fn read_again(&self, what: &str, read: impl FnOnce(&Self) -> Result<(), StartError>) {
        let error = read(self).err().map(|error| error.to_string());
        match &error {
            None => tracing::info!("the {what} were read again"),
            Some(error) => tracing::error!("the {what} stay as they were: {error}"),
        }
        self.audit.event(&format!("read {what}"), error);
    }

    pub(crate) fn read_tokens(&self) -> Result<(), StartError> {
        if let Some(path) = &self.token_file {
            let tokens = Tokens::read(path)?;
            *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Some(tokens);
        }
        Ok(())
    }

    /// Ends the jobs whose results nobody can fetch any more, and waits for those that store theirs.
    pub(crate) async fn drain_jobs(&self) {
        match &self.compute {
            ComputeProcess::ThisProcess(app) => app.jobs.drain().await,
            // They wait for them before they end.
            #[cfg(unix)]
            ComputeProcess::Workers(workers) => workers.stop(),
        }
    }

    /// Ends the background tasks, once there are no more requests.
    pub(crate) async fn end(&self, background: JoinHandle<()>) {
        match &self.compute {
            ComputeProcess::ThisProcess(_) => background.abort(),
            #[cfg(unix)]
            ComputeProcess::Workers(workers) => {
                workers.end();
                background.await.unwrap_or_else(|error| tracing::error!("watching the workers: {error}"));
            }
        }
    }

    /// Fails if no requests are taken, or no worker answers any.
    pub(crate) fn check_ready(&self) -> Result<(), Problem> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err(Problem::stopping("the server stops"));
        }
        match &self.compute {
            ComputeProcess::ThisProcess(_) => Ok(()),
            #[cfg(unix)]
            ComputeProcess::Workers(workers) => workers.check(),
        }
    }

    /// The answer to a request, or 503 if the server cannot wait for it any longer.
    async fn answer(&self, answer: impl Future<Output = Response>) -> Response {
        tokio::select! {
            biased;
            response = answer => response,
            () = self.closing.cancelled() => {
                let detail = "the server stops, and had no time to finish this request: send it again once the server \
                              is back, and look first whether what it stores is there";
                Problem::stopping(detail).into_response()
            }
        }
    }

    /// True if requests need a token.
    pub(crate) fn asks_for_tokens(&self) -> bool {
        self.token_file.is_some()
    }

    /// The caller of a request, by its token.
    fn identify(&self, headers: &HeaderMap) -> Result<Identity, Problem> {
        let token = token_of(headers)?;
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let Some(tokens) = &*tokens else {
            return check_local(headers).map(|()| Identity::anonymous());
        };
        token.and_then(|token| tokens.find(token)).cloned().ok_or_else(|| {
            let detail = "a header `Authorization: Bearer TOKEN` with a token of this server is needed";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        })
    }
}

/// The token of a request, if it has one.
pub(crate) fn token_of(headers: &HeaderMap) -> Result<Option<&[u8]>, Problem> {
    Ok(single(headers, "Authorization")?.and_then(|value| bearer(value.as_bytes())))
}

/// The header `name`, if it is there. Two of them are refused: a proxy may have looked at the other one.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, Problem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.count()) {
        (value, 0) => Ok(value),
        (_, others) => Err(Problem::bad_request(format!("{} headers `{name}`: one is needed", others + 1))),
    }
}

/// The headers of data that a request may have once; those that stand for bodies are looked at where they are taken.
const SINGLE: [&str; 6] =
    ["Content-Encoding", "Content-Type", "Idempotency-Key", "Upload-Length", "Upload-Offset", RESULT_ARRAY];

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
}

/// Fails for requests that pages of other sites make a browser of this machine send, which tokens would keep out.
pub(crate) fn check_local(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or(""));
    let host = text(header::HOST).unwrap_or("");
    if headers.get_all(header::HOST).iter().count() > 1 || !is_local(host) {
        return Err(Problem::forbidden(
            "without tokens only one Host: localhost, 127.0.0.1, [::1] and other loopback addresses are served",
        ));
    }
    let is_same =
        |origin: &str| origin.split_once("://").is_some_and(|(_, other)| other.eq_ignore_ascii_case(host));
    match text(header::ORIGIN) {
        Some(origin) if !is_same(origin) => {
            Err(Problem::forbidden("without tokens requests of other sites are refused"))
        }
        _ => Ok(()),
    }
}

/// True for a `Host` that names this machine, as an address that no other site's name can resolve to.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host();
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_loopback = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    is_loopback || name.eq_ignore_ascii_case("localhost")
}

/// Lets a request through if its caller may do what the route asks for. Changes are recorded in the audit log, and so
/// is what a token does not allow.
pub(crate) async fn authorize(
    State((front_end, scope)): State<(FrontEnd, Scope)>,
    Extension(RequestId(id)): Extension<RequestId>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let identity = front_end.identify(request.headers())?;
    SINGLE.iter().try_for_each(|name| single(request.headers(), name).map(drop))?;
    let allowed = check_scope(&identity, scope);
    let action = format!("{} {}", method_of(&request), route_of(&request));
    let object = path.ok().and_then(|path| path.iter().next().map(|(_, value)| audit::shortened(value)));
    let is_recorded = allowed.is_err() || audit::is_change(&request);
    let subject = Subject::new(&id, &identity.tenant, action, object);
    let entry = is_recorded.then(|| front_end.audit.begin(&subject, &identity, &request));
    let mut listed = (!routes::waits(&request)).then(|| front_end.listed.begin(subject));
    let counted = allowed.and_then(|()| front_end.rates.count(&identity.tenant, Instant::now()));
    let response = match counted {
        Ok(()) => {
            request.extensions_mut().insert(identity);
            front_end.answer(next.run(request)).await
        }
        Err(problem) => problem.into_response(),
    };
    entry.into_iter().for_each(|entry| entry.answered(&response));
    listed.iter_mut().for_each(|listed| listed.status = Some(response.status().as_u16()));
    Ok(response)
}

pub(crate) fn check_scope(identity: &Identity, scope: Scope) -> Result<(), Problem> {
    if identity.may(scope) {
        return Ok(());
    }
    Err(Problem::forbidden(format!("the token lacks the scope `{scope}`")))
}

/// The id of a request, which its client has as `x-request-id`.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(Arc<str>);

/// Gives every request an id, and counts and logs its answer. Headers are never logged.
pub(crate) async fn observe(State(front_end): State<FrontEnd>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let number = front_end.requests.fetch_add(1, Ordering::Relaxed);
    let id: Arc<str> = format!("{}-{number:x}", front_end.service).into();
    request.extensions_mut().insert(RequestId(id.clone()));
    let (method, route) = (method_of(&request), route_of(&request));
    let mut ending = None;
    let request = request.map(|body| {
        let (body, watched) = unread_body::watched(body);
        ending = watched;
        body
    });
    let mut response = next.run(request).await.into_response();
    if ending.is_some_and(|ending| !ending.is_reached()) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let (time, code) = (begun.elapsed(), response.status().as_u16());
    front_end.metrics.observe(&format!("{method} {route}"), code, time);
    tracing::info!(id = &*id, method, route, code, ms = time.as_secs_f64() * 1e3, "request");
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", id);
    }
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// The method by which a request is counted and logged: clients may make up any number of others.
pub(crate) fn method_of(request: &Request) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH"];
    KNOWN.into_iter().find(|known| *known == request.method().as_str()).unwrap_or("other")
}

/// The name by which a request is counted: its operation, or the pattern of its address.
pub(crate) fn route_of(request: &Request) -> String {
    let Some(pattern) = request.extensions().get::<MatchedPath>() else { return "none".into() };
    let operation = match pattern.as_str() {
        routes::PROGRAMS => Some("program"),
        routes::OPERATION => request.uri().path().rsplit('/').next().and_then(Operation::name_of),
        _ => None,
    };
    operation.unwrap_or(pattern.as_str()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn other_sites_are_kept_out_without_tokens() {
        use header::{HOST, ORIGIN};
        assert!(check_local(&headers(&[(HOST, "127.0.0.1:8700")])).is_ok());
        assert!(check_local(&headers(&[(HOST, "[::1]:8700"), (ORIGIN, "http://[::1]:8700")])).is_ok());
        for local in ["127.0.0.2:8700", "[::1]", "LOCALHOST", "localhost:80"] {
            assert!(is_local(local), "{local}");
        }
        for other in ["", "10.0.0.1", "localhost.example", "[::2]:80", "127.0.0.1.example", "::1"] {
            assert!(!is_local(other), "{other}");
        }
        assert!(check_local(&headers(&[(HOST, "rebound.example:8700")])).is_err());
        assert!(check_local(&headers(&[(HOST, "localhost:8700"), (ORIGIN, "https://a.example")])).is_err());
        assert!(check_local(&headers(&[(HOST, "localhost:8700"), (ORIGIN, "null")])).is_err());
        let mut two = headers(&[(HOST, "localhost:8700")]);
        two.append(HOST, HeaderValue::from_static("rebound.example"));
        assert!(check_local(&two).is_err());
    }
}
