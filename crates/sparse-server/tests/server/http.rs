//! HTTP on sockets: headers that two programs may understand in two ways, and bodies that pause.

use super::common::{MTX, NPY, NPZ, Response, Running, mtx, npy, read};
use super::matrix;
use sparse_server::{Config, Scope, new_token};
use std::io::{Cursor, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

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
        ("Host:\r\n".into(), 200),
        ("Host:\r\nHost:\r\n".into(), 400),
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
    for (target, host, expected) in [
        ("http://a.example", "A.EXAMPLE:80", 200),
        ("http://user:secret@a.example:80", "a.example", 200),
        ("http://a.example:", "a.example", 200),
        ("http://[::1]:80", "[::1]", 200),
        ("https://a.example:443", "a.example", 200),
        ("https://a.example:80", "a.example", 400),
        ("http://a.example:81", "a.example", 400),
        ("http://a.example@b.example", "a.example", 400),
        ("http://a.example", "", 400),
    ] {
        let found = status(&format!("GET {target}/livez HTTP/1.1\r\nHost: {host}\r\n"));
        assert_eq!(found, expected, "{target} {host}");
    }

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

/// An `.npz` body of SciPy's with these arrays.
fn archive(format: &str, shape: [usize; 2], arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let name = [
        b"\x93NUMPY\x01\x00\x36\x00{'descr': '|S3', 'fortran_order': False, 'shape': ()}\n",
        format.as_bytes(),
    ];
    let described = [("format", name.concat()), ("shape", int64s(&shape))];
    let mut zip = zip::ZipWriter::new(Cursor::new(vec![]));
    for (key, bytes) in described.iter().chain(arrays) {
        let options =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        zip.start_file(format!("{key}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// An `.npy` array of 64-bit integers.
fn int64s(values: &[usize]) -> Vec<u8> {
    let values: Vec<_> = values.iter().map(|&value| value as i64).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    nnz::io::npy::write_indices(file.path(), &values).unwrap();
    std::fs::read(file.path()).unwrap()
}

/// `.npz` bodies of `count` entries in diagonals (DIA) and in blocks of 2 x 2 (BSR).
fn diagonals_and_blocks(count: usize) -> [Vec<u8>; 2] {
    let blocks = count / 4;
    let values = |shape: &[usize]| ("data", npy(shape, &vec![2.0; count]));
    let offsets: Vec<_> = (0..=blocks).collect();
    [
        archive("dia", [count, count], &[("offsets", int64s(&[0])), values(&[1, count])]),
        archive(
            "bsr",
            [2 * blocks, 2 * blocks],
            &[("indptr", int64s(&offsets)), ("indices", int64s(&offsets[..blocks])), values(&[blocks, 2, 2])],
        ),
    ]
}

#[test]
fn bodies_are_taken_as_they_are_once_many_others_fill_the_buffers() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("shared/default");
    std::fs::create_dir_all(&folder).unwrap();
    let shared = Some(data.path().join("shared"));
    let server = Running::start(Config { shared, ..Config::new(data.path(), 64 << 20) });
    let n = 60_000;
    let start = |request: &str, media: &str, length: usize, first: &[u8]| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{media}\r\nContent-Length: {length}\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(first).unwrap();
        stream
    };
    let entries: Vec<_> = (0..n).map(|k| (k, k, 2.0)).collect();
    server.send("PUT /v1/matrices/a", &[MTX], &mtx(n, n, &entries)).expect(201);
    let compressed =
        server.send("GET /v1/matrices/a/data", &["Accept: application/x-npz"], &[]).expect(200).body;
    let x: Vec<f64> = (0..n).map(|k| k as f64).collect();
    let operand = npy(&[n], &x);

    // They have a megabyte each, and more than there may be of such buffers.
    let (put, spmv) = ("PUT /v1/matrices/b", "POST /v1/matrices/a/spmv");
    let pausing: Vec<_> = (0..48).map(|_| start(spmv, NPY, 1 << 20, &operand[..400_000])).collect();
    std::thread::sleep(Duration::from_millis(300));
    let dense = npy(&[300, n / 300], &vec![2.0; n]);
    let [diagonals, blocks] = diagonals_and_blocks(n);
    for (request, media, body) in [
        (put, MTX, mtx(n, n, &entries)),
        (put, NPZ, compressed),
        (put, NPZ, diagonals),
        (put, NPZ, blocks),
        (put, NPY, dense),
        (spmv, NPY, operand),
    ] {
        // Few bytes come first, by which no kind of file is known.
        let mut stream = start(request, media, body.len(), &body[..10]);
        std::thread::sleep(Duration::from_millis(50));
        stream.write_all(&body[10..]).unwrap();
        let sent = read(&mut stream).expect("an answer");
        // A file comes in parts of a megabyte, the first one too.
        std::fs::write(folder.join("body"), body).unwrap();
        let named = server.send(request, &[media, "nnz-body-file: body"], &[]);
        for answer in [sent, named] {
            match request == spmv {
                true => assert!(answer.array().iter().zip(&x).all(|(y, x)| *y == 2.0 * x)),
                false => assert_eq!(answer.expect(201).json()["nnz"], n),
            }
        }
    }
    drop(pausing);
    for body in diagonals_and_blocks(160_000) {
        assert!(body.len() > 1 << 20, "it does not stay in memory");
        assert_eq!(server.send(put, &[NPZ], &body).expect(201).json()["nnz"], 160_000);
    }
}

#[test]
fn a_body_that_names_arrays_is_waited_for_as_others_are() {
    let data = tempfile::tempdir().unwrap();
    let mut config = Config { cuda_ipc: true, ..Config::new(data.path(), 1 << 20) };
    config.limits.idle_time = Duration::from_millis(200);
    let server = Running::start(config);
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    for request in ["PUT /v1/matrices/b", "POST /v1/matrices/a/spmv"] {
        let media = "Content-Type: application/x-nnz-cuda\r\nContent-Length: 9\r\n";
        let lines = format!("{request} HTTP/1.1\r\nHost: {}\r\n{CLOSE}{media}", server.address);
        send_lines(server.address, &lines, "{").expect(408);
    }
}
