//! A server that is killed at any instant loses no durable matrix that it acknowledged, and starts again; one whose
//! worker process is killed goes on.
//!
//! The program starts itself as the server and its worker. `NNZ_KILL_CYCLES` sets how often they are killed.

#[allow(dead_code, reason = "each test file uses a part")]
mod common;

use common::{IS_WORKER, MTX, NPY, Response, mtx, npy, process_of, try_send};
use sparse_server::{Compute, Config, StartError, WorkerCommand, serve_as_worker, serve_until_stopped};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Names the folder of the server, in the environment of the child.
const CHILD: &str = "NNZ_CRASH_TEST_DATA";
/// The number of devices of a server that has worker processes.
const WORKERS: &str = "NNZ_CRASH_TEST_WORKERS";

fn main() {
    if std::env::var_os(IS_WORKER).is_some() {
        return serve_as_worker(device).unwrap();
    }
    match std::env::var_os(CHILD) {
        Some(data) => serve(Path::new(&data)),
        None => nothing_acknowledged_is_lost(),
    }
}

fn device() -> nnz::Result<nnz::Device> {
    nnz::Device::host_with_threads(1)
}

fn program() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

#[allow(clippy::print_stdout, reason = "the parent reads the address")]
fn serve(data: &Path) {
    let worker = || {
        let mut worker = program();
        worker.env(IS_WORKER, "1");
        worker
    };
    let compute = match std::env::var(WORKERS) {
        Err(_) => Compute::Here(device().unwrap()),
        Ok(count) => vec![WorkerCommand::new(worker); count.parse().unwrap()].into(),
    };
    serve_until_stopped(
        Config::new(data, 1 << 20),
        || Ok::<_, StartError>(compute),
        |address| println!("{address}"),
    )
    .unwrap();
}

/// The process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// A server without a worker.
    Server,
    FrontEnd,
    Worker,
    /// The worker of one of two devices.
    WorkerOfTwo,
}

impl Victim {
    const ALL: [Self; 4] = [Self::Server, Self::FrontEnd, Self::Worker, Self::WorkerOfTwo];

    fn is_worker(self) -> bool {
        matches!(self, Self::Worker | Self::WorkerOfTwo)
    }

    /// The number of worker processes of the server, if it has any.
    fn workers(self) -> Option<&'static str> {
        match self {
            Self::Server => None,
            Self::FrontEnd | Self::Worker => Some("1"),
            Self::WorkerOfTwo => Some("2"),
        }
    }
}

fn start(data: &Path, victim: Victim) -> (Child, SocketAddr) {
    let mut program = program();
    program.envs(victim.workers().map(|count| (WORKERS, count)));
    let mut child = program.env(CHILD, data).stdout(Stdio::piped()).spawn().unwrap();
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
    let cycles = std::env::var("NNZ_KILL_CYCLES").map_or(8_u32, |count| count.parse().unwrap());
    // The data of one device, and those of two.
    let mut data = [(); 2].map(|()| (tempfile::tempdir().unwrap(), vec![]));
    // A put lasts as long as the disk needs; the killer's instants are parts of it.
    let mut put = Duration::ZERO;
    for cycle in 0..cycles {
        let victim = Victim::ALL[cycle as usize % Victim::ALL.len()];
        let (folder, known) = &mut data[usize::from(victim == Victim::WorkerOfTwo)];
        let (mut child, address) = start(folder.path(), victim);
        check(address, known);
        if cycle == 0 {
            let began = Instant::now();
            put_matrix(address, known).expect("nobody kills it yet");
            put = began.elapsed();
        }
        let device = if victim == Victim::WorkerOfTwo { cycle as usize / Victim::ALL.len() % 2 } else { 0 };
        put_in_memory(address, device);
        let process = process_of(address, device).expect("it serves");
        let killed = if victim.is_worker() { process } else { child.id().into() };
        let killer = std::thread::spawn(move || {
            // Other instants in each cycle, within the first eight requests.
            std::thread::sleep(put * (1 + cycle * 79 % 160) / 20);
            common::kill(killed);
        });
        work(address, known, |_| !killer.is_finished());
        killer.join().unwrap();
        if victim.is_worker() {
            common::await_next_worker(address, device, killed);
            check(address, known);
            let lost = try_send(address, "POST /v1/matrices/memory/norm", &[], &[]).expect("an answer");
            assert!(lost.status == 410 && lost.text().contains("`memory@1`"), "{lost:?}");
            work(address, known, |done| done < 3);
            terminate(child);
        } else {
            child.wait().unwrap();
        }
    }
    for ((folder, known), victim) in data.iter_mut().zip([Victim::FrontEnd, Victim::WorkerOfTwo]) {
        let (child, address) = start(folder.path(), victim);
        check(address, known);
        terminate(child);
        assert!(known.contains(&Known::Put), "the first matrix was put and never deleted");
    }
}

fn terminate(mut child: Child) {
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(child.wait().unwrap().success(), "SIGTERM ends the server well");
}

/// Puts a matrix that is not durable on a device.
fn put_in_memory(address: SocketAddr, device: usize) {
    let request = format!("PUT /v1/matrices/memory?device={device}");
    let answer = try_send(address, &request, &[MTX], &mtx(1, 1, &[(0, 0, 1.0)]));
    assert_eq!(answer.expect("nobody kills it yet").status, 201);
}

/// Puts the next matrix; nothing if the server dies before it answers.
fn put_matrix(address: SocketAddr, known: &mut Vec<Known>) -> Option<()> {
    let number = known.len();
    known.push(Known::Unknown);
    let body = mtx(1, 1, &[(0, 0, number as f64)]);
    let answer = try_send(address, &format!("PUT /v1/matrices/m{number}?durable=1"), &[MTX], &body)?;
    is_done(&answer, 201)?;
    known[number] = Known::Put;
    Some(())
}

/// Deletes a matrix; nothing if the server dies before it answers.
fn delete_matrix(address: SocketAddr, known: &mut [Known], number: usize) -> Option<()> {
    known[number] = Known::Unknown;
    let answer = try_send(address, &format!("DELETE /v1/matrices/m{number}"), &[], &[])?;
    is_done(&answer, 204)?;
    known[number] = Known::Deleted;
    Some(())
}

/// True unless the worker died before it answered.
fn is_done(answer: &Response, status: u16) -> Option<()> {
    assert!(answer.status == status || answer.status == 503, "{answer:?}");
    (answer.status == status).then_some(())
}

/// Puts matrices, and deletes every third, while `goes_on` says so of how many were put, or until a process is gone.
fn work(address: SocketAddr, known: &mut Vec<Known>, goes_on: impl Fn(usize) -> bool) {
    let mut done = 0;
    while goes_on(done) && put_matrix(address, known).is_some() {
        done += 1;
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
