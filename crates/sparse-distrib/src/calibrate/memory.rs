//! The rates at which all threads read and copy memory that no cache holds.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};
/// Words of the memory that a thread copies to, over and over: 4 MiB, as a thread has of a slot.
const SLOT_WORDS: usize = 1 << 19;

/// Bytes that a thread reads at least, and that all read at least: few, since new memory takes longer than passes over
/// it.
const MEMORY_BYTES: (usize, usize) = (4 << 20, 32 << 20);
/// Passes over the memory, of which the shortest counts.
const MEMORY_PASSES: usize = 2;
/// Bytes that processors flush from their caches at once.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

/// Bytes per second at which all of these threads read memory of their own, and at which they copy it to slots.
pub(super) fn memory_rates(threads: usize) -> (f64, f64) {
    let (least, least_of_all) = MEMORY_BYTES;
    let words = least.max(least_of_all / threads) / size_of::<u64>();
    let all_are_ready = Barrier::new(threads);
    let rates_of_thread = || {
        // Ones, since the system would not give memory for zeros before they are written.
        let (memory, mut slot) = (vec![1_u64; words], vec![1_u64; SLOT_WORDS]);
        let rate = |pass: &mut dyn FnMut(&[u64])| {
            let mut shortest = Duration::MAX;
            for _ in 0..MEMORY_PASSES {
                flush_from_caches(&memory);
                all_are_ready.wait();
                let started = Instant::now();
                pass(black_box(&memory));
                shortest = shortest.min(started.elapsed());
            }
            size_of_val(&memory[..]) as f64 / shortest.as_secs_f64().max(1e-9)
        };
        let read = rate(&mut |memory| {
            black_box(memory.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word)));
        });
        let copy = rate(&mut |memory| {
            for part in memory.chunks(SLOT_WORDS) {
                black_box(&mut slot[..part.len()]).copy_from_slice(part);
            }
        });
        (read, copy)
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(rates_of_thread)).collect();
        let own = rates_of_thread();
        let others = others.into_iter().filter_map(|other| other.join().ok());
        others.fold(own, |sum, rates| (sum.0 + rates.0, sum.1 + rates.1))
    })
}

/// Leaves these words in the memory alone, so that whoever reads them next does not find them in a cache. Processors
/// without an instruction for it keep what they have.
fn flush_from_caches(words: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    for line in words.chunks(LINE_BYTES / size_of::<u64>()) {
        // SAFETY: every processor of this architecture has the instruction, which changes no byte; the address is that
        // of a word.
        unsafe { std::arch::x86_64::_mm_clflush(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = words;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time of a chain of reads, each of another line, is that of the memory's latency, not of the cache's.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn words_that_were_flushed_are_read_from_memory() {
        let words = vec![1_u64; 1 << 15];
        let lines = words.len() / 8;
        let chain = || {
            let started = Instant::now();
            let line = (0..lines).fold(0, |line, _| (1021 * line + words[8 * line] as usize) % lines);
            black_box(line);
            started.elapsed()
        };
        let shortest = |prepare: &dyn Fn()| {
            let time = |_| {
                prepare();
                chain()
            };
            (0..50).map(time).min()
        };
        let (cached, flushed) = (shortest(&|| ()), shortest(&|| flush_from_caches(&words)));
        assert!(flushed > cached.map(|time| 3 * time / 2), "{flushed:?} after {cached:?}");
    }
}
