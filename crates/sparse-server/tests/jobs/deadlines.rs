//! Time limits, clients that go, and what happens meanwhile.

use super::*;

#[test]
fn an_operation_ends_at_its_time_limit() {
    let (_data, server) = server(|config| config.limits.operation_time = Duration::from_secs(20));
    put_slow(&server, &[]);
    let began = Instant::now();
    let late = solve(&server, "&timeout=0.2", &[]).expect(504);
    assert!(
        late.text().contains("urn:nnz:problem:deadline") && late.text().contains("200ms"),
        "{}",
        late.text()
    );
    assert!(began.elapsed() < Duration::from_secs(5));
    await_that("its worker is free", || operations(&server) == (0, 0));
    for wrong in ["0", "-1", "21", "nan", "1e400", "x"] {
        solve(&server, &format!("&timeout={wrong}"), &[]).expect(400);
    }
    // Those that wait have their own.
    let running = take_worker(&server);
    solve(&server, "&timeout=0.1", &[]).expect(504);
    let x = npy(&[2], &[1.0, 2.0]);
    server.send("POST /v1/matrices/slow/spmv?timeout=0.1", &[NPY], &x).expect(504);
    drop(running);
    assert_eq!(server.send("POST /v1/matrices/slow/spmv", &[NPY], &x).array(), [1.0, 2e6]);
}

#[test]
fn clients_that_are_gone_cancel_what_waits_and_what_runs() {
    let (_data, server) = server(|_| ());
    put_slow(&server, &[]);
    let running = take_worker(&server);
    let waiting = begin_endless(&server);
    await_that("one waits", || operations(&server) == (1, 1));
    drop(waiting);
    await_that("none waits", || operations(&server) == (1, 0));
    drop(running);
    await_that("none runs", || operations(&server) == (0, 0));
}

#[cfg(unix)]
#[test]
fn an_upload_is_described_while_a_request_has_it_as_its_body() {
    let (_data, server) = server(|_| ());
    put_slow(&server, &[]);
    let body = npy(&[2], &[1000.0, 1.0]);
    let begun =
        server.send("POST /v1/uploads", &[&format!("Upload-Length: {}", body.len())], &[]).expect(201);
    let address = begun.head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
    server.send(&format!("PATCH {address}"), &["Upload-Offset: 0"], &body).expect(204);
    let upload = format!("nnz-upload: {}", address.rsplit('/').next().unwrap());
    let mut running = TcpStream::connect(server.address).unwrap();
    let head = format!("{ENDLESS} HTTP/1.1\r\nHost: {}\r\n{NPY}\r\n{upload}\r\n\r\n", server.address);
    running.write_all(head.as_bytes()).unwrap();
    await_that("it runs", || operations(&server) == (1, 0));

    let began = Instant::now();
    let described = server.send(&format!("HEAD {address}"), &[], &[]).expect(204);
    assert!(described.head.contains(&format!("upload-offset: {}", body.len())), "{}", described.head);
    let refused = server.send(&format!("PATCH {address}"), &["Upload-Offset: 1"], &[0]).expect(409);
    assert!(refused.head.contains(&format!("upload-offset: {}", body.len())), "{}", refused.head);
    // Two requests may have it at once.
    let spmv = server.send("POST /v1/matrices/slow/spmv?timeout=0.1", &[NPY, &upload], &[]).expect(504);
    assert!(began.elapsed() < Duration::from_secs(10), "{}", spmv.text());
    await_that("the first one runs", || operations(&server) == (1, 0));
}

#[test]
fn a_matrix_that_is_deleted_before_it_is_read_is_not_found() {
    let (data, first) = server(|_| ());
    first.send("PUT /v1/matrices/a?durable=1", &[MTX], &mtx(1, 1, &[(0, 0, 1.0)])).expect(201);
    drop(first);
    let mut config = Config::new(data.path(), 1 << 20);
    config.limits.workers = 1;
    let server = Running::start(config);
    put_slow(&server, &[]);
    let running = take_worker(&server);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.send("POST /v1/matrices/a/norm", &[], &[]));
        await_that("one waits", || operations(&server) == (1, 1));
        server.send("DELETE /v1/matrices/a", &[], &[]).expect(204);
        drop(running);
        let answer = waiting.join().unwrap().expect(404);
        assert!(answer.text().contains("`a@1` was deleted"), "{}", answer.text());
    });
}
