//! A server that is killed at any instant loses no durable matrix that it acknowledged, and starts again.
//!
//! The program starts itself as the server. `NNZ_KILL_CYCLES` sets how often it is killed.

#[allow(dead_code, reason = "each test file uses a part")]
mod common;

use common::{MTX, NPY, mtx, npy, try_send};
use sparse_server::{Config, serve_until_stopped};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Names the folder of the server, in the environment of the child.
const CHILD: &str = "NNZ_CRASH_TEST_DATA";

fn main() {
    match std::env::var_os(CHILD) {
        Some(data) => serve(Path::new(&data)),
        None => nothing_acknowledged_is_lost(),
    }
}

#[allow(clippy::print_stdout, reason = "the parent reads the address")]
fn serve(data: &Path) {
    let device = nnz::Device::host_with_threads(1).unwrap();
    serve_until_stopped(Config::new(data, 1 << 20), device, |address| println!("{address}")).unwrap();
}

fn start(data: &Path) -> (Child, SocketAddr) {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program).env(CHILD, data).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().parse().expect("the server starts"))
}

/// The state of one name, as the client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Put,
    Deleted,
    /// The server died before it answered.
    Unknown,
}

fn nothing_acknowledged_is_lost() {
    let cycles = std::env::var("NNZ_KILL_CYCLES").map_or(4_u32, |count| count.parse().unwrap());
    let data = tempfile::tempdir().unwrap();
    let mut known: Vec<Known> = vec![];
    // A put lasts as long as the disk needs; the killer's instants are parts of it.
    let mut put = Duration::ZERO;
    for cycle in 0..cycles {
        let (mut child, address) = start(data.path());
        check(address, &mut known);
        if cycle == 0 {
            let began = Instant::now();
            put_matrix(address, &mut known).expect("nobody kills it yet");
            put = began.elapsed();
        }
        let killer = std::thread::spawn(move || {
            // Other instants in each cycle, within the first eight requests.
            std::thread::sleep(put * (1 + cycle * 79 % 160) / 20);
            child.kill().unwrap();
            child.wait().unwrap();
        });
        work(address, &mut known);
        killer.join().unwrap();
    }
    let (mut child, address) = start(data.path());
    check(address, &mut known);
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(child.wait().unwrap().success(), "SIGTERM ends the server well");
    assert!(known.contains(&Known::Put), "the first matrix was put and never deleted");
}

/// Puts the next matrix; nothing if the server dies before it answers.
fn put_matrix(address: SocketAddr, known: &mut Vec<Known>) -> Option<()> {
    let number = known.len();
    known.push(Known::Unknown);
    let body = mtx(1, 1, &[(0, 0, number as f64)]);
    let answer = try_send(address, &format!("PUT /v1/matrices/m{number}?durable=1"), &[MTX], &body)?;
    assert_eq!(answer.status, 201);
    known[number] = Known::Put;
    Some(())
}

/// Deletes a matrix; nothing if the server dies before it answers.
fn delete_matrix(address: SocketAddr, known: &mut [Known], number: usize) -> Option<()> {
    known[number] = Known::Unknown;
    let answer = try_send(address, &format!("DELETE /v1/matrices/m{number}"), &[], &[])?;
    assert_eq!(answer.status, 204);
    known[number] = Known::Deleted;
    Some(())
}

/// Puts matrices, and deletes every third, until the server is gone.
fn work(address: SocketAddr, known: &mut Vec<Known>) {
    while put_matrix(address, known).is_some() {
        let number = known.len() - 1;
        if number % 3 == 1 && delete_matrix(address, known, number).is_none() {
            return;
        }
    }
}

/// Compares what the server has with what it acknowledged; what is unknown is whole or not there.
fn check(address: SocketAddr, known: &mut [Known]) {
    for (number, known) in known.iter_mut().enumerate() {
        let request = format!("POST /v1/matrices/m{number}/spmv");
        let answer = try_send(address, &request, &[NPY], &npy(&[1], &[1.0])).expect("the server answers");
        match (answer.status, *known) {
            (200, Known::Put | Known::Unknown) => {
                assert_eq!(answer.array(), [number as f64]);
                *known = Known::Put;
            }
            (404, Known::Deleted | Known::Unknown) => *known = Known::Deleted,
            (status, known) => panic!("m{number}: {known:?}, but {status}: {answer:?}"),
        }
    }
}
