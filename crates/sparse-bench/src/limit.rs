//! What the processor allows, measured by a kernel without structure.

use crate::measure::{Contender, Rounds, interleave};
use std::hint::black_box;

/// Bytes a second of reading a large array with `threads` threads.
pub(crate) fn read_bandwidth(threads: usize, smoke: bool) -> f64 {
    let words = if smoke { 1 << 20 } else { 1 << 25 };
    let data: Vec<u64> = (0..words as u64).collect();
    let mut read = [Contender::new("read", || {
        black_box(parallel_sum(&data, threads));
        Ok(())
    })];
    let seconds = interleave(&mut read, Rounds::new(11, 5.0)).map_or(f64::NAN, |times| times[0].median);
    size_of_val(data.as_slice()) as f64 / seconds
}

fn parallel_sum(data: &[u64], threads: usize) -> u64 {
    std::thread::scope(|scope| {
        let parts = data.chunks(data.len().div_ceil(threads));
        let sums: Vec<_> =
            parts.map(|part| scope.spawn(|| part.iter().fold(0_u64, |a, b| a.wrapping_add(*b)))).collect();
        sums.into_iter().map(|sum| sum.join().unwrap_or(0)).fold(0, u64::wrapping_add)
    })
}
