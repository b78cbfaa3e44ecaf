//! Limits that tenants and addresses have together: none of them gets all of what a server has.

use super::common::{MTX, NPY, Running, mtx, npy, read, send};
use super::matrix;
use sparse_server::{Config, Scope, new_token};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn a_tenant_with_requests_in_flight_on_half_of_the_connections_waits_and_others_do_not() {
    const CONNECTIONS: usize = 16;
    let data = tempfile::tempdir().unwrap();
    let [(first, line), (second, other_line)] =
        ["first", "second"].map(|tenant| new_token(tenant, &[Scope::Read, Scope::Write]).unwrap());
    let file = data.path().join("tokens");
    std::fs::write(&file, format!("{line}\n{other_line}\n")).unwrap();
    let mut config = Config { tokens: Some(file), ..Config::new(data.path(), 1 << 20) };
    config.limits.connections = CONNECTIONS;
    let server = Running::start(config);
    let authorization = |token: &str| format!("Authorization: Bearer {token}");
    let ask = |request: &str, token: &str| send(server.address, request, &[&authorization(token)], &[]);
    let list = |token: &str| ask("GET /v1/matrices", token);
    let upload = |name: usize| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = format!(
            "PUT /v1/matrices/a{name} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nExpect: 100-continue\r\n{}\r\n{MTX}\r\nContent-Length: {}\r\n\r\n",
            server.address,
            authorization(&first),
            matrix().len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut goes_on = *b"HTTP/1.1 100 Continue\r\n\r\n";
        stream.read_exact(&mut goes_on).unwrap();
        assert!(goes_on.starts_with(b"HTTP/1.1 100"), "{}", String::from_utf8_lossy(&goes_on));
        stream.write_all(&matrix()[..20]).unwrap();
        stream
    };
    let mut paused: Vec<_> = (0..CONNECTIONS / 2).map(upload).collect();
    let refused = list(&first).expect(429);
    assert!(
        refused.head.contains("retry-after") && refused.text().contains("in flight"),
        "{}",
        refused.text()
    );
    list(&second).expect(200);
    // It still sees how the server is, and ends jobs.
    ask("GET /v1/status", &first).expect(200);
    ask("HEAD /v1/status", &first).expect(200);
    ask("GET /v1/jobs/0-0", &first).expect(404);
    ask("HEAD /v1/jobs/0-0", &first).expect(404);
    ask("DELETE /v1/jobs/0-0", &first).expect(404);
    ask("GET /v1/jobs/0-0?wait=1", &first).expect(429);
    // Those that had begun are not refused, and the next ones have their places.
    for stream in &mut paused {
        stream.write_all(&matrix()[20..]).unwrap();
        assert_eq!(read(stream).unwrap().status, 201);
    }
    list(&first).expect(200);
}

#[test]
fn a_request_that_is_refused_costs_nothing_of_the_rate() {
    let data = tempfile::tempdir().unwrap();
    let (token, line) = new_token("first", &[Scope::Read, Scope::Write]).unwrap();
    let file = data.path().join("tokens");
    std::fs::write(&file, format!("{line}\n")).unwrap();
    let mut config = Config { tokens: Some(file), ..Config::new(data.path(), 1 << 20) };
    config.limits.connections = 4;
    config.limits.tenant_rate = Some(4);
    let server = Running::start(config);
    let authorization = format!("Authorization: Bearer {token}");
    let upload = || {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = format!(
            "PUT /v1/matrices/a HTTP/1.1\r\nHost: {}\r\nExpect: 100-continue\r\n{authorization}\r\n{MTX}\r\nContent-Length: 99\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 12]).unwrap();
        stream
    };
    let paused = [upload(), upload()];
    for _ in 0..50 {
        let refused = send(server.address, "GET /v1/matrices", &[&authorization], &[]).expect(429);
        assert!(refused.text().contains("in flight"), "{}", refused.text());
    }
    send(server.address, "GET /v1/status", &[&authorization], &[]).expect(200);
    drop(paused);
}

#[test]
fn an_answer_that_is_not_read_counts_until_its_connection_ends() {
    let data = tempfile::tempdir().unwrap();
    let [(first, line), (second, other_line)] =
        ["first", "second"].map(|tenant| new_token(tenant, &[Scope::Read, Scope::Write]).unwrap());
    let file = data.path().join("tokens");
    std::fs::write(&file, format!("{line}\n{other_line}\n")).unwrap();
    let mut config = Config { tokens: Some(file), ..Config::new(data.path(), 1 << 30) };
    config.limits.connections = 4;
    let server = Running::start(config);
    let headers = |token: &str| format!("Authorization: Bearer {token}\r\n{NPY}");
    let n = 4_000_000;
    let put = format!("Authorization: Bearer {first}\r\n{MTX}");
    server.send("PUT /v1/matrices/a", &[&put], &mtx(n, 1, &[(0, 0, 1.0)])).expect(201);
    let large = || {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let body = npy(&[1], &[1.0]);
        let head = format!(
            "POST /v1/matrices/a/spmv HTTP/1.1\r\nHost: {}\r\n{}\r\nContent-Length: {}\r\n\r\n",
            server.address,
            headers(&first),
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        // The header has come, and 32 MB are more than the buffers of the connection.
        let mut status = *b"HTTP/1.1 200";
        stream.read_exact(&mut status).unwrap();
        status.ends_with(b"200").then_some(stream)
    };
    let began = Instant::now();
    let wait = |for_what: &str| {
        assert!(began.elapsed() < Duration::from_secs(60), "{for_what}");
        sleep(Duration::from_millis(20));
    };
    // The request before them may count for a moment still.
    let mut unread = vec![];
    while unread.len() < 2 {
        match large() {
            Some(stream) => unread.push(stream),
            None => wait("two answers are begun"),
        }
    }
    let status = |token: &str| send(server.address, "GET /v1/matrices", &[&headers(token)], &[]).status;
    assert_eq!((status(&first), status(&second)), (429, 200));
    drop(unread);
    while status(&first) != 200 {
        wait("the connections have ended");
    }
}
