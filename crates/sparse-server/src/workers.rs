//! Threads for work that blocks, of which few run and few wait.

use crate::problem::Problem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;

/// A bounded pool with a bounded queue.
#[derive(Debug, Clone)]
pub(crate) struct Workers {
    permits: Arc<Semaphore>,
    count: usize,
    /// Jobs that run or wait.
    admitted: Arc<AtomicUsize>,
    limit: usize,
}

/// A place in the queue or at work, given back when dropped.
struct Admitted(Arc<AtomicUsize>);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

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

    /// Runs `work` on a thread of its own once there is a worker; 429 if too many wait already.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let before = self.admitted.fetch_add(1, Ordering::Relaxed);
        let admitted = Admitted(self.admitted.clone());
        if before >= self.limit {
            return Err(Problem::busy(format!("{before} operations run or wait: try again")));
        }
        let permit = self.permits.clone().acquire_owned().await.map_err(Problem::internal)?;
        let joined = tokio::task::spawn_blocking(move || {
            let _held = (permit, admitted);
            work()
        });
        joined.await.unwrap_or_else(|error| Err(Problem::internal(format!("the operation failed: {error}"))))
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

    #[tokio::test]
    async fn a_full_queue_refuses_and_a_panic_is_an_error() {
        let workers = Workers::new(1, 0);
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let first = tokio::spawn({
            let workers = workers.clone();
            async move { workers.run(move || wait.recv().map_err(Problem::internal)).await }
        });
        while workers.running() == 0 {
            tokio::task::yield_now().await;
        }
        let refused = workers.run(|| Ok(())).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
        release.send(()).unwrap();
        assert!(first.await.unwrap().is_ok());
        let failed = workers.run(|| -> Result<(), Problem> { panic!("for the test") }).await.unwrap_err();
        assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!((workers.running(), workers.waiting()), (0, 0));
    }
}
