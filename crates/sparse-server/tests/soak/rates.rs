//! Times and rates of a server that is asked for nothing unusual.

use crate::client::{banded, ones, quantile, scattered};
use crate::common::{Client, MTX, NPY, NPZ, npy};
use crate::service::{Server, processor_time_of};
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

/// Many clients of one matrix against one: of a band, whose rows share columns, and of one without any order.
pub(crate) fn merging(server: &mut Server) {
    let (rows, each) = size((2000, 50), (20_000, 200));
    let time = Duration::from_millis(size(500, 5000));
    for (name, body) in [("band", banded(rows, each)), ("scattered", scattered(rows, each))] {
        server.send("PUT /v1/matrices/a?replace=1", &[MTX], &body).expect(201);
        let [one, many] = [1, 64].map(|clients| merged(server, name, clients, rows, time));
        server.say(format_args!("{name}: 64 clients have {:.1} times the products of one", many / one));
        server.require(&format!("64 clients have 5 times the products of one ({name})"), many >= 5.0 * one);
    }
}

/// The products a second of so many clients.
fn merged(server: &Server, name: &str, clients: usize, rows: usize, time: Duration) -> f64 {
    let merged = || ["nnz_merged_sum", "nnz_merged_count"].map(|name| server.metric(name));
    let times = || [server.processor_time(), processor_time_of("self")];
    let (merged_before, times_before) = (merged(), times());
    let rate = throughput(server, clients, time, "POST /v1/matrices/a/spmv", &ones(rows));
    let ([requests, products], [served, sent]) = (merged(), times());
    let width = (requests - merged_before[0]) / (products - merged_before[1]);
    let per_request = |time_of: Duration| time_of.as_secs_f64() * 1e3 / (rate * time.as_secs_f64());
    server.say(format_args!(
        "{name}, {rows} rows, {clients} clients: {rate:.0}/s, {width:.1} requests a product; processor time of a request \
         {:.2} ms by the server and {:.2} ms by its client",
        per_request(served - times_before[0]),
        per_request(sent - times_before[1]),
    ));
    rate
}

/// Large bodies in and out, each in turn with a server that only discards and sends.
pub(crate) fn transfer(server: &mut Server) {
    let bytes: usize = size(32 << 20, 1 << 30);
    let raw = raw_server();
    let results = format!("POST /raw?{bytes}");
    // 200 entries have some 2 kB of text.
    let text = banded(size(2 << 10, 64 << 10), 200);
    for (name, kind, body) in
        [("dense", NPY, one_entry(bytes)), ("archive", NPZ, archive(bytes)), ("text", MTX, text)]
    {
        let [up, raw_up] = rates(
            body.len(),
            [&|| send(server.address, "PUT /v1/matrices/x?replace=1", kind, &body), &|| {
                send(raw, "PUT /raw", kind, &body)
            }],
        );
        server.say(format_args!(
            "{} MB, {name}: upload {up:.2} GB/s, {:.2} of raw",
            body.len() >> 20,
            up / raw_up
        ));
        server.require(&format!("uploads ({name}) have 0.6 of the raw rate"), up >= 0.6 * raw_up);
        if name == "dense" {
            let [down, raw_down] = rates(
                bytes,
                [&|| send(server.address, "POST /v1/matrices/x/dense", NPY, &[]), &|| {
                    send(raw, &results, NPY, &[])
                }],
            );
            let part = down / raw_down;
            server.say(format_args!("{} MB: result {down:.2} GB/s, {part:.2} of raw", bytes >> 20));
            server.require("results have 0.6 of the raw rate", down >= 0.6 * raw_down);
        }
    }
}

fn send(address: SocketAddr, request: &str, kind: &str, body: &[u8]) {
    let answer = Client::new(address).send(request, &[kind], body).unwrap();
    assert!(answer.status < 300, "{}", answer.text());
}

/// The median rates of two ways to move so many bytes, in GB/s. They take turns, so that other load on the machine
/// slows both.
fn rates(bytes: usize, ways: [&dyn Fn(); 2]) -> [f64; 2] {
    let mut times = [vec![], vec![]];
    for _ in 0..size(2, 5) {
        for (way, times) in ways.iter().zip(&mut times) {
            let began = Instant::now();
            way();
            times.push(began.elapsed());
        }
    }
    times.map(|mut times| bytes as f64 / quantile(&mut times, 0.5) / 1e6)
}

/// A dense array with one entry.
fn one_entry(bytes: usize) -> Vec<u8> {
    let mut values = vec![0.0; bytes / 8];
    values[0] = 1.0;
    npy(&[bytes / 8 / 1024, 1024], &values)
}

/// An archive that is not deflated, of a matrix with 1024 entries in a row.
fn archive(bytes: usize) -> Vec<u8> {
    let (entries, each) = (bytes / 12, 1024);
    let rows = entries / each;
    let array = |descr: &str, shape: String, data: Vec<u8>| {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        header.extend(std::iter::repeat_n(' ', 128 - 10 - header.len()));
        [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), &data].concat()
    };
    let integers = |range: &mut dyn Iterator<Item = usize>| -> Vec<u8> {
        range.flat_map(|number| (number as i32).to_le_bytes()).collect()
    };
    let arrays = [
        (
            "indices",
            array("<i4", format!("({},)", rows * each), integers(&mut (0..rows * each).map(|k| k % each))),
        ),
        ("indptr", array("<i4", format!("({},)", rows + 1), integers(&mut (0..=rows).map(|row| row * each)))),
        ("format", array("|S3", "()".into(), b"csr".to_vec())),
        ("shape", array("<i4", "(2,)".into(), integers(&mut [rows, each].into_iter()))),
        ("data", array("<f8", format!("({},)", rows * each), 1.5_f64.to_le_bytes().repeat(rows * each))),
    ];
    let mut archive = vec![];
    for (key, file) in arrays {
        let mut crc = flate2::Crc::new();
        crc.update(&file);
        let name = format!("{key}.npy");
        archive.extend(b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0");
        for number in [crc.sum(), file.len() as u32, file.len() as u32, name.len() as u32] {
            archive.extend(number.to_le_bytes());
        }
        archive.extend(name.into_bytes());
        archive.extend(file);
    }
    archive.extend(b"PK\x05\x06");
    archive.extend([0; 18]);
    archive
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
