//! The command as a user calls it: its output, files and exit status.
//!
//! Each `cmd/*.trycmd` runs in a copy of `data/` (its `.in`), and the files that it leaves are compared with its
//! `.out`. No OpenCL runtime, no SYCL and no GPU is found there, so that transcripts agree on machines with and without
//! one; and no measured rates are read or stored.

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
        .env("NNZ_RATES_CACHE", "");
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

#[cfg(all(unix, feature = "server"))]
#[test]
fn two_devices_are_served_together_and_not_one_of_them_alone() {
    let data = tempfile::tempdir().unwrap();
    // The variable has two devices, and the option one.
    let serve = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnz"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--memory", "1M", "--data"]).arg(data.path());
        command.args(options).env("NNZ_SERVE_DEVICES", "cpu, cpu");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut server = serve(&[]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").expect("it serves");
    let mut connection = std::net::TcpStream::connect(address).unwrap();
    write!(connection, "GET /v1/status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut status = String::new();
    connection.read_to_string(&mut status).unwrap();
    assert!(status.contains(r#""number":0"#) && status.contains(r#""number":1"#), "{status}");
    Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(server.wait().unwrap().success());

    let fewer = serve(&["--devices", "cpu"]).output().unwrap();
    let reason = String::from_utf8_lossy(&fewer.stderr);
    assert!(!fewer.status.success() && reason.contains("device-1: it has the data of device 1"), "{reason}");
    let in_one = serve(&["--workers", "off"]).output().unwrap();
    let reason = String::from_utf8_lossy(&in_one.stderr);
    assert!(in_one.status.code() == Some(2) && reason.contains("need worker processes"), "{reason}");
}
