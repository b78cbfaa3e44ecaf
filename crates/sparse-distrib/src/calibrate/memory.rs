//! The rates at which all threads, or a device, read and copy memory that is in no cache.

use sparse_core::{Backend, Error, Result, Space};
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
    thread::scope(|scope| {
        let others: Vec<_> =
            (1..threads).map(|_| scope.spawn(|| rates_of_thread(words, &all_are_ready))).collect();
        let own = rates_of_thread(words, &all_are_ready);
        let others = others.into_iter().filter_map(|other| other.join().ok());
        others.fold(own, |sum, rates| (sum.0 + rates.0, sum.1 + rates.1))
    })
}

/// The rates of one thread, which begins each pass when all are ready.
fn rates_of_thread(words: usize, all_are_ready: &Barrier) -> (f64, f64) {
    // Ones, since the system maps zeros to no memory until they are written.
    let (memory, mut slot) = (vec![1_u64; words], vec![1_u64; SLOT_WORDS]);
    let read = pass_rate(&memory, all_are_ready, |memory| {
        black_box(memory.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word)));
    });
    let copy = pass_rate(&memory, all_are_ready, |memory| {
        for part in memory.chunks(SLOT_WORDS) {
            black_box(&mut slot[..part.len()]).copy_from_slice(part);
        }
    });
    (read, copy)
}

/// Bytes per second of the fastest pass over memory that is in no cache.
fn pass_rate(memory: &[u64], all_are_ready: &Barrier, mut pass: impl FnMut(&[u64])) -> f64 {
    let mut shortest = Duration::MAX;
    for _ in 0..MEMORY_PASSES {
        flush_from_caches(memory);
        all_are_ready.wait();
        let started = Instant::now();
        pass(black_box(memory));
        shortest = shortest.min(started.elapsed());
    }
    size_of_val(memory) as f64 / shortest.as_secs_f64().max(1e-9)
}

/// Bytes that a device copies at once: more than its caches hold.
const DEVICE_COPY_BYTES: usize = 128 << 20;
/// The smallest copy that is tried where a device has no memory for larger ones.
const MIN_COPY_BYTES: usize = 1 << 20;
/// Copies per synchronization, so that the wait does not count.
const COPIES: usize = 4;

/// Bytes per second that a backend reads and writes in the memory where it computes, beyond its caches: on the host
/// what all of its threads read, on a device a copy within its memory, whose bytes are read and written. Takes some
/// milliseconds, in which nothing else should run there, and on a device 256 MiB or as much as there is.
///
/// ```
/// use sparse_distrib::calibrate::memory_bandwidth;
///
/// assert!(memory_bandwidth(&sparse_core::reference::Reference)? > 1e6);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`OutOfMemory`](Error::OutOfMemory) where a device has no 2 MiB left, and other errors of its runtime.
pub fn memory_bandwidth<B: Backend>(backend: &B) -> Result<f64> {
    let caps = backend.caps();
    if caps.is_cpu {
        return Ok(memory_rates(caps.compute_units.max(1)).0);
    }
    let mut bytes = DEVICE_COPY_BYTES;
    loop {
        match device_copy_rate(backend, bytes) {
            Err(Error::OutOfMemory { .. }) if bytes > MIN_COPY_BYTES => bytes /= 2,
            rate => return rate,
        }
    }
}

fn device_copy_rate<B: Backend>(backend: &B, bytes: usize) -> Result<f64> {
    let words = bytes / size_of::<u32>();
    let (from, mut to) = (backend.zeros::<u32>(words)?, backend.zeros::<u32>(words)?);
    let mut shortest = Duration::MAX;
    for _ in 0..=MEMORY_PASSES {
        backend.synchronize()?;
        let started = Instant::now();
        for _ in 0..COPIES {
            backend.copy(B::Space::view(&from), B::Space::view_mut(&mut to))?;
        }
        backend.synchronize()?;
        shortest = shortest.min(started.elapsed());
    }
    Ok((2 * COPIES * bytes) as f64 / shortest.as_secs_f64().max(1e-9))
}

/// Flushes these words from all caches. Does nothing on processors without an instruction for it.
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
    use sparse_core::reference::Reference;

    #[test]
    fn a_copy_counts_the_bytes_that_it_reads_and_writes() {
        // No machine copies a mebibyte in less than 100 ns, or in more than a second.
        let rate = device_copy_rate(&Reference, 1 << 20).unwrap();
        assert!((2e6..2e13).contains(&rate), "{rate}");
    }

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
