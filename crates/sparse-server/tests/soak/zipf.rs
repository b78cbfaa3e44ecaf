//! Matrices of four times the memory, of which a few are used most.

use crate::client::{Random, ones};
use crate::common::{MTX, NPY, mtx};
use crate::rates::throughput;
use crate::service::{Server, await_that};
use crate::size;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Matrices in all.
const COUNT: usize = 36;
/// Requests at once.
const CLIENTS: u64 = 4;

/// Rows of a matrix, which is diagonal.
fn rows() -> usize {
    size(500, 100_000)
}

/// Bytes of memory in which ten matrices fit: entries have 12 bytes and offsets 4.
pub(crate) fn budget() -> u64 {
    10 * (16 * rows() as u64 + 4)
}

/// The value at a place of the diagonal of a matrix.
fn value(row: usize, k: usize) -> f64 {
    (row * COUNT + k) as f64
}

/// Products with matrices of which the k-th is used 1/k times as often as the first.
pub(crate) fn zipf(server: &mut Server) {
    let idle = bytes_at_rest(server);
    for k in 0..COUNT {
        let entries: Vec<_> = (0..rows()).map(|row| (row, row, value(row, k))).collect();
        server.send(&format!("PUT /v1/matrices/m{k}"), &[MTX], &mtx(rows(), rows(), &entries)).expect(201);
    }
    let (requests, retries) = (size(50, 1000), AtomicUsize::new(0));
    let (peak, ()) = server.peak_bytes(|| {
        std::thread::scope(|scope| {
            for seed in 0..CLIENTS {
                let (retries, server) = (&retries, &*server);
                scope.spawn(move || multiply(server, seed, requests, retries));
            }
        });
    });
    let list = server.send("GET /v1/matrices", &[], &[]).json();
    let resident = list["matrices"].as_array().unwrap().iter().filter(|view| view["tier"] == "device");
    let bytes: u64 = resident.map(|view| view["bytes"].as_u64().unwrap()).sum();
    await_that("the ledger is the sum of what is resident", || server.used_bytes() == bytes);
    let grown = peak.zip(idle).map_or(0, |(peak, idle)| peak.saturating_sub(idle));
    server.say(format_args!(
        "{} right answers, {} retries, {} evictions; memory grew by {:.1} MB where {:.1} MB are the budget",
        CLIENTS as usize * requests,
        retries.into_inner(),
        server.metric("nnz_evictions"),
        grown as f64 / 1e6,
        budget() as f64 / 1e6
    ));
    // Beside the budget a connection has the parts of a body that just come and go.
    let bodies = CLIENTS << 21;
    server.require("memory stays within the budget and 5 %", grown <= budget() + budget() / 20 + bodies);
}

/// Bytes of memory of a server whose threads have worked, and which has no matrix.
fn bytes_at_rest(server: &Server) -> Option<u64> {
    server.send("PUT /v1/matrices/warm", &[MTX], &mtx(10, 10, &[(0, 0, 1.0)])).expect(201);
    let time = Duration::from_millis(300);
    throughput(server, CLIENTS as usize, time, "POST /v1/matrices/warm/spmv", &ones(10));
    server.send("DELETE /v1/matrices/warm", &[], &[]).expect(204);
    server.resident_bytes()
}

/// The products of one client, each with the right matrix.
fn multiply(server: &Server, seed: u64, requests: usize, retries: &AtomicUsize) {
    let (mut random, mut client, x) = (Random(seed), server.client(), ones(rows()));
    for _ in 0..requests {
        let part = random.below(1 << 20) as f64 / f64::from(1 << 20);
        let k = (COUNT as f64).powf(part) as usize - 1;
        let answer = loop {
            let answer = client.send(&format!("POST /v1/matrices/m{k}/spmv"), &[NPY], &x).unwrap();
            if answer.status != 429 {
                break answer;
            }
            retries.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(2));
        };
        let right = (0..rows()).map(|row| value(row, k));
        assert!(answer.array().into_iter().eq(right), "the right matrix");
    }
}
