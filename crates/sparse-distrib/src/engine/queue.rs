//! The chunks that remain to be compressed, shared by all devices.

use super::chunk::{Assignment, Chunk};
use super::report::{Cause, Unfinished};
use sparse_core::Error;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Chunks to compress. A chunk that is taken comes back, is finished, or has failed.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    own: Vec<VecDeque<Chunk>>,
    shared: VecDeque<Chunk>,
    /// Items that are neither finished nor failed.
    open: usize,
    /// False for devices that have failed.
    alive: Vec<bool>,
    is_stopped: bool,
    failed: Vec<Unfinished>,
}

impl Queue {
    pub(super) fn new(assignment: Assignment) -> Self {
        let Assignment { own, shared } = assignment;
        let open = own.iter().flatten().chain(&shared).map(|chunk| chunk.items.len()).sum();
        let alive = vec![true; own.len()];
        let state = State { own, shared, open, alive, is_stopped: false, failed: vec![] };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The number of chunks that a device may take now.
    pub(super) fn chunks_of(&self, device: usize) -> usize {
        let state = self.state();
        state.own[device].len() + state.shared.len()
    }

    /// The next chunk for a device, its own first, or as many of its items as `portion` says. Waits while others may
    /// give theirs back; `None` at the end.
    pub(super) fn take(&self, device: usize, portion: impl Fn(&Chunk) -> usize) -> Option<Chunk> {
        let mut state = self.state();
        loop {
            if state.is_stopped || state.open == 0 || !state.alive[device] {
                return None;
            }
            let State { own, shared, .. } = &mut *state;
            if let Some(chunk) = take_portion(&mut own[device], 0, &portion) {
                return Some(chunk);
            }
            if let Some(at) = shared.iter().position(|chunk| !chunk.refused.contains(&device)) {
                return take_portion(shared, at, &portion);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives a chunk that was taken to any device that has not refused it; where none is left, it has failed.
    pub(super) fn give_back(&self, chunk: Chunk) {
        self.change(|state| {
            state.shared.push_back(chunk);
            state.fail_refused();
        });
    }

    /// Gives a chunk for which `device` has no memory to the others.
    pub(super) fn refuse(&self, mut chunk: Chunk, device: usize, error: Error) {
        chunk.refused.push(device);
        chunk.error = Some(error);
        self.give_back(chunk);
    }

    /// Reopens items that were finished and are lost.
    pub(super) fn reopen(&self, items: Vec<usize>) {
        self.change(|state| {
            state.open += items.len();
            state.shared.push_back(Chunk::new(items));
        });
    }

    /// Closes items that are finished.
    pub(super) fn finish(&self, items: usize) {
        self.change(|state| state.open -= items);
    }

    /// Closes items that no device can compress.
    pub(super) fn fail(&self, items: Vec<usize>, error: Error) {
        self.change(|state| state.fail(items, error));
    }

    /// Gives nothing more to a device that has failed; it retires when its streams have ended.
    pub(super) fn exclude(&self, device: usize) {
        self.change(|state| state.alive[device] = false);
    }

    /// Takes a device that has failed out of service; others do its work.
    pub(super) fn retire(&self, device: usize) {
        self.change(|state| {
            state.alive[device] = false;
            let own = std::mem::take(&mut state.own[device]);
            state.shared.extend(own);
            state.is_stopped |= !state.alive.contains(&true);
            state.fail_refused();
        });
    }

    /// Ends the run: nothing more is taken.
    pub(super) fn stop(&self) {
        self.change(|state| state.is_stopped = true);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// Ends the run if the thread that holds the guard panics, so that no other waits for it.
    pub(super) fn stop_on_panic(&self) -> impl Drop + '_ {
        struct Guard<'a>(&'a Queue);

        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.stop();
                }
            }
        }

        Guard(self)
    }

    /// The items that were not finished, in ascending order for each cause.
    pub(super) fn into_unfinished(self) -> Vec<Unfinished> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let rest = state.own.into_iter().flatten().chain(state.shared);
        let mut items: Vec<usize> = rest.flat_map(|chunk| chunk.items).collect();
        items.sort_unstable();
        let cause = if state.alive.contains(&true) { Cause::Cancelled } else { Cause::NoDevice };
        let mut unfinished = state.failed;
        if !items.is_empty() {
            unfinished.push(Unfinished { items, cause });
        }
        unfinished
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is complete before the lock is released.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The chunk at a position, or its first items; the others stay there.
fn take_portion(chunks: &mut VecDeque<Chunk>, at: usize, portion: impl Fn(&Chunk) -> usize) -> Option<Chunk> {
    let chunk = chunks.get_mut(at)?;
    let items = portion(chunk);
    if items < chunk.items.len() {
        // Chunks that were refused or are retried have one item.
        return Some(Chunk::new(chunk.items.drain(..items).collect()));
    }
    chunks.remove(at)
}

impl State {
    fn fail(&mut self, items: Vec<usize>, error: Error) {
        self.open -= items.len();
        self.failed.push(Unfinished { items, cause: Cause::Error(error) });
    }

    /// Fails the chunks that every device in service has refused.
    fn fail_refused(&mut self) {
        let shared = std::mem::take(&mut self.shared);
        for mut chunk in shared {
            let mut in_service = (0..self.alive.len()).filter(|&device| self.alive[device]);
            let is_refused = in_service.all(|device| chunk.refused.contains(&device));
            match chunk.error.take() {
                Some(error) if is_refused => self.fail(chunk.items, error),
                error => self.shared.push_back(Chunk { error, ..chunk }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_of_a_chunk_are_taken_in_order_and_once() {
        let chunk = |items| VecDeque::from([Chunk::new(items)]);
        let queue = Queue::new(Assignment { own: vec![chunk(vec![7, 8])], shared: chunk((0..5).collect()) });
        let mut take = |portion| {
            let items = queue.take(0, |_| portion)?.items;
            queue.finish(items.len());
            Some(items)
        };
        let taken = [1, usize::MAX, 2, 3, 9, 1].map(&mut take);
        let needed = [Some(vec![7]), Some(vec![8]), Some(vec![0, 1]), Some(vec![2, 3, 4]), None, None];
        assert_eq!(taken, needed);
        assert!(queue.into_unfinished().is_empty());
    }
}
