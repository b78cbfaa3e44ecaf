//! Threads for work that blocks, of which few run and few wait.

use crate::config::Limits;
use crate::execution::task::{Storing, Task};
use crate::limits::rate::WorkerTime;
use crate::lock::lock;
use crate::problem::Problem;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A bounded pool with a bounded queue.
#[derive(Debug, Clone)]
pub(crate) struct ThreadPool {
    permits: Arc<Semaphore>,
    /// Permits for work that takes little time.
    brief: Arc<Semaphore>,
    /// Permits for pinning.
    pinning: Arc<Semaphore>,
    /// Places for storing results without a worker.
    storing: Arc<Storing>,
    count: usize,
    queue: Arc<Queue>,
    pinning_queue: Arc<Queue>,
    time: Arc<WorkerTime>,
}

/// The requests that run or wait, and how many may.
#[derive(Debug)]
struct Queue {
    admitted: Mutex<Admissions>,
    limit: usize,
    tenant_limit: usize,
}

#[derive(Debug, Default)]
struct Admissions {
    all: usize,
    tenants: HashMap<String, usize>,
}

/// An admission: a request that counts as one that waits or runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    queue: Arc<Queue>,
    pub(super) tenant: String,
}

impl Queue {
    fn new(threads: usize, waiting: usize, waiting_of_tenant: usize) -> Arc<Self> {
        let [limit, tenant_limit] =
            [waiting, waiting_of_tenant].map(|waiting| threads.saturating_add(waiting));
        Arc::new(Self { admitted: Mutex::default(), limit, tenant_limit })
    }

    /// Admits a request; 429 if the queue is full, or the tenant has its part of it.
    fn admit(self: &Arc<Self>, tenant: &str) -> Result<Admitted, Problem> {
        let mut admitted = self.lock();
        let of_tenant = admitted.tenants.get(tenant).copied().unwrap_or(0);
        if admitted.all >= self.limit || of_tenant >= self.tenant_limit {
            let all = admitted.all;
            let detail = format!("{all} such requests run or wait, {of_tenant} of them yours: try again");
            return Err(Problem::busy(detail));
        }
        admitted.all += 1;
        admitted.tenants.insert(tenant.into(), of_tenant + 1);
        Ok(Admitted { queue: self.clone(), tenant: tenant.into() })
    }

    fn lock(&self) -> MutexGuard<'_, Admissions> {
        lock(&self.admitted)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut admitted = self.queue.lock();
        admitted.all -= 1;
        if let Some(count) = admitted.tenants.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                admitted.tenants.remove(&self.tenant);
            }
        }
    }
}

/// The right to run on a thread of the pool.
pub(crate) type Permit = OwnedSemaphorePermit;

/// Threads for work that takes little time.
const BRIEF_THREADS: usize = 2;

/// Threads that pin matrices, which they read from disk where they were evicted. One more matrix is read at a time.
const PINNING_THREADS: usize = 1;

/// Threads that store results while their workers go on, of which one tenant has half at most. With a disk that takes
/// 2 s for each `fsync`, two workers had four durable uploads, and a product waited for 11 s.
const STORING_THREADS: usize = 16;

impl ThreadPool {
    /// Threads, and a queue for work that waits, of which one tenant may have a part. As many pins may wait.
    pub(crate) fn new(limits: &Limits) -> Self {
        let (count, queue, tenant_queue) = (limits.workers.max(1), limits.queue, limits.tenant_queue);
        let time = Arc::new(WorkerTime::new(limits.tenant_seconds));
        let [permits, brief, pinning] =
            [count, BRIEF_THREADS, PINNING_THREADS].map(|threads| Arc::new(Semaphore::new(threads)));
        let storing = Storing::new(STORING_THREADS);
        let [queue, pinning_queue] =
            [count, PINNING_THREADS].map(|threads| Queue::new(threads, queue, tenant_queue));
        Self { permits, brief, pinning, storing, count, queue, pinning_queue, time }
    }

    /// Admits a request to the queue; 429 if it is full, or the tenant has its part of it, or has used its time.
    pub(crate) fn admit(&self, tenant: &str) -> Result<Admitted, Problem> {
        self.time.check(tenant, Instant::now())?;
        self.queue.admit(tenant)
    }

    /// Counts time that a worker has spent on an admitted request.
    pub(crate) fn charge(&self, admitted: &Admitted, time: Duration) {
        self.charge_tenant(&admitted.tenant, time);
    }

    fn charge_tenant(&self, tenant: &str, time: Duration) {
        self.time.charge(tenant, Instant::now(), time);
    }

    /// The next free thread.
    pub(crate) async fn permit(&self) -> Result<Permit, Problem> {
        self.permits.clone().acquire_owned().await.map_err(Problem::internal)
    }

    /// As [`permit`](Self::permit), if there is one now.
    pub(crate) fn try_permit(&self) -> Option<Permit> {
        self.permits.clone().try_acquire_owned().ok()
    }

    /// Runs `work` on a thread of its own once there is a worker; 429 if too many wait already.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        tenant: &str,
        task: &Task,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_admitted(self.admit(tenant)?, task, work).await
    }

    /// As [`run`](Self::run), for work that was admitted to the queue.
    ///
    /// At the task's deadline the work is stopped where it can, and not waited for, unless its effect is being
    /// published.
    pub(crate) async fn run_admitted<T: Send + 'static>(
        &self,
        admitted: Admitted,
        task: &Task,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = task.within(self.permit()).await??;
        let (threads, tenant, running) = (self.clone(), admitted.tenant.clone(), task.clone());
        let timed = move || {
            let began = tokio::time::Instant::now();
            let done = work();
            threads.charge_tenant(&tenant, running.worked_since(began));
            done
        };
        Self::run_on_thread(task.occupy(permit, admitted, self.storing.clone()), task, timed).await
    }

    /// Runs work that takes microseconds and waits for nothing, on the thread of its caller.
    pub(crate) fn run_here<T>(
        &self,
        (_permit, admitted): (Permit, Admitted),
        work: impl FnOnce() -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let began = Instant::now();
        // What a panic leaves behind is no more used than on a thread of the pool.
        let done = catch_unwind(AssertUnwindSafe(work));
        self.charge(&admitted, began.elapsed());
        done.unwrap_or_else(|_| Err(Problem::internal("the operation failed: it panicked")))
    }

    /// Runs work that takes little time, such as changing labels, on a thread that no operation takes.
    pub(crate) async fn run_brief<T: Send + 'static>(
        &self,
        task: &Task,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = task.within(self.brief.clone().acquire_owned()).await?.map_err(Problem::internal)?;
        Self::run_on_thread(permit, task, work).await
    }

    /// Pins a matrix, on a thread that no operation takes; 429 if too many pins wait already.
    pub(crate) async fn run_pinning<T: Send + 'static>(
        &self,
        tenant: &str,
        task: &Task,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let admitted = self.pinning_queue.admit(tenant)?;
        let permit = task.within(self.pinning.clone().acquire_owned()).await?.map_err(Problem::internal)?;
        Self::run_on_thread((permit, admitted), task, work).await
    }

    async fn run_on_thread<T: Send + 'static>(
        permits: impl Send + 'static,
        task: &Task,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let running = task.clone();
        let mut joined = tokio::task::spawn_blocking(move || {
            let _permits = permits;
            running.check()?;
            work()
        });
        let joined = match task.within(&mut joined).await {
            Err(late) if task.stop() => return Err(late),
            Err(_) => joined.await,
            Ok(joined) => joined,
        };
        joined.unwrap_or_else(|error| Err(Problem::internal(format!("the operation failed: {error}"))))
    }

    pub(crate) fn running(&self) -> usize {
        self.count - self.permits.available_permits()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.lock().all.saturating_sub(self.running())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use std::sync::mpsc::{Receiver, channel};

    fn pool(threads: usize, queue: usize, tenant_queue: usize) -> ThreadPool {
        ThreadPool::new(&Limits { workers: threads, queue, tenant_queue, ..Limits::default() })
    }

    fn task() -> Task {
        Task::new(Duration::from_secs(60))
    }

    #[tokio::test]
    async fn a_full_queue_refuses_and_a_panic_is_an_error() {
        let threads = pool(1, 0, 0);
        let (release, wait) = channel::<()>();
        let first = tokio::spawn({
            let threads = threads.clone();
            async move { threads.run("a", &task(), move || wait.recv().map_err(Problem::internal)).await }
        });
        while threads.running() == 0 {
            tokio::task::yield_now().await;
        }
        let refused = threads.run("a", &task(), || Ok(())).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
        release.send(()).unwrap();
        assert!(first.await.unwrap().is_ok());
        let failed = threads
            .run("a", &task(), || -> Result<(), Problem> { panic!("for the test") })
            .await
            .unwrap_err();
        assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR);
        let here = || (threads.try_permit().unwrap(), threads.admit("a").unwrap());
        let failed = threads.run_here(here(), || -> Result<(), Problem> { panic!("for the test") });
        assert_eq!(failed.unwrap_err().status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(threads.run_here(here(), || Ok(7)).unwrap(), 7);
        assert_eq!((threads.running(), threads.waiting()), (0, 0));
    }

    #[tokio::test]
    async fn a_deadline_ends_the_wait_and_stopped_work_does_not_begin() {
        let threads = pool(1, 1, 1);
        let (release, wait) = channel::<()>();
        let short = Task::new(Duration::from_millis(20));
        let late =
            threads.run("a", &short, move || wait.recv().map_err(Problem::internal)).await.unwrap_err();
        assert_eq!(late.status, StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(threads.running(), 1, "the thread is not free before its work ends");
        let short = Task::new(Duration::from_millis(20));
        let late = threads.run("a", &short, || Ok(())).await.unwrap_err();
        assert_eq!((late.status, threads.waiting()), (StatusCode::GATEWAY_TIMEOUT, 0));
        assert_eq!(threads.run_brief(&task(), || Ok(7)).await.unwrap(), 7, "it takes another thread");
        release.send(()).unwrap();
        let stopped = task();
        stopped.stop();
        let refused = threads.run("a", &stopped, || -> Result<(), _> { panic!("it was stopped") }).await;
        assert_eq!(refused.unwrap_err().status, StatusCode::CONFLICT);
    }

    #[tokio::test]
    async fn pins_wait_for_pins_alone_and_a_full_queue_of_them_refuses() {
        let threads = pool(1, 0, 0);
        let (release, wait) = channel::<()>();
        let block = |wait: Receiver<()>| move || wait.recv().map_err(Problem::internal);
        let operation = tokio::spawn({
            let (threads, work) = (threads.clone(), block(wait));
            async move { threads.run("a", &task(), work).await }
        });
        while threads.running() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(threads.run_pinning("a", &task(), || Ok(7)).await.unwrap(), 7);
        let (release_pin, wait) = channel::<()>();
        let pin = tokio::spawn({
            let (threads, work) = (threads.clone(), block(wait));
            async move { threads.run_pinning("a", &task(), work).await }
        });
        while threads.pinning.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let refused = threads.run_pinning("a", &task(), || Ok(())).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
        release.send(()).unwrap();
        release_pin.send(()).unwrap();
        assert!(operation.await.unwrap().is_ok() && pin.await.unwrap().is_ok());
        assert_eq!(threads.pinning_queue.lock().all, 0);
    }

    #[tokio::test]
    async fn a_worker_goes_on_while_results_are_stored() {
        let threads = pool(1, 0, 0);
        let (release, wait) = channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let (released, mut is_released) = tokio::sync::mpsc::unbounded_channel();
        let store = |tenant: &'static str| {
            let (threads, task, wait, released) = (threads.clone(), task(), wait.clone(), released.clone());
            tokio::spawn(async move {
                let storing = task.clone();
                let work = move || {
                    storing.release_worker();
                    released.send(()).unwrap();
                    lock(&wait).recv().map_err(Problem::internal)
                };
                threads.run(tenant, &task, work).await
            })
        };
        let mut storing = vec![];
        for _ in 0..STORING_THREADS / 2 {
            storing.push(store("a"));
            is_released.recv().await.unwrap();
            // They do not fill the queue, in which nothing may wait.
            assert_eq!((threads.running(), threads.waiting()), (0, 0));
            assert_eq!(threads.run("b", &task(), || Ok(7)).await.unwrap(), 7);
        }
        // Of more than these the worker waits.
        storing.push(store("a"));
        is_released.recv().await.unwrap();
        assert_eq!((threads.running(), threads.try_permit().is_none()), (1, true));
        assert_eq!(
            threads.run("b", &task(), || Ok(7)).await.unwrap_err().status,
            StatusCode::TOO_MANY_REQUESTS
        );
        storing.iter().for_each(|_| release.send(()).unwrap());
        for stored in storing {
            assert!(stored.await.unwrap().is_ok());
        }
        assert_eq!((threads.running(), threads.waiting(), threads.storing.taken()), (0, 0, 0));
    }

    #[tokio::test]
    async fn a_tenant_is_not_charged_for_its_wait_for_the_disk() {
        let limits = Limits { workers: 1, tenant_seconds: Some(1), ..Limits::default() };
        let threads = ThreadPool::new(&limits);
        threads.charge_tenant("a", Duration::from_millis(700));
        let run = |waits_for_disk: bool| {
            let (threads, task) = (threads.clone(), task());
            let storing = task.clone();
            let work = move || {
                if waits_for_disk {
                    storing.release_worker();
                }
                std::thread::sleep(Duration::from_millis(400));
                Ok(())
            };
            async move { threads.run("a", &task, work).await }
        };
        run(true).await.unwrap();
        run(false).await.unwrap();
        assert_eq!(run(false).await.unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
    }

    #[test]
    fn a_tenant_has_a_part_of_the_queue() {
        let threads = pool(1, 3, 1);
        let admit = |tenant| threads.admit(tenant);
        let own = [admit("a").unwrap(), admit("a").unwrap()];
        assert_eq!(admit("a").unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        let others = [admit("b").unwrap(), admit("b").unwrap()];
        assert!(admit("c").is_err(), "the queue is full");
        drop(own);
        assert!(admit("a").is_ok() && admit("b").is_err());
        drop(others);
        assert_eq!((threads.waiting(), threads.queue.lock().tenants.len()), (0, 0));
    }
}
