//! The worker processes of a service, one for each device, and the names that are on each.

use super::directory::{Claim, Directory};
use super::distributed::DistributedMatrices;
use super::forward::{body_of, json_of};
use super::keys::KeyDevices;
use super::supervisor::{Supervision, Supervisor, WorkerCommand};
use crate::config::{Config, Limits};
use crate::durable::{empty_folder, folder_of_device};
use crate::error::StartError;
use crate::observability::metrics;
use crate::problem::Problem;
use crate::request::name;
use crate::security::auth::Identity;
use axum::http::{Method, StatusCode};
use prometheus_client::metrics::counter::Counter;
use serde_json::Value;
use std::cmp::Reverse;
use std::future::{Future, pending};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{Instrument, Span};

/// The workers of a service.
#[derive(Debug)]
pub(crate) struct DeviceWorkers {
    pub(super) workers: Vec<Arc<Supervisor>>,
    directory: Arc<Directory>,
    budgets: Mutex<Budgets>,
    pub(super) keys: KeyDevices,
    /// The bytes that a tenant may have on all devices, if that is not all.
    pub(super) quota: Option<u64>,
    /// The bytes that the matrices of a tenant may have, in memory and on disk.
    pub(super) tenant_storage: u64,
    /// The bytes of each device's memory.
    pub(super) memory: u64,
    /// The number of the next copy.
    pub(super) copies: AtomicU64,
    pub(super) distributed: DistributedMatrices,
    /// The folder of bodies that the front end itself receives.
    pub(super) bodies: PathBuf,
    pub(super) limits: Limits,
    service: String,
}

/// The free bytes of each device as they were some time ago, less what was put there since.
#[derive(Debug, Default)]
struct Budgets {
    free: Vec<Option<u64>>,
    asked: Option<Instant>,
}

/// Time for which the free bytes of devices are not asked for again.
const BUDGET_TIME: Duration = Duration::from_secs(1);
/// Time in which a worker must answer a question of the front end's own, or for its part of a list.
pub(super) const QUESTION_TIME: Duration = Duration::from_secs(5);
/// Time between two lists of the names of a device.
const NAMES_PERIOD: Duration = Duration::from_secs(60);

impl DeviceWorkers {
    /// Starts the first worker of each device, and learns the names that it has.
    pub(crate) async fn start(
        config: &Config,
        service: &str,
        commands: Vec<WorkerCommand>,
    ) -> Result<(Arc<Self>, Vec<Supervision>), StartError> {
        let (count, quota) = (commands.len(), config.quota(commands.len()));
        let start = |(device, command)| {
            let config = Config { data: folder_of_device(&config.data, device), ..config.clone() };
            let (service, number) = match count {
                1 => (service.into(), None),
                _ => (format!("{service}{JOB_DEVICE}{device}"), Some(device)),
            };
            tokio::spawn(Supervision::start(config, service, command, (number, quota)))
        };
        let starting: Vec<_> = commands.into_iter().enumerate().map(start).collect();
        let mut supervisions = vec![];
        for starting in starting {
            supervisions.push(starting.await.map_err(|error| StartError::Worker(error.to_string()))??);
        }
        let workers: Vec<_> = supervisions.iter().map(Supervision::supervisor).collect();
        if workers.is_empty() {
            return Err(StartError::Worker("there is no device to start one for".into()));
        }
        let bodies = config.data.join("bodies");
        empty_folder(&bodies)?;
        let workers = Self {
            workers,
            directory: Directory::new(config.limits.longest_request()),
            budgets: Mutex::default(),
            keys: KeyDevices::default(),
            quota,
            tenant_storage: config.tenant_storage,
            memory: config.memory,
            copies: AtomicU64::default(),
            distributed: DistributedMatrices::default(),
            bodies,
            limits: config.limits.clone(),
            service: service.into(),
        };
        if workers.single().is_none() {
            for device in 0..count {
                let updated = workers.update_names(device).await;
                updated.map_err(|problem| StartError::Worker(problem.detail().into()))?;
            }
        }
        Ok((Arc::new(workers), supervisions))
    }

    /// Replaces each worker that ends, until the service has.
    pub(crate) async fn run(self: Arc<Self>, supervisions: Vec<Supervision>, restarts: Counter) {
        let mut watched = JoinSet::new();
        for (number, supervision) in supervisions.into_iter().enumerate() {
            let span = self.single().map_or_else(|| tracing::error_span!("device", number), |_| Span::none());
            watched.spawn(supervision.run(restarts.clone()).instrument(span));
        }
        let ended = async {
            while let Some(ended) = watched.join_next().await {
                ended.unwrap_or_else(|error| tracing::error!("watching a worker: {error}"));
            }
        };
        tokio::select! {
            () = ended => (),
            () = self.keep_names_current() => (),
            () = self.keep_usages_current() => (),
        }
    }

    /// Lets the workers finish or end their jobs; requests may still come.
    pub(crate) fn stop(&self) {
        self.workers.iter().for_each(|worker| worker.stop());
    }

    /// Lets the workers end.
    pub(crate) fn end(&self) {
        self.workers.iter().for_each(|worker| worker.end());
    }

    /// Fails with what is wrong with the first worker if none is ready now.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let first = self.workers[0].check();
        if self.workers.iter().any(|worker| worker.check().is_ok()) { Ok(()) } else { first }
    }

    /// The worker of the only device, if there is one alone.
    pub(crate) fn single(&self) -> Option<&Arc<Supervisor>> {
        if let [worker] = &self.workers[..] { Some(worker) } else { None }
    }

    /// The metrics of the devices whose workers answer.
    pub(crate) async fn metrics(&self) -> Result<String, Problem> {
        let texts =
            self.each(|worker| async move { answer_of(&worker, QUESTION_TIME, metrics_of(&worker)).await });
        let texts: Vec<_> = texts.await.into_iter().flatten().collect();
        metrics::merge(&texts).map_err(Problem::internal)
    }

    /// Asks all workers at once, and returns their answers in the order of devices.
    pub(super) async fn each<T, F>(&self, ask: impl Fn(Arc<Supervisor>) -> F) -> Vec<Result<T, Problem>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Problem>> + Send + 'static,
    {
        let asked: Vec<_> = self.workers.iter().map(|worker| tokio::spawn(ask(worker.clone()))).collect();
        let mut answers = vec![];
        for asked in asked {
            answers.push(asked.await.unwrap_or_else(|error| Err(Problem::internal(error))));
        }
        answers
    }

    /// The device that has a tenant's `name` or `name@version`; none for a name that nothing has.
    pub(super) fn device_of(&self, tenant: &str, text: &str) -> Option<usize> {
        let (name, _) = name::parse(text).ok()?;
        self.directory.find(&key(tenant, name))
    }

    /// True if the caller has a matrix of this `name`, or this `name@version`.
    pub(crate) async fn has_matrix(&self, identity: &Identity, text: &str) -> Result<bool, Problem> {
        if self.distributed.find(&identity.tenant, text).is_ok_and(|found| found.is_some()) {
            return Ok(true);
        }
        let device = self.single().map_or_else(|| self.device_of(&identity.tenant, text), |_| Some(0));
        let Some(worker) = device.map(|device| &self.workers[device]) else { return Ok(false) };
        let path = format!("/v1/matrices/{text}");
        let answer = in_time(worker, QUESTION_TIME, worker.ask(Method::GET, &path, identity)).await?;
        match answer.status() {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            status => Err(Problem::unavailable(format!("{} answered {status}", worker.name))),
        }
    }

    /// True if the caller has a matrix of this `name`, or a job may make one.
    pub(crate) async fn is_taken(&self, identity: &Identity, name: &str) -> Result<bool, Problem> {
        if self.distributed.is_taken(&identity.tenant, name) {
            return Ok(true);
        }
        let device = self.single().map_or_else(|| self.device_of(&identity.tenant, name), |_| Some(0));
        let Some(worker) = device.map(|device| &self.workers[device]) else { return Ok(false) };
        let path = format!("/taken/{name}");
        let answer = async { json_of(worker.ask(Method::GET, &path, identity).await?).await };
        let answer = in_time(worker, QUESTION_TIME, answer).await?;
        answer.as_bool().ok_or_else(|| Problem::unavailable(format!("{} answered {answer}", worker.name)))
    }

    /// The device of a job, by its id.
    pub(super) fn device_of_job(&self, id: &str) -> Option<usize> {
        let rest = id.strip_prefix(&*self.service)?.strip_prefix(JOB_DEVICE)?;
        rest.split('.').next()?.parse().ok().filter(|device| *device < self.workers.len())
    }

    /// Claims a name for a new object: on the device where it is, else where most bytes are free.
    pub(super) async fn claim_anywhere(&self, tenant: &str, name: &str, bytes: u64) -> Claim {
        let key = key(tenant, name);
        let device = match self.directory.find(&key) {
            Some(device) => device,
            None => self.freest(bytes).await,
        };
        self.directory.claim(&key, device)
    }

    /// Claims a name for a new object: on the device where it is, else on this one.
    pub(super) fn claim(&self, device: usize, tenant: &str, name: &str) -> Claim {
        self.directory.claim(&key(tenant, name), device)
    }

    /// As [`claim`](Self::claim), for a device that was asked for; 409 if it is on another.
    pub(super) async fn claim_on(&self, device: usize, tenant: &str, name: &str) -> Result<Claim, Problem> {
        let key = key(tenant, name);
        if let Some(found) = self.directory.find(&key)
            && found != device
        {
            // What it had may be deleted since.
            self.update_names(found).await?;
        }
        let claim = self.directory.claim(&key, device);
        if claim.device == device {
            return Ok(claim);
        }
        let found = claim.device;
        claim.answered(true);
        Err(Problem::conflict(format!(
            "`{name}` is on device {found}, with all of its versions and their numbers, and this would be stored on \
             device {device}: take another name"
        )))
    }

    /// The device with the most free bytes, of which these are taken.
    async fn freest(&self, bytes: u64) -> usize {
        let mut budgets = self.current_budgets().await;
        let device = self.by_free_bytes(&budgets)[0];
        budgets.free[device].iter_mut().for_each(|free| *free = free.saturating_sub(bytes));
        device
    }

    /// All devices and their free bytes, from that with the most on.
    pub(super) async fn freest_devices(&self) -> Vec<(usize, u64)> {
        let budgets = self.current_budgets().await;
        let devices = self.by_free_bytes(&budgets).into_iter();
        devices.map(|device| (device, budgets.free[device].unwrap_or(0))).collect()
    }

    /// The devices whose workers are ready, from that with the most free bytes on, and then the others.
    fn by_free_bytes(&self, budgets: &Budgets) -> Vec<usize> {
        let is_ready = |device: usize| self.workers[device].check().is_ok();
        let mut devices: Vec<_> = (0..self.workers.len()).collect();
        devices.sort_by_cached_key(|&device| Reverse((is_ready(device), budgets.free[device])));
        devices
    }

    /// The free bytes of each device, which are asked for if they are old.
    async fn current_budgets(&self) -> MutexGuard<'_, Budgets> {
        let mut budgets = self.budgets.lock().await;
        if budgets.asked.is_none_or(|asked| asked.elapsed() > BUDGET_TIME) {
            let free =
                self.each(|worker| async move { answer_of(&worker, BUDGET_TIME, free_bytes(&worker)).await });
            budgets.free = free.await.into_iter().map(Result::ok).collect();
            budgets.asked = Some(Instant::now());
        }
        budgets
    }

    /// Asks a worker for the names that it has.
    pub(super) async fn update_names(&self, device: usize) -> Result<(), Problem> {
        let asked = Instant::now();
        let worker = &*self.workers[device];
        self.directory.update(device, answer_of(worker, QUESTION_TIME, names_of(worker)).await?, asked);
        Ok(())
    }

    /// Forgets names of which nothing is left, each minute.
    async fn keep_names_current(&self) {
        if self.single().is_some() {
            return pending().await;
        }
        loop {
            sleep(NAMES_PERIOD).await;
            for device in 0..self.workers.len() {
                // One that does not answer is asked again.
                if let Err(problem) = self.update_names(device).await {
                    tracing::debug!("the names of device {device}: {}", problem.detail());
                }
            }
        }
    }
}

/// Stands between the service and the number of the device in the id of a job.
const JOB_DEVICE: &str = "_";

/// `tenant/name`
pub(super) fn key(tenant: &str, name: &str) -> String {
    format!("{tenant}/{name}")
}

/// The answer to a question of the front end's own, if the worker is ready and has it in time.
pub(super) async fn answer_of<T>(
    worker: &Supervisor,
    time: Duration,
    answer: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    worker.check()?;
    in_time(worker, time, answer).await
}

/// The answer of a worker, if it has it in time.
pub(super) async fn in_time<T>(
    worker: &Supervisor,
    time: Duration,
    answer: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let late = |_| Problem::unavailable(format!("{} did not answer within {time:?}", worker.name));
    timeout(time, answer).await.map_err(late)?
}

pub(super) async fn status_of(worker: &Supervisor, identity: &Identity) -> Result<Value, Problem> {
    json_of(worker.ask(Method::GET, "/v1/status", identity).await?).await
}

async fn metrics_of(worker: &Supervisor) -> Result<String, Problem> {
    let body = body_of(worker.ask(Method::GET, "/metrics", &Identity::anonymous()).await?).await?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

/// Each `tenant/name` of a device.
async fn names_of(worker: &Supervisor) -> Result<Vec<String>, Problem> {
    let names = json_of(worker.ask(Method::GET, "/names", &Identity::anonymous()).await?).await?;
    serde_json::from_value(names).map_err(Problem::internal)
}

/// The bytes of a device's memory that are not reserved.
async fn free_bytes(worker: &Supervisor) -> Result<u64, Problem> {
    let status = status_of(worker, &Identity::anonymous()).await?;
    let bytes = |name: &str| status["memory"][name].as_u64().unwrap_or(0);
    Ok(bytes("capacity_bytes").saturating_sub(bytes("used_bytes")))
}
