//! Requests and numbers that several scenarios share.

use crate::common::{MTX, mtx, npy};
use crate::service::Server;
use std::time::Duration;

/// Random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

/// The part of sorted times, in milliseconds.
pub(crate) fn quantile(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    let position = ((times.len() - 1) as f64 * part).round() as usize;
    times[position].as_secs_f64() * 1e3
}

/// A matrix of `n` rows with `each` entries.
pub(crate) fn banded(n: usize, each: usize) -> Vec<u8> {
    let entries: Vec<_> =
        (0..n).flat_map(|row| (0..each).map(move |k| (row, (row + k * 97) % n, 1.0 + k as f64))).collect();
    mtx(n, n, &entries)
}

/// A matrix of `n` rows with `each` entries at random, those of one element added.
pub(crate) fn scattered(n: usize, each: usize) -> Vec<u8> {
    let mut random = Random(1);
    let entries: Vec<_> =
        (0..n * each).map(|k| (k / each, random.below(n), 1.0 + (k % each) as f64)).collect();
    mtx(n, n, &entries)
}

pub(crate) fn ones(n: usize) -> Vec<u8> {
    npy(&[n], &vec![1.0; n])
}

/// An operation whose time is proportional to its iterations.
pub(crate) fn put_slow(server: &Server) {
    let body = mtx(2, 2, &[(0, 0, 1.0), (1, 1, 1e6)]);
    server.send("PUT /v1/matrices/slow", &[MTX], &body).expect(201);
}

pub(crate) fn slow(iterations: usize) -> (String, Vec<u8>) {
    let solve = "POST /v1/matrices/slow/solve?method=gmres&restart=1&tol=0&max_iterations=";
    (format!("{solve}{iterations}"), npy(&[2], &[1000.0, 1.0]))
}
