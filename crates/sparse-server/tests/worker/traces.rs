//! Spans that a collector gets of a server and of its worker process.

use super::common::{MTX, NPY, Running, mtx, npy};
use super::config;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A collector on the loopback: its address, and the bodies that it gets.
fn collector() -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let bodies = Arc::new(Mutex::new(vec![]));
    let received = bodies.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut length = 0;
            let (mut line, mut first) = (String::new(), String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                let (name, value) = line.split_once(' ').unwrap();
                if name.eq_ignore_ascii_case("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                first = if first.is_empty() { line.clone() } else { first };
                line.clear();
            }
            assert!(first.starts_with("POST /v1/traces "), "{first}");
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            received.lock().unwrap().push(body);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            reader.into_inner().write_all(answer).unwrap();
        }
    });
    (address, bodies)
}

type SpanId = [u8; 8];

/// The spans of a trace in a body of OTLP, each with its parent.
fn spans_of(trace: &[u8; 16], body: &[u8]) -> Vec<(SpanId, SpanId)> {
    /// The tags and lengths of the fields `span_id` and `parent_span_id`, which follow `trace_id`.
    const SPAN: [u8; 2] = [2 << 3 | 2, 8];
    const PARENT: [u8; 2] = [4 << 3 | 2, 8];
    let starts = (0..body.len()).filter(|&at| body[at..].starts_with(trace));
    let fields = starts.map(|at| &body[at + trace.len()..]);
    let span = |fields: &[u8]| {
        assert_eq!((&fields[..2], &fields[10..12]), (&SPAN[..], &PARENT[..]));
        (fields[2..10].try_into().unwrap(), fields[12..20].try_into().unwrap())
    };
    fields.map(span).collect()
}

#[test]
fn a_request_is_a_span_of_its_client_s_trace_and_has_one_of_the_worker() {
    let (address, bodies) = collector();
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data, 1 << 20);
    config.otlp_endpoint = Some(address);
    let server = Running::start(config);
    server.send("PUT /v1/matrices/a", &[MTX], &mtx(1, 1, &[(0, 0, 2.0)])).expect(201);
    let (trace, client) = (*b"\x01trace-of-a-test", *b"\x02client\x03");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let parent = format!("traceparent: 00-{}-{}-01", hex(&trace), hex(&client));
    server.send("POST /v1/matrices/a/spmv", &[NPY, &parent], &npy(&[1], &[1.0])).expect(200);
    // What is left is sent at the end.
    drop(server);
    let bodies = bodies.lock().unwrap();
    let spans: Vec<_> = bodies.iter().flat_map(|body| spans_of(&trace, body)).collect();
    let [(front_end, _)] = spans.iter().filter(|(_, parent)| *parent == client).collect::<Vec<_>>()[..]
    else {
        panic!("one span of the client's: {spans:?}")
    };
    let of_front_end = spans.iter().filter(|(_, parent)| parent == front_end).count();
    assert_eq!((spans.len(), of_front_end), (2, 1), "and one of the worker in it: {spans:?}");
    let has = |text: &[u8]| bodies.iter().any(|body| body.windows(text.len()).any(|window| window == text));
    for text in ["POST spmv", "http.route", "nnz.request_id"] {
        assert!(has(text.as_bytes()), "{text}");
    }
}
