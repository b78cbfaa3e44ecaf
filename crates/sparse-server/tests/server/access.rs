//! Certificates, tokens and rates.

use super::common::{MTX, Running, try_send};
use super::{matrix, tls};
use sparse_server::{Config, Scope, TlsFiles, new_token};

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
    let get = |client| tls::send(server.address, client, "GET /v1/status").map(|answer| answer.status);
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
    for wrong in ["Authorization: Bearer nnz_0", "Authorization: Basic YTpi", "X-None: 1"] {
        let refused = server.send("GET /v1/matrices", &[wrong], &[]).expect(401);
        assert!(refused.head.contains("www-authenticate: Bearer"), "{}", refused.head);
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
