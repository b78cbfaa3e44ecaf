//! What HTTP asks of a server, on sockets: headers that two programs may understand in two ways.

use super::common::{MTX, Response, Running, read};
use super::matrix;
use sparse_server::{Config, Scope, new_token};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};

const CLOSE: &str = "Connection: close\r\n";

/// Sends the line and the headers of a request, and a body, on a connection of its own, and reads to its end.
fn send_lines(address: SocketAddr, lines: &str, body: &str) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{lines}\r\n{body}").as_bytes()).unwrap();
    read(&mut stream).expect("an answer")
}

#[test]
fn requests_that_may_be_understood_in_two_ways_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let (token, line) = new_token("lab", &[Scope::Read, Scope::Write]).unwrap();
    let file = data.path().join("tokens");
    std::fs::write(&file, line).unwrap();
    let server = Running::start(Config { tokens: Some(file), ..Config::new(data.path(), 1 << 20) });
    let status = |lines: &str| send_lines(server.address, &format!("{lines}{CLOSE}"), "").status;
    let host = format!("Host: {}\r\n", server.address);
    for (headers, expected) in [
        (host.clone(), 200),
        ("HOST: some-name_1.example:80\r\n".into(), 200),
        (String::new(), 400),
        ("Host:\r\n".into(), 400),
        ("Host: a b\r\n".into(), 400),
        ("Host: a/b\r\n".into(), 400),
        ("Host: user@a\r\n".into(), 400),
        (format!("{host}{host}"), 400),
    ] {
        for path in ["livez", "openapi.json"] {
            let found = status(&format!("GET /{path} HTTP/1.1\r\n{headers}"));
            assert_eq!(found, expected, "{path} {headers}");
        }
    }
    assert_eq!(status("GET /livez HTTP/1.0\r\n"), 200);
    let absolute = |other: &str| status(&format!("GET http://{other}/livez HTTP/1.1\r\n{host}"));
    assert_eq!((absolute(&server.address.to_string()), absolute("other.example")), (200, 400));

    let body = String::from_utf8(matrix()).unwrap();
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let put = |headers: &str, body: &str| {
        let lines =
            format!("PUT /v1/matrices/a HTTP/1.1\r\n{host}Authorization: Bearer {token}\r\n{MTX}\r\n");
        send_lines(server.address, &format!("{lines}{headers}\r\n"), body)
    };
    let put_closing = |headers: &str, body: &str| put(&format!("{CLOSE}{headers}"), body).status;
    assert_eq!(put_closing(&format!("Content-Length: {}", body.len()), &body), 201);
    assert_eq!(put_closing("Transfer-Encoding: Chunked", &chunk), 201);
    for headers in [
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: identity",
        "Transfer-Encoding : chunked",
        "Content-Length: 4\r\nContent-Length: 5",
        "Content-Length: +4",
    ] {
        assert_eq!(put_closing(headers, &chunk), 400, "{headers}");
    }

    // Of a length beside chunks nothing is believed, and the connection ends before what another program takes for the
    // next request.
    let next = format!("GET /livez HTTP/1.1\r\n{host}\r\n");
    for headers in
        ["Transfer-Encoding: chunked\r\nContent-Length: 4", "Content-Length: 4\r\nTransfer-Encoding: chunked"]
    {
        let answer = put(headers, &format!("{chunk}{next}")).expect(201);
        assert!(!answer.text().contains("HTTP/1.1"), "{headers}: {}", answer.text());
    }
}
