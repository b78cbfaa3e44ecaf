//! Starts the worker process of a device from the front end, watches it, and replaces it when it ends.

use super::forward::IdleConnections;
use super::{MARK, READY, STOP, Settings};
use crate::config::{Config, Limits};
use crate::error::StartError;
use crate::limits::usage::Usages;
use crate::problem::Problem;
use prometheus_client::metrics::counter::Counter;
use std::fmt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy, sink};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Makes the command that starts a worker process: the same program, which calls
/// [`serve_as_worker`](super::serve_as_worker) with the device that it is to serve.
#[derive(Clone)]
pub struct WorkerCommand(Arc<dyn Fn() -> std::process::Command + Send + Sync>);

impl WorkerCommand {
    /// A worker is started by what `command` returns, with pipes for stdin and stdout.
    ///
    /// ```
    /// use sparse_server::WorkerCommand;
    /// use std::process::Command;
    ///
    /// let worker = WorkerCommand::new(|| {
    ///     let mut command = Command::new("/usr/local/bin/my-server");
    ///     command.arg("--worker");
    ///     command
    /// });
    /// ```
    pub fn new(command: impl Fn() -> std::process::Command + Send + Sync + 'static) -> Self {
        Self(Arc::new(command))
    }

    /// The command for the next worker.
    ///
    /// ```
    /// # use sparse_server::WorkerCommand;
    /// let worker = WorkerCommand::new(|| std::process::Command::new("my-server"));
    /// assert_eq!(worker.command().get_program(), "my-server");
    /// ```
    pub fn command(&self) -> std::process::Command {
        (self.0)()
    }
}

impl fmt::Debug for WorkerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorkerCommand").field(&self.command()).finish()
    }
}

/// The state of the worker, as requests see it.
#[derive(Debug, Clone)]
enum State {
    Ready,
    /// The next one starts, or will.
    Starting,
    /// The worker failed to start so often that no further attempt is made.
    GivenUp(String),
}

/// The phases of the end of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Phase {
    Serving,
    /// No new requests come.
    Stopping,
    /// All requests were answered.
    Ending,
}

/// Knows whether the worker is ready, and where it listens.
#[derive(Debug)]
pub(crate) struct Supervisor {
    /// The worker in messages.
    pub(super) name: String,
    pub(super) socket: PathBuf,
    pub(super) idle: IdleConnections,
    /// The usage of tenants on the device.
    pub(super) usages: Usages,
    state: watch::Sender<State>,
    phase: watch::Sender<Phase>,
}

/// A worker that runs, with what is needed to start the next.
#[derive(Debug)]
pub(crate) struct Supervision {
    supervisor: Arc<Supervisor>,
    command: WorkerCommand,
    settings: Settings,
    worker: Running,
}

/// Time that a process has to end that has closed its pipes, or has no more requests and jobs.
const END_TIME: Duration = Duration::from_secs(1);

/// The process of a worker.
#[derive(Debug)]
struct Running {
    child: Child,
    /// The worker's stdin; the worker ends when it is closed.
    stdin: ChildStdin,
}

/// The longest time for which a request waits for a worker that starts.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl Supervisor {
    /// Waits until the worker is ready, but not for long.
    pub(super) async fn ready(&self) -> Result<(), Problem> {
        let mut state = self.state.subscribe();
        let decided = state.wait_for(|state| !matches!(state, State::Starting));
        match timeout(LONGEST_WAIT, decided).await {
            Ok(Ok(_)) => self.check(),
            _ => Err(self.is_starting()),
        }
    }

    /// Fails with what is wrong if the worker is not ready now.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        match &*self.state.borrow() {
            State::Ready => Ok(()),
            State::Starting => Err(self.is_starting()),
            State::GivenUp(reason) => {
                Err(Problem::unavailable(format!("{} is given up, it does not start: {reason}", self.name)))
            }
        }
    }

    fn is_starting(&self) -> Problem {
        Problem::unavailable(format!("{} has ended, and the next one starts: try again", self.name))
    }

    /// Lets the worker finish or end its jobs; requests may still come.
    pub(crate) fn stop(&self) {
        self.phase.send_replace(Phase::Stopping);
    }

    /// Lets the worker end.
    pub(crate) fn end(&self) {
        self.phase.send_replace(Phase::Ending);
    }

    async fn reached(&self, phase: Phase) {
        // The sender is in `self`, and outlives the wait.
        let _ = self.phase.subscribe().wait_for(|now| *now >= phase).await;
    }
}

impl Supervision {
    /// Starts the first worker.
    pub(crate) async fn start(
        config: Config,
        service: String,
        command: WorkerCommand,
        (device, quota): (Option<usize>, Option<u64>),
    ) -> Result<Self, StartError> {
        let settings = Settings { config, service, generation: 0, device, quota };
        let worker = Running::start(&command, &settings).await.map_err(|reason| {
            let of_device = device.map(|device| format!("device {device}: ")).unwrap_or_default();
            StartError::Worker(of_device + &reason)
        })?;
        let supervisor = Arc::new(Supervisor {
            socket: Settings::socket(&settings.config.data),
            name: device.map_or_else(
                || "the worker process".into(),
                |device| format!("the worker process of device {device}"),
            ),
            idle: IdleConnections::default(),
            usages: Usages::default(),
            state: watch::Sender::new(State::Ready),
            phase: watch::Sender::new(Phase::Serving),
        });
        Ok(Self { supervisor, command, settings, worker })
    }

    pub(crate) fn supervisor(&self) -> Arc<Supervisor> {
        self.supervisor.clone()
    }

    /// Replaces each worker that ends, until the service has.
    pub(crate) async fn run(mut self, restarts: Counter) {
        let supervisor = self.supervisor();
        loop {
            tokio::select! {
                ended = self.worker.child.wait() => report_end(ended),
                () = supervisor.reached(Phase::Stopping) => return self.finish().await,
            }
            supervisor.state.send_replace(State::Starting);
            let replaced = tokio::select! {
                replaced = self.replace() => replaced,
                () = supervisor.reached(Phase::Stopping) => return,
            };
            match replaced {
                Ok(()) => {
                    restarts.inc();
                    supervisor.state.send_replace(State::Ready);
                }
                Err(reason) => {
                    tracing::error!("the worker process is given up: {reason}");
                    supervisor.state.send_replace(State::GivenUp(reason));
                    return;
                }
            }
        }
    }

    /// Starts the next worker; fails with the last reason if that fails too often.
    async fn replace(&mut self) -> Result<(), String> {
        let Limits { worker_attempts, worker_delay, .. } = self.settings.config.limits;
        let (mut attempt, mut delay) = (1, worker_delay);
        loop {
            self.settings.generation += 1;
            match Running::start(&self.command, &self.settings).await {
                Ok(worker) => {
                    self.worker = worker;
                    return Ok(());
                }
                Err(reason) if attempt >= worker_attempts => return Err(reason),
                Err(reason) => tracing::error!("the worker process does not start: {reason}"),
            }
            sleep(delay).await;
            (attempt, delay) = (attempt + 1, delay.saturating_mul(2));
        }
    }

    /// Lets the worker end its jobs, then itself; one that takes too long is killed.
    async fn finish(mut self) {
        let deadline = Instant::now() + self.settings.config.limits.drain_time + END_TIME;
        let asked = self.worker.stdin.write_all(format!("{STOP}\n").as_bytes()).await;
        self.supervisor.reached(Phase::Ending).await;
        drop(self.worker.stdin);
        match timeout_at(deadline, self.worker.child.wait()).await {
            Ok(ended) if asked.is_ok() => tracing::info!("the worker process has ended: {ended:?}"),
            Ok(ended) => report_end(ended),
            // It is killed when it is dropped.
            Err(_) => tracing::warn!("{} does not end, and is killed", self.supervisor.name),
        }
    }
}

fn report_end(ended: std::io::Result<ExitStatus>) {
    match ended {
        Ok(status) => tracing::error!("the worker process has ended: {status}"),
        Err(error) => tracing::error!("the worker process: {error}"),
    }
}

impl Running {
    /// Starts a worker, and waits until it is ready or says why it is not.
    async fn start(command: &WorkerCommand, settings: &Settings) -> Result<Self, String> {
        let mut command = Command::from(command.command());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{:?}: {error}", command.as_std().get_program()))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the process has no pipes".into());
        };
        let settings_line = serde_json::to_string(settings).map_err(|error| error.to_string())?;
        let started = async {
            stdin.write_all(format!("{settings_line}\n").as_bytes()).await?;
            read_start_line(stdout).await
        };
        let start_time = settings.config.limits.worker_start_time;
        match timeout(start_time, started).await {
            Err(_) => Err(format!("it was not ready after {start_time:?}")),
            Ok(Ok(Some(said))) if said == READY => Ok(Self { child, stdin }),
            Ok(Ok(Some(said))) => Err(said),
            Ok(Ok(None)) | Ok(Err(_)) => match timeout(END_TIME, child.wait()).await {
                Ok(Ok(status)) => Err(format!("it ended at its start: {status}")),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err("it closed its pipes at its start".into()),
            },
        }
    }
}

/// The worker's output after its start mark; `None` if it ends before.
async fn read_start_line(stdout: ChildStdout) -> std::io::Result<Option<String>> {
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next_line().await? {
        // The program may have begun the line.
        if let Some((_, said)) = line.split_once(MARK) {
            // Nobody reads what else the program may print, which must not block it.
            tokio::spawn(async move { copy(&mut lines.into_inner(), &mut sink()).await });
            return Ok(Some(said.into()));
        }
    }
    Ok(None)
}
