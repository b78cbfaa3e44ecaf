//! Lines of the shell that call the command, and the files that they are given.

#![allow(dead_code, reason = "each program of tests uses some of these")]

pub(crate) mod zip;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs a line of the shell in `folder`, where `$NNZ` is the command.
pub(crate) fn shell(folder: &Path, line: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.current_dir(folder).env("NNZ", env!("CARGO_BIN_EXE_nnz")).env("CUDA_VISIBLE_DEVICES", "");
    shell.args(["-c", line]).output().expect("a shell runs")
}

/// The error of a line of the shell that is to fail.
pub(crate) fn error(folder: &Path, line: &str) -> String {
    let done = shell(folder, line);
    let error = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
    assert_eq!(done.status.code(), Some(1), "{line}: {error}");
    assert_eq!(error.lines().count(), 1, "{line}: {error}");
    error
}

/// Runs a line of the shell that is to succeed.
pub(crate) fn run(folder: &Path, line: &str) {
    let done = shell(folder, line);
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Writes a Matrix Market file of coordinates.
pub(crate) fn coordinates(folder: &Path, name: &str, body: &str) {
    let text = format!("%%MatrixMarket matrix coordinate real general\n{body}");
    fs::write(folder.join(name), text).unwrap();
}

/// Writes an array of `<f8` that claims a shape.
pub(crate) fn array(folder: &Path, name: &str, shape: &str, values: &[f64]) {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.join(name), [npy_header("<f8", shape), data].concat()).unwrap();
}

/// The header of an `.npy` file of elements of type `descr`.
pub(crate) fn npy_header(descr: &str, shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes()].concat()
}
