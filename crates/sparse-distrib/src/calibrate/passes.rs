//! The rate of a pass over more and more elements, by one thread or several.

use super::measure::BLOCK;
use sparse_core::Result;
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Elements of the smallest block that is timed, 256 KiB.
pub(super) const SMALLEST_BLOCK: usize = BLOCK / 64;
/// The time for each of link, device, unpacking, and the two blocks of the host: half of the 200 ms of a calibration.
/// The other half is for threads, new memory, the first passes, and the memory's rates.
const SHARE: Duration = Duration::from_millis(20);

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
pub(super) fn rate(most: usize, pass: impl FnMut(usize) -> Result<()>) -> Result<f64> {
    let started = Instant::now();
    rate_by(|| started.elapsed(), most, pass)
}

/// The rate of `pass` by a clock.
fn rate_by(
    clock: impl Fn() -> Duration,
    most: usize,
    mut pass: impl FnMut(usize) -> Result<()>,
) -> Result<f64> {
    pass(SMALLEST_BLOCK)?; // compiles kernels, touches memory
    let (end, mut elements, mut shortest) = (clock() + SHARE, SMALLEST_BLOCK, Duration::MAX);
    loop {
        let started = clock();
        pass(elements)?;
        let taken = clock() - started;
        shortest = shortest.min(taken);
        let has_time_for = |factor: u32| clock() + factor * taken <= end;
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
        let measured = rate_by(|| now.get(), BLOCK, pass).unwrap();
        (measured, now.get() - time(SMALLEST_BLOCK))
    }

    #[test]
    fn passes_take_their_share_of_the_time_at_most() {
        for latency in [0, 20, 1000].map(Duration::from_micros) {
            for bytes_per_second in [2e7, 1e8, 1e9, 5e10, 3e12] {
                let (measured, spent) = simulate(latency, bytes_per_second);
                assert!(spent <= SHARE, "{latency:?}, {bytes_per_second}: {spent:?}");
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
