//! Operations on each matrix of a batch in one request.

use super::common::{MTX, NPY, Response, Running, mtx, npy};
use nnz::Order;
use sparse_server::Config;

/// Three lower triangles of two rows, with two and three entries.
const THREE: [[f64; 4]; 3] = [[2.0, 0.0, 0.0, 1.0], [1.0, 0.0, 3.0, 4.0], [5.0, 0.0, 1.0, 2.0]];

/// A server with the batch `three`, and its matrices as `m0`, `m1` and `m2`.
fn start(data: &std::path::Path) -> Running {
    let server = Running::start(Config::new(data, 1 << 20));
    server.send("PUT /v1/matrices/three", &[NPY], &npy(&[3, 2, 2], THREE.as_flattened())).expect(201);
    for (k, matrix) in THREE.iter().enumerate() {
        server.send(&format!("PUT /v1/matrices/m{k}"), &[NPY], &npy(&[2, 2], matrix)).expect(201);
    }
    server
}

/// The elements of an array in C order.
fn elements(answer: &Response) -> Vec<f64> {
    let (values, parsed) = (answer.array(), nnz::io::npy::parse(&answer.body).unwrap());
    match (parsed.order, &parsed.shape[..]) {
        (Order::ColMajor, [rows, cols]) => (0..*rows)
            .flat_map(|i| (0..*cols).map(move |j| (i, j)))
            .map(|(i, j)| values[i + j * rows])
            .collect(),
        _ => values,
    }
}

#[test]
fn each_matrix_has_the_result_that_it_has_alone() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path());
    let post =
        |request: &str, body: &[u8]| server.send(&format!("POST /v1/matrices/{request}"), &[NPY], body);
    let used = || server.send("GET /v1/status", &[], &[]).json()["memory"]["used_bytes"].clone();
    let before = used();

    // Arrays get a first dimension, that of the batch.
    let values: Vec<f64> = (1..=24).map(f64::from).collect();
    for (operation, shape) in [
        ("spmv?alpha=2", &[2][..]),
        ("spmv?op=t", &[2, 1]),
        ("spmm?", &[2, 3]),
        ("solve?method=gmres&tol=1e-12", &[2]),
        ("solve?method=bicgstab&tol=1e-12", &[2, 3]),
        ("trisolve?", &[2]),
        ("trisolve?op=t", &[2, 3]),
        ("dense?", &[]),
        ("diagonal?k=-1", &[]),
        ("diagonal?k=7", &[]),
        ("reduce?each=column&by=norm2", &[]),
    ] {
        let len = if shape.is_empty() { 0 } else { shape.iter().product() };
        let part = |k: usize, count: usize| {
            let part = &values[k * len..][..count * len];
            let first: &[usize] = if shape.is_empty() { &[] } else { &[count] };
            let whole = [first, shape].concat();
            if shape.is_empty() { vec![] } else { npy(if count == 1 { shape } else { &whole }, part) }
        };
        let alone: Vec<f64> =
            (0..3).flat_map(|k| elements(&post(&format!("m{k}/{operation}"), &part(k, 1)))).collect();
        let each = post(&format!("three/{operation}&member=all"), &part(0, 3));
        assert_eq!(each.array(), alone, "{operation}");
        let shape = nnz::io::npy::parse(&each.body).unwrap().shape;
        let of_one = post(&format!("m0/{operation}"), &part(0, 1));
        assert_eq!(
            shape,
            [&[3][..], &nnz::io::npy::parse(&of_one.body).unwrap().shape].concat(),
            "{operation}"
        );
        let predicted =
            post(&format!("three/{operation}&member=all&dry_run=1"), &part(0, 3)).expect(200).json();
        assert!(predicted["bytes"].as_u64() > Some(8 * alone.len() as u64), "{operation}: {predicted}");
    }
    // One operand for all: its first dimension is 1.
    let x = npy(&[1, 2], &[1.0, 2.0]);
    assert_eq!(post("three/spmv?member=all", &x).array(), [2.0, 2.0, 1.0, 11.0, 5.0, 5.0]);

    // Numbers become a list.
    for operation in ["norm?ord=inf", "statistics?", "spy?size=2"] {
        let each = post(&format!("three/{operation}&member=all"), &[]).expect(200).json();
        let alone: Vec<_> = (0..3).map(|k| post(&format!("m{k}/{operation}"), &[]).json()).collect();
        assert_eq!(each, serde_json::json!(alone), "{operation}");
    }
    assert_eq!(used(), before);

    // Sparse results become a batch, answered or stored.
    server.send("PUT /v1/matrices/one", &[MTX], &mtx(2, 2, &[(0, 1, 1.0), (1, 0, 2.0)])).expect(201);
    let dense = |name: &str| post(&format!("{name}/dense"), &[]).array();
    for (operation, other) in [
        ("spgemm?", "three"),
        ("spgemm?", "one"),
        ("add?beta=-1", "three"),
        ("add?", "one"),
        ("multiply?", "three"),
        ("transpose?", ""),
        ("scale?alpha=3", ""),
        ("cast?dtype=f32", ""),
        ("convert?format=csc", ""),
        ("prune?tolerance=1", ""),
        ("select?rows=1,0&columns=0", ""),
        ("sddmm?", ""),
    ] {
        let body = |k: usize, shape: &[usize]| match operation {
            "sddmm?" => npy(shape, &values[8 * k..][..shape.iter().product()]),
            _ => vec![],
        };
        let with = |other: &str| if other.is_empty() { String::new() } else { format!("&other={other}") };
        let mut alone = vec![];
        for k in 0..3 {
            let second = if other == "three" { format!("m{k}") } else { other.to_owned() };
            let request = format!("m{k}/{operation}{}&into=alone&replace=1", with(&second));
            post(&request, &body(k, &[4, 2])).expect(201);
            alone.extend(dense("alone"));
        }
        let request = format!("three/{operation}{}&member=all", with(other));
        let stored = post(&format!("{request}&into=each&replace=1"), &body(0, &[3, 4, 2])).expect(201).json();
        assert_eq!(stored["members"], 3, "{operation}");
        assert_eq!(post("each/dense?member=all", &[]).array(), alone, "{operation} {other}");
        let file = post(&request, &body(0, &[3, 4, 2])).expect(200);
        assert!(file.head.contains("application/x-npz"), "{}", file.head);
    }
}

#[test]
fn jobs_and_programs_compute_with_each_matrix_too() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path());
    let x = npy(&[3, 2], &[1.0, 1.0, 2.0, 0.0, 0.0, 1.0]);
    let post = |request: &str| server.send(&format!("POST /v1/matrices/{request}"), &[NPY], &x);
    let job = post("three/solve?method=gmres&member=all&async=1").expect(202).json();
    let address = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    let done = server.send(&format!("GET {address}?wait=10"), &[], &[]).expect(200).json();
    assert_eq!(done["members"], serde_json::json!({ "done": 3, "count": 3 }), "{done}");
    assert_eq!(
        (&done["solution"]["converged"], &done["solution"]["method"]),
        (&true.into(), &"gmres".into())
    );
    let solved = server.send(&format!("GET {address}/result"), &[], &[]);
    assert!(solved.head.contains(r#""converged":true"#), "{}", solved.head);
    assert_eq!(solved.array().len(), 6);
    // The header has the worst of them.
    let unsolved = post("three/solve?method=gmres&member=all&max_iterations=1");
    assert!(unsolved.head.contains(r#""converged":false,"iterations":1,"#), "{}", unsolved.head);

    let all = serde_json::json!({ "member": "all" });
    let steps = serde_json::json!([
        { "name": "s", "operation": "spgemm", "matrix": "three", "other": "three", "parameters": all },
        { "name": "y", "operation": "spmv", "matrix": "$s", "operand": "$body", "parameters": all },
        { "operation": "trisolve", "matrix": "three", "operand": "$y", "parameters": all },
    ]);
    let encoded: String = steps.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
    let found = server.send(&format!("POST /v1/programs?program={encoded}"), &[NPY], &x);
    assert_eq!(found.array(), post("three/spmv?member=all").array());
}

#[test]
fn what_is_wrong_with_a_matrix_of_a_batch_is_said_with_its_number() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path());
    let singular = [THREE[0], [1.0, 0.0, 3.0, 0.0], THREE[2]];
    server.send("PUT /v1/matrices/singular", &[NPY], &npy(&[3, 2, 2], singular.as_flattened())).expect(201);
    server.send("PUT /v1/matrices/two", &[NPY], &npy(&[2, 2, 2], &[1.0; 8])).expect(201);
    let vectors = |count: usize, n: usize| npy(&[count, n], &vec![1.0; count * n]);
    for (status, reason, request, body) in [
        (422, "member 1: ", "singular/trisolve?member=all", vectors(3, 2)),
        (400, "member 0: parameter rows", "three/select?rows=5&member=all", vec![]),
        (422, "member 0: ", "three/spmv?member=all", vectors(3, 3)),
        (422, "the batch has 3 matrices: as many are needed, or 1", "three/spmv?member=all", vectors(2, 2)),
        (422, "(n,) or (n, 1) for each matrix", "three/spmv?member=all", npy(&[2], &[1.0; 2])),
        (422, "the batch has 3 matrices, and `other` 2", "three/add?other=two&member=all", vec![]),
        (422, "the matrix is no batch", "m0/norm?member=all", vec![]),
        (400, "the number of a matrix of the batch, or all, is needed", "three/norm?member=each", vec![]),
        (422, "csr and csc", "three/convert?format=coo&member=all", vec![]),
    ] {
        let answer = server.send(&format!("POST /v1/matrices/{request}"), &[NPY], &body).expect(status);
        assert!(answer.text().contains(reason), "{request}: {}", answer.text());
    }
}

#[test]
fn the_results_of_all_matrices_are_reserved_before_the_first() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    // A result of a matrix has 200 x 200 elements, 320 kB.
    server.send("PUT /v1/matrices/three", &[NPY], &npy(&[3, 200, 1], &vec![1.0; 600])).expect(201);
    let columns = npy(&[1, 1, 200], &[1.0; 200]);
    server.send("POST /v1/matrices/three/spmm?member=2", &[NPY], &npy(&[1, 200], &[1.0; 200])).expect(200);
    let refused = server.send("POST /v1/matrices/three/spmm?member=all", &[NPY], &columns).expect(507).json();
    assert!(refused["needed_bytes"].as_u64() > Some(3 * 200 * 200 * 8), "{refused}");
}
