//! What all tenants have together: none of them has all of it.

use super::common::{MTX, NPY, Running, mtx, npy, read, send};
use super::matrix;
use sparse_server::{Config, Scope, new_token};
use std::io::{Read, Write};
use std::net::TcpStream;

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
    let status = |token: &str| send(server.address, "GET /v1/status", &[&authorization(token)], &[]);
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
    let refused = status(&first).expect(429);
    assert!(
        refused.head.contains("retry-after") && refused.text().contains("in flight"),
        "{}",
        refused.text()
    );
    status(&second).expect(200);
    // Those that had begun are not refused, and the next ones have their places.
    for stream in &mut paused {
        stream.write_all(&matrix()[20..]).unwrap();
        assert_eq!(read(stream).unwrap().status, 201);
    }
    status(&first).expect(200);
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
    // The request before them may count for a moment still.
    let unread: Vec<_> = std::iter::repeat_with(large).flatten().take(2).collect();
    let status = |token: &str| send(server.address, "GET /v1/status", &[&headers(token)], &[]).status;
    assert_eq!((status(&first), status(&second)), (429, 200));
    drop(unread);
    let began = std::time::Instant::now();
    while status(&first) != 200 {
        assert!(began.elapsed().as_secs() < 20, "the connections have ended");
    }
}
