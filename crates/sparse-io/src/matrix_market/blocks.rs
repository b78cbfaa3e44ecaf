//! Blocks that threads of the pool work on while the next ones come.

use sparse_core::backend::is_forked;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A queue of blocks, each of which one thread turns to a result; results come in the order of their blocks.
///
/// Whoever waits for a result works on blocks that no thread has begun. So it ends in a process that was forked, and on
/// a thread of the pool, too.
#[derive(Debug)]
pub(super) struct Blocks<B: Send + 'static, R: Send + 'static> {
    shared: Arc<Shared<B, R>>,
}

#[derive(Debug)]
struct Shared<B, R> {
    work: fn(B) -> R,
    queue: Mutex<Queue<B, R>>,
    /// Notified after each block.
    done: Condvar,
}

#[derive(Debug)]
struct Queue<B, R> {
    /// The number of results that were taken, which is that of the first block.
    taken: usize,
    blocks: VecDeque<Block<B, R>>,
}

#[derive(Debug)]
enum Block<B, R> {
    Waiting(B),
    Running,
    Done(std::thread::Result<R>),
}

impl<B: Send + 'static, R: Send + 'static> Blocks<B, R> {
    pub(super) fn new(work: fn(B) -> R) -> Self {
        let queue = Mutex::new(Queue { taken: 0, blocks: VecDeque::new() });
        Self { shared: Arc::new(Shared { work, queue, done: Condvar::new() }) }
    }

    /// The number of blocks whose results were not taken.
    pub(super) fn len(&self) -> usize {
        self.shared.queue().blocks.len()
    }

    /// Adds a block, which the next free thread works on.
    pub(super) fn push(&mut self, block: B) {
        self.shared.queue().blocks.push_back(Block::Waiting(block));
        if !is_forked() {
            let shared = self.shared.clone();
            rayon::spawn(move || {
                shared.work_on_next();
            });
        }
    }

    /// The result of the first block, if it is there.
    pub(super) fn take_done(&mut self) -> Option<R> {
        let mut queue = self.shared.queue();
        if !matches!(queue.blocks.front(), Some(Block::Done(_))) {
            return None;
        }
        let block = queue.blocks.pop_front();
        queue.taken += 1;
        drop(queue);
        match block {
            Some(Block::Done(Err(panic))) => resume_unwind(panic),
            Some(Block::Done(Ok(result))) => Some(result),
            _ => None,
        }
    }

    /// The result of the first block, once it is there; none if there is no block.
    pub(super) fn take(&mut self) -> Option<R> {
        while !self.shared.is_first_done()? {
            if !self.shared.work_on_next() {
                self.shared.wait_for_first();
            }
        }
        self.take_done()
    }
}

impl<B: Send + 'static, R: Send + 'static> Drop for Blocks<B, R> {
    fn drop(&mut self) {
        // Nobody will take their results.
        self.shared.queue().blocks.clear();
    }
}

impl<B, R> Shared<B, R> {
    fn queue(&self) -> MutexGuard<'_, Queue<B, R>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if the first block has its result; none if there is no block.
    fn is_first_done(&self) -> Option<bool> {
        self.queue().blocks.front().map(|block| matches!(block, Block::Done(_)))
    }

    /// Works on the first block that no thread has begun; false if there is none.
    fn work_on_next(&self) -> bool {
        let mut queue = self.queue();
        let waiting =
            queue.blocks.iter_mut().enumerate().find(|(_, block)| matches!(block, Block::Waiting(_)));
        let Some((position, block)) = waiting else { return false };
        let Block::Waiting(block) = std::mem::replace(block, Block::Running) else { return false };
        let number = queue.taken + position;
        drop(queue);
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(block)));
        let mut queue = self.queue();
        let position = number - queue.taken;
        // It is gone if the blocks were dropped.
        if let Some(block) = queue.blocks.get_mut(position) {
            *block = Block::Done(result);
        }
        self.done.notify_all();
        true
    }

    /// Waits for the first block, which another thread works on.
    fn wait_for_first(&self) {
        let is_running = |queue: &mut Queue<B, R>| matches!(queue.blocks.front(), Some(Block::Running));
        drop(self.done.wait_while(self.queue(), is_running).unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn square(number: u64) -> u64 {
        assert!(number != 13, "thirteen");
        std::thread::sleep(Duration::from_micros(number * 7919 % 500));
        number * number
    }

    #[test]
    fn results_come_in_the_order_of_their_blocks() {
        let (mut blocks, mut results) = (Blocks::new(square), vec![]);
        for number in 14..200 {
            blocks.push(number);
            results.extend(blocks.take_done());
            if blocks.len() > 3 {
                results.extend(blocks.take());
            }
        }
        results.extend(std::iter::from_fn(|| blocks.take()));
        assert!(results.into_iter().eq((14..200).map(|number| number * number)));
        assert_eq!(blocks.take_done(), None);
    }

    #[test]
    fn threads_of_the_pool_wait_for_no_others() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let sum: u64 = pool.install(|| {
            let mut blocks = Blocks::new(square);
            (0..9).for_each(|number| blocks.push(number));
            std::iter::from_fn(|| blocks.take()).sum()
        });
        assert_eq!(sum, 204);
    }

    #[test]
    fn a_panic_reaches_whoever_takes_the_result() {
        let mut blocks = Blocks::new(square);
        [12, 13, 14].into_iter().for_each(|number| blocks.push(number));
        assert_eq!(blocks.take(), Some(144));
        assert!(catch_unwind(AssertUnwindSafe(|| blocks.take())).is_err());
        assert_eq!((blocks.take(), blocks.take()), (Some(196), None));
    }
}
