//! The command as a user calls it: its output, files and exit status.
//!
//! Each `cmd/*.trycmd` runs in a copy of `data/` (its `.in`), and the files that it leaves are compared with its
//! `.out`. No OpenCL runtime, no SYCL and no GPU is found there, so that transcripts agree on machines with and without
//! one; and no measured rates or thresholds are read or stored.

#[cfg(all(unix, feature = "server"))]
use flate2::{Compression, write::GzEncoder};
use std::fs;
#[cfg(all(unix, feature = "server"))]
use std::io::{BufRead, BufReader, Read, Write};
#[cfg(all(unix, feature = "server"))]
use std::process::{Command, Stdio};

/// Transcripts that find no device but the CPU.
fn transcripts() -> trycmd::TestCases {
    let transcripts = trycmd::TestCases::new();
    transcripts
        .env("OCL_ICD_VENDORS", "/nowhere/vendors")
        .env("NNZ_SYCL_SHIM", "/nowhere/libnnz_sycl.so")
        .env("CUDA_VISIBLE_DEVICES", "")
        .env("NNZ_RATES_CACHE", "")
        .env("NNZ_THRESHOLDS", "");
    transcripts
}

#[test]
fn every_subcommand_does_what_its_transcript_says() {
    transcripts().case("tests/cmd/*.trycmd");
}

/// The blocks in `console` of the README, in a folder that is empty at first.
#[test]
fn the_readme_shows_what_the_command_does() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("README.md");
    fs::create_dir(folder.path().join("README.in")).unwrap();
    assert!(
        fs::copy(readme, &copy).is_ok() && fs::read_to_string(&copy).unwrap().contains("```console\n$ nnz")
    );
    transcripts().case(&copy).run();
    assert!(folder.path().join("README.in/y.mtx").exists());
}

/// The answer to a request of HTTP.
#[cfg(all(unix, feature = "server"))]
fn ask(address: &str, request: &str, headers: &str, body: &str) -> String {
    let mut connection = std::net::TcpStream::connect(address).unwrap();
    let length = body.len();
    let common = format!("Host: {address}\r\nConnection: close\r\nContent-Length: {length}");
    write!(connection, "{request} HTTP/1.1\r\n{common}\r\n{headers}\r\n{body}").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

/// True for a line of a log with a time as RFC 3339 has it: `2026-11-27T18:04:26.123456Z`.
#[cfg(all(unix, feature = "server"))]
fn begins_with_time(line: &str) -> bool {
    let time: String = line.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).take(27).collect();
    time == "0000-00-00T00:00:00.000000Z"
}

#[cfg(all(unix, feature = "server"))]
fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[cfg(all(target_os = "linux", feature = "server"))]
#[test]
fn what_a_server_offers_is_reached_by_the_client() {
    let data = tempfile::tempdir().unwrap();
    let nnz = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnz"));
        command.args(arguments).current_dir(data.path());
        command
    };
    let mut serve = nnz(&["serve", "--listen", "127.0.0.1:0", "--data", "data", "--memory", "1M"]);
    serve.args(["--devices", "cpu,cpu", "--descriptors", "descriptors"]);
    let mut server = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let call = |arguments: &[&str]| {
        let answer = nnz(&[&["client", "--server", line.trim()], arguments].concat()).output().unwrap();
        assert!(answer.status.success(), "{arguments:?}: {answer:?}");
        String::from_utf8_lossy(&answer.stdout).into_owned()
    };
    let has = |arguments: &[&str], text: &str| {
        let answer = call(arguments);
        assert!(answer.contains(text), "{arguments:?}: `{text}` is not in {answer}");
    };
    let diagonal = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 2\n";
    fs::write(data.path().join("a.mtx"), diagonal).unwrap();
    assert!(nnz(&["convert", "a.mtx", "a.npz"]).status().unwrap().success());
    has(&["put", "a.npz", "a"], r#""nnz":2"#);
    has(&["pin", "a"], r#""pinned":true"#);
    has(&["unpin", "a"], r#""pinned":false"#);
    has(&["label", "a", "project=pde,run=7"], r#""project":"pde""#);
    has(&["list", "--label", "run"], r#""name":"a""#);
    has(&["run", "a", "norm", "dry_run=1"], r#""bytes":"#);
    has(&["requests"], r#""running""#);

    has(&["put", "a.npz", "divided", "parts=2"], r#""parts":[{"#);
    call(&["run", "a", "diagonal", "-o", "x.npy"]);
    call(&["run", "divided", "spmv", "--operand", "x.npy", "--to", "y.npy"]);
    call(&["run", "a", "spmv", "--operand", "x.npy", "--to", "z.npy"]);
    let read = |name: &str| fs::read(data.path().join(name)).unwrap();
    assert_eq!(read("y.npy"), read("z.npy"));

    // Files are passed open: nothing is sent.
    let passed = ["--descriptors", "descriptors"];
    has(&[&passed[..], &["put", "a.npz", "b"]].concat(), r#""name":"b""#);
    let arguments = ["run", "b", "spmv", "--operand", "x.npy", "--to", "w.npy"];
    has(&[&passed[..], &arguments].concat(), r#""media_type":"application/x-npy""#);
    assert_eq!(read("w.npy"), read("z.npy"));
    has(&[&passed[..], &["run", "b", "norm", "--to", "norm.npy"]].concat(), r#""norm":"#);
    assert!(!data.path().join("norm.npy").exists());

    // Packed text is sent as it is, in one request, in parts and open.
    fs::write(data.path().join("a.mtx.gz"), gzip(diagonal)).unwrap();
    for arguments in [&["put", "a.mtx.gz", "c"][..], &["put", "a.mtx.gz", "c", "--resumable"]] {
        has(arguments, r#""nnz":2"#);
    }
    has(&[&passed[..], &["put", "a.mtx.gz", "c"]].concat(), r#""nnz":2"#);

    // Standard output and pipes get results, links stay links, and nothing else is written.
    has(&["get", "a", "-"], "2 2 2\n1 1 1.0\n2 2 2.0\n");
    has(&["run", "a", "diagonal", "--to", "-"], "NUMPY");
    has(&[&passed[..], &["run", "a", "diagonal", "--to", "-"]].concat(), "NUMPY");
    assert!(Command::new("mkfifo").arg(data.path().join("pipe.npy")).status().unwrap().success());
    for via in [&[][..], &passed] {
        std::thread::scope(|scope| {
            let piped = scope.spawn(|| read("pipe.npy"));
            call(&[via, &["run", "a", "diagonal", "--to", "pipe.npy"]].concat());
            assert!(piped.join().unwrap() == read("x.npy"));
        });
    }
    fs::write(data.path().join("linked.part"), "mine").unwrap();
    std::os::unix::fs::symlink("target.npy", data.path().join("linked.npy")).unwrap();
    fs::write(data.path().join("target.npy"), "").unwrap();
    call(&["run", "a", "diagonal", "--to", "linked.npy"]);
    assert!(data.path().join("linked.npy").is_symlink() && read("target.npy") == read("x.npy"));
    assert_eq!(read("linked.part"), b"mine");
    let mut names = fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!names.any(|name| name.to_string_lossy().starts_with(".nnz-")));

    let steps = r#"[{"name": "y", "operation": "spmv", "matrix": "a", "operand": "$body"},
                    {"operation": "spmv", "matrix": "a", "operand": "$y"}]"#;
    fs::write(data.path().join("steps.json"), steps).unwrap();
    call(&["program", "steps.json", "--operand", "x.npy", "--to", "program.npy"]);
    call(&["run", "a", "spmv", "--operand", "z.npy", "--to", "twice.npy"]);
    assert_eq!(read("program.npy"), read("twice.npy"));

    // The answer says if the iteration has converged, for any destination of its result.
    let solve = ["run", "a", "solve", "--operand", "x.npy", "--to", "s.npy"];
    has(&solve, r#""converged":true"#);
    has(&[&solve[..], &["max_iterations=0"]].concat(), r#""converged":false"#);
    has(&[&passed[..], &solve].concat(), r#""converged":true"#);

    let begun = call(&["run", "a", "spmv", "async=1", "--operand", "x.npy"]);
    let id = begun.split('"').nth(3).unwrap();
    has(&["job", id, "--wait", "20"], r#""state":"done""#);
    has(&["jobs"], id);
    assert_eq!(call(&["result", id, "--to", "job.npy"]), "");
    assert_eq!(read("job.npy"), read("z.npy"));
    call(&["cancel", id]);
    assert!(!call(&["jobs"]).contains(id));

    has(&["metrics"], "nnz_operation_moved_bytes_total");

    // A handle of CUDA IPC reaches the server, which has no GPU.
    fs::write(data.path().join("x.json"), "{}").unwrap();
    for arguments in [&["run", "a", "spmv", "--operand", "x.json"][..], &["put", "x.json", "d"]] {
        let refused = nnz(&[&["client", "--server", line.trim()], arguments].concat()).output().unwrap();
        let reason = String::from_utf8_lossy(&refused.stderr);
        assert!(reason.contains("cuda-ipc"), "{arguments:?}: {reason}");
    }
    Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(server.wait().unwrap().success());
}

#[cfg(all(unix, feature = "server"))]
#[test]
fn two_devices_are_served_together_and_not_one_of_them_alone() {
    let data = tempfile::tempdir().unwrap();
    let settings = data.path().join("nnz.toml");
    let text = format!(
        "memory = '1M'\ndata = '{}'\nlisten = '0.0.0.0:1'\ndevices = 'cpu'\nhost-memory = '2M'\n",
        data.path().display()
    );
    let shared = data.path().join("shared/default");
    fs::create_dir_all(&shared).unwrap();
    fs::write(&settings, text).unwrap();
    // The file has one device, the variable two, and the option one.
    let serve = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnz"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&settings);
        command.arg("--shared").arg(data.path().join("shared"));
        command.args(options).env("NNZ_SERVE_DEVICES", "cpu, cpu").env("NNZ_SERVE_MEMROY", "1G");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut server = serve(&[]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").expect("it serves");
    let status = ask(address, "GET /v1/status", "", "");
    assert!(status.contains(r#""number":0"#) && status.contains(r#""number":1"#), "{status}");
    assert!(status.contains(r#""host_memory":{"capacity_bytes":2097152,"used_bytes":0}"#), "{status}");
    let one = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n";
    let put = "PUT /v1/matrices/a?durable=1&device=1";
    let made = ask(address, put, "Content-Type: text/x-matrix-market\r\n", one);
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let call = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnz"));
        command.args(["client", "--server", &format!("http://{address}")]).args(arguments);
        command.current_dir(data.path()).output().unwrap()
    };
    fs::write(data.path().join("b.mtx"), one).unwrap();
    let put = call(&["put", "b.mtx", "b", "labels=k=v"]);
    assert!(
        put.status.success() && String::from_utf8_lossy(&put.stdout).contains(r#""version":1"#),
        "{put:?}"
    );
    assert!(call(&["run", "b", "scale", "alpha=3", "--to", "c.mtx"]).status.success());
    let scaled = fs::read_to_string(data.path().join("c.mtx")).unwrap();
    assert_eq!(scaled.trim().rsplit(' ').next().unwrap().parse(), Ok(3.0), "{scaled}");
    assert!(String::from_utf8_lossy(&call(&["run", "b", "norm"]).stdout).contains(r#""norm":1.0"#));
    // Files of the folder that both share are named; others are sent and received.
    let by_files = |arguments: &[&str]| {
        let answer = call(&[&["--shared", "shared/default"], arguments].concat());
        assert!(answer.status.success(), "{answer:?}");
        String::from_utf8_lossy(&answer.stdout).into_owned()
    };
    fs::write(shared.join("d.mtx"), one).unwrap();
    assert!(by_files(&["put", "shared/default/d.mtx", "d"]).contains(r#""name":"d""#));
    let named = by_files(&["run", "d", "scale", "alpha=3", "--to", "shared/default/e.mtx"]);
    assert!(named.contains(r#""file":"e.mtx""#), "{named}");
    assert_eq!(fs::read_to_string(shared.join("e.mtx")).unwrap(), scaled);
    fs::write(shared.join("d.mtx.gz"), gzip(one)).unwrap();
    assert!(by_files(&["put", "shared/default/d.mtx.gz", "packed"]).contains(r#""nnz":1"#));
    assert!(by_files(&["get", "d", "-"]).ends_with("1 1 1\n1 1 1.0\n"));
    by_files(&["run", "d", "scale", "alpha=3", "--to", "f.mtx"]);
    assert_eq!(fs::read_to_string(data.path().join("f.mtx")).unwrap(), scaled);
    assert!(call(&["alias", "best", "b@1"]).status.success());
    assert!(String::from_utf8_lossy(&call(&["aliases"]).stdout).contains(r#""target":"b@1""#));
    assert!(String::from_utf8_lossy(&call(&["describe", "best"]).stdout).contains(r#""name":"b""#));
    assert!(
        call(&["delete-alias", "best"]).status.success() && !call(&["describe", "best"]).status.success()
    );
    let resumed = call(&["put", "b.mtx", "b", "--resumable"]);
    assert!(String::from_utf8_lossy(&resumed.stdout).contains(r#""version":2"#), "{resumed:?}");
    assert!(call(&["delete", "b"]).status.success());
    let gone = call(&["get", "b", "b.npz"]);
    let reason = String::from_utf8_lossy(&gone.stderr);
    assert!(gone.status.code() == Some(1) && reason.contains("404: there is no matrix `b`"), "{reason}");
    let mut names = fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left = |name: &str| name.starts_with(".nnz-") || name == "b.npz";
    assert!(!names.any(|name| left(&name.to_string_lossy())));
    Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    let ended = server.wait_with_output().unwrap();
    assert!(ended.status.success());
    let log = String::from_utf8_lossy(&ended.stderr);
    assert!(log.lines().count() > 0 && log.lines().all(begins_with_time), "{log}");
    assert_eq!(log.matches("NNZ_SERVE_MEMROY: no setting has this name").count(), 1, "{log}");
    let empty = serve(&["--operation-time", "0"]).output().unwrap();
    let reason = String::from_utf8_lossy(&empty.stderr);
    assert!(empty.status.code() == Some(2) && reason.contains("--operation-time: more than 0"), "{reason}");

    let fewer = serve(&["--devices", "cpu"]).output().unwrap();
    let reason = String::from_utf8_lossy(&fewer.stderr);
    assert!(!fewer.status.success() && reason.contains("device-1: it has the data of device 1"), "{reason}");
    let in_one = serve(&["--workers", "off"]).output().unwrap();
    let reason = String::from_utf8_lossy(&in_one.stderr);
    assert!(in_one.status.code() == Some(2) && reason.contains("need worker processes"), "{reason}");
    fs::write(&settings, "memory = '1M'\nmemroy = '1M'\n").unwrap();
    let wrong = serve(&[]).output().unwrap();
    let reason = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        wrong.status.code() == Some(2) && reason.contains("nnz.toml: line 2: unknown setting `memroy`"),
        "{reason}"
    );
}
