//! Jobs: operations whose results are fetched later.

use crate::answer::Outcome;
use crate::execution::task::{Notes, Task};
use crate::limits::usage::Usages;
use crate::lock::lock;
use crate::problem::Problem;
use crate::security::auth::Scope;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// The jobs of a server, by their numbers.
#[derive(Debug)]
pub(crate) struct Jobs {
    jobs: Mutex<Table>,
    /// Jobs that one tenant may have, finished ones with their results among them.
    limit: usize,
    /// The usage of tenants on other devices.
    elsewhere: Arc<Usages>,
    service: String,
    /// Makes the ids of a worker process different from those of the workers before it.
    generation: Option<u64>,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    jobs: BTreeMap<u64, Arc<Job>>,
}

/// One job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) number: u64,
    pub(crate) id: String,
    pub(crate) tenant: String,
    pub(crate) subject: Subject,
    created: f64,
    pub(crate) task: Task,
    state: Mutex<State>,
    pub(crate) is_finished: watch::Sender<bool>,
}

/// The operation and the matrix of a job.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) operation: &'static str,
    /// The name and version of the matrix.
    pub(crate) matrix: String,
    /// The name under which the result is stored, if it is.
    pub(crate) into: Option<String>,
    /// The scope that whoever cancels it needs.
    pub(crate) scope: Scope,
}

#[derive(Debug)]
enum State {
    Queued,
    Running,
    Finished(Result<Arc<Outcome>, Problem>),
}

/// A job as clients see it.
#[derive(Serialize)]
pub(crate) struct View {
    id: String,
    /// `queued`, `running`, `done` or `failed`.
    state: &'static str,
    operation: &'static str,
    matrix: String,
    /// Seconds since 1970.
    created: f64,
    #[serde(flatten)]
    notes: Notes,
    /// The end of the iteration of a job that is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    solution: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Value>,
}

impl Table {
    fn count_of(&self, tenant: &str) -> usize {
        self.jobs.values().filter(|job| job.tenant == tenant).count()
    }
}

impl Jobs {
    pub(crate) fn new(limit: usize, elsewhere: Arc<Usages>, service: &str, generation: Option<u64>) -> Self {
        Self { jobs: Mutex::default(), limit, elsewhere, service: service.into(), generation }
    }

    fn id(&self, number: u64) -> String {
        match self.generation {
            None => format!("{}-{number:x}", self.service),
            Some(generation) => format!("{}.{generation}-{number:x}", self.service),
        }
    }

    /// True for the id of a job whose process has ended.
    fn is_lost(&self, id: &str) -> bool {
        let numbers = id.strip_prefix(&*self.service).and_then(|rest| rest.strip_prefix('.'));
        let generation = numbers.and_then(|numbers| numbers.split('-').next()?.parse::<u64>().ok());
        matches!((generation, self.generation), (Some(of_job), Some(own)) if of_job < own)
    }

    /// Fails with 429 if a tenant has as many jobs as it may have.
    pub(crate) fn check(&self, tenant: &str) -> Result<(), Problem> {
        self.check_count(&lock(&self.jobs), tenant)
    }

    fn check_count(&self, table: &Table, tenant: &str) -> Result<(), Problem> {
        let count = table.count_of(tenant) + self.elsewhere.of(tenant).jobs;
        if count < self.limit {
            return Ok(());
        }
        Err(Problem::busy(format!("there are {count} jobs, as many as may be: DELETE some, or wait")))
    }

    /// Lists a new job; 429 if the tenant has too many.
    pub(crate) fn add(&self, tenant: &str, subject: Subject, task: Task) -> Result<Arc<Job>, Problem> {
        let mut table = lock(&self.jobs);
        self.check_count(&table, tenant)?;
        table.last += 1;
        let number = table.last;
        let job = Arc::new(Job {
            number,
            id: self.id(number),
            tenant: tenant.into(),
            subject,
            created: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64()),
            task,
            state: Mutex::new(State::Queued),
            is_finished: watch::Sender::new(false),
        });
        table.jobs.insert(number, job.clone());
        Ok(job)
    }

    pub(crate) fn remove(&self, number: u64) {
        let removed = lock(&self.jobs).jobs.remove(&number);
        drop(removed);
    }

    pub(crate) fn all(&self) -> Vec<Arc<Job>> {
        lock(&self.jobs).jobs.values().cloned().collect()
    }

    /// Each `tenant/name` under which a job that is not finished may store its result.
    pub(crate) fn targets(&self) -> Vec<String> {
        let mut jobs = self.all();
        jobs.retain(|job| !*job.is_finished.borrow());
        let target = |job: Arc<Job>| Some(format!("{}/{}", job.tenant, job.subject.into.as_ref()?));
        jobs.into_iter().filter_map(target).collect()
    }

    #[cfg(unix)]
    pub(crate) fn count_of(&self, tenant: &str) -> usize {
        lock(&self.jobs).count_of(tenant)
    }

    /// The tenants of all jobs.
    #[cfg(unix)]
    pub(crate) fn tenants(&self) -> Vec<String> {
        self.all().iter().map(|job| job.tenant.clone()).collect()
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.jobs).jobs.len()
    }

    pub(crate) fn find(&self, tenant: &str, id: &str) -> Result<Arc<Job>, Problem> {
        let found = self.all().into_iter().find(|job| job.tenant == tenant && job.id == id);
        found.ok_or_else(|| {
            if self.is_lost(id) {
                return Problem::lost(format!(
                    "job {id}: the process that ran it, or kept its result, has ended"
                ));
            }
            let id: String = id.chars().take(128).collect();
            let id = id.escape_debug();
            Problem::not_found(format!("there is no job `{id}`, or not any more: GET /v1/jobs lists them"))
        })
    }

    /// Stops the jobs whose results nobody can fetch any more, and waits for those that store theirs.
    pub(crate) async fn drain(&self) {
        for job in self.all() {
            match job.subject.scope {
                Scope::Write => job.finished().await,
                Scope::Read | Scope::Admin => drop(job.task.stop()),
            }
        }
    }
}

impl Job {
    pub(crate) fn begin(&self) {
        self.task.log("begun");
        *lock(&self.state) = State::Running;
    }

    pub(crate) fn finish(&self, result: Result<Outcome, Problem>) {
        self.task.log(if result.is_ok() { "done" } else { "failed" });
        *lock(&self.state) = State::Finished(result.map(Arc::new));
        self.is_finished.send_replace(true);
    }

    pub(crate) async fn finished(&self) {
        // The sender is in the job, and outlives the wait.
        let _ = self.is_finished.subscribe().wait_for(|is_finished| *is_finished).await;
    }

    pub(crate) fn view(&self) -> View {
        let (state, solution, problem) = match &*lock(&self.state) {
            State::Queued => ("queued", None, None),
            State::Running => ("running", None, None),
            State::Finished(Ok(outcome)) => ("done", outcome.solution(), None),
            State::Finished(Err(problem)) => ("failed", None, Some(json!(problem.document()))),
        };
        let Subject { operation, matrix, .. } = self.subject.clone();
        let (id, created, notes) = (self.id.clone(), self.created, self.task.notes());
        View { id, state, operation, matrix, created, notes, solution, problem }
    }

    pub(crate) fn result(&self) -> Result<Arc<Outcome>, Problem> {
        match &*lock(&self.state) {
            State::Queued => Err(Problem::not_finished("the job waits for a worker")),
            State::Running => Err(Problem::not_finished("the job runs")),
            State::Finished(result) => result.clone(),
        }
    }
}
