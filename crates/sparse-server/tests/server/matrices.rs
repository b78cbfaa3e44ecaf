//! Matrices: stored, listed, replaced, deleted.

use super::common::{MTX, NPY, NPZ, Running, mtx, npy};
use super::matrix;
use sparse_server::Config;
use std::sync::Barrier;
use std::time::Duration;

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
    for (k, diagonal) in
        [("1", &[1.0, 0.0][..]), ("-1", &[1.0, 0.0]), ("2", &[0.0]), ("-9223372036854775808", &[])]
    {
        assert_eq!(post(&format!("a/diagonal?k={k}"), &[]).array(), diagonal);
    }
    assert_eq!(post("a/reduce?each=column&by=max", &[]).array(), [4.0, 3.0, 2.0]);
    assert_eq!(post("a/norm?ord=1", &[]).json()["norm"], 5.0);
    let png = server.send("POST /v1/matrices/a/spy?size=2", &["Accept: image/png"], &[]).expect(200);
    assert!(png.head.contains("image/png") && png.body.starts_with(b"\x89PNG"), "{}", png.head);
    let spy = post("a/spy?size=2", &[]).expect(200).json();
    assert_eq!((&spy["counts"], &spy["rows"]), (&serde_json::json!([4, 0, 0, 1]), &2.into()));
    assert_eq!(post("a/select?rows=1..3&columns=2,1", &[]).expect(200).status, 200);
    let solved = post("a/solve?method=cg", &npy(&[3], &[6.0, 7.0, 6.0]));
    assert!(solved.head.contains(r#""converged":true"#), "{}", solved.head);
    assert!(solved.array().iter().zip([1.0, 2.0, 3.0]).all(|(found, x)| (found - x).abs() < 1e-8));
    let unsolved = post("a/solve?max_iterations=1", &npy(&[3, 2], &[f64::NAN, 0.0, 1.0, 0.0, 1.0, 0.0]));
    assert!(unsolved.head.contains(r#""relative_residual":"NaN""#), "{}", unsolved.head);
    assert_eq!(post("a/trisolve?triangle=upper", &npy(&[3], &[6.0, 3.0, 2.0])).array(), [1.25, 1.0, 1.0]);
    let predicted = |request: &str, body: &[u8]| post(request, body).expect(200).json();
    let x = npy(&[3], &[1.0; 3]);
    assert!(predicted("a/spmv?dry_run=1", &x)["bytes"].as_u64().unwrap() >= 48);
    post("a/spmv", &x).expect(200);
    let seconds = predicted("a/spmv?dry_run=1", &x);
    assert!(
        seconds["seconds"].as_f64() > Some(0.0) && seconds["moved_bytes"].as_u64() > Some(76),
        "{seconds}"
    );
    assert!(predicted("a/solve?dry_run=1", &x)["seconds"].is_null(), "nobody knows the iterations");
    assert!(predicted("a/transpose?dry_run=1", &[])["seconds"].is_null(), "none has run");
    let metrics = server.send("GET /metrics", &[], &[]);
    assert!(metrics.text().contains("nnz_operation_runs_total{operation=\"spmv\"} 3"), "{}", metrics.text());
    for name in
        ["nnz_memory_bandwidth_bytes_per_second ", "nnz_operation_bandwidth_ratio{operation=\"spmv\"} "]
    {
        let found = metrics.text().lines().find_map(|line| line.strip_prefix(name)?.parse::<f64>().ok());
        assert!(found.is_some_and(|found| found > 0.0), "{name}: {}", metrics.text());
    }

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
fn a_second_matrix_may_have_another_format() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let wide = mtx(2, 3, &[(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)]);
    server.send("PUT /v1/matrices/a", &[MTX], &wide).expect(201);
    let post = |request: &str, accept: &str| {
        server.send(&format!("POST /v1/matrices/{request}"), &[&format!("Accept: {accept}")], &[])
    };
    let json = "application/json";
    let transposed = post("a/transpose?into=t", json).expect(201).json();
    assert_eq!((&transposed["format"], &transposed["rows"]), (&"csc".into(), &3.into()));
    post("t/transpose?into=same", json).expect(201);
    post("a/convert?format=csc&into=csc", json).expect(201);
    post("a/convert?format=coo&into=coo", json).expect(201);
    let dense = |request: &str| post(request, "application/x-npy").array();
    assert_eq!(dense("a/spgemm?other=t"), [5.0, 0.0, 0.0, 9.0]);
    assert_eq!(dense("t/spgemm?other=a"), [1.0, 0.0, 2.0, 0.0, 9.0, 0.0, 2.0, 0.0, 4.0]);
    for other in ["same", "csc", "coo"] {
        assert_eq!(dense(&format!("a/add?other={other}&beta=2")), [3.0, 0.0, 6.0, 0.0, 9.0, 0.0]);
        assert_eq!(dense(&format!("csc/multiply?other={other}")), [1.0, 0.0, 4.0, 0.0, 9.0, 0.0]);
    }
    let bytes = |other: &str| {
        post(&format!("a/add?other={other}&dry_run=1"), json).expect(200).json()["bytes"].as_u64()
    };
    assert!(bytes("csc") > bytes("same"), "the converted matrix takes memory");
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
    assert!(refused.text().contains("the members have it"), "{}", refused.text());
}

#[test]
fn large_bodies_are_decoded_as_they_come() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 12 << 20));
    // Values that deflate leaves as large as they are.
    let value = |k: usize| if k.is_multiple_of(3) { (k as f64 + 1.0).sqrt() } else { 0.0 };
    let values: Vec<f64> = (0..512 * 900).map(value).collect();
    let created = server.send("PUT /v1/matrices/a", &[NPY], &npy(&[512, 900], &values)).expect(201).json();
    assert_eq!((&created["nnz"], &created["format"]), (&153_600.into(), &"csr".into()));
    let dense = |name: &str| server.send(&format!("POST /v1/matrices/{name}/dense"), &[], &[]).array();
    assert!(dense("a") == values);
    let mut file = server.send("GET /v1/matrices/a/data", &[], &[]).expect(200).body;
    let again = server.send("PUT /v1/matrices/b", &[NPZ], &file).expect(201).json();
    assert!(dense("b") == values);
    let used = || server.send("GET /v1/status", &[], &[]).json()["memory"]["used_bytes"].clone();
    let both = created["bytes"].as_u64().unwrap() + again["bytes"].as_u64().unwrap();
    assert_eq!(used(), both, "the ledger has the matrices and nothing else");

    let middle = file.len() / 2;
    file[middle] ^= 1;
    let refused = server.send("PUT /v1/matrices/c", &[NPZ], &file).expect(422);
    assert!(refused.text().contains("the checksum is wrong"), "{}", refused.text());
    let cut_off = npy(&[512, 900], &values);
    server.send("PUT /v1/matrices/c", &[NPY], &cut_off[..cut_off.len() - 4]).expect(422);
    assert_eq!(used(), both);
    // What the memory does not hold is refused once that is known, and received to its end.
    let full = npy(&[1024, 1024], &vec![1.0; 1 << 20]);
    let refused = server.send("PUT /v1/matrices/c", &[NPY], &full).expect(507).json();
    assert!(refused["needed_bytes"].as_u64() > Some(0), "{refused}");
}

#[test]
fn a_tag_of_data_is_that_of_no_other_matrix() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let put = |value: f64| {
        let made = server.send("PUT /v1/matrices/a", &[MTX], &mtx(1, 1, &[(0, 0, value)])).expect(201);
        assert_eq!(made.json()["version"], 1);
    };
    let get = |condition: &str| server.send("GET /v1/matrices/a/data", &[condition], &[]);
    put(5.0);
    let first = get("X-None: 1").expect(200);
    let known = format!("If-None-Match: {}", first.tag());
    get(&known).expect(304);
    get(&known.replace("None-Match", "Match")).expect(200);
    get("If-Match: \"a@9.npz\"").expect(412);
    server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
    // Its number is that of the first, as none was durable.
    put(6.0);
    assert_ne!(get(&known).expect(200).body, first.body);
    // The file of a durable one is the same after a restart.
    let made = server.send("PUT /v1/matrices/b?durable=1", &[MTX], &matrix()).expect(201);
    assert_eq!(made.json()["version"], 1);
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("GET /v1/matrices/b/data", &["If-None-Match: \"b@1.npz\""], &[]).expect(304);
    // An alias names another matrix of the same number.
    server.send("PUT /v1/aliases/best?to=b@1", &[], &[]).expect(201);
    let known =
        format!("If-None-Match: {}", server.send("GET /v1/matrices/best/data", &[], &[]).expect(200).tag());
    server.send("PUT /v1/matrices/c?durable=1", &[MTX], &mtx(1, 1, &[(0, 0, 7.0)])).expect(201);
    server.send("PUT /v1/aliases/best?to=c@1", &[], &[]).expect(200);
    server.send("GET /v1/matrices/best/data", &[&known], &[]).expect(200);
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
    // What cannot be stored is refused before its body comes.
    let late = "Content-Length: 1000000";
    server.send("PUT /v1/matrices/a", &[MTX, "If-None-Match: *", late], &[]).expect(412);
    server.send("POST /v1/matrices/a/sddmm?into=a", &[NPY, "If-Match: \"1\"", late], &[]).expect(412);
    let data = |headers: &[&str]| server.send("GET /v1/matrices/a/data", headers, &[]);
    let npz = data(&["Accept: application/x-npz"]).expect(200);
    assert!(npz.tag().ends_with(".npz\"") && npz.head.contains("vary: accept"), "{}", npz.head);
    let known = format!("If-None-Match: {}", npz.tag());
    assert!(data(&["Accept: application/x-npz", &known]).expect(304).body.is_empty());
    assert!(data(&["Accept: application/x-npy", &known]).expect(200).tag().ends_with(".npy\""));
    server.send("DELETE /v1/matrices/a", &["If-Match: \"1\""], &[]).expect(412);
    server.send("DELETE /v1/matrices/a@1", &["If-Match: \"1\""], &[]).expect(204);
    server.send("DELETE /v1/matrices/a", &["If-Match: \"2\""], &[]).expect(204);
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

#[test]
fn an_alias_stands_for_a_matrix_and_moves_in_one_step() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let send = |request: &str, headers: &[&str]| server.send(request, headers, &[]);
    let point = |request: &str, headers: &[&str]| send(&format!("PUT /v1/aliases/{request}"), headers);
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    server.send("PUT /v1/matrices/a", &[NPY], &npy(&[1, 2], &[3.0, 4.0])).expect(201);

    let made = point("best?to=a@1&durable=1", &["If-None-Match: *"]).expect(201);
    let view = serde_json::json!({ "name": "best", "target": "a@1", "durable": true });
    assert!(made.json() == view && made.head.contains("etag: \"a@1\""), "{made:?}");
    // It is a name of the matrix in every request that reads or changes one.
    let version =
        |name: &str| send(&format!("GET /v1/matrices/{name}"), &[]).expect(200).json()["version"].clone();
    assert_eq!(version("best"), 1);
    let x = npy(&[3], &[1.0, 2.0, 3.0]);
    assert_eq!(server.send("POST /v1/matrices/best/spmv", &[NPY], &x).array(), [6.0, 7.0, 6.0]);
    send("GET /v1/matrices/best/data", &[]).expect(200);
    send("PUT /v1/matrices/best/pin", &[]).expect(200);
    send("PUT /v1/matrices/best/labels?labels=k=v", &[]).expect(200);
    assert_eq!(send("GET /v1/matrices?label=k=v", &[]).json()["matrices"][0]["version"], 1);
    send("POST /v1/matrices/a@1/add?other=best&into=twice", &[]).expect(201);
    let step = "%5B%7B%22operation%22%3A%22norm%22%2C%22matrix%22%3A%22best%22%7D%5D";
    send(&format!("POST /v1/programs?program={step}"), &[]).expect(200);

    // It moves, perhaps only from where it is thought to be; without a version it follows the newest.
    assert!(point("best?to=a", &["If-Match: \"a@2\""]).expect(412).text().contains("points to `a@1`"));
    point("best?to=a", &["If-None-Match: *"]).expect(412);
    point("best?to=a", &["If-Match: \"a@1\""]).expect(200);
    assert_eq!(version("best"), 2);
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    assert_eq!(version("best"), 3);

    // Nothing is stored or deleted under its name, and it points to matrices alone.
    for (status, reason, request) in [
        (409, "`best` is an alias of `a`", "PUT /v1/matrices/best"),
        (409, "`best` is an alias of `a`", "DELETE /v1/matrices/best"),
        (409, "`best` is an alias of `a`", "POST /v1/matrices/a/scale?into=best"),
        (409, "is an alias itself", "PUT /v1/aliases/other?to=best"),
        (409, "there is a matrix `a`", "PUT /v1/aliases/a?to=twice"),
        (404, "no matrix `a@7`", "PUT /v1/aliases/best?to=a@7"),
        (404, "no alias `other`", "GET /v1/aliases/other"),
        (404, "no alias `other`", "DELETE /v1/aliases/other"),
        (404, "no matrix `best@1`", "GET /v1/matrices/best@1"),
        (400, "letters, digits", "PUT /v1/aliases/a%2Fb?to=a"),
        (400, "letters, digits", "PUT /v1/aliases/b?to=..%2Fa"),
        (400, "`to` is needed", "PUT /v1/aliases/b"),
        (400, "unknown parameter `ttl`", "PUT /v1/aliases/b?to=a&ttl=1"),
    ] {
        let refused = send(request, &[MTX]).expect(status);
        assert!(refused.text().contains(reason), "{request}: {}", refused.text());
    }

    // Only those that are durable are there again; one whose matrix is gone says so.
    point("kept?to=a@1&durable=1", &[]).expect(201);
    assert_eq!(send("GET /v1/aliases", &[]).json()["aliases"].as_array().unwrap().len(), 2);
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let list = server.send("GET /v1/aliases", &[], &[]).expect(200).json();
    let kept = serde_json::json!([{ "name": "kept", "target": "a@1", "durable": true }]);
    assert_eq!(list["aliases"], kept);
    let dangling = server.send("POST /v1/matrices/kept/norm", &[], &[]).expect(404);
    assert!(dangling.text().contains("alias `kept`: there is no matrix `a@1`"), "{}", dangling.text());
    server.send("DELETE /v1/aliases/kept", &["If-Match: \"a@2\""], &[]).expect(412);
    server.send("DELETE /v1/aliases/kept", &[], &[]).expect(204);
    server.send("PUT /v1/matrices/kept", &[MTX], &matrix()).expect(201);
}

#[test]
fn a_name_is_given_to_a_matrix_or_to_an_alias() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
    for turn in 0..20 {
        let store = match turn % 2 {
            0 => format!("PUT /v1/matrices/n{turn}"),
            _ => format!("POST /v1/matrices/a/scale?into=n{turn}"),
        };
        let both_begin = Barrier::new(2);
        let (stored, pointed) = std::thread::scope(|scope| {
            let stored = scope.spawn(|| {
                both_begin.wait();
                server.send(&store, &[MTX], &matrix()).status
            });
            both_begin.wait();
            let pointed = server.send(&format!("PUT /v1/aliases/n{turn}?to=a"), &[], &[]).status;
            (stored.join().unwrap(), pointed)
        });
        assert!(matches!((stored, pointed), (201, 409) | (409, 201)), "{store}: {stored}, {pointed}");
        let target = server.send(&format!("GET /v1/matrices/n{turn}"), &[], &[]).expect(200).json();
        assert_eq!(target["name"], if stored == 201 { format!("n{turn}") } else { "a".into() });
    }
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
    // From its time on it is not there for any request, whether it was deleted yet or not.
    let put = |condition: &str| server.send("PUT /v1/matrices/b?ttl=0", &[MTX, condition], &matrix());
    put("If-None-Match: *").expect(201);
    server.send("GET /v1/matrices/b", &[], &[]).expect(404);
    put("If-Match: \"1\"").expect(412);
    put("If-None-Match: *").expect(201);
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
