//! Matrices of four times the memory, of which a few are used most; with and without a tier in the host's memory.

use crate::client::{Random, ones};
use crate::common::{MTX, NPY, mtx};
use crate::rates::throughput;
use crate::service::{Server, await_that};
use crate::{is_cpu, size, workers};
use sparse_server::Config;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Matrices for each device, four times as many as fit in its memory.
const PER_DEVICE: usize = 40;
/// Times that the clients stop, and the ledger is compared with what is in memory.
const ROUNDS: usize = 4;
/// Requests at once.
const CLIENTS: u64 = 4;

/// Matrices in all.
fn count() -> usize {
    PER_DEVICE * devices()
}

fn devices() -> usize {
    workers().unwrap_or(1)
}

/// Rows of a matrix, which is diagonal.
fn rows() -> usize {
    size(500, 100_000)
}

/// Bytes of memory in which ten matrices fit: entries have 12 bytes and offsets 4.
pub(crate) fn budget() -> u64 {
    10 * (16 * rows() as u64 + 4)
}

/// Half of the matrices fit in the memory of the host, a quarter in that of the device.
pub(crate) fn with_host_tier(config: &mut Config) {
    (config.memory, config.host_memory) = (budget(), 2 * budget());
}

/// The value at a place of the diagonal of a matrix.
fn value(row: usize, k: usize) -> f64 {
    (row * count() + k) as f64
}

/// Products with matrices of which the k-th is used 1/k times as often as the first.
pub(crate) fn zipf(server: &mut Server) {
    let idle = bytes_at_rest(server);
    for k in 0..count() {
        let entries: Vec<_> = (0..rows()).map(|row| (row, row, value(row, k))).collect();
        server.send(&format!("PUT /v1/matrices/m{k}"), &[MTX], &mtx(rows(), rows(), &entries)).expect(201);
    }
    let (requests, retries) = (size(50, 1000) / ROUNDS, AtomicUsize::new(0));
    let mut moved = vec![];
    let (peak, ()) = server.peak_bytes(|| {
        for round in 0..ROUNDS as u64 {
            std::thread::scope(|scope| {
                for client in 0..CLIENTS {
                    let (retries, server) = (&retries, &*server);
                    scope.spawn(move || multiply(server, CLIENTS * round + client, requests, retries));
                }
            });
            moved.push(compare_ledgers(server));
        }
    });
    let [device, host, disk] = moved.last().copied().unwrap_or_default();
    let grown = peak.zip(idle).map_or(0, |(peak, idle)| peak.saturating_sub(idle));
    let budgets = budget() + server.status("host_memory", "capacity_bytes") / devices() as u64;
    server.say(format_args!(
        "{} right answers, {} retries, {} evictions; {device} matrices on devices, {host} in the host's memory, {disk} on disk; memory grew by {:.1} MB where {:.1} MB are the budget",
        CLIENTS as usize * requests * ROUNDS,
        retries.into_inner(),
        server.metric("nnz_evictions"),
        grown as f64 / 1e6,
        budgets as f64 / 1e6
    ));
    server.require("every answer is right, and the ledger is the sum of what is in memory", true);
    // Beside the budget a connection has the parts of a body that just come and go.
    let bodies = CLIENTS << 21;
    if is_cpu() {
        server.require("memory stays within the budget and 5 %", grown <= budgets + budgets / 20 + bodies);
    }
}

/// Waits until the ledgers are the sums of the matrices that are there, and returns how many are in each tier.
fn compare_ledgers(server: &Server) -> [usize; 3] {
    let list = server.send("GET /v1/matrices", &[], &[]).json();
    let in_tier = |tier: &str| -> Vec<u64> {
        let matrices = list["matrices"].as_array().unwrap().iter();
        matrices.filter(|view| view["tier"] == tier).map(|view| view["bytes"].as_u64().unwrap()).collect()
    };
    let tiers = ["device", "host", "disk"].map(in_tier);
    for (ledger, tier) in ["memory", "host_memory"].iter().zip(&tiers) {
        let live: u64 = tier.iter().sum();
        await_that("the ledger is the sum of what is in memory", || {
            server.status(ledger, "used_bytes") == live
        });
        assert!(live <= server.status(ledger, "capacity_bytes"), "{ledger}: within the budget");
    }
    // What the device's library counts has the rest of words and the workspaces of operations, too.
    if let Some(counted) = server.driver_used_bytes() {
        let live: u64 = tiers[0].iter().sum();
        let most = live + live / 20 + ((64 << 20) * devices() as u64);
        assert!((live..=most).contains(&counted), "{counted} bytes where {live} are live");
    }
    let counts = tiers.map(|tier| tier.len());
    assert_eq!(counts.iter().sum::<usize>(), count(), "no matrix is lost");
    counts
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
        let k = (count() as f64).powf(part) as usize - 1;
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
