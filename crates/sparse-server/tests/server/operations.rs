//! Operations beside products: matrices made of two, values apart from their pattern, and those of graph learning.

use super::common::{MTX, NPY, Response, Running, mtx, npy};
use sparse_server::Config;

/// A server with `a`, [[4, 0, -1], [0, 2.25, 0]], and `b`, [[1, 2, 0]].
fn start(data: &tempfile::TempDir) -> Running {
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let a = mtx(2, 3, &[(0, 0, 4.0), (0, 2, -1.0), (1, 1, 2.25)]);
    server.send("PUT /v1/matrices/a", &[MTX], &a).expect(201);
    server.send("PUT /v1/matrices/b", &[MTX], &mtx(1, 3, &[(0, 0, 1.0), (0, 1, 2.0)])).expect(201);
    server
}

fn post(server: &Running, request: &str, body: &[u8]) -> Response {
    server.send(&format!("POST /v1/matrices/{request}"), &[NPY, "Accept: application/x-npy"], body)
}

/// The elements of a sparse result, which is also stored and predicted.
fn elements(server: &Running, request: &str, body: &[u8]) -> Vec<f64> {
    let predicted = post(server, &format!("{request}dry_run=1"), body).expect(200).json();
    let stored = post(server, &format!("{request}into=made&replace=1"), body).expect(201).json();
    assert!(predicted["bytes"].as_u64() >= stored["bytes"].as_u64(), "{request}: {predicted} {stored}");
    let found = post(server, request.trim_end_matches(['?', '&']), body).array();
    assert_eq!(post(server, "made/dense", &[]).array(), found, "{request}");
    found
}

#[test]
fn matrices_are_made_of_two() {
    let data = tempfile::tempdir().unwrap();
    let server = start(&data);
    let made = |request: &str| elements(&server, request, &[]);
    assert_eq!(made("a/vstack?other=b&"), [4.0, 0.0, -1.0, 0.0, 2.25, 0.0, 1.0, 2.0, 0.0]);
    assert_eq!(made("b/hstack?other=b&"), [1.0, 2.0, 0.0, 1.0, 2.0, 0.0]);
    let diagonal = [[1.0, 2.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 2.0, 0.0]].concat();
    assert_eq!(made("b/block_diag?other=b&"), diagonal);
    assert_eq!(made("b/kron?other=b&"), [1.0, 2.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
    post(&server, "a/convert?format=coo&into=coo", &[]).expect(201);
    post(&server, "a/transpose?into=t", &[]).expect(201);
    assert_eq!(made("coo/vstack?other=b&"), made("a/vstack?other=b&"));
    assert_eq!(made("t/kron?other=b&").len(), 18);
    for (request, reason) in [
        ("a/hstack?other=b", "A has 2 rows and `other` 1"),
        ("a/vstack?other=t", "A has 3 columns and `other` 2"),
    ] {
        for how in ["", "&dry_run=1"] {
            let refused = post(&server, &format!("{request}{how}"), &[]).expect(422);
            assert!(refused.text().contains(reason), "{}", refused.text());
        }
    }
    post(&server, "a/vstack", &[]).expect(400);
    // The product of two small matrices may have very many rows.
    server.send("PUT /v1/matrices/tall", &[MTX], &mtx(20_000, 1, &[(0, 0, 1.0)])).expect(201);
    post(&server, "tall/kron?other=tall", &[]).expect(507);
}

#[test]
fn values_are_taken_out_replaced_scaled_and_mapped() {
    let data = tempfile::tempdir().unwrap();
    let server = start(&data);
    assert_eq!(post(&server, "a/values", &[]).array(), [4.0, -1.0, 2.25]);
    let new = npy(&[3], &[1.0, 0.0, 3.0]);
    assert_eq!(elements(&server, "a/with_values?", &new), [1.0, 0.0, 0.0, 0.0, 3.0, 0.0]);
    assert_eq!(post(&server, "made/values", &[]).array(), [1.0, 0.0, 3.0], "zeros stay entries");
    let rows = npy(&[2], &[2.0, 4.0]);
    assert_eq!(elements(&server, "a/scale_lines?", &rows), [8.0, 0.0, -2.0, 0.0, 9.0, 0.0]);
    let columns = npy(&[3, 1], &[1.0, 2.0, 3.0]);
    assert_eq!(elements(&server, "a/scale_lines?each=column&", &columns), [4.0, 0.0, -3.0, 0.0, 4.5, 0.0]);
    assert_eq!(elements(&server, "a/map?by=abs&", &[]), [4.0, 0.0, 1.0, 0.0, 2.25, 0.0]);
    assert_eq!(elements(&server, "a/map?by=square&", &[]), [16.0, 0.0, 1.0, 0.0, 5.0625, 0.0]);
    let square = mtx(2, 2, &[(0, 0, 3.0), (0, 1, 4.0)]);
    server.send("PUT /v1/matrices/square", &[MTX], &square).expect(201);
    assert_eq!(elements(&server, "square/symmetrize?", &[]), [3.0, 2.0, 2.0, 0.0]);
    for (status, request, body) in [
        (422, "a/with_values", &rows),
        (422, "a/scale_lines?each=column", &rows),
        (422, "a/symmetrize", &vec![]),
        (400, "a/map?by=exp", &vec![]),
        (400, "a/map", &vec![]),
        (400, "a/scale_lines?each=x", &rows),
    ] {
        post(&server, request, body).expect(status);
    }

    // Of a batch without `member` they are those of all its matrices.
    let stack = npy(&[2, 1, 2], &[1.0, 0.0, 2.0, 3.0]);
    server.send("PUT /v1/matrices/two", &[NPY], &stack).expect(201);
    assert_eq!(post(&server, "two/values", &[]).array(), [1.0, 2.0, 3.0]);
    assert_eq!(post(&server, "two/values?member=1", &[]).array(), [2.0, 3.0]);
    post(&server, "two/values?member=all", &[]).expect(422);
    post(&server, "two/with_values?into=six", &npy(&[3], &[4.0, 5.0, 6.0])).expect(201);
    assert_eq!(post(&server, "six/dense?member=all", &[]).array(), [4.0, 0.0, 5.0, 6.0]);
    post(&server, "two/map?by=sqrt&member=all&into=roots", &[]).expect(201);
    assert_eq!(post(&server, "roots/dense?member=0", &[]).array(), [1.0, 0.0]);
    post(&server, "two/kron?other=a", &[]).expect(422);
}

#[test]
fn messages_are_aggregated_and_weights_add_up_to_one() {
    let data = tempfile::tempdir().unwrap();
    let server = start(&data);
    let x = npy(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    for (by, expected) in [
        ("", [-1.0, 2.0, 6.75, 9.0]),
        ("?by=mean", [-0.5, 1.0, 6.75, 9.0]),
        ("?by=min", [-5.0, -6.0, 6.75, 9.0]),
        ("?by=max", [4.0, 8.0, 6.75, 9.0]),
    ] {
        assert_eq!(post(&server, &format!("a/spmm_reduce{by}"), &x).array(), expected, "{by}");
    }
    post(&server, "a/spmm_reduce?by=product", &x).expect(400);
    let weights = elements(&server, "a/softmax?", &[]);
    assert!((weights[0] + weights[2] - 1.0).abs() < 1e-15 && weights[0] > 0.99, "{weights:?}");
    assert_eq!((weights[1], weights[4]), (0.0, 1.0));
    assert_eq!(elements(&server, "a/softmax?each=column&", &[]), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    post(&server, "a/cast?dtype=c64&into=complex", &[]).expect(201);
    for request in ["softmax", "map?by=abs"] {
        post(&server, &format!("complex/{request}"), &[]).expect(422);
    }
    post(&server, "complex/spmm_reduce?by=max", &x).expect(422);
    assert_eq!(post(&server, "complex/spmm_reduce?by=mean", &x).expect(200).status, 200);
}
