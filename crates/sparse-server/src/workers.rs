//! Threads for work that blocks, of which few run and few wait.

use crate::problem::Problem;
use crate::task::Task;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A bounded pool with a bounded queue.
#[derive(Debug, Clone)]
pub(crate) struct Workers {
    permits: Arc<Semaphore>,
    count: usize,
    /// Operations that run or wait.
    admitted: Arc<AtomicUsize>,
    limit: usize,
}

/// A place in the queue or at work, given back when dropped.
#[derive(Debug)]
pub(crate) struct Admitted(Arc<AtomicUsize>);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The right to run on a thread of the pool.
pub(crate) type Permit = OwnedSemaphorePermit;

impl Workers {
    pub(crate) fn new(count: usize, queue: usize) -> Self {
        let count = count.max(1);
        Self {
            permits: Arc::new(Semaphore::new(count)),
            count,
            admitted: Arc::default(),
            limit: count.saturating_add(queue),
        }
    }

    /// A place in the queue; 429 if it is full.
    pub(crate) fn admit(&self) -> Result<Admitted, Problem> {
        let before = self.admitted.fetch_add(1, Ordering::Relaxed);
        let admitted = Admitted(self.admitted.clone());
        if before >= self.limit {
            return Err(Problem::busy(format!("{before} operations run or wait: try again")));
        }
        Ok(admitted)
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
        task: &Task,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        self.run_admitted(self.admit()?, task, work).await
    }

    /// As [`run`](Self::run), for work that has its place in the queue.
    ///
    /// At the task's deadline the work is stopped where it can, and not waited for, unless its effect is being published.
    pub(crate) async fn run_admitted<T: Send + 'static>(
        &self,
        admitted: Admitted,
        task: &Task,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let permit = task.within(self.permit()).await??;
        let running = task.clone();
        let mut joined = tokio::task::spawn_blocking(move || {
            let _held = (permit, admitted);
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
        self.admitted.load(Ordering::Relaxed).saturating_sub(self.running())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    fn task() -> Task {
        Task::new(Duration::from_secs(60))
    }

    #[tokio::test]
    async fn a_full_queue_refuses_and_a_panic_is_an_error() {
        let workers = Workers::new(1, 0);
        let (release, wait) = channel::<()>();
        let first = tokio::spawn({
            let workers = workers.clone();
            async move { workers.run(&task(), move || wait.recv().map_err(Problem::internal)).await }
        });
        while workers.running() == 0 {
            tokio::task::yield_now().await;
        }
        let refused = workers.run(&task(), || Ok(())).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
        release.send(()).unwrap();
        assert!(first.await.unwrap().is_ok());
        let failed =
            workers.run(&task(), || -> Result<(), Problem> { panic!("for the test") }).await.unwrap_err();
        assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!((workers.running(), workers.waiting()), (0, 0));
    }

    #[tokio::test]
    async fn a_deadline_ends_the_wait_and_stopped_work_does_not_begin() {
        let workers = Workers::new(1, 1);
        let (release, wait) = channel::<()>();
        let short = Task::new(Duration::from_millis(20));
        let late = workers.run(&short, move || wait.recv().map_err(Problem::internal)).await.unwrap_err();
        assert_eq!(late.status, StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(workers.running(), 1, "the thread is not free before its work ends");
        let short = Task::new(Duration::from_millis(20));
        let late = workers.run(&short, || Ok(())).await.unwrap_err();
        assert_eq!((late.status, workers.waiting()), (StatusCode::GATEWAY_TIMEOUT, 0));
        release.send(()).unwrap();
        let stopped = task();
        stopped.stop();
        let refused = workers.run(&stopped, || -> Result<(), _> { panic!("it was stopped") }).await;
        assert_eq!(refused.unwrap_err().status, StatusCode::CONFLICT);
    }
}
