//! Measures the rate of a pass over growing blocks of elements, on one thread or several.

use sparse_core::Result;
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Elements of a block, 16 MiB. It may fit a cache: the model has a separate rate for memory.
pub(super) const BLOCK: usize = 4 << 20;
/// Elements of the smallest block that is timed, 256 KiB.
pub(super) const SMALLEST_BLOCK: usize = BLOCK / 64;
/// Time limit for each of link, device, unpacking, and the two blocks of the host: together a third of the 200 ms of a
/// calibration. The rest is for starting threads, new memory, first passes, and the memory's rates.
const SHARE: Duration = Duration::from_millis(12);
/// A rate is settled when a pass and the shortest one before differ by at most this factor.
const AGREEMENT: f64 = 1.03;

/// Threads whose passes are timed together. Each repeats its pass until all rates are settled, so that none is timed
/// while others are idle.
pub(super) struct Team {
    all_have_begun: Barrier,
    unsettled: AtomicUsize,
}

impl Team {
    fn new(threads: usize) -> Self {
        Self { all_have_begun: Barrier::new(threads), unsettled: AtomicUsize::new(threads) }
    }

    /// Bytes per second of `pass` over the largest block, of at most `most` elements, for which there is time.
    pub(super) fn rate(&self, most: usize, pass: impl FnMut(usize) -> Result<()>) -> Result<f64> {
        let started = Instant::now();
        rate_by(|| started.elapsed(), &self.unsettled, most, pass)
    }
}

/// The sum of the rates of `threads` threads, which begin together.
pub(super) fn rate_of_threads(threads: usize, rate: impl Fn(&Team) -> Result<f64> + Sync) -> Result<f64> {
    let team = Team::new(threads);
    let rate = || {
        team.all_have_begun.wait();
        rate(&team)
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(rate)).collect();
        let own = rate();
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).sum()
    })
}

/// Bytes per second of `pass` over the largest block, of at most `most` elements, for which there is time.
pub(super) fn rate(most: usize, pass: impl FnMut(usize) -> Result<()>) -> Result<f64> {
    Team::new(1).rate(most, pass)
}

/// The rate of `pass` by a clock, in a team with `unsettled` unsettled rates.
fn rate_by(
    clock: impl Fn() -> Duration,
    unsettled: &AtomicUsize,
    most: usize,
    mut pass: impl FnMut(usize) -> Result<()>,
) -> Result<f64> {
    let mut time = |elements: usize| {
        let started = clock();
        pass(elements).map(|()| clock() - started)
    };
    time(SMALLEST_BLOCK)?; // compiles kernels, touches memory
    let end = clock() + SHARE;
    let mut expected = time(SMALLEST_BLOCK)?;
    let (mut elements, mut shortest) = (SMALLEST_BLOCK, Some(expected));
    // The first pass over a larger block touches new memory, so there must be time for a second one.
    while elements < most && clock() + 4 * expected <= end {
        (elements, expected, shortest) = (2 * elements, 2 * expected, None);
    }
    let mut is_settled = false;
    let shortest = loop {
        let all_are_settled = is_settled && unsettled.load(Ordering::Relaxed) == 0;
        match shortest {
            Some(shortest) if all_are_settled || clock() + expected > end => break shortest,
            _ => expected = time(elements)?,
        }
        if !is_settled && shortest.is_some_and(|shortest| agree(shortest, expected)) {
            is_settled = true;
            unsettled.fetch_sub(1, Ordering::Relaxed);
        }
        shortest = Some(shortest.map_or(expected, |shortest| shortest.min(expected)));
    };
    Ok((elements * size_of::<f32>()) as f64 / shortest.as_secs_f64().max(1e-9))
}

/// True if the times of two passes are nearly the same.
fn agree(one: Duration, other: Duration) -> bool {
    one.max(other) <= one.min(other).mul_f64(AGREEMENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The rate of passes that take `latency` and the time of their bytes at a rate, and the time of all but the first.
    fn simulate(latency: Duration, bytes_per_second: f64) -> (f64, Duration) {
        let now = Cell::new(Duration::ZERO);
        let time = |elements: usize| {
            latency + Duration::from_secs_f64((elements * size_of::<f32>()) as f64 / bytes_per_second)
        };
        let pass = |elements| {
            now.set(now.get() + time(elements));
            Ok(())
        };
        let measured = rate_by(|| now.get(), &AtomicUsize::new(1), BLOCK, pass).unwrap();
        (measured, now.get() - time(SMALLEST_BLOCK))
    }

    /// Milliseconds of passes over a block of the smallest size, in a team with `unsettled` unsettled rates.
    fn spend(milliseconds: &[u64], unsettled: usize) -> u128 {
        let now = Cell::new(Duration::ZERO);
        let mut times = [0].iter().chain(milliseconds).cycle();
        let pass = |_| {
            now.set(now.get() + Duration::from_millis(*times.next().unwrap()));
            Ok(())
        };
        rate_by(|| now.get(), &AtomicUsize::new(unsettled), SMALLEST_BLOCK, pass).unwrap();
        now.get().as_millis()
    }

    #[test]
    fn passes_end_when_two_agree_and_those_of_other_threads_do() {
        assert_eq!(spend(&[3, 1, 2, 1, 1], 1), 7);
        assert_eq!(spend(&[2; 9], 2), SHARE.as_millis());
    }

    #[test]
    fn passes_take_their_share_of_the_time_at_most() {
        for latency in [0, 20, 1000].map(Duration::from_micros) {
            for bytes_per_second in [5e7, 1e8, 1e9, 5e10, 3e12] {
                let (measured, spent) = simulate(latency, bytes_per_second);
                assert!(spent <= SHARE, "{latency:?}, {bytes_per_second}: {spent:?}");
                let is_fast = latency < Duration::from_millis(1) && bytes_per_second >= 5e10;
                assert!(!is_fast || spent <= SHARE / 10, "{latency:?}, {bytes_per_second}: {spent:?}");
                let error = 1.0 - measured / bytes_per_second;
                assert!(!latency.is_zero() || error.abs() < 1e-3, "{bytes_per_second}: {measured}");
            }
        }
        // A copy to a device at the rate of its link, which takes some microseconds to begin.
        let (measured, _) = simulate(Duration::from_micros(10), 5e10);
        assert!((4.8e10..5e10).contains(&measured), "{measured}");
    }

    #[test]
    fn a_pass_that_is_slow_is_not_repeated() {
        let (measured, spent) = simulate(SHARE, 1e9);
        let smallest_bytes = (SMALLEST_BLOCK * size_of::<f32>()) as f64;
        assert!(spent < 2 * SHARE && measured <= smallest_bytes / SHARE.as_secs_f64());
    }
}
