//! TLS with certificates of authorities that the tests make: who is refused, and what is read again.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses a part")]
mod common;

use common::{Running, mtx};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use sparse_server::{
    Client, ClientError, ClientRequest, Compute, Config, HttpMethod, Scope, StartError, TlsFiles, new_token,
    serve_until_stopped,
};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// An authority, whose files are in a folder by its name.
struct Authority<'a> {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: &'a Path,
    certificate: PathBuf,
}

/// A certificate and its key.
type Pair = (PathBuf, PathBuf);

impl<'a> Authority<'a> {
    fn new(folder: &'a Path, name: &str) -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let certificate = folder.join(format!("{name}.pem"));
        std::fs::write(&certificate, issuer.pem()).unwrap();
        Self { issuer, folder, certificate }
    }

    /// A certificate of `host`, or of a client without one, until the end of `last_year`.
    fn sign(&self, name: &str, host: Option<&str>, last_year: i32) -> Pair {
        let mut params =
            CertificateParams::new(host.map(str::to_owned).into_iter().collect::<Vec<_>>()).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
        params.extended_key_usages = vec![match host {
            Some(_) => ExtendedKeyUsagePurpose::ServerAuth,
            None => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let pair = (self.folder.join(format!("{name}.pem")), self.folder.join(format!("{name}.key")));
        std::fs::write(&pair.0, certificate.pem()).unwrap();
        std::fs::write(&pair.1, key.serialize_pem()).unwrap();
        pair
    }
}

const LOCAL: Option<&str> = Some("127.0.0.1");
const VALID: i32 = 2200;
const EXPIRED: i32 = 2021;

/// Settings of a server that others can reach, with the tokens of two tenants.
fn config(
    data: &Path,
    (certificate, key): Pair,
    client_authorities: Option<PathBuf>,
) -> (Config, [String; 2]) {
    let [lab, other] =
        ["lab", "other"].map(|tenant| new_token(tenant, &[Scope::Read, Scope::Write]).unwrap());
    let tokens = data.join("tokens");
    std::fs::write(&tokens, format!("{}\n{}\n", lab.1, other.1)).unwrap();
    let config = Config {
        listen: SocketAddr::from(([0, 0, 0, 0], 0)),
        tokens: Some(tokens),
        tls: Some(TlsFiles { certificate, key, client_authorities }),
        ..Config::new(data, 1 << 20)
    };
    (config, [lab.0, other.0])
}

/// A client on this machine of a server that listens on all addresses.
fn client(server: SocketAddr, token: &str, authority: &Authority<'_>) -> Client {
    let url = format!("https://127.0.0.1:{}", server.port());
    Client::new(&url, Some(token.into()), Some(authority.certificate.clone())).unwrap()
}

fn send(client: &Client, method: HttpMethod, path: &str, body: Option<&Path>) -> Result<String, ClientError> {
    let mut answer = vec![];
    let body = body.map(|path| (path.to_owned(), "text/x-matrix-market"));
    let request = ClientRequest { body, ..ClientRequest::without_body(method, path.into()) };
    client.send(&request, &mut answer)?;
    Ok(String::from_utf8(answer).unwrap())
}

fn list(client: &Client) -> Result<String, ClientError> {
    send(client, HttpMethod::GET, "/v1/matrices", None)
}

/// The reason for which there is no connection.
#[track_caller]
fn refusal(client: &Client) -> String {
    match list(client) {
        Err(ClientError::Connection(reason)) => reason,
        answer => panic!("{answer:?}"),
    }
}

#[test]
fn clients_refuse_servers_that_cannot_show_who_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, stranger) =
        (Authority::new(folder.path(), "authority"), Authority::new(folder.path(), "stranger"));
    let start = |pair| {
        let (config, [token, _]) = config(folder.path(), pair, None);
        (Running::start(config), token)
    };
    let (server, token) = start(authority.sign("server", LOCAL, VALID));
    assert!(list(&client(server.address, &token, &authority)).unwrap().contains("matrices"));
    assert!(refusal(&client(server.address, &token, &stranger)).contains("UnknownIssuer"));
    drop(server);
    for (host, last_year, reason) in
        [(LOCAL, EXPIRED, "expired"), (Some("lab.example"), VALID, "not valid for name \"127.0.0.1\"")]
    {
        let (server, token) = start(authority.sign("wrong", host, last_year));
        let refused = refusal(&client(server.address, &token, &authority));
        assert!(refused.contains(reason) && !refused.contains(&token), "{refused}");
    }
}

#[test]
fn servers_refuse_clients_that_cannot_show_who_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, stranger) =
        (Authority::new(folder.path(), "authority"), Authority::new(folder.path(), "stranger"));
    let server = authority.sign("server", LOCAL, VALID);
    let (config, [lab, other]) = config(folder.path(), server.clone(), Some(authority.certificate.clone()));
    let running = Running::start(config);
    let with = |token: &str, (certificate, key): Pair| {
        client(running.address, token, &authority).with_certificate(certificate, key)
    };
    let known = authority.sign("client", None, VALID);
    let body = folder.path().join("a.mtx");
    std::fs::write(&body, mtx(2, 2, &[(0, 0, 1.0)])).unwrap();
    send(&with(&lab, known.clone()), HttpMethod::PUT, "/v1/matrices/a", Some(&body)).unwrap();
    assert!(list(&with(&lab, known.clone())).unwrap().contains("\"a\""));

    // A certificate opens the connection, and a token says whose matrices are seen.
    assert!(!list(&with(&other, known.clone())).unwrap().contains("\"a\""));
    for (token, status) in [("nnz_00", 401), (&other, 404)] {
        let refused = send(&with(token, known.clone()), HttpMethod::GET, "/v1/matrices/a", None).unwrap_err();
        assert!(
            matches!(refused, ClientError::Refused { status: found, .. } if found == status),
            "{refused}"
        );
    }
    let without = refusal(&client(running.address, &lab, &authority));
    assert!(without.contains("CertificateRequired"), "{without}");
    for (pair, reason) in [
        (stranger.sign("unknown", None, VALID), "UnknownCA"),
        (authority.sign("late", None, EXPIRED), "CertificateExpired"),
        (server, "UnsupportedCertificate"),
        ((known.0.clone(), authority.sign("next", None, VALID).1), "KeyMismatch"),
    ] {
        let refused = refusal(&with(&lab, pair));
        assert!(refused.contains(reason), "{refused}");
    }
    let missing = refusal(&with(&lab, (folder.path().join("none.pem"), known.1)));
    assert!(missing.contains("none.pem"), "{missing}");
}

#[test]
fn a_signal_makes_a_server_read_its_certificates_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    let (first, second) = (Authority::new(folder.path(), "first"), Authority::new(folder.path(), "second"));
    let pair = first.sign("server", LOCAL, VALID);
    let (config, [token, _]) = config(data.path(), pair.clone(), None);
    let audit = data.path().join("audit.jsonl");
    let (tell, address) = mpsc::channel();
    let serving = std::thread::spawn(move || {
        let device = || Ok::<_, StartError>(Compute::Here(nnz::Device::host_with_threads(1).unwrap()));
        serve_until_stopped(config, device, |address| tell.send(address).unwrap())
    });
    let address = address.recv().unwrap();
    // This process is the server, and no other test of the file takes signals.
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &std::process::id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    let await_events = |count: usize| {
        let began = Instant::now();
        let events = || std::fs::read_to_string(&audit).unwrap().matches("read certificates").count();
        while events() < count {
            assert!(began.elapsed() < Duration::from_secs(20), "{count} readings");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let (of_first, of_second) = (client(address, &token, &first), client(address, &token, &second));
    list(&of_first).unwrap();
    second.sign("server", LOCAL, VALID);
    list(&of_first).unwrap();
    signal("-HUP");
    await_events(1);
    list(&of_second).unwrap();
    refusal(&of_first);

    // Files that are wrong change nothing, and the audit log says so.
    std::fs::write(&pair.0, "no certificate").unwrap();
    signal("-HUP");
    await_events(2);
    list(&of_second).unwrap();
    let log = std::fs::read_to_string(&audit).unwrap();
    assert!(log.lines().last().unwrap().contains("server.pem: PEM certificates"), "{log}");
    signal("-TERM");
    serving.join().unwrap().unwrap();
}
