//! Requests that the front end sends on to a worker.

use super::supervisor::Supervisor;
use super::{BODY_READ, IDENTITY};
use crate::lock::lock;
use crate::problem::Problem;
use crate::security::auth::Identity;
use axum::Extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, Version, header};
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Time in which a worker that is ready must accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Connections that may wait for a next request; beyond these, new ones are made.
const IDLE_CONNECTIONS: usize = 64;

/// Connections to the worker on which a whole exchange has passed.
#[derive(Debug, Default)]
pub(super) struct IdleConnections(Mutex<Vec<SendRequest<Gated>>>);

impl IdleConnections {
    /// One whose last answer was read to its end, if there is one.
    fn take(&self) -> Option<SendRequest<Gated>> {
        let mut connections = lock(&self.0);
        let ready = connections.iter().rposition(SendRequest::is_ready)?;
        Some(connections.swap_remove(ready))
    }

    fn put(&self, connection: SendRequest<Gated>) {
        let mut connections = lock(&self.0);
        connections.retain(|connection| !connection.is_closed());
        if connections.len() < IDLE_CONNECTIONS {
            connections.push(connection);
        }
    }
}

impl Supervisor {
    /// A connection to a worker that is ready, new or used before.
    async fn connect(&self) -> Result<SendRequest<Gated>, Problem> {
        let began = Instant::now();
        loop {
            self.ready().await?;
            if let Some(connection) = self.idle.take() {
                return Ok(connection);
            }
            match UnixStream::connect(&self.socket).await {
                Ok(stream) => {
                    let (sender, connection) =
                        http1::handshake(TokioIo::new(stream)).await.map_err(Problem::unavailable)?;
                    tokio::spawn(async move {
                        connection.await.unwrap_or_else(|error| tracing::debug!("worker: {error}"));
                    });
                    return Ok(sender);
                }
                // It has just ended, and nobody knows yet.
                Err(_) if began.elapsed() < CONNECT_TIME => sleep(Duration::from_millis(10)).await,
                Err(error) => return Err(Problem::unavailable(format!("{}: {error}", self.name))),
            }
        }
    }

    /// Sends a request, and returns the answer once its header is there.
    ///
    /// The connection serves another request only if the worker says that it has read the body: it closes one with a
    /// body that it did not read, perhaps while the next request is sent.
    async fn send(&self, mut request: Request<Gated>) -> Result<Response, Problem> {
        let began = Instant::now();
        loop {
            let mut connection = self.connect().await?;
            match connection.try_send_request(request).await {
                Ok(mut response) => {
                    response.headers_mut().remove(header::CONNECTION);
                    // That of a copy has no length and no end.
                    let has_end = response.body().size_hint().exact().is_some();
                    if response.headers_mut().remove(BODY_READ).is_some() && has_end {
                        self.idle.put(connection);
                    }
                    return Ok(response.map(Body::new));
                }
                Err(mut failed) => match failed.take_message() {
                    // The worker has ended since the last request, and has nothing of this one.
                    Some(unsent) if began.elapsed() < CONNECT_TIME => request = unsent,
                    _ => return Err(self.unanswered(&failed.into_error())),
                },
            }
        }
    }

    /// The problem of a request that was sent, at least in part, and has no answer.
    fn unanswered(&self, error: &hyper::Error) -> Problem {
        if error.is_user() {
            let reason = error.source().unwrap_or(error);
            return Problem::bad_request(format!("the body broke off: {reason}"));
        }
        tracing::error!("{}: {error}", self.name);
        Problem::unavailable(format!(
            "{} ended while it had this request: what it held is lost or on disk, as GET /v1/matrices says, and the \
             next one starts",
            self.name
        ))
    }

    /// Sends a request on, for its caller.
    pub(super) async fn forward(&self, identity: &Identity, request: Request) -> Result<Response, Problem> {
        let (mut head, body) = request.into_parts();
        head.uri = path_of(&head.uri).parse::<Uri>().map_err(Problem::internal)?;
        head.version = Version::HTTP_11;
        for hop in [header::CONNECTION, header::AUTHORIZATION, header::EXPECT] {
            head.headers.remove(hop);
        }
        head.headers.insert(IDENTITY, header_of(identity)?);
        let mut request = Request::from_parts(head, Gated { body, gate: None });
        if request.body().size_hint().upper().is_none_or(|bytes| bytes > SMALL_BODY) {
            wait_for_continue(&mut request);
        }
        self.send(request).await
    }

    /// Sends a request without a body, for a caller.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        identity: &Identity,
    ) -> Result<Response, Problem> {
        let mut request = Request::new(Gated { body: Body::empty(), gate: None });
        *request.method_mut() = method;
        *request.uri_mut() = path.parse::<Uri>().map_err(Problem::internal)?;
        request.headers_mut().insert(IDENTITY, header_of(identity)?);
        self.send(request).await
    }
}

/// The part of an address after the host.
pub(super) fn path_of(address: &Uri) -> String {
    address.path_and_query().map_or("/", |path| path.as_str()).to_owned()
}

fn header_of(identity: &Identity) -> Result<HeaderValue, Problem> {
    let identity = serde_json::to_string(identity).map_err(Problem::internal)?;
    HeaderValue::from_str(&identity).map_err(Problem::internal)
}

/// Sends a request on, for its caller.
pub(crate) async fn forward(
    State(supervisor): State<Arc<Supervisor>>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Result<Response, Problem> {
    supervisor.forward(&identity, request).await
}

/// The body of an answer, whole.
pub(super) async fn body_of(response: Response) -> Result<Bytes, Problem> {
    Ok(response.into_body().collect().await.map_err(Problem::unavailable)?.to_bytes())
}

/// The body of an answer in JSON.
pub(super) async fn json_of(response: Response) -> Result<Value, Problem> {
    serde_json::from_slice(&body_of(response).await?).map_err(Problem::internal)
}

/// Bodies of so many bytes are sent with their header.
const SMALL_BODY: u64 = 1 << 16;

/// Lets a body wait until the worker asks for it, so that none is taken from the client that the worker refuses.
fn wait_for_continue(request: &mut Request<Gated>) {
    request.headers_mut().insert(header::EXPECT, HeaderValue::from_static("100-continue"));
    let asked = Arc::new(Notify::new());
    let waiting = asked.clone();
    request.body_mut().gate = Some(Box::pin(async move { waiting.notified().await }));
    hyper::ext::on_informational(request, move |response| {
        if response.status() == StatusCode::CONTINUE {
            asked.notify_one();
        }
    });
}

/// A body whose first byte is not read before its gate is open.
pub(super) struct Gated {
    body: Body,
    gate: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl std::fmt::Debug for Gated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gated").field("is_open", &self.gate.is_none()).finish()
    }
}

impl HttpBody for Gated {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(gate) = &mut self.gate {
            ready!(gate.as_mut().poll(context));
            self.gate = None;
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
