//! Work on items by all threads.

use rayon::prelude::*;
use sparse_core::backend::is_forked;
use std::sync::{Mutex, PoisonError};

/// The results of `work` for every item, in order.
pub(crate) fn map<T: Send, R: Send>(items: Vec<T>, work: &(dyn Fn(T) -> R + Sync)) -> Vec<R> {
    let cells: Vec<_> = items.into_iter().map(|item| Mutex::new((Some(item), None))).collect();
    for_each_index(cells.len(), &|k| {
        let mut cell = cells[k].lock().unwrap_or_else(PoisonError::into_inner);
        let item = cell.0.take();
        cell.1 = item.map(work);
    });
    let results = cells.into_iter().map(|cell| cell.into_inner().unwrap_or_else(PoisonError::into_inner).1);
    results.flatten().collect()
}

/// The results of two functions, at the same time where there is a thread for it.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if is_forked() { (a(), b()) } else { rayon::join(a, b) }
}

/// Calls `work` with 0, …, `count` − 1, on this thread if there is one call alone. Not generic, so that rayon's code is
/// compiled once and not for every type.
fn for_each_index(count: usize, work: &(dyn Fn(usize) + Sync)) {
    if count < 2 || is_forked() {
        (0..count).for_each(work);
    } else {
        (0..count).into_par_iter().with_max_len(1).for_each(work);
    }
}
