//! Several steps in one request.

use super::common::{MTX, NPY, Running, npy};
use super::matrix;
use sparse_server::Config;

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
    let columns = npy(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    // No file holds a matrix of f16, but a step does.
    for dtype in ["f32", "f16"] {
        let casted = serde_json::json!([
            { "name": "f", "operation": "cast", "matrix": "a", "parameters": { "dtype": dtype } },
            { "name": "y", "operation": "spmm", "matrix": "$f", "operand": "$body" },
            { "operation": "spmm", "matrix": "a", "operand": "$y" },
        ]);
        assert_eq!(run(&casted, "", &columns).array(), [17.0, 7.0, 7.0, 10.0, 0.0, 0.0], "{dtype}");
    }
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

    // What cannot go where it is wanted is refused before anything is computed: a body is not even read.
    for (reason, steps, rest) in [
        (
            "an array, and only a matrix",
            serde_json::json!([{ "operation": "dense", "matrix": "a" }]),
            "&into=b",
        ),
        (
            "numbers, and only a matrix",
            serde_json::json!([{ "operation": "norm", "matrix": "a" }]),
            "&into=b&async=1",
        ),
        (
            "step 2 (norm): `$y` is an array, where a matrix is needed",
            serde_json::json!([
                { "name": "y", "operation": "spmv", "matrix": "a", "operand": "$body" },
                { "operation": "norm", "matrix": "$y" },
            ]),
            "",
        ),
        (
            "step 2 (spmv): `$n` is numbers, where an array is needed",
            serde_json::json!([
                { "name": "n", "operation": "norm", "matrix": "a" },
                { "operation": "spmv", "matrix": "a", "operand": "$n" },
            ]),
            "",
        ),
    ] {
        let answer = run(&steps, rest, b"no array").expect(400);
        assert!(answer.text().contains(reason), "{}", answer.text());
    }

    // Whatever fails, nothing is left in memory.
    let refused = |status, reason: &str, steps: serde_json::Value, body: &[u8]| {
        let answer = run(&steps, "", body).expect(status);
        assert!(answer.text().contains(reason), "{}", answer.text());
    };
    let product = serde_json::json!({ "name": "y", "operation": "spmv", "matrix": "$s", "operand": "$body" });
    refused(422, "step 2 (spmv)", serde_json::json!([squared, product]), &columns);
    refused(422, "step 2 (spmv)", serde_json::json!([squared, product]), &npy(&[2], &[1.0, 2.0]));
    let of_array = serde_json::json!([squared, product, { "operation": "norm", "matrix": "$y" }]);
    refused(400, "step 3 (norm): `$y` is an array, where a matrix is needed", of_array, &x);
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
