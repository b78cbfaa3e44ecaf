//! Operations that take long: time limits, cancellation, jobs, and what happens to those that wait.

#[allow(dead_code, reason = "each test file uses a part")]
#[path = "../common/mod.rs"]
mod common;
mod deadlines;
mod merging;
mod results;
mod stopping;

use common::{MTX, NPY, Response, Running, mtx, npy};
use serde_json::Value;
use sparse_server::Config;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A server of one worker.
fn server(change: impl FnOnce(&mut Config)) -> (tempfile::TempDir, Running) {
    let data = tempfile::tempdir().unwrap();
    let mut config = Config::new(data.path(), 1 << 20);
    config.limits.workers = 1;
    change(&mut config);
    let server = Running::start(config);
    (data, server)
}

/// Puts a matrix on which GMRES(1) converges by 2e-6 of the residual in each step.
fn put_slow(server: &Running, headers: &[&str]) {
    let body = mtx(2, 2, &[(0, 0, 1.0), (1, 1, 1e6)]);
    server.send("PUT /v1/matrices/slow", &[&[MTX], headers].concat(), &body).expect(201);
}

const ENDLESS: &str =
    "POST /v1/matrices/slow/solve?method=gmres&restart=1&tol=0&max_iterations=1000000000000";

fn solve(server: &Running, more: &str, headers: &[&str]) -> Response {
    server.send(&format!("{ENDLESS}{more}"), &[&[NPY], headers].concat(), &npy(&[2], &[1000.0, 1.0]))
}

/// The numbers of operations that run and wait.
fn operations(server: &Running) -> (u64, u64) {
    let status = server.send("GET /v1/status", &[], &[]).expect(200).json();
    let number = |name: &str| status["operations"][name].as_u64().unwrap();
    (number("running"), number("waiting"))
}

#[track_caller]
fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends the endless request, and leaves the connection open.
fn begin_endless(server: &Running) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let (address, body) = (server.address, npy(&[2], &[1000.0, 1.0]));
    let head =
        format!("{ENDLESS} HTTP/1.1\r\nHost: {address}\r\n{NPY}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
    stream
}

/// Takes the only worker with the endless request, once no request has it any more: the answer to one may come a moment
/// before its worker is free.
fn take_worker(server: &Running) -> TcpStream {
    await_that("no request runs", || operations(server) == (0, 0));
    let stream = begin_endless(server);
    await_that("the worker is taken", || operations(server) == (1, 0));
    stream
}

fn job(answer: &Response) -> String {
    assert_eq!(answer.status, 202, "{}", String::from_utf8_lossy(&answer.body));
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert!(answer.head.contains(&format!("location: /v1/jobs/{id}")), "{}", answer.head);
    id
}

fn finished(server: &Running, id: &str) -> Value {
    let view = server.send(&format!("GET /v1/jobs/{id}?wait=10"), &[], &[]).expect(200).json();
    assert!(matches!(view["state"].as_str(), Some("done" | "failed")), "{view}");
    view
}

fn used_bytes(server: &Running) -> u64 {
    server.send("GET /v1/status", &[], &[]).json()["tenant"]["used_bytes"].as_u64().unwrap()
}
