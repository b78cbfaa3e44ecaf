//! Requests: wrong ones, repeated ones, and those that claim much.

use super::common::{Client, MTX, NPY, Running, mtx, npy};
use super::matrix;
use sparse_server::Config;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn bodies_and_positions_that_claim_much_take_no_memory_and_no_time() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 64 << 20));
    let put =
        |name: &str, media, body: &[u8]| server.send(&format!("PUT /v1/matrices/{name}"), &[media], body);
    let post =
        |request: &str, body: &[u8]| server.send(&format!("POST /v1/matrices/{request}"), &[NPY], body);
    for shape in [[10_usize.pow(15), 0, 0], [100_000_000, 1, 0], [1, 100_000_000, 0], [usize::MAX, 2, 0]] {
        let refused = put("stack", NPY, &npy(&shape, &[])).expect(422);
        assert!(refused.text().contains("too many"), "{}", refused.text());
    }
    put("stack", NPY, &npy(&[2, 3, 0], &[])).expect(201);

    put("wide", MTX, &mtx(3, 10_usize.pow(12), &[(0, 7, 1.0), (2, 8, 2.0)])).expect(201);
    put("widest", MTX, &mtx(0, isize::MAX as usize, &[])).expect(201);
    for select in ["wide/select?rows=0", "wide/select?columns=7", "widest/select", "wide/select?columns=0..7"]
    {
        let refused = post(select, &[]).expect(507);
        assert!(refused.json()["needed_bytes"].as_u64() > Some(1 << 40), "{}", refused.text());
    }
    // What is computed of the entries and the rows takes nothing for the columns.
    for request in ["wide/statistics", "wide/spy", "wide/norm", "wide/norm?ord=inf", "widest/statistics"] {
        post(request, &[]).expect(200);
    }
    let refused = post("wide/norm?ord=1", &[]).expect(507);
    assert!(refused.json()["needed_bytes"].as_u64() > Some(1 << 40), "{}", refused.text());
    let predicted = post("wide/select?rows=0&dry_run=1", &[]).expect(200).json()["bytes"].as_u64();
    assert!(predicted > Some(1 << 40));

    put("none", NPY, &npy(&[0, 0], &[])).expect(201);
    let began = std::time::Instant::now();
    let columns = npy(&[0, 10_usize.pow(12)], &[]);
    for operation in ["solve", "spmm", "trisolve"] {
        let answer = post(&format!("none/{operation}"), &columns).expect(200);
        assert_eq!(nnz::io::npy::parse(&answer.body).unwrap().shape, [0, 10_usize.pow(12)]);
    }
    post("none/sddmm", &columns).expect(200);
    assert!(began.elapsed() < Duration::from_secs(30));

    // Operands of one byte become doubles before they are multiplied.
    put("row", MTX, &mtx(1, 4_000_000, &[(0, 0, 1.0)])).expect(201);
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (4000000,), }";
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.resize(bytes.len() + 4_000_000, 1);
    assert_eq!(post("row/spmv?dry_run=1", &bytes).expect(507).json()["needed_bytes"], 68_000_128);

    // The column pointers of CSC are read before there is CSR.
    let device = nnz::Device::host_with_threads(1).unwrap();
    let path = data.path().join("csc.npz");
    let csc = nnz::Csc::<f64>::zeros(1, 4_000_000).unwrap();
    nnz::Matrix::from_typed(&device, csc).unwrap().write(&*path).unwrap();
    let refused = put("csc", "Content-Type: application/x-npz", &std::fs::read(&path).unwrap()).expect(507);
    assert!(refused.json()["needed_bytes"].as_u64() >= Some(32_000_000), "{}", refused.text());
}

#[test]
fn integers_that_are_no_doubles_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let integers = |values: &[i64]| {
        let path = data.path().join("integers.npy");
        nnz::io::npy::write_index_rows(&path, values, (1, values.len())).unwrap();
        std::fs::read(path).unwrap()
    };
    let exact = integers(&[1 << 53, 0]);
    server.send("PUT /v1/matrices/a", &[NPY], &exact).expect(201);
    server.send("POST /v1/matrices/a/spmm?op=t", &[NPY], &exact).expect(200);
    let rounded = integers(&[(1 << 53) + 1, 0]);
    for request in ["PUT /v1/matrices/a", "POST /v1/matrices/a/spmm?op=t"] {
        let refused = server.send(request, &[NPY], &rounded).expect(422);
        assert!(refused.text().contains("9007199254740993"), "{}", refused.text());
    }
}

#[test]
fn a_real_matrix_tells_the_way_for_complex_numbers() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    let mut x = nnz::io::npy::header::<nnz::c64>(&[3], nnz::Order::RowMajor).unwrap();
    x.extend([0; 48]);
    let program = "POST /v1/programs?program=[{%22operation%22:%22spmv%22,%22matrix%22:%22a%22,%22operand%22:%22$body%22}]";
    for request in ["POST /v1/matrices/a/spmv", program] {
        let refused = server.send(request, &[NPY], &x).expect(422);
        assert!(refused.text().contains("its real and imaginary parts"), "{}", refused.text());
    }
    server.send("POST /v1/matrices/a/cast?dtype=c64&into=c", &[], &[]).expect(201);
    server.send("POST /v1/matrices/c/spmv", &[NPY], &x).expect(200);
}

fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn bodies_and_answers_are_compressed_as_headers_say() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let data = tempfile::tempdir().unwrap();
    let mut config = Config::new(data.path(), 8 << 20);
    config.limits.upload_bytes = 1 << 20;
    let server = Running::start(config);
    let zstd = |body: &[u8]| compress_to_vec(body, CompressionLevel::Fastest);
    let put = |body: &[u8]| server.send("PUT /v1/matrices/a", &[NPY, "Content-Encoding: zstd"], body);
    let values: Vec<f64> = (0..100 * 100).map(|k| f64::from(k % 7)).collect();
    let body = npy(&[100, 100], &values);
    // Frames stand one after the other, and others are skipped.
    let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
    let (first, second) = body.split_at(5000);
    put(&[&zstd(first)[..], skipped, &zstd(second)].concat()).expect(201);
    let dense = |headers: &[&str]| server.send("POST /v1/matrices/a/dense", headers, &[]).expect(200);
    let plain = dense(&[]);
    assert_eq!(plain.array(), values);

    // What is damaged, or larger than a body or a window may be, is refused.
    let mut damaged = zstd(&body);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    put(&damaged).expect(422);
    put(&zstd(&body)[..middle]).expect(422);
    put(b"no frame").expect(422);
    put(&zstd(&vec![0; 2 << 20])).expect(413);
    // Its header claims a window of 16 MiB, and that of the second 8 MiB.
    let frame = |window: u8| [&b"\x28\xb5\x2f\xfd\0"[..], &[window], &[1, 0, 0]].concat();
    assert!(put(&frame(14 << 3)).expect(422).text().contains("window"));
    assert!(!put(&frame(13 << 3)).expect(422).text().contains("window"), "it is allowed, and empty");

    for (encoding, least) in [("gzip", 10), ("deflate", 10), ("zstd", 10)] {
        let answer = dense(&[&format!("Accept-Encoding: {encoding}"), "Connection: close"]);
        assert!(answer.head.contains(&format!("content-encoding: {encoding}")), "{}", answer.head);
        let mut found = vec![];
        let body = &unchunked(&answer.body)[..];
        let read = match encoding {
            "gzip" => flate2::read::GzDecoder::new(body).read_to_end(&mut found),
            "deflate" => flate2::read::ZlibDecoder::new(body).read_to_end(&mut found),
            _ => ruzstd::decoding::StreamingDecoder::new(body).unwrap().read_to_end(&mut found),
        };
        assert!(read.is_ok() && found == plain.body && body.len() * least < found.len(), "{encoding}");
    }
    let accept = "Accept-Encoding: gzip";
    let file = server.send("GET /v1/matrices/a/data", &[accept], &[]).expect(200);
    let tag = file.tag();
    let is_weak = tag.starts_with("W/\"a@1-") && tag.ends_with(".npz\"");
    assert!(is_weak && file.head.contains("vary: accept-encoding"), "{}", file.head);
    server.send("GET /v1/matrices/a/data", &[accept, &format!("If-None-Match: {tag}")], &[]).expect(304);
    let plain = server.send("GET /v1/matrices/a/data", &["Accept: application/x-npy"], &[]).expect(200);
    assert!(plain.head.contains("vary: accept-encoding"), "another client has it compressed: {}", plain.head);
    let small = server.send("POST /v1/matrices/a/norm", &[accept], &[]).expect(200);
    assert!(!small.head.contains("content-encoding"), "{}", small.head);
}

/// The contents of a chunked body.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut contents = vec![];
    loop {
        let end = body.windows(2).position(|window| window == b"\r\n").unwrap();
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return contents;
        }
        contents.extend(&body[end + 2..end + 2 + length]);
        body = &body[end + 4 + length..];
    }
}

#[test]
fn bodies_that_inflate_to_much_take_no_memory_no_disk_and_no_time() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 4 << 20));
    let gzip = "Content-Encoding: gzip";
    let began = std::time::Instant::now();
    let put = |name: &str, media, body: &[u8]| {
        server.send(&format!("PUT /v1/matrices/{name}"), &[media, gzip], &gzipped(body))
    };
    let spmv = |body: &[u8]| server.send("POST /v1/matrices/a/spmv", &[NPY, gzip], &gzipped(body));

    // Of a dense array the zeros are not stored, as without compression.
    let mut values = vec![0.0; 500 * 2000];
    values[7] = 2.0;
    let stored = put("a", NPY, &npy(&[500, 2000], &values)).expect(201).json();
    assert_eq!((&stored["nnz"], &stored["rows"]), (&1.into(), &500.into()));
    let column: Vec<f64> = (0..2000).map(f64::from).collect();
    assert_eq!(spmv(&npy(&[2000], &column)).array()[0], 14.0);
    let stack: Vec<f64> = (0..3000).map(f64::from).collect();
    assert_eq!(put("stack", NPY, &npy(&[3, 25, 40], &stack)).expect(201).json()["members"], 3);

    // What an array claims is refused before it is inflated, and no more than that is inflated.
    let refused = spmv(&npy(&[1 << 20], &[0.0; 1 << 20])).expect(507).json();
    assert!(refused["needed_bytes"].as_u64() >= Some(3 << 23), "{refused}");
    assert!(spmv(&npy(&[1 << 40], &[1.0])).expect(413).text().contains("are allowed"));
    let refused = spmv(&npy(&[2000], &[0.0; 1 << 20])).expect(422);
    assert!(refused.text().contains("its header says that it has 16128 bytes"), "{}", refused.text());
    assert!(spmv(&npy(&[2000], &[0.0; 3])).expect(422).text().contains("24 follow"));

    // A text is decoded as it is inflated and as it comes: it may be longer than the memory, if its entries are not.
    let long = [&mtx(2, 2, &[(0, 0, 1.0), (1, 1, 7.0)])[..], &b"% a note\n".repeat(1 << 20)].concat();
    assert_eq!(put("text", MTX, &long).expect(201).json()["nnz"], 2);
    assert_eq!(server.send("PUT /v1/matrices/text", &[MTX], &long).expect(201).json()["nnz"], 2);
    let line = [b"%%MatrixMarket", &vec![b'%'; 8 << 20][..]].concat();
    let entries: Vec<_> = (0..200_000).map(|k| (k, k, 1.0)).collect();
    let entries = mtx(200_000, 200_000, &entries);
    for (status, reason, body) in [(422, "line 1: the line has more than", &line), (507, "bytes", &entries)] {
        let packed = put("b", MTX, body).expect(status);
        let plain = server.send("PUT /v1/matrices/b", &[MTX], body).expect(status);
        assert!(packed.text().contains(reason) && plain.text().contains(reason), "{}", packed.text());
    }

    // What an array has beside its zeros is not more than the memory.
    put("b", NPY, &npy(&[1000, 1000], &[1.0; 1_000_000])).expect(507);
    assert_eq!(std::fs::read_dir(data.path().join("uploads")).unwrap().count(), 0);
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_request_with_a_key_takes_effect_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let (key, other) = ("Idempotency-Key: 1b2f", "Idempotency-Key: 77");
    let body = gzipped(&matrix());
    let put = |name: &str, key| {
        server.send(&format!("PUT /v1/matrices/{name}"), &[MTX, key, "Content-Encoding: gzip"], &body)
    };
    for _ in 0..3 {
        assert_eq!(put("a", key).expect(201).json()["version"], 1);
    }
    assert_eq!(put("a", other).expect(201).json()["version"], 2);
    // Another request is refused, whatever it differs in.
    assert!(put("b", key).expect(422).text().contains("made `a`"));
    assert!(put("a?durable=1", key).expect(422).text().contains("another method, path or query"));
    let other_body = server.send("PUT /v1/matrices/a", &[MTX, key], &matrix()).expect(422);
    assert!(other_body.text().contains("another body"), "{}", other_body.text());
    server.send("POST /v1/matrices/a/scale?into=a", &[key], &[]).expect(422);
    put("a", "Idempotency-Key: ").expect(400);
    // What failed may be tried again.
    server.send("PUT /v1/matrices/c", &[MTX, "Idempotency-Key: c"], b"%%").expect(422);
    put("c", "Idempotency-Key: c").expect(201);
    for _ in 0..2 {
        let scaled =
            server.send("POST /v1/matrices/a/scale?into=s", &["Idempotency-Key: s"], &[]).expect(201);
        assert_eq!(scaled.json()["version"], 1);
    }
    let product = |values: &[f64]| {
        let (request, key) = ("POST /v1/matrices/a/sddmm?into=p", "Idempotency-Key: p");
        server.send(request, &[NPY, key], &npy(&[6, 1], values))
    };
    let first = product(&[1.0; 6]).expect(201);
    assert_eq!(product(&[1.0; 6]).expect(201).text(), first.text());
    product(&[2.0; 6]).expect(422);
    // A body that nobody reads makes no difference.
    let program = "POST /v1/programs?program=[{%22operation%22:%22transpose%22,%22matrix%22:%22a%22}]&into=t";
    for body in ["", "", "unread"] {
        let made = server.send(program, &["Idempotency-Key: t"], body.as_bytes()).expect(201);
        assert_eq!(made.json()["version"], 1);
    }
    server.send("DELETE /v1/matrices/a@1", &[], &[]).expect(204);
    // What was true then is said again, though it is deleted.
    let again = put("a", key).expect(201);
    assert!(again.json()["version"] == 1 && again.head.contains("etag: \"1\""), "{}", again.head);
    server.send("GET /v1/matrices/a@1", &[], &[]).expect(404);
}

#[test]
fn bytes_after_a_compressed_body_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let mut encoder = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::default());
    encoder.write_all(&matrix()).unwrap();
    let body = encoder.finish().unwrap();
    let put = |body: &[u8]| server.send("PUT /v1/matrices/a", &[MTX, "Content-Encoding: deflate"], body);
    put(&body).expect(201);
    let refused = put(&[&body[..], b"more"].concat()).expect(422);
    assert!(refused.text().contains("bytes follow"), "{}", refused.text());
}

#[test]
fn an_answer_before_the_body_closes_the_connection_and_says_so() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let mut client = Client::new(server.address);
    let mut is_closed = |status, request: &str, body: &[u8]| {
        let answer = client.send(request, &[MTX], body).unwrap().expect(status);
        answer.head.contains("connection: close")
    };
    assert!(!is_closed(201, "PUT /v1/matrices/a", &matrix()));
    assert!(is_closed(400, "PUT /v1/matrices/a?spin=1", &matrix()));
    server.send("PUT /v1/aliases/alias?to=a", &[], &[]).expect(201);
    assert!(is_closed(409, "PUT /v1/matrices/alias", &matrix()));
    assert!(!is_closed(422, "PUT /v1/matrices/a", b"%%"), "the body was read");
    assert!(!is_closed(404, "GET /v1/matrices/b", &[]), "there is no body");
}

#[test]
fn wrong_requests_say_what_is_right() {
    let data = tempfile::tempdir().unwrap();
    let mut config = Config::new(data.path(), 1 << 20);
    config.limits.upload_bytes = 1000;
    config.limits.idle_time = Duration::from_millis(300);
    config.limits.header_time = Duration::from_millis(300);
    let server = Running::start(config);
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    let x = npy(&[2], &[1.0, 2.0]);
    let bomb = gzipped(&[b'%'; 100_000]);
    assert!(bomb.len() < 1000);
    let brotli = [MTX, "Content-Encoding: br"];
    let gzip = [MTX, "Content-Encoding: gzip"];
    for (status, reason, request, headers, body) in [
        (404, "no matrix `b`", "GET /v1/matrices/b", &[][..], &[][..]),
        (404, "no operation `spin`", "POST /v1/matrices/a/spin", &[], &[]),
        (404, "nothing at /v2", "GET /v2", &[], &[]),
        (405, "PATCH", "PATCH /v1/matrices/a", &[], &[]),
        (400, "letters, digits", "GET /v1/matrices/..%2Fa", &[], &[]),
        (400, "unknown parameter `x`", "POST /v1/matrices/a/norm?x=1", &[], &[]),
        (400, "one of fro, 1, inf", "POST /v1/matrices/a/norm?ord=2", &[], &[]),
        (400, "unknown parameter `version`", "DELETE /v1/matrices/a?version=1", &[], &[]),
        (400, "there are none", "GET /v1/status?verbose=1", &[], &[]),
        (400, "`into` is needed", "POST /v1/matrices/a/norm?durable=1", &[], &[]),
        // Before the body is read, and before anything is computed.
        (400, "an array, and only a matrix", "POST /v1/matrices/a/spmv?into=y", &[NPY], b"no array"),
        (400, "numbers, and only a matrix", "POST /v1/matrices/a/norm?into=n&dry_run=0", &[], &[]),
        (400, "numbers, and only a matrix", "POST /v1/matrices/a/norm?into=n&dry_run=1", &[], &[]),
        (400, "a number such as 3", "GET /v1/matrices/a@01", &[], &[]),
        (400, "Invalid UTF-8", "DELETE /v1/uploads/%ff", &[], &[]),
        (400, "at least 0", "POST /v1/matrices/a/prune?tolerance=-1", &[], &[]),
        (400, "at least 0", "POST /v1/matrices/a/prune?tolerance=nan", &[], &[]),
        (400, "`other`", "POST /v1/matrices/a/add", &[], &[]),
        (400, "the only device is 0", "PUT /v1/matrices/a?device=1", &[MTX], &[]),
        (409, "never change", "PUT /v1/matrices/a@1", &[MTX], &[]),
        (412, "already", "PUT /v1/matrices/a", &[MTX, "If-None-Match: *"], &matrix()),
        (415, "application/x-npz", "PUT /v1/matrices/a", &["Content-Type: text/csv"], &[]),
        (415, "there is no Content-Type; a matrix needs application/x-npz", "PUT /v1/matrices/a", &[], &[]),
        (415, "spmv takes an array as its body", "POST /v1/matrices/a/spmv", &[MTX], &[]),
        (415, "Content-Encoding `br`", "PUT /v1/matrices/a", &brotli, &[]),
        (422, "Content-Encoding gzip", "PUT /v1/matrices/a", &gzip, b"%%MatrixMarket"),
        (413, "1000 bytes", "PUT /v1/matrices/a", &gzip, &bomb),
        (422, "member", "POST /v1/matrices/a/norm?member=0", &[], &[]),
        (406, "text/x-matrix-market", "GET /v1/matrices/a/data", &["Accept: text/html"], &[]),
        (413, "1000 bytes", "PUT /v1/matrices/a", &[MTX, "Content-Length: 1001"], &[]),
        (422, "the operand is 2 where 3 is needed", "POST /v1/matrices/a/spmv", &[NPY], &x),
        (422, ".npy file", "POST /v1/matrices/a/spmv", &[NPY], b"%%MatrixMarket"),
        (400, "the body broke off", "PUT /v1/matrices/a", &[MTX, "Transfer-Encoding: chunked"], b"zz\r\n"),
        (422, "%%MatrixMarket", "PUT /v1/matrices/a", &[MTX], b"\x1f\x8b compressed"),
        (
            422,
            "line 3",
            "PUT /v1/matrices/a",
            &[MTX],
            b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n",
        ),
        (403, "other sites", "GET /v1/matrices", &["Origin: http://a.example"], &[]),
        (408, "too slowly", "PUT /v1/matrices/a", &[MTX, "Content-Length: 900"], b"%%"),
    ] {
        let answer = server.send(request, headers, body).expect(status);
        assert!(answer.head.contains("application/problem+json"), "{request}: {}", answer.head);
        assert!(answer.text().contains(reason), "{request}: {}", answer.text());
        assert!(!answer.text().contains(data.path().to_str().unwrap()), "{request}: {}", answer.text());
    }
    // A body without a length is cut off at the limit, and one byte of a header is not waited for.
    let chunked = [&b"7d0\r\n"[..], &[b'%'; 2000], b"\r\n0\r\n\r\n"].concat();
    server.send("PUT /v1/matrices/a", &[MTX, "Transfer-Encoding: chunked"], &chunked).expect(413);
    let mut slow = TcpStream::connect(server.address).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    slow.write_all(b"G").unwrap();
    let mut rest = vec![];
    assert!(slow.read_to_end(&mut rest).is_ok(), "the server closes the connection");
    assert_eq!(server.send("GET /v1/status", &[], &[]).json()["tenant"]["used_bytes"].as_u64(), {
        server.send("GET /v1/matrices/a", &[], &[]).json()["bytes"].as_u64()
    });
}

#[test]
fn the_open_api_document_lists_the_routes_that_answer() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    server.send("PUT /v1/aliases/alias?to=a", &[], &[]).expect(201);
    let document = server.send("GET /openapi.json", &[], &[]).expect(200).json();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.contains_key("/v1/matrices/{name}/spmv") && paths.contains_key("/livez"));
    for (path, method, parameter) in [
        ("/v1/matrices", "get", "label"),
        ("/v1/matrices/{name}", "put", "durable"),
        ("/v1/matrices/{name}", "put", "device"),
        ("/v1/matrices/{name}/pin", "put", "pinned"),
        ("/v1/aliases/{name}", "put", "to"),
        ("/v1/jobs/{id}", "get", "wait"),
    ] {
        let parameters = paths[path][method]["parameters"].as_array().unwrap();
        assert!(parameters.iter().any(|found| found["name"] == parameter), "{path}: {parameters:?}");
    }
    let needed = |path: &str, method: &str| {
        let parameters = paths[path][method]["parameters"].as_array().unwrap().iter();
        let needed = parameters.filter(|it| it["required"] == true && it["in"] != "path");
        needed.map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(needed("/v1/aliases/{name}", "put"), ["to"]);
    assert_eq!(needed("/v1/uploads", "post"), ["Upload-Length"]);
    assert!(needed("/v1/matrices", "get").is_empty());
    let id = server.send("POST /v1/matrices/a/norm?async=1", &[], &[]).expect(202).json()["id"].clone();
    let id = id.as_str().unwrap();
    server.send(&format!("GET /v1/jobs/{id}?wait=10"), &[], &[]).expect(200);
    let begun = server.send("POST /v1/uploads", &["Upload-Length: 4"], &[]).expect(201);
    let upload = begun.head.lines().find_map(|line| line.strip_prefix("location: /v1/uploads/")).unwrap();
    for (path, methods) in paths {
        for (method, described) in methods.as_object().unwrap() {
            let name = if path.starts_with("/v1/aliases") { "alias" } else { "a" };
            let address = path.replace("{name}", name).replace("{id}", id).replace("{upload}", upload);
            let request = format!("{} {address}", method.to_uppercase());
            let headers: &[&str] = if method == "delete" { &["Origin: http://a.example"] } else { &[] };
            let status = server.send(&request, headers, &[]).status;
            assert!(!matches!(status, 404 | 405 | 500..), "{request}: {status}");
            let responses = &described["responses"];
            let is_listed = [&status.to_string(), "2XX"].iter().any(|status| responses.get(status).is_some());
            assert!(is_listed || status >= 400, "{request}: {status} is not among {described}");
        }
    }
}
