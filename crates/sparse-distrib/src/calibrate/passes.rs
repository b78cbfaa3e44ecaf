//! The rate of a pass over more and more elements, by one thread or several.

use super::measure::BLOCK;
use sparse_core::Result;
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Elements of the smallest block that is timed, 1 MiB.
pub(super) const SMALLEST_BLOCK: usize = BLOCK / 16;
/// The time for each of link, device, unpacking, and the two blocks of the host. Making the block and measuring the
/// memory take the rest of 200 ms.
const SHARE: Duration = Duration::from_millis(25);

/// The sum of the rates of so many threads, which begin together.
pub(super) fn rate_of_threads(threads: usize, rate: impl Fn() -> Result<f64> + Sync) -> Result<f64> {
    let all_have_begun = Barrier::new(threads);
    let rate = || {
        all_have_begun.wait();
        rate()
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(rate)).collect();
        let own = rate();
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).sum()
    })
}

/// Bytes per second of `pass` over so many elements, at the largest number up to `most` for which there is time.
pub(super) fn rate(most: usize, mut pass: impl FnMut(usize) -> Result<()>) -> Result<f64> {
    pass(SMALLEST_BLOCK)?; // compiles kernels, touches memory
    let (started, mut elements, mut shortest) = (Instant::now(), SMALLEST_BLOCK, Duration::MAX);
    loop {
        let pass_started = Instant::now();
        pass(elements)?;
        let taken = pass_started.elapsed();
        shortest = shortest.min(taken);
        let has_time_for = |factor: u32| started.elapsed() + factor * taken <= SHARE;
        if elements < most && has_time_for(2) {
            (elements, shortest) = (2 * elements, Duration::MAX);
        } else if !has_time_for(1) {
            return Ok((elements * size_of::<f32>()) as f64 / shortest.as_secs_f64().max(1e-9));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_that_is_slow_is_not_repeated() {
        let mut passes = vec![];
        let slow = rate(BLOCK, |elements| {
            passes.push(elements);
            thread::sleep(SHARE);
            Ok(())
        });
        assert!(slow.unwrap() <= (4 * SMALLEST_BLOCK) as f64 / SHARE.as_secs_f64());
        assert_eq!(passes, [SMALLEST_BLOCK; 2]);
    }
}
