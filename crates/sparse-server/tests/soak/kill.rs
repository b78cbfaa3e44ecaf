//! A server that is killed at any instant loses no durable matrix that it acknowledged, and starts again; one whose
//! worker process is killed goes on.

use crate::common::{self, MTX, NPY, Response, mtx, npy, process_of, try_send};
use crate::service::{Outcome, Process};
use crate::{size, workers};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// The process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// A server without a worker.
    Server,
    FrontEnd,
    Worker,
    /// The worker of one of several devices.
    WorkerOfSeveral,
}

impl Victim {
    const ALL: [Self; 4] = [Self::Server, Self::FrontEnd, Self::Worker, Self::WorkerOfSeveral];

    fn is_worker(self) -> bool {
        matches!(self, Self::Worker | Self::WorkerOfSeveral)
    }

    /// The number of worker processes of the server, if it has any.
    fn workers(self) -> Option<usize> {
        match self {
            Self::Server => None,
            Self::FrontEnd | Self::Worker => Some(1),
            Self::WorkerOfSeveral => Some(several()),
        }
    }
}

/// The devices of a server with several.
fn several() -> usize {
    workers().unwrap_or(2).max(2)
}

fn start(data: &Path, victim: Victim) -> Process {
    Process::start("kill", data, victim.workers())
}

/// The state of one name, as the client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Put,
    Deleted,
    /// The server died before it answered.
    Unknown,
}

/// Kills servers, front ends and workers at instants within their requests, and starts them again.
pub(crate) fn nothing_acknowledged_is_lost() -> Vec<Outcome> {
    let cycles = std::env::var("NNZ_KILL_CYCLES").map_or(size(8, 200), |count| count.parse().unwrap());
    // The data of one device, and those of several.
    let mut data = [(); 2].map(|()| (tempfile::tempdir().unwrap(), vec![]));
    // A put lasts as long as the disk needs; the killer's instants are parts of it.
    let (mut put, began) = (Duration::ZERO, Instant::now());
    for cycle in 0..cycles {
        let victim = Victim::ALL[cycle as usize % Victim::ALL.len()];
        let (folder, known) = &mut data[usize::from(victim == Victim::WorkerOfSeveral)];
        let mut server = start(folder.path(), victim);
        let address = server.address;
        check(address, known);
        if cycle == 0 {
            let began = Instant::now();
            put_matrix(address, known).expect("nobody kills it yet");
            put = began.elapsed();
        }
        let device = if victim == Victim::WorkerOfSeveral {
            cycle as usize / Victim::ALL.len() % several()
        } else {
            0
        };
        put_in_memory(address, device);
        let process = process_of(address, device).expect("it serves");
        let killed = if victim.is_worker() { process } else { server.id() };
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
            stop(server);
        } else {
            server.wait();
        }
    }
    let mut acknowledged = 0;
    for ((folder, known), victim) in data.iter_mut().zip([Victim::FrontEnd, Victim::WorkerOfSeveral]) {
        let server = start(folder.path(), victim);
        check(server.address, known);
        stop(server);
        assert!(known.contains(&Known::Put), "the first matrix was put and never deleted");
        acknowledged += known.len();
    }
    println!(
        "{:<11} {cycles} processes killed within {:.0?}, {acknowledged} matrices put",
        "kill",
        began.elapsed()
    );
    let what = format!("{cycles} killed processes lose nothing that was acknowledged, and start again");
    vec![Outcome { scenario: "kill", what, is_met: true }]
}

fn stop(mut server: Process) {
    server.terminate();
    assert!(server.wait().success(), "SIGTERM ends the server well");
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
