//! Counts of items that are finished and of those that are retried.

use super::Run;
use crate::engine::chunk::Chunk;
use crate::engine::item::Item;
use crate::engine::report::{Progress, Unfinished};
use sparse_core::{Error, Scalar};
use std::collections::HashSet;
use std::sync::PoisonError;

/// The finished work, and the retries.
#[derive(Debug)]
pub(super) struct Tally {
    /// The parts of each matrix that are not finished.
    pub(super) open_parts: Vec<usize>,
    /// Matrices without open parts.
    pub(super) matrices: usize,
    pub(super) bytes: u64,
    pub(super) retries: usize,
}

impl<'a, T: Scalar> Run<'a, T> {
    /// Queues the item that could not be filled once more, for any device, and the others of its chunk separately.
    pub(super) fn retry(&self, mut chunk: Chunk, position: usize, error: Error) {
        if chunk.is_retry {
            return self.queue.fail(chunk.items, error);
        }
        let item = chunk.items.remove(position);
        self.count_retries(1);
        if !chunk.items.is_empty() {
            self.queue.give_back(chunk);
        }
        self.queue.give_back(Chunk { is_retry: true, ..Chunk::new(vec![item]) });
    }

    /// Counts items that are finished, and tells the caller.
    pub(crate) fn finish(&self, items: &[usize]) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let Tally { open_parts, matrices, .. } = &mut *tally;
        for &item in items {
            let open_parts = &mut open_parts[self.items[item].matrix];
            *open_parts -= 1;
            *matrices += usize::from(*open_parts == 0);
        }
        tally.bytes += self.bytes(items);
        if let Some(progress) = self.options.progress {
            progress(Progress {
                items: tally.matrices,
                total_items: tally.open_parts.len(),
                bytes: tally.bytes,
                total_bytes: self.total_bytes,
                elapsed: self.start.elapsed(),
            });
        }
        drop(tally);
        self.queue.finish(items.len());
    }

    /// Opens items again that were finished, and whose device has lost them.
    pub(crate) fn reopen(&self, items: Vec<usize>) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let Tally { open_parts, matrices, .. } = &mut *tally;
        for &item in &items {
            let open_parts = &mut open_parts[self.items[item].matrix];
            *matrices -= usize::from(*open_parts == 0);
            *open_parts += 1;
        }
        tally.bytes -= self.bytes(&items);
        tally.retries += items.len();
        drop(tally);
        self.queue.reopen(items);
    }

    /// Counts items that are given to a device once more.
    pub(crate) fn count_retries(&self, items: usize) {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).retries += items;
    }

    /// Bytes of the elements of items.
    pub(crate) fn bytes(&self, items: &[usize]) -> u64 {
        items.iter().map(|&item| self.items[item].bytes).sum()
    }
}

/// The matrices of unfinished items, each with the first cause that one of its parts has.
pub(crate) fn matrices_of(unfinished: Vec<Unfinished>, items: &[Item]) -> Vec<Unfinished> {
    let mut seen = HashSet::new();
    let named = unfinished.into_iter().map(|Unfinished { items: parts, cause }| {
        let matrices = parts.into_iter().map(|item| items[item].matrix);
        Unfinished { items: matrices.filter(|&matrix| seen.insert(matrix)).collect(), cause }
    });
    named.filter(|unfinished| !unfinished.items.is_empty()).collect()
}
