//! Work that a calling thread starts at once, and that idle threads of a pool join while it lasts.
//!
//! A scope of rayon ends when each of its tasks has had a thread, be it only to find nothing left, and the caller
//! sleeps meanwhile. Here the caller waits for threads that are at work, and for no others. Two quiet cores, work of
//! 40, 100, 300 µs in all by call after call: 47, 67, 168 µs in a scope, 22, 52, 152 so; with 0.5 ms between calls
//! 50, 86, 204 and 50, 79, 185.

use rayon::ThreadPool;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};

/// Work for one index.
type Work = dyn Fn(usize) + Sync;

/// Set in [`SharedWork::helpers`] when the caller has done its part.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// Checks whether helpers are still at work before the caller sleeps; together they take some tens of microseconds.
const LOOKS: usize = 1000;

struct SharedWork {
    /// The caller's, which helpers call after they have entered.
    work: *const Work,
    count: usize,
    next: AtomicUsize,
    /// The threads of the pool that are at work.
    helpers: AtomicUsize,
    caller: Thread,
    /// The first panic of a helper, which the caller passes on.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Calls `work` with 0, …, `count` − 1, begun in this order, in the calling thread and up to `helpers` threads of the
/// pool.
///
/// # Panics
/// If `work` panics.
pub(crate) fn run(threads: &ThreadPool, helpers: usize, count: usize, work: &(dyn Fn(usize) + Sync)) {
    // SAFETY: two pointers that differ in a lifetime alone; `work` says when it is read.
    let work = unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const Work>(work) };
    let shared = Arc::new(SharedWork {
        work,
        count,
        next: AtomicUsize::new(0),
        helpers: AtomicUsize::new(0),
        caller: thread::current(),
        panic: Mutex::new(None),
    });
    let closing = Closing(&shared);
    for _ in 0..helpers {
        let shared = shared.clone();
        threads.spawn(move || shared.help());
    }
    shared.work();
    drop(closing);
    let panic = shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

// SAFETY: the work is `Sync`; all else can be sent.
unsafe impl Send for SharedWork {}
// SAFETY: as above.
unsafe impl Sync for SharedWork {}

impl SharedWork {
    /// Works until no index is left.
    fn work(&self) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.count {
                break;
            }
            // SAFETY: the caller, or a helper that has entered: that fails once `Closing` is dropped, which waits for
            // those that have. So `run` has neither returned nor unwound, and borrows the work.
            unsafe { (*self.work)(index) };
        }
    }

    /// Works as a helper, unless the caller has done its part.
    fn help(&self) {
        if self.helpers.fetch_add(1, Ordering::Acquire) & CLOSED == 0
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.work()))
        {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
        if self.helpers.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
            self.caller.unpark();
        }
    }
}

/// Keeps further helpers away and waits for those at work, when it is dropped.
struct Closing<'a>(&'a SharedWork);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let helpers = &self.0.helpers;
        helpers.fetch_or(CLOSED, Ordering::AcqRel);
        for _ in 0..LOOKS {
            if helpers.load(Ordering::Acquire) == CLOSED {
                return;
            }
            std::hint::spin_loop();
        }
        while helpers.load(Ordering::Acquire) != CLOSED {
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::ThreadPoolBuilder;
    use std::time::Duration;

    fn pool() -> ThreadPool {
        ThreadPoolBuilder::new().num_threads(3).build().unwrap()
    }

    #[test]
    fn every_index_comes_once_and_before_the_end() {
        let pool = pool();
        for count in [0, 1, 2, 7, 100].repeat(50) {
            let calls: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            run(&pool, 3, count, &|index| {
                if index % 3 == 1 {
                    thread::sleep(Duration::from_micros(30));
                }
                calls[index].fetch_add(1, Ordering::Relaxed);
            });
            assert!(calls.into_iter().all(|calls| calls.into_inner() == 1), "{count} indices");
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_leaves_the_pool_usable() {
        let pool = pool();
        let caller = thread::current().id();
        for by_caller in [true, false] {
            let panics = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                run(&pool, 3, 1000, &|_| {
                    thread::sleep(Duration::from_micros(100));
                    if (thread::current().id() == caller) == by_caller
                        && panics.fetch_add(1, Ordering::Relaxed) == 0
                    {
                        panic!("expected");
                    }
                });
            }));
            assert_eq!(result.unwrap_err().downcast_ref(), Some(&"expected"));
        }
        let sum = AtomicUsize::new(0);
        run(&pool, 3, 10, &|index| {
            sum.fetch_add(index, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 45);
    }

    #[test]
    fn the_caller_does_all_where_the_pool_is_busy() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        pool.spawn(move || receiver.recv().unwrap());
        let caller = thread::current().id();
        run(&pool, 1, 10, &|_| assert_eq!(thread::current().id(), caller));
        sender.send(()).unwrap();
    }
}
