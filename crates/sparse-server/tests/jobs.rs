//! Operations that take long: time limits, cancellation, jobs, and what happens to those that wait.

#[allow(dead_code, reason = "each test file uses a part")]
mod common;

use common::{MTX, NPY, Response, Running, mtx, npy, read, try_send};
use serde_json::Value;
use sparse_server::{Config, Scope, new_token};
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

#[test]
fn an_operation_ends_at_its_time_limit() {
    let (_data, server) = server(|config| config.limits.operation_time = Duration::from_secs(20));
    put_slow(&server, &[]);
    let began = Instant::now();
    let late = solve(&server, "&timeout=0.2", &[]).expect(504);
    assert!(
        late.text().contains("urn:nnz:problem:deadline") && late.text().contains("200ms"),
        "{}",
        late.text()
    );
    assert!(began.elapsed() < Duration::from_secs(5));
    await_that("its worker is free", || operations(&server) == (0, 0));
    for wrong in ["0", "-1", "21", "nan", "1e400", "x"] {
        solve(&server, &format!("&timeout={wrong}"), &[]).expect(400);
    }
    // Those that wait have their own.
    let running = begin_endless(&server);
    await_that("it runs", || operations(&server) == (1, 0));
    solve(&server, "&timeout=0.1", &[]).expect(504);
    let x = npy(&[2], &[1.0, 2.0]);
    server.send("POST /v1/matrices/slow/spmv?timeout=0.1", &[NPY], &x).expect(504);
    drop(running);
    assert_eq!(server.send("POST /v1/matrices/slow/spmv", &[NPY], &x).array(), [1.0, 2e6]);
}

#[test]
fn clients_that_are_gone_cancel_what_waits_and_what_runs() {
    let (_data, server) = server(|_| ());
    put_slow(&server, &[]);
    let running = begin_endless(&server);
    await_that("one runs", || operations(&server) == (1, 0));
    let waiting = begin_endless(&server);
    await_that("one waits", || operations(&server) == (1, 1));
    drop(waiting);
    await_that("none waits", || operations(&server) == (1, 0));
    drop(running);
    await_that("none runs", || operations(&server) == (0, 0));
}

#[cfg(unix)]
#[test]
fn an_upload_is_described_while_a_request_has_it_as_its_body() {
    let (_data, server) = server(|_| ());
    put_slow(&server, &[]);
    let body = npy(&[2], &[1000.0, 1.0]);
    let begun =
        server.send("POST /v1/uploads", &[&format!("Upload-Length: {}", body.len())], &[]).expect(201);
    let address = begun.head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    server.send(&format!("PATCH {address}"), &["Upload-Offset: 0"], &body).expect(204);
    let upload = format!("nnz-upload: {}", address.rsplit('/').next().unwrap());
    let mut running = TcpStream::connect(server.address).unwrap();
    let head = format!("{ENDLESS} HTTP/1.1\r\nHost: {}\r\n{NPY}\r\n{upload}\r\n\r\n", server.address);
    running.write_all(head.as_bytes()).unwrap();
    await_that("it runs", || operations(&server) == (1, 0));

    let began = Instant::now();
    let described = server.send(&format!("HEAD {address}"), &[], &[]).expect(204);
    assert!(described.head.contains(&format!("upload-offset: {}", body.len())), "{}", described.head);
    let refused = server.send(&format!("PATCH {address}"), &["Upload-Offset: 1"], &[0]).expect(409);
    assert!(refused.head.contains(&format!("upload-offset: {}", body.len())), "{}", refused.head);
    // Two requests may have it at once.
    let spmv = server.send("POST /v1/matrices/slow/spmv?timeout=0.1", &[NPY, &upload], &[]).expect(504);
    assert!(began.elapsed() < Duration::from_secs(10), "{}", spmv.text());
    await_that("the first one runs", || operations(&server) == (1, 0));
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

#[test]
fn a_job_is_watched_and_its_result_fetched_until_it_expires() {
    let (_data, server) = server(|config| config.limits.result_time = Duration::from_millis(1500));
    put_slow(&server, &[]);
    let resident = used_bytes(&server);
    let x = npy(&[2, 1], &[1.0, 2.0]);
    let post = |request: &str| server.send(&format!("POST /v1/matrices/slow/{request}"), &[NPY], &x);
    let id = job(&post("spmv?async=1"));
    let view = finished(&server, &id);
    assert_eq!((&view["state"], &view["matrix"]), (&"done".into(), &"slow@1".into()));
    assert!(view["log"].as_array().unwrap().iter().any(|line| line["text"] == "begun"), "{view}");
    assert_eq!(used_bytes(&server), resident + 16, "the result is in the ledger, its operands are not");
    let result = format!("GET /v1/jobs/{id}/result");
    for _ in 0..2 {
        assert_eq!(server.send(&result, &[], &[]).array(), [1.0, 2e6]);
    }
    await_that("the result expires", || server.send(&result, &[], &[]).status == 404);
    assert_eq!(used_bytes(&server), resident);

    // A result that is a file, one that is stored, and one that failed.
    let preferred = server.send("POST /v1/matrices/slow/transpose", &["Prefer: wait=1, Respond-Async"], &[]);
    assert!(preferred.head.contains("preference-applied: respond-async"), "{}", preferred.head);
    let id = job(&preferred);
    finished(&server, &id);
    let npz = server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(200);
    assert!(npz.body.starts_with(b"PK"));
    let id = job(&post("scale?alpha=2&into=twice&async=1"));
    finished(&server, &id);
    assert_eq!(
        server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(201).json()["name"],
        "twice"
    );
    // The job keeps the answer, and not the matrix.
    assert!(used_bytes(&server) > resident);
    server.send("DELETE /v1/matrices/twice", &[], &[]).expect(204);
    assert_eq!(used_bytes(&server), resident);
    server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(201);
    let id = job(&post("sddmm?async=1"));
    let view = finished(&server, &id);
    assert_eq!((&view["state"], &view["problem"]["status"]), (&"failed".into(), &422.into()));
    let problem = server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(422);
    assert!(problem.text().contains("4 are needed"), "{}", problem.text());
}

#[test]
fn a_job_that_is_deleted_stops() {
    let (_data, server) = server(|config| {
        config.limits.queue = 1;
        config.limits.jobs = 3;
    });
    put_slow(&server, &[]);
    let id = job(&solve(&server, "&async=1", &[]));
    let get = |id: &str| server.send(&format!("GET /v1/jobs/{id}"), &[], &[]);
    await_that("there is progress", || {
        get(&id).expect(200).json()["progress"]["iteration"].as_u64() > Some(100)
    });
    assert_eq!(get(&id).json()["state"], "running");
    let early = server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(409);
    assert!(early.head.contains("retry-after") && early.text().contains("not-finished"), "{}", early.text());
    let waiting = job(&solve(&server, "&async=1", &[]));
    assert_eq!(get(&waiting).json()["state"], "queued");
    // A full queue is an error of the request, and no job.
    let refused = solve(&server, "&async=1", &[]).expect(429);
    assert!(refused.head.contains("retry-after"), "{}", refused.head);
    let jobs = server.send("GET /v1/jobs", &[], &[]).json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 2);
    // Work that takes little time does not wait, and who leaves the queue leaves a place.
    server.send("PUT /v1/matrices/slow/labels?labels=a=1", &[], &[]).expect(200);
    server.send("PUT /v1/matrices/slow/pin", &[], &[]).expect(200);
    server.send("PUT /v1/matrices/slow/pin?pinned=0", &[], &[]).expect(200);
    server.send(&format!("DELETE /v1/jobs/{waiting}"), &[], &[]).expect(204);
    await_that("its place is free", || operations(&server) == (1, 0));
    let waiting = job(&solve(&server, "&async=1", &[]));
    for id in [&waiting, &id] {
        server.send(&format!("DELETE /v1/jobs/{id}"), &[], &[]).expect(204);
        get(id).expect(404);
    }
    await_that("nothing runs", || operations(&server) == (0, 0));
    // Finished ones count, too.
    for _ in 0..3 {
        finished(&server, &job(&server.send("POST /v1/matrices/slow/norm?async=1", &[], &[])));
    }
    let refused = server.send("POST /v1/matrices/slow/norm?async=1", &[], &[]).expect(429);
    assert!(refused.text().contains("3 jobs"), "{}", refused.text());
}

#[test]
fn a_job_belongs_to_its_tenant_and_ends_at_its_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    let make = |tenant, scopes: &[Scope]| {
        let (token, line) = new_token(tenant, scopes).unwrap();
        (format!("Authorization: Bearer {token}"), line)
    };
    let (lab, lab_line) = make("lab", &[Scope::Read, Scope::Write]);
    let (reader, reader_line) = make("lab", &[Scope::Read]);
    let (other, other_line) = make("other", &Scope::ALL);
    let file = folder.path().join("tokens");
    std::fs::write(&file, [lab_line, reader_line, other_line].join("\n")).unwrap();
    let (_data, server) = server(|config| config.tokens = Some(file));
    put_slow(&server, &[&lab]);
    let id = job(&solve(&server, "&async=1&timeout=0.3", &[&reader]));
    let path = format!("/v1/jobs/{id}");
    for request in [format!("GET {path}"), format!("GET {path}/result"), format!("DELETE {path}")] {
        server.send(&request, &[&other], &[]).expect(404);
    }
    assert!(server.send("GET /v1/jobs", &[&other], &[]).json()["jobs"].as_array().unwrap().is_empty());
    let view = server.send(&format!("GET {path}?wait=10"), &[&lab], &[]).expect(200).json();
    assert_eq!((&view["state"], &view["problem"]["status"]), (&"failed".into(), &504.into()));
    // Who may not store may not cancel what stores.
    let stored = server.send("POST /v1/matrices/slow/transpose?into=t&async=1", &[&lab], &[]);
    let path = format!("/v1/jobs/{}", job(&stored));
    server.send(&format!("DELETE {path}"), &[&reader], &[]).expect(403);
    server.send(&format!("DELETE {path}"), &[&lab], &[]).expect(204);
}

#[test]
fn vectors_that_wait_are_multiplied_together_with_the_bits_that_each_has_alone() {
    let (_data, server) = server(|config| config.memory = 64 << 20);
    put_slow(&server, &[]);
    // Rows of many lengths, one longer than a segment of the product.
    let n = 6000;
    let value = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 97.0 - 5.0;
    let mut entries: Vec<_> = (0..n).map(|col| (3, col, value(col))).collect();
    entries.extend(
        (4..n).flat_map(|row| (0..row % 40).map(move |k| (row, (row * 31 + k * 17) % n, value(row + k)))),
    );
    entries.sort_unstable_by_key(|&(row, col, _)| (row, col));
    entries.dedup_by_key(|&mut (row, col, _)| (row, col));
    server.send("PUT /v1/matrices/a", &[MTX], &mtx(n, n, &entries)).expect(201);
    let x = |k: usize| npy(&[n], &(0..n).map(|i| value(i * 3 + 1000 * k) / 3.0).collect::<Vec<_>>());
    for query in ["", "?alpha=1.7", "?op=t"] {
        let request = format!("POST /v1/matrices/a/spmv{query}");
        let alone: Vec<_> = (0..20).map(|k| server.send(&request, &[NPY], &x(k)).expect(200).body).collect();
        let blocker = begin_endless(&server);
        await_that("the worker is taken", || operations(&server).0 == 1);
        std::thread::scope(|scope| {
            let (server, request, x) = (&server, &request, &x);
            let waiting: Vec<_> =
                (0..20).map(|k| scope.spawn(move || server.send(request, &[NPY], &x(k)))).collect();
            let wrong = scope.spawn(|| server.send(request, &[NPY], &npy(&[3], &[1.0; 3])));
            await_that("all wait", || operations(server).1 == 21);
            drop(blocker);
            for (together, alone) in waiting.into_iter().zip(&alone) {
                let together = together.join().unwrap().expect(200).body;
                assert!(together == *alone, "{request}: other bits");
            }
            wrong.join().unwrap().expect(422);
        });
    }
    let metrics = server.send("GET /metrics", &[], &[]).expect(200);
    let count = |line: &str| -> u64 {
        let found = metrics.text().lines().find_map(|found| found.strip_prefix(line));
        found.unwrap_or_else(|| panic!("{line}: {}", metrics.text())).trim().parse().unwrap()
    };
    let (few, all) = (count("nnz_merged_bucket{le=\"4.0\"} "), count("nnz_merged_bucket{le=\"8.0\"} "));
    assert!(all - few >= 6, "two products of eight requests each time: {}", metrics.text());
    await_that("all have ended", || operations(&server) == (0, 0));
}

#[test]
fn small_products_are_computed_at_once_where_a_worker_is_free_and_wait_where_none_is() {
    let (_data, server) = server(|_| ());
    put_slow(&server, &[]);
    let n = 50;
    let entries: Vec<_> = (0..n)
        .flat_map(|row| (0..7).map(move |k| (row, (row + 3 * k) % n, 1.0 / (1 + row + k) as f64)))
        .collect();
    server.send("PUT /v1/matrices/a", &[MTX], &mtx(n, n, &entries)).expect(201);
    let x = |k: usize| npy(&[n], &(0..n).map(|i| ((i + k) as f64).sqrt()).collect::<Vec<_>>());
    let request = "POST /v1/matrices/a/spmv";
    let at_once: Vec<_> = (0..5).map(|k| server.send(request, &[NPY], &x(k)).expect(200).body).collect();
    let merged = || {
        let metrics = server.send("GET /metrics", &[], &[]).expect(200);
        metrics.text().lines().find_map(|line| line.strip_prefix("nnz_merged_count ")).unwrap().to_owned()
    };
    assert_eq!(merged(), "0", "none has passed the queue");
    let blocker = begin_endless(&server);
    await_that("the worker is taken", || operations(&server).0 == 1);
    std::thread::scope(|scope| {
        let (server, x) = (&server, &x);
        let waiting: Vec<_> =
            (0..5).map(|k| scope.spawn(move || server.send(request, &[NPY], &x(k)))).collect();
        await_that("all wait", || operations(server).1 == 5);
        drop(blocker);
        for (waited, at_once) in waiting.into_iter().zip(&at_once) {
            assert!(waited.join().unwrap().expect(200).body == *at_once, "other bits");
        }
    });
    assert_ne!(merged(), "0");
    server.send(request, &[NPY], &npy(&[3], &[1.0; 3])).expect(422);
}

#[test]
fn a_request_that_the_server_has_no_time_to_finish_is_told_so_before_it_stops() {
    let drain_time = Duration::from_secs(5);
    let (_data, mut server) = server(|config| config.limits.drain_time = drain_time);
    put_slow(&server, &[]);
    let blocker = begin_endless(&server);
    await_that("the worker is taken", || operations(&server) == (1, 0));
    let (short, body) = (ENDLESS.replace("=1000000000000", "=1000"), npy(&[2], &[1000.0, 1.0]));
    let address = server.address;
    let send = |request: String| {
        let body = body.clone();
        std::thread::spawn(move || try_send(address, &request, &[NPY], &body))
    };
    let finished: Vec<_> = (0..10).map(|_| send(short.clone())).collect();
    await_that("they wait", || operations(&server) == (1, 10));
    let late: Vec<_> = (0..10).map(|_| send(ENDLESS.into())).collect();
    await_that("all wait", || operations(&server) == (1, 20));
    let began = Instant::now();
    server.stop();
    await_that("the server stops", || TcpStream::connect(address).is_err());
    drop(blocker);
    let answer =
        |request: std::thread::JoinHandle<Option<Response>>| request.join().unwrap().expect("an answer");
    finished.into_iter().for_each(|request| drop(answer(request).expect(200)));
    for request in late {
        let answer = answer(request).expect(503);
        assert!(answer.text().contains("problem:stopping") && answer.text().contains("had no time"));
    }
    assert!(began.elapsed() < drain_time, "before the time is over");
    drop(server);
    assert!(began.elapsed() < drain_time + Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn a_job_that_is_accepted_while_the_server_stops_is_finished() {
    let (data, mut server) = server(|_| ());
    put_slow(&server, &[]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let (address, body) = (server.address, npy(&[4, 1], &[1.0; 4]));
    let request = "POST /v1/matrices/slow/sddmm?async=1&into=stored&durable=1";
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{NPY}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), &body[..20]].concat()).unwrap();
    // A job that stores its result is waited for. This one solves first, until its time is over.
    let steps = serde_json::json!([
        {
            "operation": "solve", "matrix": "slow", "operand": "$body",
            "parameters": { "method": "gmres", "restart": 1, "tol": 0, "max_iterations": 1_000_000_000 },
        },
        { "operation": "transpose", "matrix": "slow" },
    ]);
    let steps: String = steps.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
    let program = format!("POST /v1/programs?program={steps}&into=x&async=1&timeout=0.5");
    let before = job(&server.send(&program, &[NPY], &npy(&[2], &[1000.0, 1.0])));
    await_that("it runs", || operations(&server) == (1, 0));
    server.stop();
    await_that("the server stops", || TcpStream::connect(address).is_err());
    stream.write_all(&body[20..]).unwrap();
    assert_ne!(job(&read(&mut stream).unwrap()), before);
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("GET /v1/matrices/stored", &[], &[]).expect(200);
}

#[test]
fn a_matrix_that_is_deleted_before_it_is_read_is_not_found() {
    let (data, first) = server(|_| ());
    first.send("PUT /v1/matrices/a?durable=1", &[MTX], &mtx(1, 1, &[(0, 0, 1.0)])).expect(201);
    drop(first);
    let mut config = Config::new(data.path(), 1 << 20);
    config.limits.workers = 1;
    let server = Running::start(config);
    put_slow(&server, &[]);
    let running = begin_endless(&server);
    await_that("it runs", || operations(&server) == (1, 0));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.send("POST /v1/matrices/a/norm", &[], &[]));
        await_that("one waits", || operations(&server) == (1, 1));
        server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
        drop(running);
        let answer = waiting.join().unwrap().expect(404);
        assert!(answer.text().contains("`a@1` was deleted"), "{}", answer.text());
    });
}

#[test]
fn the_name_of_a_job_s_result_is_no_alias() {
    let (_data, server) = server(|_| ());
    put_slow(&server, &[]);
    let running = begin_endless(&server);
    await_that("it runs", || operations(&server) == (1, 0));
    let id = job(&server.send("POST /v1/matrices/slow/scale?into=later&async=1", &[], &[]));
    let point = || server.send("PUT /v1/aliases/later?to=slow", &[], &[]);
    assert!(point().expect(409).text().contains("there is a matrix `later`, or a job makes one"));
    drop(running);
    finished(&server, &id);
    point().expect(409);
    server.send("DELETE /v1/matrices/later", &[], &[]).expect(204);
    point().expect(201);
}
