//! State that an operation shares with its caller: deadline, cancellation, progress.

use crate::execution::thread_pool::Admitted;
use crate::limits::shared_capacity::{CapacityPermit, SharedCapacity};
use crate::lock::lock;
use crate::problem::Problem;
use axum::http::StatusCode;
use serde::Serialize;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The state of an operation; a clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct Task(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: Duration,
    deadline: Instant,
    phase: AtomicU8,
    /// Wakes those who wait within the task once it is stopped.
    stopped: CancellationToken,
    began: Instant,
    notes: Mutex<Notes>,
    place: Mutex<Option<Place>>,
    /// The time at which nothing was left but to store the result.
    computed: OnceLock<Instant>,
}

/// The right of a task to the thread on which it runs.
#[derive(Debug)]
#[allow(dead_code, reason = "permits are given back when they are dropped")]
enum Place {
    /// A worker's, and where one for storing is had.
    Computing(OwnedSemaphorePermit, Admitted, Arc<Storing>),
    Storing(StoringPermit),
}

/// Places of each tenant for storing results without a worker.
pub(super) type Storing = SharedCapacity<String>;

type StoringPermit = CapacityPermit<String>;

/// Progress and log of an operation.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Notes {
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<MemberProgress>,
    log: VecDeque<Line>,
}

/// A line of a log.
#[derive(Debug, Clone, Serialize)]
struct Line {
    /// Seconds since the task was made.
    seconds: f64,
    text: String,
}

/// The most lines of a log; the oldest go first.
const LOG_LINES: usize = 100;

/// The progress of an iterative solver.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Progress {
    /// The column that is solved, counted from 0, of how many.
    pub(crate) column: usize,
    pub(crate) columns: usize,
    pub(crate) iteration: usize,
    pub(crate) relative_residual: f64,
}

/// The progress of an operation on each matrix of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct MemberProgress {
    done: usize,
    count: usize,
}

/// The phases of a task: it leaves the first once.
const ACTIVE: u8 = 0;
const STOPPED: u8 = 1;
const COMMITTED: u8 = 2;

impl Task {
    /// A task that may take `limit` from now on.
    pub(crate) fn new(limit: Duration) -> Self {
        let (began, phase) = (Instant::now(), AtomicU8::new(ACTIVE));
        let (stopped, notes) = (CancellationToken::new(), Mutex::default());
        let (deadline, place, computed) = (began + limit, Mutex::default(), OnceLock::new());
        Self(Arc::new(Shared { limit, deadline, phase, stopped, began, notes, place, computed }))
    }

    /// Gives the task a worker, until the value is dropped or the task needs none any more.
    pub(super) fn occupy(
        &self,
        worker: OwnedSemaphorePermit,
        admitted: Admitted,
        storing: Arc<Storing>,
    ) -> Occupied {
        *lock(&self.0.place) = Some(Place::Computing(worker, admitted, storing));
        Occupied(self.clone())
    }

    /// Lets the next operation have the worker: what is left of this one waits for the disk, and counts no longer as a
    /// request that waits or runs. Where many do so already, or half as many of the tenant's, the worker waits, too, at
    /// no cost of the tenant's time.
    pub(crate) fn release_worker(&self) {
        self.0.computed.get_or_init(Instant::now);
        let mut place = lock(&self.0.place);
        if let Some(Place::Computing(_, admitted, storing)) = &*place
            && let Some(permit) = storing.take(&admitted.tenant, 1)
        {
            *place = Some(Place::Storing(permit));
        }
    }

    /// The time since `began` without that for which it waits for the disk.
    pub(super) fn worked_since(&self, began: Instant) -> Duration {
        let end = self.0.computed.get().copied().unwrap_or_else(Instant::now);
        end.saturating_duration_since(began)
    }

    /// Stops the operation at the next point where it can stop; false if its effect is already being published.
    pub(crate) fn stop(&self) -> bool {
        let is_stopped = self.leave_active(STOPPED) != COMMITTED;
        if is_stopped {
            self.0.stopped.cancel();
        }
        is_stopped
    }

    /// Fails if the operation was stopped; from here on it is not any more.
    pub(crate) fn commit(&self) -> Result<(), Problem> {
        self.check()?;
        match self.leave_active(COMMITTED) {
            STOPPED => Err(stopped()),
            _ => Ok(()),
        }
    }

    /// Fails if the operation was stopped, or its deadline has passed.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        match self.0.phase.load(Ordering::Acquire) {
            STOPPED => Err(stopped()),
            ACTIVE if Instant::now() >= self.0.deadline => Err(self.late()),
            _ => Ok(()),
        }
    }

    /// The phase after the task was asked to leave the active one.
    fn leave_active(&self, phase: u8) -> u8 {
        let changed = self.0.phase.compare_exchange(ACTIVE, phase, Ordering::AcqRel, Ordering::Acquire);
        changed.map_or_else(|other| other, |_| phase)
    }

    /// Waits for `work`, but no longer than to the deadline or until the task is stopped.
    pub(crate) async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, Problem> {
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.0.stopped.cancelled() => Err(stopped()),
            () = sleep_until(self.0.deadline) => Err(self.late()),
        }
    }

    fn late(&self) -> Problem {
        let detail = format!("the time limit of {:?} has passed", self.0.limit);
        Problem::new(StatusCode::GATEWAY_TIMEOUT, "deadline", detail)
    }

    pub(crate) fn report(&self, progress: Progress) {
        self.lock().progress = Some(progress);
    }

    /// Reports that `done` of the `count` matrices of a batch are done.
    pub(crate) fn report_members(&self, done: usize, count: usize) {
        self.lock().members = Some(MemberProgress { done, count });
    }

    /// Adds a line to the log.
    pub(crate) fn log(&self, text: impl Into<String>) {
        let line = Line { seconds: self.0.began.elapsed().as_secs_f64(), text: text.into() };
        let mut notes = self.lock();
        if notes.log.len() == LOG_LINES {
            notes.log.pop_front();
        }
        notes.log.push_back(line);
    }

    pub(crate) fn notes(&self) -> Notes {
        self.lock().clone()
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.began.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task on a thread, whose place is free once this is dropped.
#[derive(Debug)]
pub(super) struct Occupied(Task);

impl Drop for Occupied {
    fn drop(&mut self) {
        *lock(&self.0.0.place) = None;
    }
}

fn stopped() -> Problem {
    Problem::conflict("the operation was cancelled")
}

/// Stops a task when it is dropped: by a handler whose client is gone.
#[derive(Debug)]
pub(crate) struct StopOnDrop {
    pub(crate) task: Task,
    is_released: bool,
}

impl StopOnDrop {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { task: Task::new(limit), is_released: false }
    }

    /// Lets the task go on without the handler.
    pub(crate) fn release(mut self) {
        self.is_released = true;
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if !self.is_released {
            self.task.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_stopped_or_committed_but_not_both() {
        let task = Task::new(Duration::from_secs(60));
        assert!(task.check().is_ok() && task.commit().is_ok());
        assert!(!task.stop() && task.check().is_ok(), "it is too late to stop");
        let caller = StopOnDrop::new(Duration::from_secs(60));
        let task = caller.task.clone();
        caller.release();
        assert!(task.check().is_ok());
        let caller = StopOnDrop::new(Duration::from_secs(60));
        let task = caller.task.clone();
        drop(caller);
        assert_eq!(task.commit().unwrap_err().status, StatusCode::CONFLICT);
    }

    #[tokio::test]
    async fn who_waits_within_a_task_learns_that_it_was_stopped() {
        let task = Task::new(Duration::from_secs(60));
        let waiting = tokio::spawn({
            let task = task.clone();
            async move { task.within(std::future::pending::<()>()).await }
        });
        tokio::task::yield_now().await;
        task.stop();
        assert_eq!(waiting.await.unwrap().unwrap_err().status, StatusCode::CONFLICT);
    }

    #[test]
    fn a_late_task_is_not_committed() {
        let task = Task::new(Duration::ZERO);
        assert_eq!(task.commit().unwrap_err().status, StatusCode::GATEWAY_TIMEOUT);
    }
}
