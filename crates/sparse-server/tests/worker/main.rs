//! A server with a worker process: the tests of `server/` and `jobs/`, and what the end of the worker costs.

#![cfg(unix)]
#![allow(clippy::duplicate_mod, reason = "the tests of other files are run here, too")]

#[path = "../common/browser.rs"]
mod browser;
#[allow(dead_code, reason = "each test file uses a part")]
#[path = "../common/mod.rs"]
mod common;
mod devices;
mod ends;
mod in_parts;
#[path = "../jobs/main.rs"]
mod jobs;
#[path = "../server/main.rs"]
mod server;
#[cfg(feature = "otel")]
mod traces;

use common::{IS_WORKER, MTX, NPY, Response, Running, mtx, npy, worker};
use sparse_server::{Config, serve_as_worker};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// In a process that [`worker`] starts this test is the worker; elsewhere it starts one that has no front end.
#[test]
fn a_worker_without_a_front_end_ends() {
    if std::env::var_os(IS_WORKER).is_some() {
        return serve_as_worker(|| nnz::Device::host_with_threads(1)).unwrap();
    }
    let ended = worker().command().stdin(Stdio::null()).output().unwrap();
    let reason = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && reason.contains("EOF while parsing"), "{reason}");
}

fn config(data: &tempfile::TempDir, memory: u64) -> Config {
    Config::new(data.path(), memory)
}

/// Stores a diagonal matrix with one value.
fn put(server: &Running, request: &str, n: usize, value: f64) -> Response {
    let entries: Vec<_> = (0..n).map(|row| (row, row, value)).collect();
    server.send(&format!("PUT /v1/matrices/{request}"), &[MTX], &mtx(n, n, &entries)).expect(201)
}

fn multiply(server: &Running, name: &str, n: usize) -> Response {
    server.send(&format!("POST /v1/matrices/{name}/spmv"), &[NPY], &npy(&[n], &vec![1.0; n]))
}

fn tier(server: &Running, name: &str) -> String {
    let view = server.send(&format!("GET /v1/matrices/{name}"), &[], &[]).expect(200).json();
    view["tier"].as_str().unwrap().into()
}

#[track_caller]
fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
