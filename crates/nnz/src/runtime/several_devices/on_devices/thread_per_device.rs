//! Work on a thread for each device.

use sparse_core::Result;
use std::thread;

/// Runs `work` for each item on a thread of its own; the error of the first that failed.
pub(super) fn on_all<I: Send, R: Send>(
    items: Vec<I>,
    work: impl Fn(I) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let mut results: Vec<_> = items.iter().map(|_| None).collect();
    let work = &work;
    let mut tasks: Vec<Box<dyn FnOnce() + Send + '_>> = vec![];
    for (item, result) in items.into_iter().zip(&mut results) {
        tasks.push(Box::new(move || *result = Some(work(item))));
    }
    run_on_threads(tasks);
    results.into_iter().flatten().collect()
}

/// Runs each task on a thread of its own. Not generic, so that it is compiled once.
fn run_on_threads(tasks: Vec<Box<dyn FnOnce() + Send + '_>>) {
    thread::scope(|scope| {
        let threads: Vec<_> = tasks.into_iter().map(|task| scope.spawn(task)).collect();
        for thread in threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}
