//! Requests: wrong ones, repeated ones, and those that claim much.

use super::common::{Client, MTX, NPY, Running, mtx, npy};
use super::compression::gzipped;
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

    // COO needs nothing for its lines but what has a number for each.
    post("wide/convert?format=coo&into=far", &[]).expect(201);
    post("far/transpose?into=tall", &[]).expect(201);
    for request in [
        "norm?ord=1",
        "norm?ord=inf",
        "statistics",
        "transpose",
        "scale?alpha=2",
        "cast?dtype=c64",
        "prune",
        "diagonal",
        "spy",
    ] {
        for matrix in ["far", "tall"] {
            post(&format!("{matrix}/{request}"), &[]).expect(200);
        }
    }
    for request in [
        "tall/add?other=tall",
        "tall/multiply?other=tall",
        "tall/select?rows=5..1000&columns=0,2",
        "tall/select?columns=2",
        "far/select?columns=7..9",
        "far/reduce?each=row",
        "tall/reduce?each=column",
    ] {
        post(request, &[]).expect(200);
    }
    for request in ["far/convert?format=csc", "tall/reduce?each=row", "tall/convert?format=csr"] {
        let refused = post(request, &[]).expect(507);
        assert!(refused.json()["needed_bytes"].as_u64() > Some(1 << 40), "{}", refused.text());
    }

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
fn a_dry_run_refuses_what_the_operation_refuses() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    server.send("PUT /v1/matrices/row", &[MTX], &mtx(1, 3, &[(0, 2, 1.0)])).expect(201);
    server.send("PUT /v1/matrices/two", &[NPY], &npy(&[2, 1, 1], &[1.0, 2.0])).expect(201);
    let (right, wrong) = (npy(&[3], &[1.0; 3]), npy(&[4], &[1.0; 4]));
    let (mtx, png) = ("Accept: text/x-matrix-market", "Accept: image/gif");
    for (status, request, header, body) in [
        (422, "a/spmv?", NPY, &wrong),
        (422, "a/spmv?alpha=1,1", NPY, &right),
        (422, "a/solve?", NPY, &wrong),
        (422, "row/solve?", NPY, &npy(&[1], &[1.0])),
        (422, "a/solve?method=lsqr&preconditioner=jacobi", NPY, &right),
        (400, "a/solve?tol=-1", NPY, &right),
        (422, "a/trisolve?", NPY, &wrong),
        (400, "a/trisolve?triangle=left", NPY, &right),
        (422, "a/sddmm?", NPY, &npy(&[4, 1], &[1.0; 4])),
        (422, "a/spgemm?other=row", NPY, &vec![]),
        (422, "a/add?other=row", NPY, &vec![]),
        (404, "a/add?other=b", NPY, &vec![]),
        (400, "a/reduce?by=most", NPY, &vec![]),
        (422, "a/cast?dtype=f16", NPY, &vec![]),
        (422, "a/member?index=0", NPY, &vec![]),
        (422, "two/prune?", NPY, &vec![]),
        (422, "two/dense?", NPY, &vec![]),
        (422, "two/solve?preconditioner=jacobi", NPY, &npy(&[2], &[1.0; 2])),
        (422, "two/scale?", mtx, &vec![]),
        (422, "two/convert?format=coo&member=all", NPY, &vec![]),
        (406, "a/scale?", png, &vec![]),
        (400, "a/scale?into=a%20b", NPY, &vec![]),
        (400, "a/scale?durable=1", NPY, &vec![]),
        (400, "a/norm?into=b", NPY, &vec![]),
    ] {
        for dry_run in ["", "&dry_run=1"] {
            let answer = server.send(&format!("POST /v1/matrices/{request}{dry_run}"), &[header], body);
            assert_eq!(answer.status, status, "{request}{dry_run}: {}", answer.text());
        }
    }
    let first = "If-None-Match: *";
    server.send("POST /v1/matrices/a/scale?into=row&dry_run=1", &[first], &[]).expect(412);
    server.send("POST /v1/matrices/a/scale?into=new&dry_run=1", &[first], &[]).expect(200);
    server.send("GET /v1/matrices/new", &[], &[]).expect(404);
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
    for path in ["/v1/matrices/{name}/solve", "/v1/programs"] {
        let solution = &paths[path]["post"]["responses"]["200"]["headers"]["nnz-solution"];
        let fields = &solution["content"]["application/json"]["schema"]["properties"];
        assert_eq!(fields["converged"]["type"], "boolean", "{path}: {solution}");
    }
    let needed = |path: &str, method: &str| {
        let parameters = paths[path][method]["parameters"].as_array().unwrap().iter();
        let needed = parameters.filter(|it| it["required"] == true && it["in"] != "path");
        needed.map(|it| it["name"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(needed("/v1/aliases/{name}", "put"), ["to"]);
    assert_eq!(needed("/v1/uploads", "post"), ["Upload-Length"]);
    assert!(needed("/v1/matrices", "get").is_empty());
    assert_eq!(needed("/v1/matrices/{name}/map", "post"), ["by"]);
    assert_eq!(needed("/v1/matrices/{name}/kron", "post"), ["other"]);
    check_values(&server, &document);
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

/// Every value that the document lists is taken, and another one is not.
fn check_values(server: &Running, document: &serde_json::Value) {
    let mut count = 0;
    let taken = |operation: &str, query: &str| {
        let body = npy(&[3, 1], &[1.0; 3]);
        let headers = [NPY, "Accept: application/json, */*"];
        let response =
            server.send(&format!("POST /v1/matrices/a/{operation}?dry_run=1&{query}"), &headers, &body);
        let reason = response.text();
        !(response.status == 400 && reason.contains(query.split('=').next().unwrap()))
    };
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(operation) = path.strip_prefix("/v1/matrices/{name}/") else { continue };
        let listed = methods["post"]["parameters"].as_array().into_iter().flatten();
        for parameter in listed {
            let Some(values) = parameter["schema"]["enum"].as_array() else { continue };
            let name = parameter["name"].as_str().unwrap();
            for value in values {
                let query = format!("{name}={}", value.as_str().unwrap());
                assert!(taken(operation, &query), "{operation}?{query}");
                count += 1;
            }
            assert!(!taken(operation, &format!("{name}=other")), "{operation}?{name}=other");
        }
    }
    assert!(count > 50, "{count}");
}
