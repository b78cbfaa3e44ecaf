//! Certificates, tokens and rates.

use super::common::{MTX, NPY, Response, Running, Stream, npy, read, try_send};
use super::{matrix, tls};
use sparse_server::{Client, ClientError, ClientRequest, Config, HttpMethod, Scope, TlsFiles, new_token};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};

/// Sends a request without a body, by a client with the certificate of this name; nothing if the server closes the
/// connection.
fn send_by_tls(address: SocketAddr, client: Option<&str>, request: &str) -> Option<Response> {
    let mut stream = tls::connect(address, client);
    let head = format!("{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    read(&mut stream)
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
    let get = |client| send_by_tls(server.address, client, "GET /v1/status").map(|answer| answer.status);
    assert_eq!(get(Some("client")), Some(200));
    assert_eq!((get(Some("stranger")), get(None)), (None, None));
    assert!(try_send(server.address, "GET /v1/status", &[], &[]).is_none(), "nothing without TLS");
    drop(server);
    let device = nnz::Device::host_with_threads(1).unwrap();
    let start = sparse_server::Server::start(config("server.key"), device);
    let refused = tokio::runtime::Runtime::new().unwrap().block_on(start).unwrap_err();
    assert!(refused.to_string().contains("server.key"), "a file without certificates: {refused}");
}

#[test]
fn a_refusal_reaches_a_client_that_first_sends_all_of_its_body() {
    let data = tempfile::tempdir().unwrap();
    let files = TlsFiles {
        certificate: tls::file("server.pem"),
        key: tls::file("server.key"),
        client_authorities: None,
    };
    let body = vec![b'%'; 8 << 20];
    for tls in [None, Some(files)] {
        let is_secure = tls.is_some();
        let server = Running::start(Config { tls, ..Config::new(data.path(), 1 << 20) });
        let connect = || -> Box<dyn Stream> {
            match is_secure {
                true => Box::new(tls::connect(server.address, None)),
                false => Box::new(TcpStream::connect(server.address).unwrap()),
            }
        };
        let long = "a".repeat(100_000);
        for (path, headers, status) in
            [("a?spin=1", MTX.to_owned(), 400), ("a", format!("{MTX}\r\na: {long}"), 431)]
        {
            let mut stream = connect();
            let (address, length) = (server.address, body.len());
            let head = format!(
                "PUT /v1/matrices/{path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n{headers}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&body).unwrap();
            assert_eq!(read(&mut stream).expect("an answer").status, status, "{path}, TLS: {is_secure}");
        }
    }
}

#[test]
fn a_client_trusts_the_authorities_that_it_names_and_sends_its_token() {
    let data = tempfile::tempdir().unwrap();
    let (token, line) = new_token("lab", &[Scope::Read, Scope::Write]).unwrap();
    let file = data.path().join("tokens");
    std::fs::write(&file, line).unwrap();
    let (certificate, key) = (tls::file("server.pem"), tls::file("server.key"));
    let files = TlsFiles { certificate, key, client_authorities: None };
    let config = Config { tls: Some(files), tokens: Some(file), ..Config::new(data.path(), 1 << 20) };
    let server = Running::start(config);
    let body = data.path().join("a.mtx");
    std::fs::write(&body, matrix()).unwrap();
    let request = |path: &str, body| {
        let method = if body { HttpMethod::PUT } else { HttpMethod::GET };
        let body = body.then(|| (data.path().join("a.mtx"), "text/x-matrix-market"));
        ClientRequest { body, ..ClientRequest::without_body(method, path.into()) }
    };
    let client = |token: Option<&str>, authority| {
        let url = format!("https://{}", server.address);
        Client::new(&url, token.map(str::to_owned), Some(tls::file(authority))).unwrap()
    };
    let (put, status) = (request("/v1/matrices/a", true), request("/v1/status", false));
    let mut answer = vec![];
    let trusting = client(Some(&token), "authority.pem");
    assert_eq!(trusting.send(&put, &mut answer).unwrap().media, "application/json");
    assert!(String::from_utf8_lossy(&answer).contains(r#""nnz":5"#));
    trusting.send_in_parts(&put, None, &mut vec![]).unwrap();
    let refused = client(None, "authority.pem").send(&status, &mut vec![]).unwrap_err();
    assert!(matches!(refused, ClientError::Refused { status: 401, .. }), "{refused}");
    let stranger = client(Some(&token), "stranger.pem").send(&status, &mut vec![]).unwrap_err();
    assert!(matches!(stranger, ClientError::Connection(_)), "{stranger}");
    assert!(!stranger.to_string().contains(&token));
}

#[cfg(unix)]
#[test]
fn a_client_goes_on_with_an_upload_that_broke_off() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    let (path, body) = (data.path().join("a.mtx"), matrix());
    std::fs::write(&path, &body).unwrap();
    let begun =
        server.send("POST /v1/uploads", &[&format!("Upload-Length: {}", body.len())], &[]).expect(201);
    let id = begun.head.lines().find_map(|line| line.strip_prefix("location: /v1/uploads/")).unwrap();
    server.send(&format!("PATCH /v1/uploads/{id}"), &["Upload-Offset: 0"], &body[..20]).expect(204);
    let client = Client::new(&format!("http://{}", server.address), None, None).unwrap();
    let put = ClientRequest {
        body: Some((path.clone(), "text/x-matrix-market")),
        ..ClientRequest::without_body(HttpMethod::PUT, "/v1/matrices/a".into())
    };
    let mut answer = vec![];
    client.send_in_parts(&put, Some(id.into()), &mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer).contains(r#""nnz":5"#));
    let gone = client.send_in_parts(&put, Some(id.into()), &mut vec![]).unwrap_err();
    assert!(gone.to_string().contains("404") && gone.to_string().contains(id), "{gone}");
    std::fs::write(&path, "%%").unwrap();
    let other = server.send("POST /v1/uploads", &["Upload-Length: 9"], &[]).expect(201);
    let other = other.head.lines().find_map(|line| line.strip_prefix("location: /v1/uploads/")).unwrap();
    let refused = client.send_in_parts(&put, Some(other.into()), &mut vec![]).unwrap_err();
    assert!(refused.to_string().contains("it has 2 bytes, and the upload is of 9"), "{refused}");
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
    server.send("POST /v1/matrices/a/transpose?into=b&dry_run=1", &[&reader], &[]).expect(403);
    let alias = "PUT /v1/aliases/best?to=a";
    server.send(alias, &[&reader], &[]).expect(403);
    server.send(alias, &[&other], &[]).expect(404);
    server.send(alias, &[&lab], &[]).expect(201);
    server.send("GET /v1/matrices/best", &[&reader], &[]).expect(200);
    server.send("DELETE /v1/aliases/best", &[&reader], &[]).expect(403);
    server.send("DELETE /v1/aliases/best", &[&other], &[]).expect(404);
    assert_eq!(server.send("GET /v1/aliases", &[&other], &[]).json()["aliases"], serde_json::json!([]));
    server.send("PUT /v1/matrices/best", &[MTX, &other], &matrix()).expect(201);
    server.send("DELETE /v1/matrices/best", &[&other], &[]).expect(204);
    server.send("GET /metrics", &[&lab], &[]).expect(403);
    let metrics = server.send("GET /metrics", &[&other], &[]).expect(200);
    let counted = r#"nnz_requests_total{route="GET /v1/matrices/{name}",code="404"} 1"#;
    assert!(metrics.text().contains(counted), "{}", metrics.text());
    let of_link = |name: &str| {
        let line = metrics.text().lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.and_then(|bytes| bytes.parse::<u64>().ok())
    };
    for name in ["nnz_link_received_bytes_total", "nnz_link_sent_bytes_total"] {
        assert!(of_link(name) > Some(500), "{name} in {}", metrics.text());
    }
    let timed = r#"nnz_request_seconds_count{route="GET /v1/matrices/{name}",code="404"} 1"#;
    assert!(metrics.text().contains(timed), "{}", metrics.text());
    for wrong in ["Authorization: Bearer nnz_0", "Authorization: Basic YTpi", "X-None: 1"] {
        let refused = server.send("GET /v1/matrices", &[wrong], &[]).expect(401);
        assert!(refused.head.contains("www-authenticate: Bearer"), "{}", refused.head);
    }
    // Also where both are right: a proxy may have looked at the other one.
    for headers in [[&*lab, &*lab], [&*lab, &*other], ["Authorization: Basic YTpi", &*lab]] {
        let refused = server.send("GET /v1/matrices", &headers, &[]).expect(400);
        assert!(refused.text().contains("2 headers `Authorization`: one is needed"), "{}", refused.text());
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
fn headers_of_data_come_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::start(Config::new(data.path(), 1 << 20));
    for [first, second] in [
        ["Idempotency-Key: a", "Idempotency-Key: b"],
        ["Content-Encoding: identity", "Content-Encoding: gzip"],
        [MTX, "Content-Type: application/x-npz"],
    ] {
        let headers = if first == MTX { vec![first, second] } else { vec![MTX, first, second] };
        let refused = server.send("PUT /v1/matrices/a", &headers, &matrix()).expect(400);
        let (name, _) = first.split_once(':').unwrap();
        let reason = format!("2 headers `{name}`: one is needed");
        assert!(refused.text().contains(&reason), "{}", refused.text());
    }
    server.send("PUT /v1/matrices/a", &[MTX, "Idempotency-Key: a"], &matrix()).expect(201);
}

#[test]
fn the_audit_log_has_changes_and_refusals_and_no_token() {
    let data = tempfile::tempdir().unwrap();
    let (lab, lab_line) = new_token("lab", &[Scope::Read, Scope::Write]).unwrap();
    let (reader, reader_line) = new_token("lab", &[Scope::Read]).unwrap();
    let file = data.path().join("tokens");
    std::fs::write(&file, format!("{lab_line}\n{reader_line}\n")).unwrap();
    let server = Running::start(Config { tokens: Some(file), ..Config::new(data.path(), 1 << 20) });
    let of = |token: &str| format!("Authorization: Bearer {token}");
    let put = server.send("PUT /v1/matrices/a", &[MTX, &of(&lab)], &matrix()).expect(201);
    server.send("POST /v1/matrices/a/transpose?into=b", &[&of(&lab)], &[]).expect(201);
    server.send("POST /v1/matrices/a/norm", &[&of(&lab)], &[]).expect(200);
    let job = server.send("POST /v1/matrices/a/scale?into=c&async=1", &[&of(&lab)], &[]).expect(202).json();
    server.send("DELETE /v1/matrices/a@1", &[&of(&reader)], &[]).expect(403);
    server.send("DELETE /v1/matrices/a@1", &[&of(&lab)], &[]).expect(204);
    server.send("DELETE /v1/matrices/a@1", &[], &[]).expect(401);
    // What may write to a client's array is recorded, even if it is refused, as here where the server takes no handles.
    server.send("POST /v1/matrices/b/norm", &[&of(&lab), "nnz-result-cuda: {}"], &[]).expect(400);
    drop(server);

    let log = std::fs::read_to_string(data.path().join("audit.jsonl")).unwrap();
    assert!(!log.contains(&lab[4..]) && !log.contains(&reader[4..]), "{log}");
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = |line: &serde_json::Value, field: &str| line[field].as_str().unwrap_or("").to_owned();
    let fields = ["action", "object", "into", "version"];
    let found: Vec<_> =
        lines.iter().map(|line| (fields.map(|field| text(line, field)), &line["status"])).collect();
    let none = serde_json::Value::Null;
    let expected = [
        (["start", "", "", ""], &none),
        (["PUT /v1/matrices/{name}", "a", "", "1"], &201.into()),
        (["POST transpose", "a", "b", "1"], &201.into()),
        (["POST scale", "a", "c", ""], &202.into()),
        (["DELETE /v1/matrices/{name}", "a@1", "", ""], &403.into()),
        (["DELETE /v1/matrices/{name}", "a@1", "", ""], &204.into()),
        (["POST norm", "b", "", ""], &400.into()),
        (["stop", "", "", ""], &none),
    ];
    assert_eq!(found, expected.map(|(fields, status)| (fields.map(str::to_owned), status)));
    assert!(put.head.contains(&format!("x-request-id: {}", text(&lines[1], "request"))), "{}", put.head);
    assert_eq!(text(&lines[3], "job"), job["id"].as_str().unwrap());
    // Tokens are told apart by the first digits of their hashes, which are in the file of tokens.
    assert!(lab_line.contains(&text(&lines[1], "token")) && text(&lines[1], "token").len() == 12);
    assert!(reader_line.contains(&text(&lines[4], "token")) && text(&lines[4], "tenant") == "lab");
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
fn arrays_on_a_gpu_are_taken_where_the_operator_says_so() {
    let data = tempfile::tempdir().unwrap();
    let on_gpu = "Content-Type: application/x-nnz-cuda";
    let array = |shape: &str, dtype: &str| {
        format!(r#"{{"handle":"{}","offset":0,"shape":{shape},"dtype":"{dtype}"}}"#, "00".repeat(64))
    };
    let csr = format!(
        r#"{{"shape":[1,1],"indptr":{},"indices":{},"data":{}}}"#,
        array("[2]", "<i4"),
        array("[1]", "<i4"),
        array("[1]", "<f8")
    );
    let x = array("[3]", "<f8");
    let result = format!("nnz-result-cuda: {x}");
    let requests = |server: &Running| {
        server.send("PUT /v1/matrices/a", &[MTX], &matrix()).expect(201);
        [
            server.send("PUT /v1/matrices/b", &[on_gpu], csr.as_bytes()),
            server.send("POST /v1/matrices/a/spmv", &[on_gpu], x.as_bytes()),
            server.send("POST /v1/matrices/a/spmv", &[NPY, &result], &npy(&[3], &[1.0; 3])),
        ]
    };
    for answer in requests(&Running::start(Config::new(data.path(), 1 << 20))) {
        assert!(answer.expect(400).text().contains("--cuda-ipc on"));
    }
    let config = Config { cuda_ipc: true, ..Config::new(data.path(), 1 << 20) };
    let server = Running::start(config.clone());
    for answer in requests(&server) {
        let text = answer.expect(422);
        assert!(text.text().contains("a CUDA device is needed"), "{text:?}");
    }
    let both = server.send("POST /v1/matrices/a/scale?alpha=2&into=b", &[result.as_str()], &[]).expect(400);
    assert!(both.text().contains("leave out `into`, or this header"), "{both:?}");
    let public = Config { listen: "0.0.0.0:0".parse().unwrap(), tokens: Some("tokens".into()), ..config };
    assert!(public.check().unwrap_err().to_string().contains("--cuda-ipc"));
}
