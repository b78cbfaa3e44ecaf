//! Times and rates of a server that is asked for nothing unusual.

use crate::client::{banded, ones, quantile};
use crate::common::{Client, MTX, NPY, npy};
use crate::service::Server;
use crate::size;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::put;
use http_body_util::BodyExt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time of one request after the other, on one connection.
pub(crate) fn latency(server: &mut Server) {
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
    server.require("a product with a small matrix takes 200 microseconds", p50 <= 0.2);
}

/// Requests per second of so many clients for some time, all of which are answered alike.
pub(crate) fn throughput(server: &Server, clients: usize, time: Duration, request: &str, body: &[u8]) -> f64 {
    let expected = server.send(request, &[NPY], body).expect(200).body;
    let (answered, began) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = server.client();
                while began.elapsed() < time {
                    let answer = client.send(request, &[NPY], body).unwrap().expect(200);
                    assert!(answer.body == expected, "each answer has the same bits");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    answered.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

/// Many clients of one matrix against one.
pub(crate) fn merging(server: &mut Server) {
    let (rows, each) = size((2000, 50), (20_000, 200));
    server.send("PUT /v1/matrices/a", &[MTX], &banded(rows, each)).expect(201);
    let (request, x, time) = ("POST /v1/matrices/a/spmv", ones(rows), Duration::from_millis(size(500, 5000)));
    let one = throughput(server, 1, time, request, &x);
    let many = throughput(server, 64, time, request, &x);
    let width = server.metric("nnz_merged_sum") / server.metric("nnz_merged_count");
    server.say(format_args!(
        "spmv, {rows} rows of {each}: {one:.0}/s by one client, {many:.0}/s by 64, {:.1} times; {width:.1} requests a product",
        many / one
    ));
    server.require("64 clients have 5 times the products of one", many >= 5.0 * one);
}

/// Large bodies in and out, against a server that only discards and sends.
pub(crate) fn transfer(server: &mut Server) {
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
    server.require("uploads have 0.6 of the raw rate", up >= 0.6 * raw_up);
    server.require("results have 0.6 of the raw rate", down >= 0.6 * raw_down);
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
