//! The worker process of a device: a server of one process, which the front end reaches over a Unix socket.

use super::limits;
use super::{BODY_READ, IDENTITY, MARK, READY, STOP, Settings};
use crate::device_state::DeviceState;
use crate::durable::Disk;
use crate::error::StartError;
use crate::lock::lock;
use crate::memory::heap;
use crate::memory::ledger::Ledger;
use crate::objects::{HostTier, Store};
#[cfg(feature = "otel")]
use crate::observability::traces::Traces;
use crate::problem::Problem;
use crate::routes;
use crate::security::auth::Identity;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use nnz::Device;
use std::fmt::Display;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Serves as the worker process that a front end has started by its [`WorkerCommand`](super::WorkerCommand), with the
/// device that `open` opens. The process ends with the front end, and at once if that is killed.
///
/// # Errors
/// A device that cannot be opened and a folder of data that cannot be used, of which the front end is told.
pub fn serve_as_worker<E: Display>(open: impl FnOnce() -> Result<Device, E>) -> Result<(), StartError> {
    serve(Box::new(|| open().map_err(|error| StartError::Device(error.to_string()))))
}

/// Opens the device of a worker.
type Open<'a> = Box<dyn FnOnce() -> Result<Device, StartError> + 'a>;

/// Not generic, so that the worker is compiled here and not in each program that can be one.
fn serve(open: Open<'_>) -> Result<(), StartError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let settings = serde_json::from_str(&line).map_err(|error| StartError::Worker(error.to_string()))?;
    heap::limit_arenas();
    let front_end = Listen::start();
    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(async {
        match Worker::start(settings, open) {
            Ok(worker) => {
                tell(READY);
                worker.run(front_end).await
            }
            Err(error) => {
                tell(&error.to_string().replace('\n', " "));
                Err(error)
            }
        }
    });
    // An operation that cannot stop does not keep the process.
    runtime.shutdown_background();
    served
}

/// Tells the front end how the start went.
fn tell(what: &str) {
    // Without a front end there is nobody to tell.
    let _ = writeln!(io::stdout().lock(), "{MARK}{what}");
}

/// The signals of the front end.
struct Listen {
    /// Signals that no more requests come, except those under way.
    stop: oneshot::Receiver<()>,
    /// Signals that all requests were answered.
    end: oneshot::Receiver<()>,
}

impl Listen {
    /// Reads them on a thread, which ends the process if the front end is gone without a word.
    fn start() -> Self {
        let ((tell_stop, stop), (tell_end, end)) = (oneshot::channel(), oneshot::channel());
        std::thread::spawn(move || {
            let mut lines = io::stdin().lock().lines();
            if !matches!(lines.next(), Some(Ok(line)) if line == STOP) {
                tracing::error!("the front end is gone");
                std::process::exit(1);
            }
            // Their receivers are there as long as the worker serves.
            let _ = tell_stop.send(());
            lines.for_each(drop);
            let _ = tell_end.send(());
        });
        Self { stop, end }
    }
}

/// A worker that listens.
struct Worker {
    state: DeviceState,
    listener: UnixListener,
    #[cfg(feature = "otel")]
    traces: Option<Traces>,
}

impl Worker {
    fn start(settings: Settings, open: Open<'_>) -> Result<Self, StartError> {
        let Settings { config, service, generation, device: number, quota } = settings;
        // Before the device is opened, for the reason that `serve_until_stopped` has.
        ignore_signals()?;
        let device = open()?;
        let (disk, recovered) = Disk::open(&config.data, Some(generation))?;
        let listener = listen(&config.data)?;
        let ledger = Ledger::new(config.memory, quota);
        let host_tier = HostTier::open(&device, config.host_memory)?;
        let mut store = Store::new((device, number), (ledger, host_tier), disk, recovered);
        store.tenant_storage = config.tenant_storage;
        Ok(Self {
            #[cfg(feature = "otel")]
            traces: Traces::of(&config, &format!("{service} worker {generation}"))?,
            state: DeviceState::new(config, store, &service, Some(generation)),
            listener,
        })
    }

    /// Answers the front end's requests until it has no more.
    async fn run(self, front_end: Listen) -> Result<(), StartError> {
        #[cfg(feature = "otel")]
        let traces = self.traces;
        let (state, listener) = (self.state, self.listener);
        tokio::spawn(state.clone().delete_expired());
        tokio::spawn(heap::return_freed_memory());
        tokio::spawn(end_with_device(state.clone()));
        let router = routes::worker_router(&state);
        #[cfg(feature = "otel")]
        let router = Traces::watch(traces.as_ref(), router);
        tokio::spawn(accept(listener, router));
        // If the thread that listens is gone, so is the process.
        let _ = front_end.stop.await;
        let (drain_time, jobs) = (state.config.limits.drain_time, state.clone());
        let deadline = Instant::now() + drain_time;
        tokio::spawn(async move { jobs.jobs.drain().await });
        let _ = front_end.end.await;
        // The requests that were in flight may have made more.
        if timeout_at(deadline, state.jobs.drain()).await.is_err() {
            tracing::warn!("stopping after {drain_time:?} with jobs in flight");
        }
        #[cfg(feature = "otel")]
        Traces::end(traces).await;
        Ok(())
    }
}

/// Listens in a folder that nobody else may enter.
fn listen(data: &Path) -> Result<UnixListener, StartError> {
    let (folder, socket) = (Settings::socket_folder(data), Settings::socket(data));
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| StartError::file(&folder, error))?;
    let removed = match fs::remove_file(&socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    removed.and_then(|()| UnixListener::bind(&socket)).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => StartError::file(
            &socket,
            "the path of a socket is too long: name a folder of data with a shorter one",
        ),
        _ => StartError::file(&socket, error),
    })
}

/// Leaves signals that a terminal or systemd sends to all processes of a service to the front end.
fn ignore_signals() -> io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        // Once a signal was listened to it no longer ends the process.
        drop(signal(kind)?);
    }
    Ok(())
}

/// Ends the process once its device is of no more use: the next one opens it anew.
async fn end_with_device(state: DeviceState) {
    let failure = state.device_failure().await;
    tracing::error!("the worker ends, since its device fails: {failure}");
    std::process::exit(1);
}

async fn accept(listener: UnixListener, router: Router) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let service = TowerToHyperService::new(router.clone());
                tokio::spawn(async move {
                    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                    served.unwrap_or_else(|error| tracing::debug!("connection: {error}"));
                });
            }
            Err(error) => {
                tracing::warn!("accepting a connection: {error}");
                // Of too many open files there are fewer after a while.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Time in which the rest of a body must arrive that no handler has read.
const DISCARD_TIME: Duration = Duration::from_secs(1);

/// Takes the caller of a request from the front end, which has found it by its token, and tells it whether the body was
/// read. A body that comes with its header is read in any case: otherwise the connection would be closed, perhaps
/// before the front end has sent all, and then it would not see the answer.
pub(crate) async fn identify(
    State(state): State<DeviceState>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (mut head, body) = request.into_parts();
    let identity = head.headers.remove(IDENTITY);
    let identity = identity.ok_or_else(|| Problem::internal("the front end names no caller"))?;
    let identity: Identity = serde_json::from_slice(identity.as_bytes()).map_err(Problem::internal)?;
    limits::learn(&state, &identity);
    let tenant = identity.tenant.clone();
    head.extensions.insert(identity);
    let is_awaited = head.headers.contains_key(header::EXPECT);
    let body = SharedBody(Arc::new(Mutex::new(body)));
    let mut response = next.run(Request::from_parts(head, Body::new(body.clone()))).await;
    if !is_awaited {
        // Behind a body that is late the connection is closed.
        let _ = timeout(DISCARD_TIME, discard(body.clone())).await;
    }
    limits::tell(&state, &tenant, &mut response);
    if body.is_end_stream() {
        response.headers_mut().insert(BODY_READ, HeaderValue::from_static("1"));
    }
    Ok(response)
}

async fn discard(mut body: SharedBody) {
    while let Some(Ok(_)) = body.frame().await {}
}

/// A body that its handler reads, and what follows on the handler.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<Body>>);

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *lock(&self.0)).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.0).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).size_hint()
    }
}
