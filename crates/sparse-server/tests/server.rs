//! A server on the loopback, from upload to result.

#[allow(dead_code, reason = "each test file uses a part")]
mod common;
#[path = "common/tls.rs"]
mod tls;

use common::{MTX, NPY, Running, mtx, npy};
use sparse_server::{Config, Scope, TlsFiles, new_token};
use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

/// [[4, 1, 0], [1, 3, 0], [0, 0, 2]]
fn matrix() -> Vec<u8> {
    mtx(3, 3, &[(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0), (2, 2, 2.0)])
}

#[test]
fn a_matrix_is_stored_and_computed_with() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let created = server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201).json();
    assert_eq!((&created["rows"], &created["nnz"], &created["version"]), (&3.into(), &5.into(), &1.into()));

    let post =
        |request: &str, body: &[u8]| server.send(&format!("POST /v1/matrices/{request}"), &[NPY], body);
    assert_eq!(post("a/spmv", &npy(&[3], &[1.0, 2.0, 3.0])).array(), [6.0, 7.0, 6.0]);
    assert_eq!(post("a/spmv?alpha=2&op=t", &npy(&[3, 1], &[1.0, 2.0, 3.0])).array(), [12.0, 14.0, 12.0]);
    assert_eq!(
        post("a/spmm", &npy(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0])).array(),
        [4.0, 1.0, 1.0, 3.0, 0.0, 0.0]
    );
    assert_eq!(post("a/diagonal", &[]).array(), [4.0, 3.0, 2.0]);
    assert_eq!(post("a/reduce?each=column&by=max", &[]).array(), [4.0, 3.0, 2.0]);
    assert_eq!(post("a/norm?ord=1", &[]).json()["norm"], 5.0);
    let spy = post("a/spy?size=2", &[]).expect(200).json();
    assert_eq!((&spy["counts"], &spy["rows"]), (&serde_json::json!([4, 0, 0, 1]), &2.into()));
    assert_eq!(post("a/select?rows=1..3&columns=2,1", &[]).expect(200).status, 200);
    let solved = post("a/solve?method=cg", &npy(&[3], &[6.0, 7.0, 6.0]));
    assert!(solved.head.contains(r#""converged":true"#), "{}", solved.head);
    assert!(solved.array().iter().zip([1.0, 2.0, 3.0]).all(|(found, x)| (found - x).abs() < 1e-8));
    let unsolved = post("a/solve?max_iterations=1", &npy(&[3, 2], &[f64::NAN, 0.0, 1.0, 0.0, 1.0, 0.0]));
    assert!(unsolved.head.contains(r#""relative_residual":"NaN""#), "{}", unsolved.head);
    assert_eq!(post("a/trisolve?triangle=upper", &npy(&[3], &[6.0, 3.0, 2.0])).array(), [1.25, 1.0, 1.0]);
    assert!(
        post("a/spmv?dry_run=1", &npy(&[3], &[1.0; 3])).expect(200).json()["bytes"].as_u64().unwrap() >= 48
    );

    // Results become matrices, and those files.
    post("a/spgemm?other=a&into=squared", &[]).expect(201);
    post("squared/add?other=a&beta=-1&into=squared&replace=1", &[]).expect(201);
    let dense = server.send("GET /v1/matrices/squared/data", &["Accept: application/x-npy"], &[]).array();
    assert_eq!(dense, [13.0, 6.0, 0.0, 6.0, 7.0, 0.0, 0.0, 0.0, 2.0]);
    let file = server.send("GET /v1/matrices/a/data", &["Accept: application/x-npz"], &[]).expect(200);
    server.send("PUT /v1/matrices/b", &["Content-Type: application/x-npz"], &file.body).expect(201);
    let text = server.send("GET /v1/matrices/b/data", &["Accept: text/x-matrix-market"], &[]).expect(200);
    assert!(text.text().starts_with("%%MatrixMarket") && text.text().contains("\n3 3 2"), "{}", text.text());

    // Dense arrays are compressed, three dimensions to a batch; versions stay until they are replaced.
    server.send("PUT /v1/matrices/a", &[NPY], &npy(&[2, 2], &[0.0, 5.0, 0.0, 0.0])).expect(201);
    let batch =
        server.send("PUT /v1/matrices/two", &[NPY], &npy(&[2, 1, 2], &[1.0, 0.0, 2.0, 3.0])).expect(201);
    assert_eq!((&batch.json()["members"], &batch.json()["nnz"]), (&2.into(), &3.into()));
    assert_eq!(post("two/spmv", &npy(&[4], &[1.0, 1.0, 1.0, 1.0])).array(), [1.0, 5.0]);
    assert_eq!(post("two/spmv?member=1", &npy(&[2], &[1.0, 10.0])).array(), [32.0]);
    assert_eq!(post("two/norm?member=1&ord=inf", &[]).json()["norm"], 5.0);
    post("two/norm?member=2", &[]).expect(422);
    assert_eq!(post("a@1/spmv", &npy(&[3], &[1.0, 2.0, 3.0])).array(), [6.0, 7.0, 6.0]);
    assert_eq!(post("a/dense", &[]).array(), [0.0, 5.0, 0.0, 0.0]);
    server.send("DELETE /v1/matrices/a@2", &[], &[]).expect(204);
    assert_eq!(server.send("GET /v1/matrices/a", &[], &[]).json()["version"], 1);
    server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
    assert_eq!(server.send("GET /v1/matrices", &[], &[]).json()["matrices"].as_array().unwrap().len(), 3);
}

#[test]
fn a_batch_is_stored_again_and_its_results_too() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let stack = npy(&[2, 1, 2], &[1.0, 0.0, 2.0, 3.0]);
    server.send("PUT /v1/matrices/two", &[NPY], &stack).expect(201);
    let file = server.send("GET /v1/matrices/two/data", &[], &[]).expect(200).body;
    let again =
        server.send("PUT /v1/matrices/again", &["Content-Type: application/x-npz"], &file).expect(201).json();
    assert_eq!((&again["members"], &again["nnz"]), (&2.into(), &3.into()));
    for operation in ["scale?alpha=2&", "cast?dtype=f32&", "transpose?"] {
        let stored = server.send(&format!("POST /v1/matrices/two/{operation}into=x"), &[], &[]).expect(201);
        assert_eq!(stored.json()["members"], 2, "{operation}");
    }
    let refused = server.send("POST /v1/matrices/two/prune", &[], &[]).expect(422);
    assert!(refused.text().contains("the members have it: member=K"), "{}", refused.text());
}

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
fn conditions_are_kept() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let put = |condition: &str| server.send("PUT /v1/matrices/a", &[MTX, condition], &matrix());
    put("If-Match: *").expect(412);
    assert!(put("X-None: 1").expect(201).head.contains("etag: \"1\""));
    assert!(put("If-Match: \"7\", \"1\"").expect(201).head.contains("etag: \"2\""));
    assert!(put("If-Match: \"1\"").expect(412).text().contains("version 2 is there"));
    let data = |headers: &[&str]| server.send("GET /v1/matrices/a/data", headers, &[]);
    let npz = data(&["Accept: application/x-npz"]).expect(200);
    assert!(npz.head.contains("etag: \"2.npz\"") && npz.head.contains("vary: accept"), "{}", npz.head);
    let known = "If-None-Match: \"2.npz\"";
    assert!(data(&["Accept: application/x-npz", known]).expect(304).body.is_empty());
    assert!(data(&["Accept: application/x-npy", known]).expect(200).head.contains("etag: \"2.npy\""));
    server.send("DELETE /v1/matrices/a", &["If-Match: \"1\""], &[]).expect(412);
    server.send("DELETE /v1/matrices/a@1", &["If-Match: \"1\""], &[]).expect(204);
    server.send("DELETE /v1/matrices/a", &["If-Match: \"2\""], &[]).expect(204);
}

fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
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
    assert!(put("b", key).expect(422).text().contains("made `a`"));
    put("a", "Idempotency-Key: ").expect(400);
    // What failed may be tried again.
    server.send("PUT /v1/matrices/c", &[MTX, "Idempotency-Key: c"], b"%%").expect(422);
    put("c", "Idempotency-Key: c").expect(201);
    for _ in 0..2 {
        let scaled =
            server.send("POST /v1/matrices/a/scale?into=s", &["Idempotency-Key: s"], &[]).expect(201);
        assert_eq!(scaled.json()["version"], 1);
    }
    server.send("DELETE /v1/matrices/a@1", &[], &[]).expect(204);
    put("a", key).expect(404);
}

#[test]
fn matrices_are_listed_by_labels_that_survive() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let put = |request: &str| {
        server.send(&format!("PUT /v1/matrices/{request}"), &[MTX], &matrix()).expect(201).json()
    };
    let names = |server: &Running, query: &str| -> Vec<String> {
        let list = server.send(&format!("GET /v1/matrices{query}"), &[], &[]).expect(200).json();
        let views = list["matrices"].as_array().unwrap().iter();
        views.map(|view| format!("{}@{}", view["name"].as_str().unwrap(), view["version"])).collect()
    };
    let first = put("a?durable=1&labels=project=pde,run=7");
    assert_eq!(first["labels"], serde_json::json!({ "project": "pde", "run": "7" }));
    assert!(put("a?durable=1")["labels"].is_null(), "labels belong to a version");
    put("b?labels=project=graphs");
    assert_eq!(names(&server, ""), ["a@1", "a@2", "b@1"]);
    assert_eq!(names(&server, "?label=project"), ["a@1", "b@1"]);
    assert_eq!(names(&server, "?label=project=pde,run=7"), ["a@1"]);
    assert_eq!(names(&server, "?label=project=pde,run=8"), [""; 0]);
    // A result has labels, too.
    server.send("POST /v1/matrices/b/transpose?into=t&labels=project=pde", &[], &[]).expect(201);
    assert_eq!(names(&server, "?label=project=pde"), ["a@1", "t@1"]);

    let set = |request: &str| server.send(&format!("PUT /v1/matrices/{request}"), &[], &[]);
    assert_eq!(set("a@2/labels?labels=user=ada").expect(200).json()["labels"]["user"], "ada");
    assert!(set("a@1/labels").expect(200).json()["labels"].is_null(), "those that it had are gone");
    set("c/labels?labels=user=ada").expect(404);
    for wrong in ["user", "user=", "a=1,a=2", "a%20b=1", "a=%C3%A9"] {
        assert!(set(&format!("a/labels?labels={wrong}")).expect(400).text().contains("labels: "), "{wrong}");
    }
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    assert_eq!(names(&server, ""), ["a@1", "a@2"]);
    assert_eq!(names(&server, "?label=user=ada"), ["a@2"]);
    // Labels of an older version leave the numbers of versions alone.
    server.send("PUT /v1/matrices/a@1/labels?labels=old=1", &[], &[]).expect(200);
    server.send("DELETE /v1/matrices/a@2", &[], &[]).expect(204);
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    assert_eq!(names(&server, "?label=old"), ["a@1"]);
    let next = server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201).json();
    assert_eq!(next["version"], 3);
}

/// The address of a program.
fn program(steps: &serde_json::Value, rest: &str) -> String {
    let encoded: String = steps.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
    format!("POST /v1/programs?program={encoded}{rest}")
}

#[test]
fn a_program_computes_in_one_request_what_its_steps_do() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    let run =
        |steps: &serde_json::Value, rest: &str, body: &[u8]| server.send(&program(steps, rest), &[NPY], body);
    let x = npy(&[3], &[1.0, 2.0, 3.0]);
    // A * (A² * x), and A x = that solved again.
    let squared = serde_json::json!({ "name": "s", "operation": "spgemm", "matrix": "a", "other": "a@1" });
    let steps = serde_json::json!([
        squared,
        { "name": "y", "operation": "spmv", "matrix": "$s", "operand": "$body", "parameters": { "op": "t" } },
        { "name": "z", "operation": "spmv", "matrix": "a", "operand": "$y", "parameters": { "alpha": 2 } },
        { "operation": "trisolve", "matrix": "a", "operand": "$z", "parameters": { "triangle": "upper" } },
    ]);
    let one_by_one = || {
        let post =
            |request: &str, body: &[u8]| server.send(&format!("POST /v1/matrices/{request}"), &[NPY], body);
        post("a/spgemm?other=a&into=s", &[]).expect(201);
        let y = post("s/spmv?op=t", &x).expect(200).body;
        let z = post("a/spmv?alpha=2", &y).expect(200).body;
        post("a/trisolve?triangle=upper", &z).array()
    };
    assert_eq!(run(&steps, "", &x).array(), one_by_one());
    server.send("DELETE /v1/matrices/s", &[], &[]).expect(204);

    // Results of matrices, arrays of two dimensions and numbers; the body has the type of each matrix.
    let casted = serde_json::json!([
        { "name": "f", "operation": "cast", "matrix": "a", "parameters": { "dtype": "f32" } },
        { "name": "y", "operation": "spmm", "matrix": "$f", "operand": "$body" },
        { "operation": "spmm", "matrix": "a", "operand": "$y" },
    ]);
    let columns = npy(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(run(&casted, "", &columns).array(), [17.0, 7.0, 7.0, 10.0, 0.0, 0.0]);
    // A step of f32 leaves the body as it is.
    let twice = serde_json::json!([
        { "name": "f", "operation": "cast", "matrix": "a", "parameters": { "dtype": "f32" } },
        { "operation": "spmv", "matrix": "$f", "operand": "$body" },
        { "operation": "spmv", "matrix": "a", "operand": "$body" },
    ]);
    let tenths = npy(&[3], &[0.1, 0.2, 0.3]);
    let alone = server.send("POST /v1/matrices/a/spmv", &[NPY], &tenths).array();
    assert_eq!(run(&twice, "", &tenths).array(), alone);
    let norm =
        serde_json::json!([squared, { "operation": "norm", "matrix": "$s", "parameters": { "ord": "inf" } }]);
    assert_eq!(run(&norm, "", &[]).expect(200).json()["norm"], 24.0);
    let stored = serde_json::json!([squared, { "operation": "add", "matrix": "$s", "other": "a" }]);
    let created = run(&stored, "&into=sum&durable=1&labels=by=program", &[]).expect(201).json();
    assert_eq!(
        (&created["name"], &created["labels"]["by"], &created["nnz"]),
        (&"sum".into(), &"program".into(), &5.into())
    );
    let job = run(&norm, "&async=1", &[]).expect(202).json();
    let id = job["id"].as_str().unwrap();
    assert_eq!((&job["operation"], &job["matrix"]), (&"program".into(), &"a@1".into()));
    server.send(&format!("GET /v1/jobs/{id}?wait=10"), &[], &[]).expect(200);
    assert_eq!(server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).json()["norm"], 24.0);
    server.send(&format!("DELETE /v1/jobs/{id}"), &[], &[]).expect(204);

    // Whatever fails, nothing is left in memory.
    let refused = |status, reason: &str, steps: serde_json::Value, body: &[u8]| {
        let answer = run(&steps, "", body).expect(status);
        assert!(answer.text().contains(reason), "{}", answer.text());
    };
    let product = serde_json::json!({ "name": "y", "operation": "spmv", "matrix": "$s", "operand": "$body" });
    refused(422, "step 2 (spmv)", serde_json::json!([squared, product]), &columns);
    refused(422, "step 2 (spmv)", serde_json::json!([squared, product]), &npy(&[2], &[1.0, 2.0]));
    let of_array = serde_json::json!([squared, product, { "operation": "norm", "matrix": "$y" }]);
    refused(400, "step 3 (norm): the result that it takes is an array, and no matrix", of_array, &x);
    let solve = serde_json::json!({
        "name": "u", "operation": "solve", "matrix": "a", "operand": "$body",
        "parameters": { "max_iterations": 1, "tol": 0 },
    });
    let unsolved = serde_json::json!([solve, { "operation": "spmv", "matrix": "a", "operand": "$u" }]);
    refused(422, "step 1 (solve): the iteration did not converge", unsolved, &x);
    refused(
        404,
        "step 1 (norm): there is no matrix",
        serde_json::json!([{ "operation": "norm", "matrix": "b" }]),
        &[],
    );
    server.send("POST /v1/programs", &[], &[]).expect(400);
    server.send("POST /v1/programs?program=[]&dry_run=1", &[], &[]).expect(400);
    let list = server.send("GET /v1/matrices", &[], &[]).json();
    let bytes: u64 =
        list["matrices"].as_array().unwrap().iter().map(|view| view["bytes"].as_u64().unwrap()).sum();
    assert_eq!(server.send("GET /v1/status", &[], &[]).json()["memory"]["used_bytes"], bytes);
}

#[test]
fn a_client_needs_a_certificate_of_the_authority() {
    let data = tempfile::tempdir().unwrap();
    let config = |authorities| {
        let files = TlsFiles {
            certificate: tls::file("server.pem"),
            key: tls::file("server.key"),
            client_authorities: Some(tls::file(authorities)),
        };
        Config { tls: Some(files), ..Config::new(data.path(), 1 << 20) }
    };
    let server = Running::start(config("authority.pem"));
    let get = |client| tls::send(server.address, client, "GET /v1/status").map(|answer| answer.status);
    assert_eq!(get(Some("client")), Some(200));
    assert_eq!((get(Some("stranger")), get(None)), (None, None));
    assert!(common::try_send(server.address, "GET /v1/status", &[], &[]).is_none(), "nothing without TLS");
    drop(server);
    let device = nnz::Device::host_with_threads(1).unwrap();
    let start = sparse_server::Server::start(config("server.key"), device);
    let refused = tokio::runtime::Runtime::new().unwrap().block_on(start).unwrap_err();
    assert!(refused.to_string().contains("server.key"), "a file without certificates: {refused}");
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
        (400, "at least 0", "POST /v1/matrices/a/prune?tolerance=-1", &[], &[]),
        (400, "at least 0", "POST /v1/matrices/a/prune?tolerance=nan", &[], &[]),
        (400, "`other`", "POST /v1/matrices/a/add", &[], &[]),
        (409, "never change", "PUT /v1/matrices/a@1", &[MTX], &[]),
        (412, "already", "PUT /v1/matrices/a", &[MTX, "If-None-Match: *"], &matrix()),
        (415, "application/x-npz", "PUT /v1/matrices/a", &["Content-Type: text/csv"], &[]),
        (415, "Content-Encoding `br`", "PUT /v1/matrices/a", &brotli, &[]),
        (422, "Content-Encoding Gzip", "PUT /v1/matrices/a", &gzip, b"%%MatrixMarket"),
        (413, "1000 bytes", "PUT /v1/matrices/a", &gzip, &bomb),
        (422, "member", "POST /v1/matrices/a/norm?member=0", &[], &[]),
        (406, "text/x-matrix-market", "GET /v1/matrices/a/data", &["Accept: text/html"], &[]),
        (413, "1000 bytes", "PUT /v1/matrices/a", &[MTX, "Content-Length: 1001"], &[]),
        (422, "3 is needed", "POST /v1/matrices/a/spmv", &[NPY], &x),
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
    assert!(std::io::Read::read_to_end(&mut slow, &mut rest).is_ok(), "the server closes the connection");
    assert_eq!(server.send("GET /v1/status", &[], &[]).json()["tenant"]["used_bytes"].as_u64(), {
        server.send("GET /v1/matrices/a", &[], &[]).json()["bytes"].as_u64()
    });
}

#[test]
fn tokens_open_one_tenant_and_their_scopes() {
    let data = tempfile::tempdir().unwrap();
    let make = |tenant, scopes: &[Scope]| new_token(tenant, scopes).unwrap();
    let (lab, lab_line) = make("lab", &[Scope::Read, Scope::Write]);
    let (reader, reader_line) = make("lab", &[Scope::Read]);
    let (other, other_line) = make("other", &Scope::ALL);
    let file = data.path().join("tokens");
    std::fs::write(&file, format!("# tokens\n{lab_line}\n{reader_line} # of Ada\n{other_line}\n")).unwrap();
    let server = Running::start(Config { tokens: Some(file), ..Config::new(data.path(), 1 << 20) });
    let of = |token: &str| format!("Authorization: Bearer {token}");
    let (lab, reader, other) = (of(&lab), of(&reader), of(&other));

    server.send("PUT /v1/matrices/a", &[MTX, &lab], &matrix()).expect(201);
    server.send("GET /v1/matrices/a", &[&reader], &[]).expect(200);
    server.send("GET /v1/matrices/a", &[&other], &[]).expect(404);
    server.send("DELETE /v1/matrices/a", &[&reader], &[]).expect(403);
    server.send("POST /v1/matrices/a/transpose?into=b", &[&reader], &[]).expect(403);
    server.send("GET /metrics", &[&lab], &[]).expect(403);
    let metrics = server.send("GET /metrics", &[&other], &[]).expect(200);
    let counted = r#"nnz_requests_total{route="GET /v1/matrices/{name}",code="404"} 1"#;
    assert!(metrics.text().contains(counted), "{}", metrics.text());
    for wrong in ["Authorization: Bearer nnz_0", "Authorization: Basic YTpi", "X-None: 1"] {
        let refused = server.send("GET /v1/matrices", &[wrong], &[]).expect(401);
        assert!(refused.head.contains("www-authenticate: Bearer"), "{}", refused.head);
    }
    server.send("GET /livez", &[], &[]).expect(200);
    // Methods that clients make up are one in the metrics.
    for request in ["BREW /livez", "STIR /livez"] {
        server.send(request, &[], &[]).expect(405);
    }
    let metrics = server.send("GET /metrics", &[&other], &[]).expect(200);
    assert!(!metrics.text().contains("BREW"), "{}", metrics.text());
    assert!(metrics.text().contains(r#"{route="other /livez",code="405"} 2"#), "{}", metrics.text());
}

#[test]
fn a_tenant_is_refused_above_its_rate_and_others_are_not() {
    let data = tempfile::tempdir().unwrap();
    let (lab, lab_line) = new_token("lab", &Scope::ALL).unwrap();
    let (other, other_line) = new_token("other", &Scope::ALL).unwrap();
    let file = data.path().join("tokens");
    std::fs::write(&file, format!("{lab_line}\n{other_line}\n")).unwrap();
    let mut config = Config { tokens: Some(file), ..Config::new(data.path(), 1 << 20) };
    config.limits.tenant_rate = Some(3);
    let server = Running::start(config);
    let get =
        |token: &str| server.send("GET /v1/matrices", &[&format!("Authorization: Bearer {token}")], &[]);
    let answers: Vec<_> = (0..20).map(|_| get(&lab)).collect();
    let refused = answers.iter().find(|answer| answer.status == 429).expect("20 are more than 3 per second");
    assert!(refused.head.contains("retry-after") && refused.text().contains("3 requests per second"));
    get(&other).expect(200);
    server.send("GET /livez", &[], &[]).expect(200);
}

#[test]
fn matrices_move_to_disk_and_back_when_memory_is_short() {
    let data = tempfile::tempdir().unwrap();
    let mut config = Config::new(data.path(), 24_000);
    config.tenant_memory = 20_000;
    let server = Running::start(config);
    let entries: Vec<_> = (0..200).map(|k| (k, k, k as f64)).collect();
    let diagonal = mtx(200, 200, &entries); // 200 entries of 12 bytes and 201 offsets of 4
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        server.send(&format!("PUT /v1/matrices/{name}"), &[MTX], &diagonal).expect(201);
    }
    let tiers = || {
        let list = server.send("GET /v1/matrices", &[], &[]).json();
        let tiers =
            list["matrices"].as_array().unwrap().iter().map(|view| view["tier"].as_str().unwrap() == "disk");
        tiers.collect::<Vec<_>>()
    };
    assert!(tiers()[0] && !tiers()[7], "the oldest went: {:?}", tiers());
    let x = npy(&[200], &[1.0; 200]);
    let y: Vec<_> = (0..200).map(f64::from).collect();
    for name in ["a", "h", "b", "a"] {
        assert_eq!(server.send(&format!("POST /v1/matrices/{name}/spmv"), &[NPY], &x).array(), y);
    }
    assert!(!tiers()[0], "the last one used is in memory");
    server.send("PUT /v1/matrices/c/pin", &[], &[]).expect(200);
    let refused = server.send("POST /v1/matrices/c/dense", &[], &[]).expect(507).json();
    assert_eq!(refused["needed_bytes"], 320_000);
    assert!(refused["free_bytes"].as_u64() <= Some(20_000) && refused["evictable_bytes"].as_u64() > Some(0));
    let used = server.send("GET /v1/status", &[], &[]).json()["memory"]["used_bytes"].as_u64().unwrap();
    let resident = 8 - tiers().iter().filter(|is_on_disk| **is_on_disk).count() as u64;
    assert_eq!(used, resident * (200 * 12 + 201 * 4), "the ledger has what is resident, and no more");
    // With the matrix and the body that the request has, its result never fits.
    server.send("POST /v1/matrices/a/spmm", &[NPY], &npy(&[200, 3], &[1.0; 600])).expect(507);
}

#[test]
fn durable_matrices_survive_and_corrupt_ones_are_reported_alone() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let segments = data.path().join("segments");
    let files = || -> BTreeSet<PathBuf> {
        std::fs::read_dir(&segments).into_iter().flatten().map(|file| file.unwrap().path()).collect()
    };
    let [_, torn, flipped] = ["kept", "torn", "flipped"].map(|name| {
        let before = files();
        server.send(&format!("PUT /v1/matrices/{name}?durable=1"), &[MTX], &matrix()).expect(201);
        files().difference(&before).next().expect("a file for the matrix").clone()
    });
    server.send("PUT /v1/matrices/kept?durable=1&replace=1", &[MTX], &matrix()).expect(201);
    server.send("PUT /v1/matrices/gone?durable=1", &[MTX], &matrix()).expect(201);
    server.send("DELETE /v1/matrices/gone", &[], &[]).expect(204);
    server.send("PUT /v1/matrices/fleeting", &[MTX], &matrix()).expect(201);
    drop(server);

    assert_eq!(files().len(), 3, "one for each durable matrix");
    std::fs::OpenOptions::new().write(true).open(&torn).unwrap().set_len(100).unwrap();
    let mut bytes = std::fs::read(&flipped).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&flipped, bytes).unwrap();
    std::fs::write(segments.join("uncommitted.npz"), b"PK").unwrap();

    let server = Running::start(Config::new(data.path(), 1 << 20));
    assert!(!segments.join("uncommitted.npz").exists());
    let x = npy(&[3], &[1.0, 2.0, 3.0]);
    assert_eq!(server.send("POST /v1/matrices/kept@2/spmv", &[NPY], &x).array(), [6.0, 7.0, 6.0]);
    for (name, reason) in [("torn", "100 bytes where"), ("flipped", "does not have the bytes")] {
        let answer = server.send(&format!("POST /v1/matrices/{name}/spmv"), &[NPY], &x).expect(500);
        assert!(answer.text().contains(reason), "{}", answer.text());
        server.send(&format!("PUT /v1/matrices/{name}/pin"), &[], &[]).expect(500);
        let view = server.send(&format!("GET /v1/matrices/{name}"), &[], &[]).json();
        assert_eq!((&view["tier"], &view["pinned"]), (&"corrupt".into(), &false.into()));
        server.send(&format!("DELETE /v1/matrices/{name}"), &[], &[]).expect(204);
    }
    for name in ["gone", "fleeting"] {
        server.send(&format!("GET /v1/matrices/{name}"), &[], &[]).expect(404);
    }
    let again = server.send("PUT /v1/matrices/gone", &[MTX], &matrix()).expect(201);
    assert_eq!(again.json()["version"], 2, "a durable version's number is not given again");
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let again = server.send("PUT /v1/matrices/gone", &[MTX], &matrix()).expect(201);
    assert_eq!(again.json()["version"], 3, "nor is that of one behind it");
}

#[test]
fn a_file_that_cannot_be_read_now_is_not_corrupt() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a?durable=1", &[MTX], &matrix()).expect(201);
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let segment = std::fs::read_dir(data.path().join("segments")).unwrap().next().unwrap().unwrap().path();
    let aside = data.path().join("aside");
    std::fs::rename(&segment, &aside).unwrap();
    std::fs::create_dir(&segment).unwrap();
    server.send("POST /v1/matrices/a/norm", &[], &[]).expect(500);
    assert_eq!(server.send("GET /v1/matrices/a", &[], &[]).json()["tier"], "disk");
    std::fs::remove_dir(&segment).unwrap();
    std::fs::rename(&aside, &segment).unwrap();
    server.send("POST /v1/matrices/a/norm", &[], &[]).expect(200);
}

#[test]
fn a_matrix_is_deleted_at_its_time() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    let short = server.send("PUT /v1/matrices/a?ttl=2&durable=1", &[MTX], &matrix()).expect(201).json();
    assert!(short["expires"].as_u64() > Some(1_700_000_000));
    server.send("PUT /v1/matrices/a?ttl=-1", &[MTX], &matrix()).expect(400);
    server.send("PUT /v1/matrices/old?ttl=1&durable=1", &[MTX], &matrix()).expect(201);
    drop(server);
    // A server that starts again deletes what has expired meanwhile, and forgets no time.
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let began = std::time::Instant::now();
    while server.send("GET /v1/matrices", &[], &[]).json()["matrices"] != serde_json::json!([]) {
        assert!(began.elapsed() < Duration::from_secs(30), "it expires");
        std::thread::sleep(Duration::from_millis(50));
    }
    while std::fs::read_dir(data.path().join("segments")).unwrap().count() > 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "its file goes");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.send("GET /v1/status", &[], &[]).json()["memory"]["used_bytes"], 0);
}

#[test]
fn requests_in_flight_are_finished_when_the_server_stops() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Running::start(Config::new(data.path(), 1 << 20));
    let body = matrix();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let (address, length) = (server.address, body.len());
    let head = format!(
        "PUT /v1/matrices/a HTTP/1.1\r\nHost: {address}\r\n{MTX}\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body[..20]).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    server.stop();
    std::thread::sleep(Duration::from_millis(100));
    assert!(TcpStream::connect(address).is_err(), "no new connections");
    stream.write_all(&body[20..]).unwrap();
    common::read(&mut stream).expect("an answer").expect(201);
}

#[test]
fn the_open_api_document_lists_the_routes_that_answer() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    let document = server.send("GET /openapi.json", &[], &[]).expect(200).json();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.contains_key("/v1/matrices/{name}/spmv") && paths.contains_key("/livez"));
    for (path, method, parameter) in [
        ("/v1/matrices", "get", "label"),
        ("/v1/matrices/{name}", "put", "durable"),
        ("/v1/matrices/{name}/pin", "put", "pinned"),
        ("/v1/jobs/{id}", "get", "wait"),
    ] {
        let parameters = paths[path][method]["parameters"].as_array().unwrap();
        assert!(parameters.iter().any(|found| found["name"] == parameter), "{path}: {parameters:?}");
    }
    let id = server.send("POST /v1/matrices/a/norm?async=1", &[], &[]).expect(202).json()["id"].clone();
    let id = id.as_str().unwrap();
    server.send(&format!("GET /v1/jobs/{id}?wait=10"), &[], &[]).expect(200);
    for (path, methods) in paths {
        for method in methods.as_object().unwrap().keys() {
            let request =
                format!("{} {}", method.to_uppercase(), path.replace("{name}", "a").replace("{id}", id));
            let headers: &[&str] = if method == "delete" { &["Origin: http://a.example"] } else { &[] };
            let status = server.send(&request, headers, &[]).status;
            assert!(!matches!(status, 404 | 405 | 500..), "{request}: {status}");
        }
    }
}
