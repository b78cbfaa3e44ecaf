//! A server under load, with little memory, wrong bodies and slow clients. Prints figures.
//!
//! The program starts itself as the server of each scenario, and stops it. Without `NNZ_SOAK=full`, which
//! `cargo xtask soak` sets, it takes some seconds and asserts what does not depend on the machine's speed. Arguments
//! are names of scenarios. `NNZ_SOAK_WORKERS` is the number of devices of servers with worker processes.

#![allow(clippy::print_stdout, reason = "it prints figures, and the parent reads the address")]

#[allow(dead_code, reason = "each test file uses a part")]
mod common;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::put;
use common::{Client, IS_WORKER, MTX, NPY, Response, mtx, npy, process_id};
use http_body_util::BodyExt;
use sparse_server::{Compute, Config, WorkerCommand, serve_as_worker, serve_until_stopped};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A way to ask much of a server.
struct Scenario {
    name: &'static str,
    configure: fn(&mut Config),
    run: fn(&mut Server),
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "latency", configure: |config| set_memory(config, 1 << 30), run: latency },
    Scenario { name: "merging", configure: |config| set_memory(config, 1 << 30), run: merging },
    Scenario { name: "transfer", configure: |config| set_memory(config, 16 << 30), run: transfer },
    Scenario {
        name: "overload",
        configure: |config| (config.limits.workers, config.limits.queue) = (2, 2),
        run: overload,
    },
    Scenario { name: "zipf", configure: |config| set_memory(config, 10 * MATRIX_BYTES), run: zipf },
    Scenario { name: "mutation", configure: |_| (), run: mutation },
    Scenario { name: "trickle", configure: |_| (), run: trickle },
    Scenario { name: "stop", configure: |_| (), run: stop },
    Scenario { name: "churn", configure: |config| set_memory(config, 16 << 20), run: churn },
];

fn set_memory(config: &mut Config, bytes: u64) {
    (config.memory, config.tenant_memory) = (bytes, bytes);
}

/// Name the folder and the scenario of the server, in the environment of the child.
const DATA: &str = "NNZ_SOAK_TEST_DATA";
const NAME: &str = "NNZ_SOAK_TEST_NAME";
/// Gives the servers so many devices, each with a worker process.
const WORKERS: &str = "NNZ_SOAK_WORKERS";

fn main() {
    if std::env::var_os(IS_WORKER).is_some() {
        return serve_as_worker(|| "cpu".parse()).unwrap();
    }
    if let Some(data) = std::env::var_os(DATA) {
        return serve(Path::new(&data), &std::env::var(NAME).unwrap());
    }
    let wanted: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for scenario in SCENARIOS {
        if wanted.is_empty() || wanted.iter().any(|name| scenario.name.contains(&**name)) {
            let mut server = Server::start(scenario.name);
            (scenario.run)(&mut server);
            assert!(server.ends_well(), "{}: the server ends well, without a panic", scenario.name);
        }
    }
}

/// `full` for `cargo xtask soak`, else `short`.
fn size<T>(short: T, full: T) -> T {
    if is_full() { full } else { short }
}

fn is_full() -> bool {
    std::env::var_os("NNZ_SOAK").is_some_and(|size| size == "full")
}

fn serve(data: &Path, name: &str) {
    let mut config = Config::new(data, 64 << 20);
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap();
    (scenario.configure)(&mut config);
    let worker = || {
        let mut worker = Command::new(std::env::current_exe().unwrap());
        worker.env(IS_WORKER, "1");
        worker
    };
    let compute = match std::env::var(WORKERS) {
        Err(_) => Compute::Here("cpu".parse().unwrap()),
        Ok(count) => vec![WorkerCommand::new(worker); count.parse().unwrap()].into(),
    };
    serve_until_stopped(config, compute, |address| println!("{address}")).unwrap();
}

/// A server in a process of its own.
struct Server {
    name: &'static str,
    address: SocketAddr,
    child: Child,
    data: tempfile::TempDir,
}

impl Server {
    fn start(name: &'static str) -> Self {
        let data = tempfile::tempdir().unwrap();
        let errors = std::fs::File::create(data.path().join("errors")).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .envs([(DATA, data.path().as_os_str()), (NAME, name.as_ref())])
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { name, address: line.trim().parse().expect("the server starts"), child, data }
    }

    fn client(&self) -> Client {
        Client::new(self.address)
    }

    fn send(&self, request: &str, headers: &[&str], body: &[u8]) -> Response {
        self.client().send(request, headers, body).expect("an answer")
    }

    fn say(&self, figures: impl std::fmt::Display) {
        println!("{:<9} {figures}", self.name);
    }

    /// The numbers of operations that run and wait.
    fn operations(&self) -> u64 {
        let status = self.send("GET /v1/status", &[], &[]).json();
        ["running", "waiting"].iter().map(|name| status["operations"][name].as_u64().unwrap()).sum()
    }

    fn used_bytes(&self) -> u64 {
        self.send("GET /v1/status", &[], &[]).json()["memory"]["used_bytes"].as_u64().unwrap()
    }

    fn terminate(&self) {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
    }

    /// Stops the server; true if that succeeds, and no thread of it panicked.
    fn ends_well(mut self) -> bool {
        self.terminate();
        let status = self.child.wait().unwrap();
        let errors = std::fs::read_to_string(self.data.path().join("errors")).unwrap();
        if errors.contains("panicked") {
            println!("{errors}");
        }
        status.success() && !errors.contains("panicked")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, unless a scenario failed.
        let _ = self.child.kill();
    }
}

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

/// The part of sorted times, in milliseconds.
fn quantile(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    let position = ((times.len() - 1) as f64 * part).round() as usize;
    times[position].as_secs_f64() * 1e3
}

/// A matrix of `n` rows with `each` entries.
fn banded(n: usize, each: usize) -> Vec<u8> {
    let entries: Vec<_> =
        (0..n).flat_map(|row| (0..each).map(move |k| (row, (row + k * 97) % n, 1.0 + k as f64))).collect();
    mtx(n, n, &entries)
}

fn ones(n: usize) -> Vec<u8> {
    npy(&[n], &vec![1.0; n])
}

/// The time of one request after the other, on one connection.
fn latency(server: &mut Server) {
    server.send("PUT /v1/matrices/a", &[MTX], &banded(1000, 5)).expect(201);
    let (mut client, x) = (server.client(), ones(1000));
    let mut once = || {
        let began = Instant::now();
        client.send("POST /v1/matrices/a/spmv", &[NPY], &x).unwrap().expect(200);
        began.elapsed()
    };
    let _warm: Vec<_> = (0..200).map(|_| once()).collect();
    let mut times: Vec<_> = (0..size(500, 5000)).map(|_| once()).collect();
    let (p50, p99) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
    server.say(format_args!("spmv, 1000 rows, 5000 entries: p50 {p50:.3} ms, p99 {p99:.3} ms"));
}

/// Requests per second of so many clients for some time.
fn throughput(server: &Server, clients: usize, time: Duration, request: &str, body: &[u8]) -> f64 {
    let (answered, began) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = server.client();
                while began.elapsed() < time {
                    client.send(request, &[NPY], body).unwrap().expect(200);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    answered.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

/// Many clients of one matrix against one.
fn merging(server: &mut Server) {
    let (rows, each) = size((2000, 50), (20_000, 200));
    server.send("PUT /v1/matrices/a", &[MTX], &banded(rows, each)).expect(201);
    let (request, x, time) = ("POST /v1/matrices/a/spmv", ones(rows), Duration::from_millis(size(500, 5000)));
    let one = throughput(server, 1, time, request, &x);
    let many = throughput(server, 64, time, request, &x);
    let width = metric(server, "nnz_merged_sum") / metric(server, "nnz_merged_count");
    server.say(format_args!(
        "spmv, {rows} rows of {each}: {one:.0}/s by one client, {many:.0}/s by 64, {:.1} times; {width:.1} requests a product",
        many / one
    ));
}

/// A number of the server, the sum of those of its devices.
fn metric(server: &Server, name: &str) -> f64 {
    let metrics = server.send("GET /metrics", &[], &[]);
    let samples = metrics.text().lines().filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
    let of_devices = samples.filter(|(labels, _)| labels.is_empty() || labels.starts_with("{device="));
    of_devices.map(|(_, number)| number.parse::<f64>().unwrap()).sum()
}

/// Large bodies in and out, against a server that only discards and sends.
fn transfer(server: &mut Server) {
    let bytes: usize = size(32 << 20, 1 << 30);
    // The upload is an array with one entry, and the result that array again.
    let mut values = vec![0.0; bytes / 8];
    values[0] = 1.0;
    let body = npy(&[bytes / 8 / 1024, 1024], &values);
    drop(values);
    let raw = raw_server();
    let rate = |began: Instant| bytes as f64 / began.elapsed().as_secs_f64() / 1e9;
    let best = |mut once: Box<dyn FnMut() -> f64 + '_>| (0..3).map(|_| once()).fold(0.0, f64::max);
    let send = |address, request: &'static str, body| {
        best(Box::new(move || {
            let began = Instant::now();
            let answer = Client::new(address).send(request, &[NPY], body).unwrap();
            assert!(answer.status < 300, "{}", answer.text());
            rate(began)
        }))
    };
    let (up, raw_up) =
        (send(server.address, "PUT /v1/matrices/x?replace=1", &body), send(raw, "PUT /raw", &body[..]));
    let (down, raw_down) = (
        send(server.address, "POST /v1/matrices/x/dense", &[]),
        send(raw, Box::leak(format!("POST /raw?{bytes}").into_boxed_str()), &[]),
    );
    server.say(format_args!(
        "{} MB: upload {up:.2} GB/s, {:.2} of raw; result {down:.2} GB/s, {:.2} of raw",
        bytes >> 20,
        up / raw_up,
        down / raw_down
    ));
}

/// A server that discards what is put, and answers as many bytes as are posted for.
fn raw_server() -> SocketAddr {
    let (tell, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            let discard = |mut body: Body| async move { while let Some(Ok(_)) = body.frame().await {} };
            let answer = |uri: axum::http::Uri| async move {
                Bytes::from(vec![0_u8; uri.query().and_then(|query| query.parse().ok()).unwrap()])
            };
            let router: Router = Router::new().route("/raw", put(discard).post(answer));
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let service = hyper_util::service::TowerToHyperService::new(router.clone());
                let io = hyper_util::rt::TokioIo::new(stream);
                tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(io, service));
            }
        });
    });
    address.recv().unwrap()
}

/// An operation whose time is proportional to its iterations.
fn put_slow(server: &Server) {
    let body = mtx(2, 2, &[(0, 0, 1.0), (1, 1, 1e6)]);
    server.send("PUT /v1/matrices/slow", &[MTX], &body).expect(201);
}

fn slow(iterations: usize) -> (String, Vec<u8>) {
    let solve = "POST /v1/matrices/slow/solve?method=gmres&restart=1&tol=0&max_iterations=";
    (format!("{solve}{iterations}"), npy(&[2], &[1000.0, 1.0]))
}

/// Ten times as many clients as workers: those that are accepted wait little, and others are refused.
fn overload(server: &mut Server) {
    put_slow(server);
    let (request, body) = slow(size(500, 5000));
    let time = Duration::from_secs(size(1, 60));
    let load = |clients: usize| {
        let refused = AtomicUsize::new(0);
        let began = Instant::now();
        let accepted: Vec<Duration> = std::thread::scope(|scope| {
            let one = || {
                let (mut client, mut times) = (server.client(), vec![]);
                while began.elapsed() < time {
                    let sent = Instant::now();
                    match client.send(&request, &[NPY], &body).unwrap() {
                        answer if answer.status == 200 => times.push(sent.elapsed()),
                        answer => {
                            assert!(answer.expect(429).head.contains("retry-after"));
                            refused.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(10));
                        }
                    }
                }
                times
            };
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(one)).collect();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        (accepted, refused.into_inner())
    };
    let ((mut unloaded, none), (mut loaded, refused)) = (load(2), load(20));
    let (before, after) = (quantile(&mut unloaded, 0.99), quantile(&mut loaded, 0.99));
    server.say(format_args!(
        "20 clients of 2 workers: {} accepted with p99 {after:.1} ms, {:.1} times that of 2 clients; {refused} refused",
        loaded.len(),
        after / before
    ));
    assert!(none == 0 && refused > 0 && !loaded.is_empty());
    assert!(!is_full() || after <= 3.0 * before, "the queue is short");
}

/// Bytes of a matrix of the scenario `zipf` in memory: 500 entries of 12 bytes and 501 offsets of 4.
const MATRIX_BYTES: u64 = 8004;

/// Matrices of four times the memory, of which a few are used most.
fn zipf(server: &mut Server) {
    const COUNT: usize = 36;
    for k in 0..COUNT {
        let entries: Vec<_> = (0..500).map(|row| (row, row, (row * COUNT + k) as f64)).collect();
        server.send(&format!("PUT /v1/matrices/m{k}"), &[MTX], &mtx(500, 500, &entries)).expect(201);
    }
    let (x, requests, retries) = (ones(500), size(50, 5000), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (x, retries, server) = (&x, &retries, &*server);
            scope.spawn(move || {
                let (mut random, mut client) = (Random(seed), server.client());
                for _ in 0..requests {
                    // The k-th matrix is used 1/k times as often as the first.
                    let k =
                        (COUNT as f64).powf(random.below(1 << 20) as f64 / f64::from(1 << 20)) as usize - 1;
                    let answer = loop {
                        let answer = client.send(&format!("POST /v1/matrices/m{k}/spmv"), &[NPY], x).unwrap();
                        if answer.status != 429 {
                            break answer;
                        }
                        retries.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(2));
                    };
                    let right = (0..500).map(|row| (row * COUNT + k) as f64);
                    assert!(answer.array().into_iter().eq(right), "the right matrix");
                }
            });
        }
    });
    let list = server.send("GET /v1/matrices", &[], &[]).json();
    let resident = list["matrices"].as_array().unwrap().iter().filter(|view| view["tier"] == "device");
    let bytes: u64 = resident.map(|view| view["bytes"].as_u64().unwrap()).sum();
    await_that("the ledger is the sum of what is resident", || server.used_bytes() == bytes);
    let (answers, evictions) = (4 * requests, metric(server, "nnz_evictions"));
    server.say(format_args!(
        "{answers} right answers, {} retries, {evictions} evictions",
        retries.into_inner()
    ));
}

#[track_caller]
fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Bodies, headers and parameters with errors.
fn mutation(server: &mut Server) {
    server.send("PUT /v1/matrices/a", &[MTX], &banded(20, 3)).expect(201);
    let data = |kind: &str| server.send("GET /v1/matrices/a/data", &[&format!("Accept: {kind}")], &[]).body;
    let (npz, text) = (data("application/x-npz"), data("text/x-matrix-market"));
    let originals = [
        ("PUT /v1/matrices/b?replace=1", "Content-Type: application/x-npz", npz),
        ("PUT /v1/matrices/b?replace=1", MTX, text),
        ("PUT /v1/matrices/b?replace=1", NPY, npy(&[4, 3], &[1.0; 12])),
        ("PUT /v1/matrices/b?replace=1", NPY, npy(&[2, 2, 3], &[1.0; 12])),
        ("POST /v1/matrices/a/spmv?alpha=2,1&op=t", NPY, ones(20)),
        ("POST /v1/matrices/a/solve?method=cg&tol=1e-3&max_iterations=9", NPY, ones(20)),
        ("POST /v1/matrices/a/select?rows=0..3,7&columns=1..9", NPY, vec![]),
    ];
    let (mut random, mut client, mut counts) =
        (Random(7), server.client(), std::collections::BTreeMap::new());
    let began = Instant::now();
    for _ in 0..size(700, 100_000) {
        let (request, media, body) = &originals[random.below(originals.len())];
        let (mut request, mut body) = (request.to_string(), body.clone());
        if body.is_empty() || random.below(5) == 0 {
            request = mutate_query(&request, &mut random);
        } else {
            mutate(&mut body, &mut random);
        }
        let answer = client.send(&request, &[media], &body).expect("an answer");
        // What would be too large for the memory is refused.
        assert!(answer.status < 500 || answer.status == 507, "{request}: {answer:?} for {body:?}");
        *counts.entry(answer.status).or_insert(0) += 1;
    }
    let time = began.elapsed().as_secs_f64();
    server.say(format_args!("answers by status: {counts:?} in {time:.1} s"));
    server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
    client.send("DELETE /v1/matrices/b", &[], &[]).unwrap();
    assert_eq!(server.used_bytes(), 0, "what was refused left nothing");
}

fn mutate(body: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let (length, at) = (body.len(), random.below(body.len().max(1)));
        match random.below(6) {
            _ if body.is_empty() => return,
            0 => body.truncate(at),
            1 => body.insert(at, random.below(256) as u8),
            2 => drop(body.remove(at)),
            3 => body[at] = b"0193-. \n\xff\0"[random.below(10)],
            4 => body.extend_from_within(at..length.min(at + 40)),
            _ => body[at] ^= 1 << random.below(8),
        }
    }
}

/// Replaces characters of the query by others that an address may have.
fn mutate_query(request: &str, random: &mut Random) -> String {
    let start = request.find('?').unwrap() + 1;
    let (path, query) = request.split_at(start);
    let mut query: Vec<u8> = query.into();
    for _ in 0..=random.below(3) {
        let at = random.below(query.len());
        query[at] = b"0123456789abcnt=&,.-+%eE"[random.below(24)];
    }
    format!("{path}{}", String::from_utf8(query).unwrap())
}

/// Clients that send a byte now and then beside one that does not.
fn trickle(server: &mut Server) {
    server.send("PUT /v1/matrices/a", &[MTX], &banded(1000, 5)).expect(201);
    let (request, x, time) = ("POST /v1/matrices/a/spmv", ones(1000), Duration::from_secs(size(1, 10)));
    let alone = throughput(server, 1, time, request, &x);
    let (clients, ends) = (size(100, 500), AtomicBool::new(false));
    let beside = std::thread::scope(|scope| {
        scope.spawn(|| {
            let head = format!(
                "PUT /v1/matrices/b HTTP/1.1\r\nHost: {}\r\n{MTX}\r\nContent-Length: 999\r\n\r\n",
                server.address
            );
            let mut streams: Vec<_> =
                (0..clients).map(|_| TcpStream::connect(server.address).unwrap()).collect();
            for byte in head.bytes().chain(std::iter::repeat(b'%')) {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                // The server may close what is too slow.
                streams.retain_mut(|stream| stream.write_all(&[byte]).is_ok());
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let beside = throughput(server, 1, time, request, &x);
        ends.store(true, Ordering::Relaxed);
        beside
    });
    let part = beside / alone;
    server.say(format_args!("{clients} slow clients leave another {part:.2} of its {alone:.0} requests/s"));
    assert!(!is_full() || part >= 0.9);
}

/// Requests that run or wait when the server is asked to stop.
fn stop(server: &mut Server) {
    put_slow(server);
    let count = size(20, 100);
    let (request, body) = slow(size(2000, 5000));
    let answered: usize = std::thread::scope(|scope| {
        let send = || server.client().send(&request, &[NPY], &body).is_ok_and(|answer| answer.status == 200);
        let clients: Vec<_> = (0..count).map(|_| scope.spawn(send)).collect();
        // All that are left are in the server, and most have just begun to wait.
        std::thread::sleep(Duration::from_millis(300));
        let left = server.operations();
        server.terminate();
        server.say(format_args!("{left} of {count} requests in flight at SIGTERM"));
        clients.into_iter().map(|client| usize::from(client.join().unwrap())).sum()
    });
    assert_eq!(answered, count, "none is lost");
}

/// Puts, products, sums, jobs and deletions, behind which nothing is left.
fn churn(server: &mut Server) {
    if !Path::new("/proc/self/statm").exists() {
        return server.say("skipped: there is no /proc");
    }
    let round = |clients: u64, time: Duration| {
        std::thread::scope(|scope| {
            for seed in 0..clients {
                let server = &*server;
                scope.spawn(move || churn_client(server, seed, time));
            }
        });
    };
    round(4, Duration::from_millis(size(300, 5000)));
    let resources = || (resident_bytes(server), descriptors(server));
    let (memory, files) = resources();
    round(4, Duration::from_secs(size(1, 20 * 60)));
    await_that("no connection is left", || descriptors(server) <= files + 2);
    let (memory_after, files_after) = resources();
    await_that("no byte of the ledger is left", || server.used_bytes() == 0);
    for folder in ["uploads", "spilled", "segments"] {
        let left = std::fs::read_dir(server.data.path().join(folder)).unwrap().count();
        assert_eq!(left, 0, "files in {folder}");
    }
    server.say(format_args!(
        "memory {} MB before and {} MB after, descriptors {files} and {files_after}, ledger 0",
        memory >> 20,
        memory_after >> 20
    ));
    assert!(memory_after <= memory + memory / 4 + (32 << 20), "memory comes back");
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
            client.send(&format!("GET /v1/jobs/{id}?wait=10"), &[], &[]).unwrap().expect(200);
            client.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).unwrap().expect(200);
        }
        client.send(&format!("DELETE /v1/jobs/{id}"), &[], &[]).unwrap().expect(204);
        client.send(&format!("DELETE /v1/matrices/{name}"), &[], &[]).unwrap().expect(204);
        count += 1;
    }
}

fn resident_bytes(server: &Server) -> u64 {
    let pages = std::fs::read_to_string(format!("/proc/{}/statm", process_id(server.address))).unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn descriptors(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count()
}
