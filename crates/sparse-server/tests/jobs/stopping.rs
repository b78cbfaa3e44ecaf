//! The end of the server, while requests and jobs run.

use super::common::{read, try_send};
use super::*;

#[test]
fn a_request_that_the_server_has_no_time_to_finish_is_told_so_before_it_stops() {
    // A tenth of it is for the answers.
    let (_data, mut server) = server(|config| config.limits.drain_time = Duration::from_secs(10));
    put_slow(&server, &[]);
    let blocker = take_worker(&server);
    let address = server.address;
    let send = |request: &'static str, body: Vec<u8>| {
        std::thread::spawn(move || try_send(address, request, &[NPY], &body))
    };
    let finished: Vec<_> = (0..10).map(|_| send("POST /v1/matrices/slow/norm", vec![])).collect();
    await_that("they wait", || operations(&server) == (1, 10));
    let late: Vec<_> = (0..10).map(|_| send(ENDLESS, npy(&[2], &[1000.0, 1.0]))).collect();
    await_that("all wait", || operations(&server) == (1, 20));
    server.stop();
    await_that("the server stops", || TcpStream::connect(address).is_err());
    drop(blocker);
    let answer =
        |request: std::thread::JoinHandle<Option<Response>>| request.join().unwrap().expect("an answer");
    finished.into_iter().for_each(|request| drop(answer(request).expect(200)));
    for request in late {
        let answer = answer(request).expect(503);
        assert!(answer.text().contains("problem:stopping") && answer.text().contains("had no time"));
    }
    // It does not wait for an operation without an end.
    drop(server);
}

#[test]
fn a_job_that_is_accepted_while_the_server_stops_is_finished() {
    let (data, mut server) = server(|_| ());
    put_slow(&server, &[]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let (address, body) = (server.address, npy(&[4, 1], &[1.0; 4]));
    let request = "POST /v1/matrices/slow/sddmm?async=1&into=stored&durable=1";
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{NPY}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), &body[..20]].concat()).unwrap();
    // A job that stores its result is waited for. This one solves first, until its time is over.
    let steps = serde_json::json!([
        {
            "operation": "solve", "matrix": "slow", "operand": "$body",
            "parameters": { "method": "gmres", "restart": 1, "tol": 0, "max_iterations": 1_000_000_000 },
        },
        { "operation": "transpose", "matrix": "slow" },
    ]);
    let steps: String = steps.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
    let program = format!("POST /v1/programs?program={steps}&into=x&async=1&timeout=0.5");
    let before = job(&server.send(&program, &[NPY], &npy(&[2], &[1000.0, 1.0])));
    await_that("it runs", || operations(&server) == (1, 0));
    server.stop();
    await_that("the server stops", || TcpStream::connect(address).is_err());
    stream.write_all(&body[20..]).unwrap();
    assert_ne!(job(&read(&mut stream).unwrap()), before);
    drop(server);
    let server = Running::start(Config::new(data.path(), 1 << 20));
    server.send("GET /v1/matrices/stored", &[], &[]).expect(200);
}
