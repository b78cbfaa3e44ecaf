//! The server: accepts connections, and finishes what is in flight when it stops.

use crate::config::Config;
use crate::connection::layered::Layered;
use crate::connection::lingering::{Lingering, Unfinished};
use crate::connection::peers::{PeerPermit, Peers};
use crate::connection::slow_clients::Trickle;
use crate::connection::write_timeout::WriteTimeout;
use crate::device_state::DeviceState;
use crate::durable::{Disk, check_folders};
use crate::error::StartError;
use crate::front_end::{ComputeProcess, FrontEnd};
use crate::memory::heap;
use crate::memory::ledger::Ledger;
use crate::objects::{HostTier, Store};
#[cfg(feature = "otel")]
use crate::observability::traces::Traces;
#[cfg(unix)]
use crate::process::{DeviceWorkers, WorkerCommand};
use crate::routes;
use crate::security::tls::Tls;
use axum::Router;
use axum::http::header;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use nnz::Device;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Bytes that the header of a request may have.
const HEADER_BYTES: usize = 64 << 10;

/// Bytes of a connection that are read at once where they come fast; where they do not, few are asked for.
const BUFFER_BYTES: usize = 256 << 10;

/// Open connections from which on a new one has a smaller buffer, which stays while the connection pauses.
const MANY_CONNECTIONS: usize = 64;

/// Bytes of that buffer, in which a header has to fit.
const BUFFER_BYTES_OF_MANY: usize = HEADER_BYTES;

/// The longest part of the time for requests in flight in which those that are not finished are told so. It is a tenth
/// where that is less.
const LONGEST_ANSWER_TIME: Duration = Duration::from_secs(1);

/// The process that holds the matrices of a server and computes with them.
#[derive(Debug)]
#[non_exhaustive]
pub enum Compute {
    /// The server itself, on this device.
    Here(Device),
    /// A worker process for each device, which the server starts, watches and replaces when it ends.
    #[cfg(unix)]
    InWorkers(Vec<WorkerCommand>),
}

impl From<Device> for Compute {
    fn from(device: Device) -> Self {
        Self::Here(device)
    }
}

#[cfg(unix)]
impl From<Vec<WorkerCommand>> for Compute {
    fn from(commands: Vec<WorkerCommand>) -> Self {
        Self::InWorkers(commands)
    }
}

#[cfg(unix)]
impl From<WorkerCommand> for Compute {
    fn from(command: WorkerCommand) -> Self {
        Self::InWorkers(vec![command])
    }
}

/// A server that listens, and answers once it runs.
#[derive(Debug)]
pub struct Server {
    config: Config,
    front_end: FrontEnd,
    /// Background tasks, which end after the last request.
    background: JoinHandle<()>,
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    #[cfg(feature = "otel")]
    traces: Option<Traces>,
}

impl Server {
    /// Checks the settings, recovers durable objects and listens.
    ///
    /// # Errors
    /// [`StartError`] with what would have been right.
    ///
    /// ```
    /// use sparse_server::{Config, Server};
    ///
    /// # let data = tempfile::tempdir()?;
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let server = Server::start(Config::new(data.path(), 1 << 20), "cpu".parse::<nnz::Device>().unwrap()).await?;
    /// let stop = async {}; // at once
    /// server.run(stop).await
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn start(config: Config, compute: impl Into<Compute>) -> Result<Self, StartError> {
        Self::start_with(config, compute.into()).await
    }

    async fn start_with(config: Config, compute: Compute) -> Result<Self, StartError> {
        config.check()?;
        let tls = config.tls.as_ref().map(Tls::read).transpose()?.map(Arc::new);
        let listen = config.listen;
        let listener =
            TcpListener::bind(listen).await.map_err(|source| StartError::Listen { listen, source })?;
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let service = format!("{started:x}");
        #[cfg(feature = "otel")]
        let traces = Traces::of(&config, &service)?;
        let (front_end, background) = match compute {
            Compute::Here(device) => {
                check_folders(&config.data, 1)?;
                let (disk, recovered) = Disk::open(&config.data, None)?;
                let ledger = Ledger::new(config.memory, config.quota(1));
                let host_tier = HostTier::open(&device, config.host_memory)?;
                let mut store = Store::new((device, None), (ledger, host_tier), disk, recovered);
                store.tenant_storage = config.tenant_storage;
                let state = DeviceState::new(config.clone(), store, &service, None);
                let compute = ComputeProcess::ThisProcess(state.clone());
                (FrontEnd::new(&config, service, compute)?, tokio::spawn(state.delete_expired()))
            }
            #[cfg(unix)]
            Compute::InWorkers(commands) => {
                check_folders(&config.data, commands.len())?;
                let (workers, supervisions) = DeviceWorkers::start(&config, &service, commands).await?;
                let compute = ComputeProcess::Workers(workers.clone());
                let front_end = FrontEnd::new(&config, service, compute)?;
                let restarts = front_end.metrics.restarts.clone();
                (front_end, tokio::spawn(workers.run(supervisions, restarts)))
            }
        };
        front_end.audit.event("start", None);
        Ok(Self {
            config,
            front_end,
            background,
            listener,
            tls,
            #[cfg(feature = "otel")]
            traces,
        })
    }

    /// The address that the server listens on.
    ///
    /// # Errors
    /// The operating system's.
    pub fn address(&self) -> Result<SocketAddr, StartError> {
        Ok(self.listener.local_addr()?)
    }

    /// The action of SIGHUP: it reads the files of tokens and certificates again.
    fn reload(&self) -> impl Fn() + 'static {
        let (front_end, tls) = (self.front_end.clone(), self.tls.clone());
        move || {
            front_end.read_again("tokens", FrontEnd::read_tokens);
            if let Some(tls) = &tls {
                front_end.read_again("certificates", |_| tls.read_again());
            }
        }
    }

    /// Answers requests until `stop` is ready, and then finishes those in flight.
    ///
    /// # Errors
    /// Those of the operating system that no later connection can mend.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), StartError> {
        let connections = GracefulShutdown::new();
        self.serve_until(stop, &connections).await;
        self.front_end.is_stopping.store(true, Ordering::Relaxed);
        drop(self.listener);
        self.front_end.audit.event("stop", None);
        tracing::info!("stopping: requests in flight are finished");
        finish(&self.front_end, connections, self.config.limits.drain_time).await;
        self.front_end.end(self.background).await;
        #[cfg(feature = "otel")]
        Traces::end(self.traces).await;
        Ok(())
    }

    /// Accepts connections until `stop` is ready, and serves each in a task of its own.
    async fn serve_until(&self, stop: impl Future<Output = ()>, connections: &GracefulShutdown) {
        let limits = &self.config.limits;
        let (header_time, idle_time, least_rate) = (limits.header_time, limits.idle_time, limits.least_rate);
        let permits = Arc::new(Semaphore::new(limits.connections));
        let peers = Peers::new(limits.connections);
        let router = routes::router(&self.front_end);
        #[cfg(feature = "otel")]
        let router = Traces::watch(self.traces.as_ref(), router);
        let mut stop = std::pin::pin!(stop);
        loop {
            let permit = permits.clone();
            let stream = tokio::select! {
                () = &mut stop => break,
                accepted = accept(&self.listener, &peers, permit) => accepted,
            };
            let Some((stream, permit)) = stream else { continue };
            let (router, watcher) = (router.clone(), connections.watcher());
            let link = self.front_end.metrics.link.clone();
            let tls = self.tls.as_ref().map(|tls| tls.acceptor());
            let open = limits.connections - permits.available_permits();
            let buffer_bytes = if open > MANY_CONNECTIONS { BUFFER_BYTES_OF_MANY } else { BUFFER_BYTES };
            tokio::spawn(async move {
                let stream = Layered::new(stream, WriteTimeout::new(idle_time, least_rate));
                let (trickle, settings) =
                    (Trickle::new(link), connection_settings(header_time, buffer_bytes));
                match tls {
                    None => serve(Layered::new(stream, trickle), router, watcher, settings).await,
                    Some(tls) => match timeout(header_time, tls.accept(stream)).await {
                        Ok(Ok(stream)) => {
                            serve(Layered::new(stream, trickle), router, watcher, settings).await
                        }
                        Ok(Err(error)) => tracing::debug!("TLS: {error}"),
                        Err(_) => tracing::debug!("TLS: the handshake takes too long"),
                    },
                }
                drop(permit);
            });
        }
    }
}

/// Waits for the requests and jobs in flight, up to `drain_time`; requests that are left then are answered 503.
async fn finish(front_end: &FrontEnd, connections: GracefulShutdown, drain_time: Duration) {
    let answer_time = (drain_time / 10).min(LONGEST_ANSWER_TIME);
    let finish = async {
        tokio::join!(connections.shutdown(), front_end.drain_jobs());
        // The requests that were in flight may have made more.
        front_end.drain_jobs().await;
    };
    let close = async {
        sleep(drain_time - answer_time).await;
        tracing::warn!("the requests that are still in flight are answered 503");
        front_end.closing.cancel();
        sleep(answer_time).await;
        tracing::warn!("stopping after {drain_time:?} with requests or jobs in flight");
    };
    tokio::select! {
        () = finish => (),
        () = close => (),
    }
}

/// The right to one connection, of those of its peer and of all. Its peer's ends first: there is always one for who has
/// the other.
type Permit = (PeerPermit, OwnedSemaphorePermit);

/// The next connection, once one more may be open; none if its peer has as many as it may have.
async fn accept(
    listener: &TcpListener,
    peers: &Peers,
    permits: Arc<Semaphore>,
) -> Option<(TcpStream, Permit)> {
    let permit = permits.acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => {
            let Ok(of_peer) = peers.admit(address.ip()) else {
                tracing::debug!("{} has too many connections: one more is closed", address.ip());
                return None;
            };
            // Without it answers only come later.
            let _ = stream.set_nodelay(true);
            Some((stream, (of_peer, permit)))
        }
        Err(error) => {
            tracing::warn!("accepting a connection: {error}");
            // Of too many open files there are fewer after a while.
            sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

/// The settings of a connection, with the time for a header and the bytes of buffers.
fn connection_settings(header_time: Duration, buffer_bytes: usize) -> http1::Builder {
    let mut settings = http1::Builder::new();
    settings
        .timer(TokioTimer::new())
        .header_read_timeout(header_time)
        .max_header_size(HEADER_BYTES)
        .max_buf_size(buffer_bytes);
    settings
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    watcher: Watcher,
    settings: http1::Builder,
) {
    let unfinished = Unfinished::default();
    let stream = Layered::new(stream, Lingering::new(unfinished.clone()));
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let (answer, unfinished) = (router.call(request), unfinished.clone());
        async move {
            let answer = answer.await?;
            // Answers that leave a body unread have this header.
            unfinished.set(answer.headers().contains_key(header::CONNECTION));
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = settings.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!("connection: {error}");
    }
}

/// Serves until the process is asked to stop (SIGTERM, SIGINT); `ready` learns the address. SIGHUP reads the tokens
/// and the certificates again.
///
/// `compute` is called once signals are listened to, and opens the device: LLVM, which PoCL compiles kernels with, ends
/// the process by the handlers that were there before its own.
///
/// # Errors
/// Those of `compute`, [`Server::start`] and [`Server::run`].
pub fn serve_until_stopped<E: From<StartError>>(
    config: Config,
    compute: impl FnOnce() -> Result<Compute, E>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), E> {
    let mut failure = None;
    let compute = || compute().map_err(|error| failure = Some(error)).ok();
    let served = serve_by_new_runtime(config, Box::new(compute), Box::new(ready));
    failure.map_or(served.map_err(E::from), Err)
}

/// Not generic, so that the server is compiled here and not in each program that starts it. Without something to
/// compute with it does nothing.
fn serve_by_new_runtime(
    config: Config,
    compute: Box<dyn FnOnce() -> Option<Compute> + '_>,
    ready: Box<dyn FnOnce(SocketAddr) + '_>,
) -> Result<(), StartError> {
    heap::limit_arenas();
    raise_file_limit();
    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(async {
        let signals = Signals::listen()?;
        let Some(compute) = compute() else { return Ok(()) };
        let server = Server::start(config, compute).await?;
        let stop = signals.stop(server.reload());
        ready(server.address()?);
        tokio::spawn(heap::return_freed_memory());
        server.run(stop).await
    });
    // An operation that cannot stop does not keep the process.
    runtime.shutdown_background();
    served
}

/// Lets this process, and its workers, have as many open files as the system allows: 1024 by default are less than the
/// connections and the files that they name.
#[cfg(unix)]
fn raise_file_limit() {
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!("the limit of open files stays as it is: {error}");
    }
}

#[cfg(not(unix))]
fn raise_file_limit() {}

/// The signals of a server.
#[cfg(unix)]
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    reload: Signal,
}

#[cfg(unix)]
impl Signals {
    /// Listens to signals, which no longer end the process.
    fn listen() -> Result<Self, StartError> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            reload: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal to stop.
    async fn stop(mut self, reload: impl Fn()) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.reload.recv() => reload(),
            }
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> Result<Self, StartError> {
        Ok(Self)
    }

    async fn stop(self, _: impl Fn()) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!("waiting for Ctrl-C: {error}");
        }
    }
}
