//! Matrices and jobs that come and go.

use crate::client::{Random, banded, ones};
use crate::common::{MTX, NPY};
use crate::service::{Server, await_that};
use crate::size;
use std::time::{Duration, Instant};

/// Time after which the server has given all freed memory back, which it does each ten seconds; short runs do not wait.
fn return_time() -> Duration {
    Duration::from_secs(size(0, 25))
}

/// Bytes that may be left: those of the manifest that a server has in memory, and of freed memory in a short run.
fn most_left() -> u64 {
    size(32, 8) << 20
}

/// Puts, products, sums, jobs and deletions, behind which nothing is left.
pub(crate) fn churn(server: &mut Server) {
    let round = |clients: u64, time: Duration| {
        std::thread::scope(|scope| {
            for seed in 0..clients {
                let server = &*server;
                scope.spawn(move || churn_client(server, seed, time));
            }
        });
    };
    round(4, Duration::from_millis(size(300, 5000)));
    std::thread::sleep(return_time());
    let Some(memory) = server.resident_bytes() else {
        return server.say("not measured: there is no /proc");
    };
    let files = server.descriptors();
    round(4, Duration::from_secs(size(1, 20 * 60)));
    await_that("no connection is left", || server.descriptors() <= files + 2);
    std::thread::sleep(return_time());
    let (memory_after, files_after) = (server.resident_bytes().unwrap(), server.descriptors());
    await_that("no byte of the ledger is left", || server.used_bytes() == 0);
    for folder in ["uploads", "spilled", "segments"] {
        let left = std::fs::read_dir(server.data().join(folder)).unwrap().count();
        assert_eq!(left, 0, "files in {folder}");
    }
    server.say(format_args!(
        "memory {} MB before and {} MB after, descriptors {files} and {files_after}, ledger 0",
        memory >> 20,
        memory_after >> 20
    ));
    assert!(memory_after <= memory + memory / 4 + most_left(), "memory comes back");
}

fn churn_client(server: &Server, seed: u64, time: Duration) {
    let (mut random, mut client, began) = (Random(seed), server.client(), Instant::now());
    let mut count = 0;
    while began.elapsed() < time {
        let (name, n) = (format!("c{seed}-{count}"), 100 + random.below(900));
        let durable = random.below(2);
        let (put, body) =
            (format!("PUT /v1/matrices/{name}?durable={durable}"), banded(n, 1 + random.below(5)));
        client.send(&put, &[MTX], &body).unwrap().expect(201);
        client.send(&format!("POST /v1/matrices/{name}/spmv"), &[NPY], &ones(n)).unwrap().expect(200);
        // Of several devices it is often on another.
        client.send(&format!("PUT /v1/matrices/{name}-other"), &[MTX], &body).unwrap().expect(201);
        let add = format!("POST /v1/matrices/{name}/add?other={name}-other");
        client.send(&add, &[], &[]).unwrap().expect(200);
        client.send(&format!("DELETE /v1/matrices/{name}-other"), &[], &[]).unwrap().expect(204);
        let transpose = format!("POST /v1/matrices/{name}/transpose?async=1");
        let job = client.send(&transpose, &[], &[]).unwrap().expect(202).json();
        let id = job["id"].as_str().unwrap();
        if random.below(2) == 0 {
            // More than one wait where the machine stood still meanwhile.
            let wait = format!("GET /v1/jobs/{id}?wait=10");
            let mut ends = || client.send(&wait, &[], &[]).unwrap().expect(200).json()["state"] == "done";
            assert!((0..10).any(|_| ends()), "the job ends");
            client.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).unwrap().expect(200);
        }
        client.send(&format!("DELETE /v1/jobs/{id}"), &[], &[]).unwrap().expect(204);
        client.send(&format!("DELETE /v1/matrices/{name}"), &[], &[]).unwrap().expect(204);
        count += 1;
    }
}
