//! A service of two devices, each with a worker.

use super::common::{
    MTX, NPY, Response, Running, await_next_worker, kill, mtx, npy, process_id, process_of, worker,
};
use super::{await_that, browser, config, multiply, put, tier};
use sparse_server::WorkerCommand;
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A server of two devices.
fn start_on_two(data: &tempfile::TempDir, memory: u64) -> Running {
    Running::start_with(config(data, memory), vec![worker(), worker()].into())
}

fn names(list: &Response) -> Vec<(String, u64)> {
    let list = list.json();
    let matrices = list["matrices"].as_array().unwrap().iter();
    matrices.map(|m| (m["name"].as_str().unwrap().into(), m["device"].as_u64().unwrap())).collect()
}

#[test]
fn two_devices_are_one_service() {
    let data = tempfile::tempdir().unwrap();
    let server = start_on_two(&data, 1 << 20);
    // The first goes to the first, and the next to that which has more bytes.
    assert_eq!(put(&server, "a?durable=1", 300, 2.0).json()["device"], 0);
    assert_eq!(put(&server, "b?durable=1&labels=k=v", 300, 3.0).json()["device"], 1);
    assert_eq!(put(&server, "a", 300, 4.0).json()["device"], 0, "a name stays");
    assert_eq!(put(&server, "c?device=1", 300, 5.0).json()["device"], 1);
    let (list, labelled) = ("GET /v1/matrices", "GET /v1/matrices?label=k=v");
    let all = [("a", 0), ("a", 0), ("b", 1), ("c", 1)].map(|(name, device)| (name.to_owned(), device));
    assert_eq!(names(&server.send(list, &[], &[]).expect(200)), all);
    assert_eq!(names(&server.send(labelled, &[], &[]).expect(200)), all[2..3]);
    server.send("GET /v1/matrices?label=,", &[], &[]).expect(400);

    multiply(&server, "a%40", 300).expect(400);
    assert_eq!(multiply(&server, "a%401", 300).array(), [2.0; 300]);
    assert_eq!(multiply(&server, "b", 300).array(), [3.0; 300]);
    multiply(&server, "d", 300).expect(404);
    let elsewhere = server.send("PUT /v1/matrices/a?device=1", &[MTX], &mtx(1, 1, &[(0, 0, 1.0)]));
    assert!(elsewhere.expect(409).text().contains("`a` is on device 0"));
    let nowhere = server.send("PUT /v1/matrices/d?device=2", &[MTX], &mtx(1, 1, &[(0, 0, 1.0)]));
    assert!(nowhere.expect(400).text().contains("the devices are 0 to 1"));

    if let Some(browser) = browser::chromium() {
        let (profile, url) = (data.path().join("profile"), format!("http://{}/", server.address));
        let dom = browser::browse(browser, &profile, &["--dump-dom", &url]);
        for shown in [
            "2 devices, version",
            "Device 0: ",
            "Device 1: ",
            ">a@1</button>",
            "<td class=\"\">device 1</td>",
        ] {
            assert!(dom.contains(shown), "`{shown}` is missing: {dom}");
        }
    }

    // A key belongs to its first request, whatever device another would go to.
    let key = "Idempotency-Key: 1b2f";
    let put_one = |name: &str| {
        server.send(&format!("PUT /v1/matrices/{name}"), &[MTX, key], &mtx(1, 1, &[(0, 0, 1.0)]))
    };
    let first = put_one("e").expect(201);
    let device = first.json()["device"].as_u64().unwrap();
    assert_eq!(put_one("e").expect(201).text(), first.text());
    assert!(put_one(&format!("f?device={}", 1 - device)).expect(422).text().contains("made `e`"));
    let into = server.send("POST /v1/matrices/a/scale?into=f", &[key], &[]).expect(422);
    assert!(into.text().contains("made `e`"), "{}", into.text());
    server.send("DELETE /v1/matrices/e", &[], &[]).expect(204);
    assert_eq!(put_one("e").expect(201).text(), first.text());
    let other_body = server.send("PUT /v1/matrices/e", &[MTX, key], &mtx(1, 1, &[(0, 0, 2.0)])).expect(422);
    assert!(other_body.text().contains("another body"), "{}", other_body.text());

    // A name whose matrices are deleted is free for another device.
    put(&server, "d?device=0", 3, 1.0);
    server.send("DELETE /v1/matrices/d", &[], &[]).expect(204);
    assert_eq!(put(&server, "d?device=1", 3, 1.0).json()["device"], 1);
    server.send("DELETE /v1/matrices/d", &[], &[]).expect(204);

    let status = server.send("GET /v1/status", &[], &[]).expect(200).json();
    assert_eq!(
        (&status["devices"][1]["number"], &status["memory"]["capacity_bytes"]),
        (&1.into(), &(2 << 20).into())
    );
    let used = |part: &serde_json::Value| part["memory"]["used_bytes"].as_u64().unwrap();
    assert_eq!(used(&status), used(&status["devices"][0]) + used(&status["devices"][1]));
    let metrics = server.send("GET /metrics", &[], &[]).expect(200);
    for device in [0, 1] {
        let objects = format!("\nnnz_objects{{device=\"{device}\"}} 2\n");
        assert!(metrics.text().contains(&objects), "{}", metrics.text());
    }

    // Jobs are found by their ids, on their devices.
    let job = |name: &str| {
        let job = server.send(&format!("POST /v1/matrices/{name}/norm?ord=1&async=1"), &[], &[]).expect(202);
        job.json()["id"].as_str().unwrap().to_owned()
    };
    let jobs = [job("b"), job("a")];
    for (id, norm) in jobs.iter().zip([3.0, 4.0]) {
        server.send(&format!("GET /v1/jobs/{id}?wait=10"), &[], &[]).expect(200);
        let result = server.send(&format!("GET /v1/jobs/{id}/result"), &[], &[]).expect(200);
        assert_eq!(result.json()["norm"], norm);
    }
    let listed = server.send("GET /v1/jobs", &[], &[]).expect(200).json();
    let ids: Vec<_> = listed["jobs"].as_array().unwrap().iter().map(|job| job["id"].clone()).collect();
    assert_eq!(ids, jobs);
    server.send(&format!("DELETE /v1/jobs/{}", jobs[0]), &[], &[]).expect(204);
    server.send(&format!("GET /v1/jobs/{}", jobs[0]), &[], &[]).expect(404);
}

#[test]
fn limits_of_a_tenant_are_for_all_devices() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data, 1 << 20);
    // A matrix of 500 rows takes 8004 bytes, and an upload five times as much.
    (config.tenant_memory, config.limits.jobs) = (60_000, 2);
    let server = Running::start_with(config, vec![worker(), worker()].into());
    for (k, name) in ["a", "b", "c"].iter().enumerate() {
        put(&server, &format!("{name}?device=0"), 500, k as f64);
    }
    // The front end moves what is on the first device to disk, and the next attempt succeeds.
    let entries: Vec<_> = (0..500).map(|row| (row, row, 3.0)).collect();
    let upload = || server.send("PUT /v1/matrices/d?device=1", &[MTX], &mtx(500, 500, &entries));
    let refused = upload().expect(429);
    assert!(
        refused.text().contains("of your quota have moved to disk on other devices"),
        "{}",
        refused.text()
    );
    await_that("the quota is free", || upload().status == 201);
    let tiers = ["a", "b", "c", "d"].map(|name| tier(&server, name));
    assert!(tiers[..3].contains(&"disk".into()) && tiers[3] == "device", "{tiers:?}");
    let status = server.send("GET /v1/status", &[], &[]).expect(200).json();
    assert_eq!(status["tenant"]["capacity_bytes"], 60_000);

    // What is pinned stays, and so the request is refused for good.
    server.send("PUT /v1/matrices/a/pin", &[], &[]).expect(200);
    server.send("PUT /v1/matrices/b/pin", &[], &[]).expect(200);
    server.send("PUT /v1/matrices/c/pin", &[], &[]).expect(200);
    await_that("the front end knows of it", || upload().status == 507);

    let job = |name: &str| server.send(&format!("POST /v1/matrices/{name}/norm?async=1"), &[], &[]);
    let jobs = [job("a").expect(202), job("d").expect(202)];
    assert!(job("a").expect(429).text().contains("there are 2 jobs") && job("d").status == 429);
    server.send(&format!("DELETE /v1/jobs/{}", jobs[1].json()["id"].as_str().unwrap()), &[], &[]).expect(204);
    await_that("another job may be", || job("a").status == 202);
}

#[test]
fn matrices_of_two_devices_are_computed_with_on_one() {
    let data = tempfile::tempdir().unwrap();
    let server = start_on_two(&data, 1 << 20);
    put(&server, "a?device=0", 3, 2.0);
    put(&server, "b?device=1", 3, 3.0);
    let used = || {
        let devices = server.send("GET /v1/status", &[], &[]).expect(200).json()["devices"].clone();
        [0, 1].map(|device: usize| devices[device]["memory"]["used_bytes"].as_u64().unwrap())
    };
    let before = used();
    let norm = |name: &str| {
        server.send(&format!("POST /v1/matrices/{name}/norm?ord=1"), &[], &[]).json()["norm"].clone()
    };
    let made = server.send("POST /v1/matrices/a/spgemm?other=b&into=c", &[], &[]).expect(201).json();
    assert_eq!((&made["name"], &made["device"], norm("c")), (&"c".into(), &0.into(), 6.0.into()));
    // The result goes where its name is, as its next version.
    let made = server.send("POST /v1/matrices/b@1/add?other=c&into=c", &[], &[]).expect(201).json();
    assert_eq!((&made["version"], &made["device"], norm("c")), (&2.into(), &0.into(), 9.0.into()));
    let job = server.send("POST /v1/matrices/b/multiply?other=a&async=1&into=d", &[], &[]).expect(202).json();
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    let job = server.send(&format!("GET {path}?wait=10"), &[], &[]);
    assert_eq!((&job.json()["state"], norm("d")), (&"done".into(), 6.0.into()), "{}", job.text());
    server.send(&format!("DELETE {path}"), &[], &[]).expect(204);

    // Formats, and batches, are those of the other device.
    server.send("POST /v1/matrices/b/convert?format=coo&into=coo", &[], &[]).expect(201);
    server.send("POST /v1/matrices/a/convert?format=csr&into=moved", &[], &[]).expect(201);
    put(&server, "away?device=0", 3, 1.0);
    server.send("POST /v1/matrices/coo/scale?into=away", &[], &[]).expect(201);
    let described = server.send("GET /v1/matrices/away", &[], &[]).json();
    assert_eq!((&described["format"], &described["device"]), (&"coo".into(), &0.into()));
    let stack = npy(&[2, 1, 2], &[1.0, 0.0, 0.0, 5.0]);
    server.send("PUT /v1/matrices/batch?device=1", &[NPY], &stack).expect(201);
    server.send("POST /v1/matrices/batch/scale?into=away", &[], &[]).expect(201);
    assert_eq!(server.send("GET /v1/matrices/away", &[], &[]).json()["members"], 2);

    let steps = r#"[{"name":"p","operation":"spgemm","matrix":"a","other":"b"},{"operation":"add","matrix":"$p","other":"b@1"}]"#;
    let steps: String = steps.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let sum = server.send(&format!("POST /v1/programs?program={steps}&into=e"), &[], &[]).expect(201).json();
    assert_eq!((&sum["device"], norm("e")), (&0.into(), 9.0.into()));

    // Clients that do not wait leave no copy behind.
    for name in ["large", "other"] {
        put(&server, &format!("{name}?device={}", u8::from(name == "other")), 2000, 1.0);
    }
    for delay in 0..20 {
        let mut client = TcpStream::connect(server.address).unwrap();
        let head = "POST /v1/matrices/large/add?other=other HTTP/1.1\r\nHost: localhost\r\n\r\n";
        client.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(delay / 2));
    }

    // An alias is of all devices.
    for (alias, matrix) in [("first", "a"), ("second", "b@1")] {
        server.send(&format!("PUT /v1/aliases/{alias}?to={matrix}"), &[], &[]).expect(201);
    }
    server.send("PUT /v1/aliases/third?to=nothing", &[], &[]).expect(404);
    server.send("POST /v1/matrices/first/spgemm?other=second&into=c", &[], &[]).expect(201);
    assert_eq!((norm("c"), norm("second")), (6.0.into(), 3.0.into()));

    server.send("POST /v1/matrices/a/norm?other=b@7", &[], &[]).expect(400);
    let missing = server.send("POST /v1/matrices/a/spgemm?other=b@7", &[], &[]).expect(404);
    assert!(missing.text().contains("`b@7`"), "{}", missing.text());
    for name in ["c", "coo", "d", "moved", "away", "batch", "e", "large", "other"] {
        server.send(&format!("DELETE /v1/matrices/{name}"), &[], &[]).expect(204);
    }
    await_that("copies are dropped", || used() == before);
    assert_eq!(names(&server.send("GET /v1/matrices", &[], &[]).expect(200)).len(), 2);
}

#[test]
fn the_end_of_one_worker_costs_its_device_alone() {
    let data = tempfile::tempdir().unwrap();
    let server = start_on_two(&data, 1 << 20);
    put(&server, "a?durable=1&device=0", 3, 2.0);
    put(&server, "b?durable=1&device=1", 3, 3.0);
    put(&server, "lost?device=1", 3, 4.0);
    let job = server.send("POST /v1/matrices/b/norm?async=1", &[], &[]).expect(202).json();
    let ended = process_of(server.address, 1).unwrap();
    let goes_on = AtomicBool::new(true);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut count = 0;
            while goes_on.load(Ordering::Relaxed) {
                assert_eq!(multiply(&server, "a", 3).array(), [2.0; 3]);
                server.send("GET /readyz", &[], &[]).expect(200);
                count += 1;
            }
            count
        });
        kill(ended);
        await_next_worker(server.address, 1, ended);
        goes_on.store(false, Ordering::Relaxed);
        assert!(other.join().unwrap() > 0);
    });
    assert_eq!(multiply(&server, "b", 3).array(), [3.0; 3]);
    let lost = multiply(&server, "lost", 3).expect(410);
    assert!(lost.text().contains("`lost@1`"), "{}", lost.text());
    server.send(&format!("GET /v1/jobs/{}", job["id"].as_str().unwrap()), &[], &[]).expect(410);
    assert_eq!(put(&server, "lost", 3, 5.0).json()["version"], 2);
    assert_eq!(tier(&server, "lost@1"), "lost");
    drop(server);

    let server = start_on_two(&data, 1 << 20);
    let all = [("a".to_owned(), 0), ("b".to_owned(), 1)];
    assert_eq!(names(&server.send("GET /v1/matrices", &[], &[]).expect(200)), all);
    assert_eq!(multiply(&server, "b", 3).array(), [3.0; 3]);
    drop(server);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for compute in [worker().into(), nnz::Device::host_with_threads(1).unwrap().into()] {
        let compute: sparse_server::Compute = compute;
        let fewer = runtime.block_on(sparse_server::Server::start(config(&data, 1 << 20), compute));
        let reason = fewer.unwrap_err().to_string();
        assert!(reason.contains("device-1: it has the data of device 1"), "{reason}");
    }
}

#[test]
fn a_device_whose_worker_is_given_up_is_named_and_the_other_serves() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&data, 1 << 20);
    (config.limits.worker_attempts, config.limits.worker_delay) = (2, Duration::from_millis(10));
    let (first, working) = (AtomicBool::new(true), worker());
    let failing = WorkerCommand::new(move || match first.swap(false, Ordering::Relaxed) {
        true => working.command(),
        false => Command::new("false"),
    });
    let server = Running::start_with(config, vec![failing, worker()].into());
    put(&server, "a?device=0", 3, 2.0);
    put(&server, "b?device=1", 3, 3.0);
    kill(process_id(server.address));
    await_that("it is given up", || {
        let status = server.send("GET /v1/status", &[], &[]).expect(200).json();
        status["devices"][0]["problem"].as_str().is_some_and(|problem| problem.contains("given up"))
    });
    server.send("GET /readyz", &[], &[]).expect(200);
    assert!(
        multiply(&server, "a", 3).expect(503).text().contains("the worker process of device 0 is given up")
    );
    assert_eq!(multiply(&server, "b", 3).array(), [3.0; 3]);
    multiply(&server, "nothing", 3).expect(404);
    assert_eq!(put(&server, "c", 3, 2.0).json()["device"], 1);
    let list = server.send("GET /v1/matrices", &[], &[]).expect(200);
    assert_eq!(names(&list).len(), 2);
    assert_eq!(list.json()["unavailable"][0]["device"], 0);
    assert!(server.send("GET /metrics", &[], &[]).expect(200).text().ends_with("# EOF\n"));
}
