//! The end of the only worker, and workers that do not start, hang or refuse a body.

use super::common::{MTX, NPY, Running, await_next_worker, kill, mtx, npy, process_id, try_send, worker};
use super::{await_that, config, multiply, put, tier};
use sparse_server::{Config, WorkerCommand};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Kills the worker, and waits for the next.
fn replace_worker(server: &Running) {
    let worker = process_id(server.address);
    kill(worker);
    await_next_worker(server.address, 0, worker);
}

#[test]
fn a_worker_that_is_killed_at_work_loses_what_no_file_has() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(config(&data, 1 << 20));
    put(&server, "durable?durable=1&labels=k=v", 3, 2.0);
    put(&server, "memory", 3, 3.0);
    put(&server, "memory", 3, 4.0);
    server.send("DELETE /v1/matrices/memory@1", &[], &[]).expect(204);
    let slow = mtx(2, 2, &[(0, 0, 1.0), (1, 1, 1e6)]);
    server.send("PUT /v1/matrices/slow", &[MTX], &slow).expect(201);
    let job = server.send("POST /v1/matrices/memory/norm?async=1", &[], &[]).expect(202).json();
    let job = format!("GET /v1/jobs/{}", job["id"].as_str().unwrap());
    server.send(&format!("{job}?wait=10"), &[], &[]).expect(200);
    let worker = process_id(server.address);

    let solve = "POST /v1/matrices/slow/solve?method=gmres&restart=1&tol=0&max_iterations=1000000000";
    std::thread::scope(|scope| {
        let at_work = scope.spawn(|| server.send(solve, &[NPY], &npy(&[2], &[1000.0, 1.0])));
        await_that("the operation runs", || {
            server.send("GET /v1/status", &[], &[]).json()["operations"]["running"] == 1
        });
        kill(worker);
        let answer = at_work.join().unwrap().expect(503);
        assert!(answer.head.contains("retry-after") && answer.text().contains("worker process ended"));
    });
    await_next_worker(server.address, 0, worker);

    assert_eq!(multiply(&server, "durable", 3).array(), [2.0; 3]);
    let lost = multiply(&server, "memory", 3).expect(410);
    assert!(lost.text().contains("`memory@2`") && lost.text().contains("problem:lost"), "{}", lost.text());
    assert_eq!((tier(&server, "memory"), tier(&server, "durable")), ("lost".into(), "device".into()));
    server.send("GET /v1/matrices/memory@1", &[], &[]).expect(404);
    assert!(server.send(&job, &[], &[]).expect(410).text().contains("has ended"));
    let list = server.send("GET /v1/matrices?label=k=v", &[], &[]).json();
    assert_eq!(list["matrices"].as_array().unwrap().len(), 1);

    // What takes the place of a lost matrix is another version.
    assert_eq!(put(&server, "memory", 3, 5.0).json()["version"], 3);
    assert_eq!(multiply(&server, "memory", 3).array(), [5.0; 3]);
    multiply(&server, "memory@2", 3).expect(410);
    server.send("DELETE /v1/matrices/memory@2", &[], &[]).expect(204);
    multiply(&server, "memory@2", 3).expect(404);
    server.send("DELETE /v1/matrices/slow", &[], &[]).expect(204);

    assert_ne!(process_id(server.address), worker);
    server.send("GET /readyz", &[], &[]).expect(200);
    let metrics = server.send("GET /metrics", &[], &[]).expect(200);
    assert!(metrics.text().contains("\nnnz_worker_restarts_total 1\n"), "{}", metrics.text());
    assert!(metrics.text().contains("\nnnz_objects 2\n") && metrics.text().ends_with("# EOF\n"));

    // The next worker knows what the one before knew.
    replace_worker(&server);
    multiply(&server, "memory@3", 3).expect(410);
    assert_eq!(multiply(&server, "durable", 3).array(), [2.0; 3]);
    drop(server);
    let server = Running::start(config(&data, 1 << 20));
    assert_eq!(multiply(&server, "durable", 3).array(), [2.0; 3]);
    multiply(&server, "memory", 3).expect(404);
}

#[test]
fn matrices_that_were_spilled_come_back() {
    let data = tempfile::tempdir().unwrap();
    // A matrix of 500 rows takes 8004 bytes, and an upload five times as much.
    let server = Running::start(config(&data, 60_000));
    let names = ["a", "b", "c", "d", "e", "f"];
    for (k, name) in names.iter().enumerate() {
        put(&server, name, 500, k as f64);
    }
    let tiers = names.map(|name| tier(&server, name));
    let spilled: Vec<_> = (0..names.len()).filter(|&k| tiers[k] == "disk").collect();
    assert!(!spilled.is_empty() && spilled.len() < names.len(), "{tiers:?}");
    // One that is deleted is gone.
    server.send(&format!("DELETE /v1/matrices/{}", names[spilled[0]]), &[], &[]).expect(204);
    replace_worker(&server);
    for (k, name) in names.iter().enumerate() {
        match spilled.iter().position(|&number| number == k) {
            Some(0) => drop(multiply(&server, name, 500).expect(404)),
            Some(_) => assert_eq!(multiply(&server, name, 500).array(), [k as f64; 500]),
            None => drop(multiply(&server, name, 500).expect(410)),
        }
    }
}

#[test]
fn a_worker_that_does_not_start_again_is_given_up() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data, 1 << 20);
    (config.limits.worker_attempts, config.limits.worker_delay) = (3, Duration::from_millis(10));
    let (first, working) = (AtomicBool::new(true), worker());
    let command = WorkerCommand::new(move || match first.swap(false, Ordering::Relaxed) {
        true => working.command(),
        false => Command::new("false"),
    });
    let server = Running::start_with(config, command.into());
    put(&server, "a?durable=1", 3, 2.0);
    kill(process_id(server.address));
    await_that("it is given up", || {
        let answer = server.send("GET /readyz", &[], &[]);
        answer.status == 503 && answer.text().contains("given up, it does not start: it ended at its start")
    });
    assert!(multiply(&server, "a", 3).expect(503).text().contains("given up"));
    server.send("GET /livez", &[], &[]).expect(200);
    assert!(server.send("GET /metrics", &[], &[]).expect(200).text().ends_with("# EOF\n"));
}

#[test]
fn a_server_whose_worker_does_not_start_says_why() {
    let data = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let start = |command| {
        let started =
            runtime.block_on(sparse_server::Server::start(Config::new(data.path(), 1 << 20), command));
        started.unwrap_err().to_string()
    };
    assert!(start(WorkerCommand::new(|| Command::new("false"))).contains("exit status: 1"));
    assert!(start(WorkerCommand::new(|| Command::new("/no/such/program"))).contains("/no/such/program"));
    std::fs::write(data.path().join("manifest.redb"), "no manifest").unwrap();
    assert!(start(worker()).contains("manifest.redb"));
}

#[test]
fn a_large_body_is_taken_once_the_worker_asks_for_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(config(&data, 64 << 20));
    let n = 20_000;
    assert!(mtx(n, n, &(0..n).map(|row| (row, row, 1.5)).collect::<Vec<_>>()).len() > 1 << 16);
    put(&server, "a", n, 1.5);
    assert_eq!(multiply(&server, "a", n).array(), vec![1.5; n]);
    let x = vec![1.0; n];
    let refused = server.send("POST /v1/matrices/b/spmv", &[NPY, "Expect: 100-continue"], &npy(&[n], &x));
    assert_eq!(refused.expect(404).status, 404);
}

#[test]
fn a_body_that_is_not_read_disturbs_no_request_behind_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(config(&data, 1 << 20));
    put(&server, "a", 3, 2.0);
    let x = vec![1.0; 7000];
    for _ in 0..50 {
        server.send("POST /v1/matrices/b/spmv", &[NPY], &npy(&[x.len()], &x)).expect(404);
        assert_eq!(multiply(&server, "a", 3).array(), [2.0; 3]);
    }
    // One that breaks off is the fault of its client, and not of the worker.
    let broken =
        server.send("POST /v1/matrices/a/spmv", &[NPY, "Transfer-Encoding: chunked"], b"no chunk\r\n");
    assert!(broken.expect(400).text().contains("the body broke off"));
}

#[test]
fn a_worker_that_hangs_does_not_keep_the_server_from_stopping() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data, 1 << 20);
    config.limits.drain_time = Duration::from_millis(200);
    let mut server = Running::start(config);
    put(&server, "a", 3, 2.0);
    let worker = process_id(server.address).to_string();
    assert!(Command::new("kill").args(["-STOP", &worker]).status().unwrap().success());
    let address = server.address;
    std::thread::scope(|scope| {
        scope.spawn(|| try_send(address, "GET /v1/matrices/a", &[], &[]));
        std::thread::sleep(Duration::from_millis(100));
        let began = Instant::now();
        server.stop();
        drop(server);
        assert!(began.elapsed() < Duration::from_secs(5), "the worker is killed");
    });
}
