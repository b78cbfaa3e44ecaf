//! The command from outside: help, exit status, `--json`, `--digest`, `--list`, `--bless`.

use serde_json::Value;
use std::fs::{read_dir, read_to_string};
use std::path::Path;
use std::process::{Command, Output};

/// Runs the command with these words, without a CUDA GPU.
fn conformance(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    // Hides GPUs, so that all machines print the same.
    command.env("CUDA_VISIBLE_DEVICES", "").env_remove("COLUMNS");
    command.args(arguments.split_whitespace()).output().expect("the command starts")
}

/// Asserts the exit status and returns both streams.
fn ends_with(code: i32, arguments: &str) -> (String, String) {
    let output = conformance(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments}\n{out}\n{err}");
    (out, err)
}

/// A small part of the table.
const SMALL: &str = "--backend reference --tier quick --op spmv/csr --case fully_dense";

fn path(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// Wrapped at 100 columns, since there is no terminal.
#[test]
fn help() {
    let (out, _) = ends_with(0, "--help");
    insta::assert_snapshot!(out);
}

#[test]
fn what_passes_ends_with_0() {
    let (out, err) = ends_with(0, SMALL);
    assert!(out.contains("0 failed"), "{out}");
    assert!(err.is_empty(), "{err}");
}

#[test]
fn the_summary_names_the_tier_of_each_device() {
    let (out, _) = ends_with(0, SMALL);
    assert!(out.contains("\nreference: tier quick on "), "{out}");
    let (out, _) = ends_with(0, &SMALL.replace(" --tier quick", ""));
    assert!(out.contains("\nreference: tier ci on "), "{out}");
}

#[test]
fn what_fails_ends_with_1_and_a_command_that_repeats_it() {
    let empty = tempfile::tempdir().expect("a folder");
    let snapshots = empty.path().display().to_string();
    let (out, _) = ends_with(1, &format!("{SMALL} --snapshots {snapshots}"));
    assert!(out.contains("FAIL spmv/csr/fully_dense [f64,i32,i32 "), "{out}");
    let again = out.lines().find_map(|line| line.trim().strip_prefix("cargo xtask conformance "));
    let (again, _) = ends_with(1, again.expect("a command"));
    assert!(again.contains("FAIL spmv/csr/fully_dense"), "{again}");
}

#[test]
fn usage_ends_with_2() {
    let mut messages = String::new();
    for wrong in [
        "--backend abacus",
        "--tier sometimes",
        "--op spmv/abacus",
        "--case no_such_case",
        "--corpus no/such/folder",
        "--backend cpu --bless",
        "--frobnicate",
    ] {
        let (out, err) = ends_with(2, wrong);
        assert!(out.is_empty() && err.starts_with("error: "), "{wrong}: {out}{err}");
        messages += &format!("$ conformance {wrong}\n{err}\n");
    }
    insta::assert_snapshot!(messages);
}

/// Neither built with the CUDA backend nor without does a process find a GPU here.
#[test]
fn a_required_backend_that_is_missing_ends_with_3() {
    for required in ["--backend cuda", "--require cuda --backend reference"] {
        let (out, err) = ends_with(3, &format!("{required} --op rule --case x1"));
        assert!(err.contains("error: the backend cuda was asked for and is not there: "), "{err}");
        assert!(out.contains("skipped: cuda: "), "{out}");
    }
}

#[test]
fn json_has_the_documented_fields_and_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = path(&folder, "report.jsonl");
    ends_with(0, &format!("{SMALL} --json {json}"));
    let text = read_to_string(json).expect("the report");
    let records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect();
    let fields = ["algorithm", "backend", "case", "op", "reason", "status", "types"];
    for record in &records {
        let mut found: Vec<_> = record.as_object().expect("an object").keys().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, fields, "{record}");
    }
    let case = |record: &&Value| record["op"] == "spmv/csr" && record["case"] == "fully_dense";
    assert!(records.iter().filter(case).all(|record| record["status"] == "pass"), "{text}");
    assert!(records.iter().filter(case).count() > 5, "{text}");
}

#[test]
fn two_runs_have_one_digest() {
    let folder = tempfile::tempdir().expect("a folder");
    let digests = ["first", "second"].map(|name| {
        let digest = path(&folder, name);
        ends_with(0, &format!("{SMALL} --digest {digest}"));
        read_to_string(digest).expect("the digests")
    });
    assert_eq!(digests[0], digests[1]);
    let lines: Vec<Vec<_>> = digests[0].lines().map(|line| line.split(' ').collect()).collect();
    assert!(lines.iter().all(|words| words[0].len() == 16), "{lines:?}");
    assert!(lines.iter().any(|words| words[1..4] == ["reference", "spmv/csr/fully_dense", "f64,i32,i32"]));
    assert!(lines.is_sorted_by_key(|words| words[1..].join(" ")), "{lines:?}");
}

/// Each check runs with both numbers of threads, and the bits of both are the same.
#[cfg(feature = "cpu")]
#[test]
fn a_run_on_two_numbers_of_threads_has_the_digest_of_each() {
    let folder = tempfile::tempdir().expect("a folder");
    let digests = ["2", "1,2"].map(|threads| {
        let digest = path(&folder, threads);
        let case = "--backend cpu --tier quick --op spmv/csr --case fully_dense";
        let (out, _) = ends_with(0, &format!("{case} --threads {threads} --digest {digest}"));
        assert_eq!(out.contains(" passed, 0 failed, each with 1 and 2 threads"), threads == "1,2", "{out}");
        read_to_string(digest).expect("the digests")
    });
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn a_list_names_what_would_run() {
    let (out, _) = ends_with(0, "--list --op spmv/csr --case edge_3");
    assert_eq!(out, "spmv/csr/edge_31\nspmv/csr/edge_32\nspmv/csr/edge_33\n");
}

/// The folder of the repository's real matrices.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../sparse-conformance/corpus");

#[test]
fn real_matrices_of_the_repository_run_without_an_option() {
    let (names, _) = ends_with(0, "--list --tier ci --op spmv/csr --case zenios");
    assert_eq!(names, "spmv/csr/zenios\n");
    let (tiny, _) = ends_with(0, "--list --tier tiny");
    assert!(!tiny.contains("west0067") && tiny.contains("tiny_"), "{tiny}");
    let (out, _) = ends_with(0, "--backend reference --tier quick --op spmv/csr --case west0067");
    assert!(out.contains("\nreal matrices: 1 of the repository\n"), "{out}");
    let (out, _) = ends_with(0, SMALL);
    assert!(out.contains("\nreal matrices: none\n"), "{out}");
}

#[test]
fn a_corpus_adds_matrices_and_none_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(format!("{CORPUS}/west0067.mtx.gz"), folder.path().join("west0067.mtx.gz"))
        .expect("a copy");
    let more = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n";
    std::fs::write(folder.path().join("more_than_west0067.mtx"), more).expect("a file");
    let corpus = format!("--op spmv/csr --case west0067 --corpus {}", folder.path().display());
    let (names, _) = ends_with(0, &format!("--list {corpus}"));
    assert_eq!(names, "spmv/csr/more_than_west0067\nspmv/csr/west0067\n");
    let (out, _) = ends_with(0, &format!("--backend reference {corpus} --types f64,i32,i32"));
    let counts = format!("\nreal matrices: 1 of the repository, 1 of {}\n3 passed", folder.path().display());
    assert!(out.contains(&counts), "{out}");

    let (names, _) = ends_with(0, &format!("--list {corpus} --largest 0"));
    assert_eq!(names, "spmv/csr/west0067\n");

    std::fs::write(folder.path().join("zenios.mtx"), more).expect("a file");
    let (_, err) = ends_with(2, &corpus);
    assert!(err.contains("`zenios` is another matrix in the repository: rename it"), "{err}");
}

/// The reference does not say how much memory it has, so that it refuses to run out of it.
#[test]
fn a_refusal_more_or_fewer_than_listed_ends_with_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let (run, pin) = ("--backend reference --op rule --case x5", path(&folder, "pin.txt"));
    ends_with(0, &format!("{run} --pin-support {pin}"));
    let listed = read_to_string(&pin).expect("the list");
    assert!(
        listed.ends_with("rule/backend direct x5_running_out_of_memory_is_an_error: running out of memory\n")
    );
    ends_with(0, &format!("{run} --support {pin}"));

    std::fs::write(&pin, format!("{listed}spmv/csr sequential fully_dense f64,i32,i32: csr\n"))
        .expect("a file");
    ends_with(0, &format!("{run} --support {pin}"));
    let (out, _) = ends_with(1, &format!("{SMALL} --support {pin}"));
    assert!(out.contains("csr was not refused, which "), "{out}");
    std::fs::write(&pin, "").expect("a file");
    let (out, _) = ends_with(1, &format!("{run} --support {pin}"));
    assert!(out.contains("FAIL rule/backend/x5_running_out_of_memory_is_an_error"), "{out}");
    assert!(out.contains("running out of memory was refused, which "), "{out}");
}

#[test]
fn blessed_answers_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    let case =
        format!("--backend reference --op spmv --case fully_dense --snapshots {}", folder.path().display());
    ends_with(0, &format!("{case} --bless"));
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sparse-conformance/snapshots");
    let written: Vec<_> = read_dir(folder.path()).expect("the folder").flatten().collect();
    assert!(!written.is_empty());
    for file in written {
        let known = read_to_string(known.join(file.file_name())).expect("the snapshot of the repository");
        assert_eq!(read_to_string(file.path()).expect("a snapshot"), known);
    }
    ends_with(0, &case);
}

/// A backend that is not there is skipped, and nothing is fetched with `--no-provision`.
#[cfg(feature = "opencl")]
#[test]
fn an_empty_folder_of_runtimes_is_none() {
    let empty = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    command.env("OCL_ICD_VENDORS", empty.path());
    let options = ["--backend", "opencl", "--op", "rule", "--case", "x1", "--no-provision"];
    let output = command.args(options).output().expect("the command starts");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{message}");
    assert!(message.contains("opencl was asked for and is not there: "), "{message}");
    assert!(message.contains("a folder without .icd files"), "{message}");
}
