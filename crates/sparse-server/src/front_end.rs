//! The part of a server that faces clients: who calls, what is counted and logged, and where requests go.

use crate::aliases::Aliases;
use crate::config::Config;
use crate::connection::guarded_body::guarded;
use crate::connection::unread_body;
use crate::device_state::DeviceState;
use crate::error::StartError;
use crate::limits::rate::Rates;
use crate::limits::shared_capacity::{CapacityPermit, SharedCapacity};
#[cfg(unix)]
use crate::local_files::descriptors::Descriptors;
#[cfg(unix)]
use crate::local_files::shared_folder::SharedFolder;
use crate::observability::metrics::RequestMetrics;
use crate::observability::running_requests::{Requests, Subject};
use crate::operations::Operation;
use crate::problem::Problem;
#[cfg(unix)]
use crate::process::DeviceWorkers;
use crate::request::name;
use crate::routes::addresses::{OPERATION, PROGRAMS, oversees, waits};
use crate::security::audit::{self, AuditLog};
use crate::security::auth::{Identity, Scope, Tokens};
use crate::security::caller::{SINGLE, check_local, single, token_of};
#[cfg(unix)]
use crate::upload::resumable::Uploads;
use axum::Extension;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::future::Future;
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
    /// The requests of each tenant that are in flight, where there are several tenants: each has a connection.
    in_flight: Option<Arc<SharedCapacity<String>>>,
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
    ThisProcess(DeviceState),
    #[cfg(unix)]
    Workers(Arc<DeviceWorkers>),
}

impl ComputeProcess {
    /// True if the caller has a matrix of this `name`, or a job may make one.
    pub(crate) async fn is_taken(&self, identity: &Identity, name: &str) -> Result<bool, Problem> {
        match self {
            Self::ThisProcess(state) => Ok(state.is_taken(&identity.tenant, name)),
            #[cfg(unix)]
            Self::Workers(workers) => workers.is_taken(identity, name).await,
        }
    }

    /// True if the caller has a matrix of this `name`, or this `name@version`.
    pub(crate) async fn has_matrix(&self, identity: &Identity, text: &str) -> Result<bool, Problem> {
        match self {
            Self::ThisProcess(state) => {
                let (name, version) = name::parse(text).map_err(Problem::bad_request)?;
                Ok(state.store.get(&identity.tenant, name, version).is_ok())
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
            in_flight: config.tokens.is_some().then(|| SharedCapacity::new(config.limits.connections)),
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
            ComputeProcess::ThisProcess(state) => state.jobs.drain().await,
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

    /// Counts a request as one in flight; 429 if its tenant would have more of them than are left for others.
    fn admit(&self, tenant: &str) -> Result<Option<CapacityPermit<String>>, Problem> {
        let Some(in_flight) = &self.in_flight else { return Ok(None) };
        let refused = || {
            Problem::busy(
                "you have as many requests in flight as you may have now: let some end before the next ones",
            )
        };
        in_flight.take(&tenant.to_owned(), 1).map(Some).ok_or_else(refused)
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
    let allowed = identity.check(scope);
    let action = format!("{} {}", method_of(&request), route_of(&request));
    let object = path.ok().and_then(|path| path.iter().next().map(|(_, value)| audit::shortened(value)));
    let is_recorded = allowed.is_err() || audit::is_change(&request);
    let subject = Subject::new(&id, &identity.tenant, action, object);
    let entry = is_recorded.then(|| front_end.audit.begin(&subject, &identity, &request));
    let mut listed = (!waits(&request)).then(|| front_end.listed.begin(subject));
    let admitted = match allowed {
        Ok(()) if oversees(&request) => Ok(None),
        allowed => allowed.and_then(|()| front_end.admit(&identity.tenant)),
    };
    let count = || front_end.rates.count(&identity.tenant, Instant::now());
    let response = match admitted.and_then(|admitted| count().map(|()| admitted)) {
        Ok(admitted) => {
            request.extensions_mut().insert(identity);
            let response = front_end.answer(next.run(request)).await;
            // A client may take its time to read.
            if let Some(admitted) = admitted { guarded(response, admitted) } else { response }
        }
        Err(problem) => problem.into_response(),
    };
    entry.into_iter().for_each(|entry| entry.answered(&response));
    listed.iter_mut().for_each(|listed| listed.status = Some(response.status().as_u16()));
    Ok(response)
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
        PROGRAMS => Some("program"),
        OPERATION => request.uri().path().rsplit('/').next().and_then(Operation::name_of),
        _ => None,
    };
    operation.unwrap_or(pattern.as_str()).to_owned()
}
