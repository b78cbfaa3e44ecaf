//! The state that handlers share, and what happens to every request before and after them.

use crate::auth::{Identity, Scope, Tokens};
use crate::config::Config;
use crate::error::StartError;
use crate::jobs::Jobs;
use crate::merge::Queues;
use crate::metrics::{Metrics, Snapshot};
use crate::objects::Store;
use crate::problem::Problem;
use crate::workers::Workers;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The state of a server; a clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) store: Arc<Store>,
    pub(crate) workers: Workers,
    pub(crate) jobs: Jobs,
    pub(crate) queues: Queues,
    pub(crate) metrics: Metrics,
    tokens: RwLock<Option<Tokens>>,
    pub(crate) is_stopping: AtomicBool,
    started: u64,
    requests: AtomicU64,
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl App {
    pub(crate) fn new(config: Config, store: Store) -> Result<Self, StartError> {
        let workers = Workers::new(config.limits.workers, config.limits.queue);
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let app = Self(Arc::new(Shared {
            store: Arc::new(store),
            workers,
            jobs: Jobs::new(config.limits.jobs, format!("{started:x}")),
            queues: Queues::default(),
            metrics: Metrics::new(),
            tokens: RwLock::default(),
            is_stopping: AtomicBool::new(false),
            started,
            requests: AtomicU64::new(0),
            config,
        }));
        app.read_tokens()?;
        Ok(app)
    }

    /// Reads the file of tokens, at the start and again on request; on an error the old ones stay.
    pub(crate) fn read_tokens(&self) -> Result<(), StartError> {
        if let Some(path) = &self.config.tokens {
            let tokens = Tokens::read(path)?;
            *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = Some(tokens);
        }
        Ok(())
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            memory_used: self.store.ledger.used(),
            memory_capacity: self.store.ledger.capacity(),
            objects: self.store.all().len(),
            running: self.workers.running(),
            waiting: self.workers.waiting(),
            jobs: self.jobs.count(),
            evictions: self.store.evictions.load(Ordering::Relaxed),
        }
    }

    /// The caller of a request, by its token.
    fn identify(&self, headers: &HeaderMap) -> Result<Identity, Problem> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let Some(tokens) = &*tokens else {
            return check_local(headers).map(|()| Identity::anonymous());
        };
        let token = headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
        token.and_then(|token| tokens.find(token)).cloned().ok_or_else(|| {
            let detail = "a header `Authorization: Bearer TOKEN` with a token of this server is needed";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        })
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
}

/// Fails for requests that pages of other sites make a browser of this machine send, which tokens would keep out.
fn check_local(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or(""));
    let host = text(header::HOST).unwrap_or("");
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if !matches!(name, "localhost" | "127.0.0.1" | "[::1]") {
        return Err(Problem::forbidden(
            "without tokens only Host: localhost, 127.0.0.1 and [::1] are served",
        ));
    }
    match text(header::ORIGIN) {
        Some(origin) if origin.split_once("://").is_none_or(|(_, authority)| authority != host) => {
            Err(Problem::forbidden("without tokens requests of other sites are refused"))
        }
        _ => Ok(()),
    }
}

/// Lets a request through if its caller may do what the route asks for.
pub(crate) async fn authorize(
    State((app, scope)): State<(App, Scope)>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let identity = app.identify(request.headers())?;
    check_scope(&identity, scope)?;
    request.extensions_mut().insert(identity);
    Ok(next.run(request).await)
}

pub(crate) fn check_scope(identity: &Identity, scope: Scope) -> Result<(), Problem> {
    if identity.may(scope) {
        return Ok(());
    }
    Err(Problem::forbidden(format!("the token lacks the scope `{scope}`")))
}

/// The operation of a request, by which it is counted; handlers put it into the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationName(pub(crate) &'static str);

/// Gives every request a number, and counts and logs its answer. Headers are never logged.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = format!("{:x}-{:x}", app.started, app.requests.fetch_add(1, Ordering::Relaxed));
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let mut response = next.run(request).await.into_response();
    let (time, code) = (begun.elapsed(), response.status().as_u16());
    let route = match response.extensions().get::<OperationName>() {
        Some(operation) => operation.0,
        None => route.as_deref().unwrap_or("none"),
    };
    app.metrics.observe(&format!("{method} {route}"), code, time);
    tracing::info!(id, %method, route, code, ms = time.as_secs_f64() * 1e3, "request");
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", id);
    }
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
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
        assert!(check_local(&headers(&[(HOST, "rebound.example:8700")])).is_err());
        assert!(check_local(&headers(&[(HOST, "localhost:8700"), (ORIGIN, "https://a.example")])).is_err());
        assert!(check_local(&headers(&[(HOST, "localhost:8700"), (ORIGIN, "null")])).is_err());
    }
}
