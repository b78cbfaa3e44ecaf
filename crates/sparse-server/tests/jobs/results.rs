//! Jobs: what is said of them, their results, and who may see and end them.

use super::*;
use sparse_server::{Scope, new_token};

#[test]
fn a_job_is_watched_and_its_result_fetched_until_it_expires() {
    let (_data, server) = server(|config| config.limits.result_time = Duration::from_millis(1500));
    put_slow(&server, &[]);
    let resident = used_bytes(&server);
    let x = npy(&[2, 1], &[1.0, 2.0]);
    let post = |request: &str| server.send(&format!("POST /v1/matrices/slow/{request}"), &[NPY], &x);
    let id = job(&post("spmv?async=1"));
    let view = finished(&server, &id);
    assert_eq!((&view["state"], &view["matrix"]), (&"done".into(), &"slow@1".into()));
    assert!(view["log"].as_array().unwrap().iter().any(|line| line["text"] == "begun"), "{view}");
    assert_eq!(used_bytes(&server), resident + 16, "the result is in the ledger, its operands are not");
    let result = format!("GET /v1/jobs/{id}/result");
    for _ in 0..2 {
        assert_eq!(server.send(&result, &[], &[]).array(), [1.0, 2e6]);
    }
    await_that("the result expires", || server.send(&result, &[], &[]).status == 404);
    assert_eq!(used_bytes(&server), resident);

    // A result that is a file, one that is stored, and one that failed.
    let preferred = server.send("POST /v1/matrices/slow/transpose", &["Prefer: wait=1, Respond-Async"], &[]);
    assert!(preferred.head.contains("preference-applied: respond-async"), "{}", preferred.head);
    let id = job(&preferred);
    finished(&server, &id);
    let npz = server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(200);
    assert!(npz.body.starts_with(b"PK"));
    let id = job(&post("scale?alpha=2&into=twice&async=1"));
    finished(&server, &id);
    assert_eq!(
        server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(201).json()["name"],
        "twice"
    );
    // The job keeps the answer, and not the matrix.
    assert!(used_bytes(&server) > resident);
    server.send("DELETE /v1/matrices/twice", &[], &[]).expect(204);
    assert_eq!(used_bytes(&server), resident);
    server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(201);
    let id = job(&post("sddmm?async=1"));
    let view = finished(&server, &id);
    assert_eq!((&view["state"], &view["problem"]["status"]), (&"failed".into(), &422.into()));
    let problem = server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(422);
    assert!(problem.text().contains("4 are needed"), "{}", problem.text());
}

#[test]
fn a_job_that_is_deleted_stops() {
    let (_data, server) = server(|config| {
        config.limits.queue = 1;
        config.limits.jobs = 3;
    });
    put_slow(&server, &[]);
    let id = job(&solve(&server, "&async=1", &[]));
    let get = |id: &str| server.send(&format!("GET /v1/jobs/{id}"), &[], &[]);
    await_that("there is progress", || {
        get(&id).expect(200).json()["progress"]["iteration"].as_u64() > Some(100)
    });
    assert_eq!(get(&id).json()["state"], "running");
    let early = server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(409);
    assert!(early.head.contains("retry-after") && early.text().contains("not-finished"), "{}", early.text());
    let waiting = job(&solve(&server, "&async=1", &[]));
    assert_eq!(get(&waiting).json()["state"], "queued");
    // A full queue is an error of the request, and no job.
    let refused = solve(&server, "&async=1", &[]).expect(429);
    assert!(refused.head.contains("retry-after"), "{}", refused.head);
    let jobs = server.send("GET /v1/jobs", &[], &[]).json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 2);
    // Work that takes little time does not wait, and who leaves the queue leaves a place.
    server.send("PUT /v1/matrices/slow/labels?labels=a=1", &[], &[]).expect(200);
    server.send("PUT /v1/matrices/slow/pin", &[], &[]).expect(200);
    server.send("PUT /v1/matrices/slow/pin?pinned=0", &[], &[]).expect(200);
    server.send(&format!("DELETE /v1/jobs/{waiting}"), &[], &[]).expect(204);
    await_that("its place is free", || operations(&server) == (1, 0));
    let waiting = job(&solve(&server, "&async=1", &[]));
    for id in [&waiting, &id] {
        server.send(&format!("DELETE /v1/jobs/{id}"), &[], &[]).expect(204);
        get(id).expect(404);
    }
    await_that("nothing runs", || operations(&server) == (0, 0));
    // Finished ones count, too.
    for _ in 0..3 {
        finished(&server, &job(&server.send("POST /v1/matrices/slow/norm?async=1", &[], &[])));
    }
    let refused = server.send("POST /v1/matrices/slow/norm?async=1", &[], &[]).expect(429);
    assert!(refused.text().contains("3 jobs"), "{}", refused.text());
}

#[test]
fn a_job_belongs_to_its_tenant_and_ends_at_its_time_limit() {
    let folder = tempfile::tempdir().unwrap();
    let make = |tenant, scopes: &[Scope]| {
        let (token, line) = new_token(tenant, scopes).unwrap();
        (format!("Authorization: Bearer {token}"), line)
    };
    let (lab, lab_line) = make("lab", &[Scope::Read, Scope::Write]);
    let (reader, reader_line) = make("lab", &[Scope::Read]);
    let (other, other_line) = make("other", &Scope::ALL);
    let file = folder.path().join("tokens");
    std::fs::write(&file, [lab_line, reader_line, other_line].join("\n")).unwrap();
    let (_data, server) = server(|config| config.tokens = Some(file));
    put_slow(&server, &[&lab]);
    let id = job(&solve(&server, "&async=1&timeout=0.3", &[&reader]));
    let path = format!("/v1/jobs/{id}");
    for request in [format!("GET {path}"), format!("GET {path}/result"), format!("DELETE {path}")] {
        server.send(&request, &[&other], &[]).expect(404);
    }
    assert!(server.send("GET /v1/jobs", &[&other], &[]).json()["jobs"].as_array().unwrap().is_empty());
    let view = server.send(&format!("GET {path}?wait=10"), &[&lab], &[]).expect(200).json();
    assert_eq!((&view["state"], &view["problem"]["status"]), (&"failed".into(), &504.into()));
    // Who may not store may not cancel what stores.
    let stored = server.send("POST /v1/matrices/slow/transpose?into=t&async=1", &[&lab], &[]);
    let path = format!("/v1/jobs/{}", job(&stored));
    server.send(&format!("DELETE {path}"), &[&reader], &[]).expect(403);
    server.send(&format!("DELETE {path}"), &[&lab], &[]).expect(204);
}

#[test]
fn the_name_of_a_job_s_result_is_no_alias() {
    let (_data, server) = server(|_| ());
    put_slow(&server, &[]);
    let running = take_worker(&server);
    let id = job(&server.send("POST /v1/matrices/slow/scale?into=later&async=1", &[], &[]));
    let point = || server.send("PUT /v1/aliases/later?to=slow", &[], &[]);
    assert!(point().expect(409).text().contains("there is a matrix `later`, or a job makes one"));
    drop(running);
    finished(&server, &id);
    point().expect(409);
    server.send("DELETE /v1/matrices/later", &[], &[]).expect(204);
    point().expect(201);
}
