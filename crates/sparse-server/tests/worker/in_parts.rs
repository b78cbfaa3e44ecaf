//! Matrices whose rows are on two devices.

use super::common::{
    MTX, NPY, NPZ, Response, Running, await_next_worker, kill, mtx, npy, process_of, worker,
};
use super::{await_that, config, put};
use std::io::Write;

const ROWS: usize = 400;
const COLUMNS: usize = 70;

/// A server of two devices with so much memory each.
fn start(data: &tempfile::TempDir, memory: u64) -> Running {
    Running::start_with(config(data, memory), vec![worker(), worker()].into())
}

/// A matrix whose rows have 1 to 7 entries, all that would be rounded in another order of sums, as an `.npz` file.
fn archive(server: &Running) -> Vec<u8> {
    let entry = |row: usize, k: usize| (row, (row * 5 + k * 11) % COLUMNS, 1.0 / (1 + row + 3 * k) as f64);
    let entries: Vec<_> = (0..ROWS).flat_map(|row| (0..1 + row % 7).map(move |k| entry(row, k))).collect();
    server.send("PUT /v1/matrices/whole", &[MTX], &mtx(ROWS, COLUMNS, &entries)).expect(201);
    server.send("GET /v1/matrices/whole/data", &["Accept: application/x-npz"], &[]).expect(200).body
}

fn put_in_parts(server: &Running, name: &str, headers: &[&str], body: &[u8]) -> Response {
    server.send(&format!("PUT /v1/matrices/{name}"), &[&[NPZ], headers].concat(), body)
}

/// The product with an array of 1, 2, …, of this shape.
fn product(server: &Running, request: &str, shape: &[usize]) -> Response {
    let values: Vec<_> = (1..=shape.iter().product()).map(|k| 1.0 / k as f64).collect();
    server.send(&format!("POST /v1/matrices/{request}"), &[NPY], &npy(shape, &values))
}

fn used_bytes(server: &Running) -> Vec<u64> {
    let status = server.send("GET /v1/status", &[], &[]).expect(200).json();
    let devices = status["devices"].as_array().unwrap().iter();
    devices.map(|device| device["memory"]["used_bytes"].as_u64().unwrap()).collect()
}

#[test]
fn a_compressed_matrix_in_parts_is_no_larger_than_the_memory() {
    let data = tempfile::tempdir().unwrap();
    let server = start(&data, 4 << 20);
    let gzip = "Content-Encoding: gzip";
    let gzipped = |body: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    };
    put_in_parts(&server, "a?parts=2", &[gzip], &gzipped(&archive(&server))).expect(201);
    let x = gzipped(&npy(&[COLUMNS], &[1.0; COLUMNS]));
    let y = server.send("POST /v1/matrices/a/spmv", &[NPY, gzip], &x).array();
    let whole = server.send("POST /v1/matrices/whole/spmv", &[NPY], &npy(&[COLUMNS], &[1.0; COLUMNS]));
    assert_eq!(y, whole.array());
    // Its header says that it has 70 elements.
    let longer = gzipped(&[npy(&[COLUMNS], &[1.0; COLUMNS]), vec![0; 1 << 20]].concat());
    let refused = server.send("POST /v1/matrices/a/spmv", &[NPY, gzip], &longer).expect(422);
    assert!(refused.text().contains("more follow"), "{}", refused.text());
    let refused = put_in_parts(&server, "b?parts=2", &[gzip], &gzipped(&vec![0; 9 << 20])).expect(413);
    assert!(refused.text().contains("8388608 bytes"), "{}", refused.text());
}

#[test]
fn a_matrix_in_parts_is_one_object() {
    let data = tempfile::tempdir().unwrap();
    let server = start(&data, 64 << 20);
    let body = archive(&server);
    let whole = server.send("GET /v1/matrices/whole", &[], &[]).expect(200).json();
    let before = used_bytes(&server);
    let key = "Idempotency-Key: parts";
    let made = put_in_parts(&server, "a?parts=2", &[key], &body).expect(201);
    assert!(made.head.contains("etag: \"1\""), "{}", made.head);
    let view = made.json();
    for field in ["rows", "cols", "nnz", "dtype", "format"] {
        assert_eq!(view[field], whole[field], "{field}");
    }
    let parts: Vec<_> = view["parts"].as_array().unwrap().iter().collect();
    let [first, second] = [0, 1].map(|part| parts[part]["rows"].as_array().unwrap());
    assert_eq!((&first[0], &first[1], &second[1]), (&0.into(), &second[0], &ROWS.into()));
    let entries: Vec<_> = parts.iter().map(|part| part["nnz"].as_u64().unwrap()).collect();
    assert!(entries[0].abs_diff(entries[1]) <= 7, "{entries:?}");
    let bytes = |device: usize| {
        parts.iter().find(|part| part["device"] == device).unwrap()["bytes"].as_u64().unwrap()
    };
    assert_eq!(used_bytes(&server), [before[0] + bytes(0), before[1] + bytes(1)]);

    assert_eq!(server.send("GET /v1/matrices/a", &[], &[]).expect(200).text(), made.text());
    assert_eq!(put_in_parts(&server, "a?parts=2", &[key], &body).expect(201).text(), made.text());
    assert!(put_in_parts(&server, "c", &[key], &body).expect(422).text().contains("made `a`"));
    let other_body = put_in_parts(&server, "a?parts=2", &[key], &body[1..]).expect(422);
    assert!(other_body.text().contains("another body"), "{}", other_body.text());
    let list = server.send("GET /v1/matrices", &[], &[]).expect(200).json();
    assert_eq!(list["matrices"].as_array().unwrap().iter().filter(|listed| **listed == view).count(), 1);

    // The rows are summed as those of the whole matrix, so that the products have the same bytes.
    for (operation, shape) in [
        ("spmv", &[COLUMNS][..]),
        ("spmv?alpha=2", &[COLUMNS, 1]),
        ("spmm", &[COLUMNS, 3]),
        ("spmm", &[COLUMNS, 2000]),
    ] {
        let expected = product(&server, &format!("whole/{operation}"), shape).expect(200);
        assert_eq!(product(&server, &format!("a/{operation}"), shape).expect(200).body, expected.body);
    }
    let by_columns = |name: &str| {
        let dense = nnz::io::npy::header::<f64>(&[COLUMNS, 3], nnz::Order::ColMajor).unwrap();
        let values: Vec<u8> = (0..COLUMNS * 3).flat_map(|k| (k as f64).sqrt().to_le_bytes()).collect();
        server.send(&format!("POST /v1/matrices/{name}/spmm"), &[NPY], &[dense, values].concat()).expect(200)
    };
    assert_eq!(by_columns("a").body, by_columns("whole").body);

    // Of another version the first is left.
    assert_eq!(put_in_parts(&server, "a?parts=1", &[], &body).expect(201).json()["version"], 2);
    put_in_parts(&server, "a?parts=2", &["If-Match: \"1\""], &body).expect(412);
    put_in_parts(&server, "a?parts=2", &["If-None-Match: *"], &body).expect(412);
    server.send("DELETE /v1/matrices/a@2", &["If-Match: \"1\""], &[]).expect(412);
    server.send("DELETE /v1/matrices/a@2", &[], &[]).expect(204);
    server.send("GET /v1/matrices/a@2", &[], &[]).expect(404);
    let replaced = put_in_parts(&server, "a?parts=2&replace=1", &[], &body).expect(201).json();
    server.send("GET /v1/matrices/a@1", &[], &[]).expect(404);
    server.send("PUT /v1/aliases/b?to=a", &[], &[]).expect(201);
    let version = server.send("GET /v1/matrices/b", &[], &[]).expect(200).json()["version"].clone();
    assert_eq!(version, replaced["version"]);
    product(&server, "b/spmv", &[COLUMNS]).expect(200);
    server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
    product(&server, "b/spmv", &[COLUMNS]).expect(404);
    await_that("the bytes come back", || used_bytes(&server) == before);
    put(&server, "a", 3, 1.0);
}

#[test]
fn matrices_in_parts_count_among_those_that_a_tenant_stores() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data, 64 << 20);
    let start = |config| Running::start_with(config, vec![worker(), worker()].into());
    let bytes = {
        let other = tempfile::tempdir().unwrap();
        let server = start(super::config(&other, 64 << 20));
        archive(&server);
        server.send("GET /v1/matrices/whole", &[], &[]).json()["bytes"].as_u64().unwrap()
    };
    config.tenant_storage = 3 * bytes - 1;
    let server = start(config);
    let body = archive(&server);
    put_in_parts(&server, "a?parts=2", &[], &body).expect(201);
    let before = used_bytes(&server);
    let refused = [
        put_in_parts(&server, "b?parts=2", &[], &body),
        put_in_parts(&server, "a?parts=2", &[], &body),
        put_in_parts(&server, "b", &[], &body),
        server.send("POST /v1/matrices/whole/scale?into=b", &[], &[]),
    ];
    for refused in refused {
        let refused = refused.expect(507);
        assert!(refused.text().contains("more are over the"), "{}", refused.text());
    }
    await_that("the bytes of what was refused come back", || used_bytes(&server) == before);
    put_in_parts(&server, "a?parts=2&replace=1", &[], &body).expect(201);
    server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
    put_in_parts(&server, "b", &[], &body).expect(201);
}

#[test]
fn what_a_matrix_in_parts_cannot_do_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = start(&data, 1 << 20);
    let body = archive(&server);
    let refused = |request: &str, headers: &[&str], body: &[u8], status: u16, reason: &str| {
        let answer = server.send(request, headers, body).expect(status);
        assert!(answer.text().contains(reason), "{request}: {}", answer.text());
    };
    for (parameters, status, reason) in [
        ("parts=3", 400, "1 to 2 can be had"),
        ("parts=0", 400, "1 to 2 can be had"),
        ("parts=two", 400, "a whole number"),
        ("parts=auto&durable=1", 400, "parameter durable"),
        ("parts=2&durable=1", 400, "parameter durable"),
        ("parts=2&ttl=5", 400, "parameter ttl"),
        ("parts=2&device=1", 400, "parameter device"),
    ] {
        refused(&format!("PUT /v1/matrices/a?{parameters}"), &[NPZ], &body, status, reason);
    }
    refused("PUT /v1/matrices/a?parts=2", &[MTX], b"%%", 415, "with a CSR matrix");
    refused("PUT /v1/matrices/a?parts=2", &[NPZ], b"nothing", 422, "");
    refused("PUT /v1/matrices/whole?parts=2", &[NPZ], &body, 409, "`whole` is on device");
    let mut torn = body.clone();
    let middle = torn.len() / 2;
    torn[middle] ^= 1;
    refused("PUT /v1/matrices/a?parts=2", &[NPZ], &torn, 422, "");
    let columns =
        server.send("POST /v1/matrices/whole/transpose", &["Accept: application/x-npz"], &[]).expect(200);
    refused(
        "PUT /v1/matrices/a?parts=2",
        &[NPZ],
        &columns.body,
        422,
        "\"body: a matrix in parts is one in CSR\"",
    );
    refused("GET /v1/matrices/a", &[], &[], 404, "there is no matrix `a`");

    put_in_parts(&server, "a?parts=2", &[], &body).expect(201);
    let (x, one) = (npy(&[COLUMNS], &[1.0; COLUMNS]), mtx(1, 1, &[(0, 0, 1.0)]));
    refused("PUT /v1/matrices/a", &[MTX], &one, 409, "`a` is in parts");
    refused("POST /v1/matrices/whole/scale?into=a", &[], &[], 409, "`a` is in parts");
    refused("PUT /v1/aliases/a?to=whole", &[], &[], 409, "an alias needs a name of its own");
    refused("POST /v1/matrices/whole/add?other=a", &[], &[], 422, "`a@1` is in parts");
    refused("POST /v1/matrices/a/norm", &[], &[], 422, "`a@1` is in parts");
    refused("POST /v1/matrices/a/nothing", &[], &[], 404, "no operation `nothing`");
    refused("GET /v1/matrices/a/data", &[], &[], 422, "`a@1` is in parts");
    refused("PUT /v1/matrices/a/pin", &[], &[], 422, "`a@1` is in parts");
    refused("POST /v1/matrices/a/spmv?op=t", &[NPY], &x, 422, "not transposed");
    refused("POST /v1/matrices/a/spmv?into=b", &[NPY], &x, 400, "unknown parameter `into`");
    refused("POST /v1/matrices/a/spmv", &[NPY], &npy(&[2], &[1.0; 2]), 422, "");
    refused("POST /v1/matrices/a/spmv", &[MTX], &one, 415, "");
    let steps = "%5B%7B%22operation%22%3A%22norm%22%2C%22matrix%22%3A%22a%22%7D%5D";
    refused(&format!("POST /v1/programs?program={steps}"), &[], &[], 422, "`a@1` is in parts");
}

#[test]
fn more_than_one_device_holds_is_put_in_parts_and_lost_with_a_worker() {
    let data = tempfile::tempdir().unwrap();
    // An entry takes 12 bytes, and 32 while it is read.
    let server = start(&data, 80 << 10);
    let entries: Vec<_> = (0..3000).map(|k| (k % 1000, k / 10 % 1000, 1.0)).collect();
    let data_of_whole = tempfile::tempdir().unwrap();
    let whole = Running::start(config(&data_of_whole, 1 << 20));
    whole.send("PUT /v1/matrices/w", &[MTX], &mtx(1000, 1000, &entries)).expect(201);
    let body = whole.send("GET /v1/matrices/w/data", &["Accept: application/x-npz"], &[]).expect(200).body;
    put_in_parts(&server, "a", &[], &body).expect(507);
    put_in_parts(&server, "a?parts=1", &[], &body).expect(507);
    put_in_parts(&server, "a?parts=auto", &[], &body).expect(201);
    let x = npy(&[1000], &[1.0; 1000]);
    let expected = whole.send("POST /v1/matrices/w/spmv", &[NPY], &x).expect(200);
    let spmv = || server.send("POST /v1/matrices/a/spmv", &[NPY], &x);
    assert_eq!(spmv().expect(200).body, expected.body);

    let ended = process_of(server.address, 1).unwrap();
    kill(ended);
    await_next_worker(server.address, 1, ended);
    await_that("it is lost", || {
        server.send("GET /v1/matrices/a", &[], &[]).expect(200).json()["tier"] == "lost"
    });
    assert!(spmv().expect(410).text().contains("`a@1` had a part"));
    put_in_parts(&server, "a?parts=2&replace=1", &[], &body).expect(507);
    server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
    await_that("the bytes come back", || used_bytes(&server) == [0, 0]);
    put_in_parts(&server, "a?parts=2", &[], &body).expect(201);
    assert_eq!(spmv().expect(200).body, expected.body);
}

#[test]
fn a_matrix_has_as_few_parts_as_it_needs() {
    let data_of_whole = tempfile::tempdir().unwrap();
    let whole = Running::start(config(&data_of_whole, 1 << 20));
    // Values of which no byte repeats: the archive is about as long as its arrays.
    let value = |k: usize| f64::from_bits((k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2 | 1 << 60);
    let entries: Vec<_> = (0..4000).map(|k| (k / 100, k % 100, value(k))).collect();
    let archive_of = |entries: &[(usize, usize, f64)]| {
        whole.send("PUT /v1/matrices/w", &[MTX], &mtx(40, 100, entries)).expect(201);
        whole.send("GET /v1/matrices/w/data", &["Accept: application/x-npz"], &[]).expect(200).body
    };
    let (body, small) = (archive_of(&entries), archive_of(&entries[..100]));

    let data = tempfile::tempdir().unwrap();
    let memory = body.len() as u64 - 1;
    let workers: Vec<_> = (0..5).map(|_| worker()).collect();
    let server = Running::start_with(config(&data, memory), workers.into());
    // No device has memory for the body, and what is durable is whole.
    put_in_parts(&server, "a?durable=1", &[], &body).expect(507);
    put_in_parts(&server, "a?device=0", &[], &body).expect(507);
    for request in ["a", "b?parts=auto"] {
        let view = put_in_parts(&server, request, &[], &body).expect(201).json();
        assert!(view["parts"].as_array().unwrap().len() >= 4, "{view}");
        server.send(&format!("DELETE /v1/matrices/{}", &request[..1]), &[], &[]).expect(204);
        await_that("the bytes come back", || used_bytes(&server) == [0; 5]);
    }
    let view = put_in_parts(&server, "a?parts=auto", &[], &small).expect(201).json();
    assert_eq!(view["parts"].as_array().unwrap().len(), 1, "{view}");
}
