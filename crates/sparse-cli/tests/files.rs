//! The files that the command reads and writes: what stays when it fails, and what it needs.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs a line of the shell in `folder`, where `$NNZ` is the command.
fn shell(folder: &Path, line: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.current_dir(folder).env("NNZ", env!("CARGO_BIN_EXE_nnz")).env("CUDA_VISIBLE_DEVICES", "");
    shell.args(["-c", line]).output().expect("a shell runs")
}

/// The error of a line of the shell that is to fail.
fn error(folder: &Path, line: &str) -> String {
    let done = shell(folder, line);
    let error = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
    assert_eq!(done.status.code(), Some(1), "{line}: {error}");
    assert_eq!(error.lines().count(), 1, "{line}: {error}");
    error
}

/// Runs a line of the shell that is to succeed.
fn run(folder: &Path, line: &str) {
    let done = shell(folder, line);
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, "$NNZ generate uniform 500 500 9 7 -o a.npz && $NNZ convert a.npz b.npy");
    let outputs = ["out.mtx", "out.mtx.gz", "out.npy", "out.npz", "out.svg", "out.png"];
    let verb = |out: &str| match out.rsplit_once('.').unwrap().1 {
        "svg" | "png" => format!("spy a.npz -o {out}"),
        _ => format!("convert a.npz {out}"),
    };
    let lines = outputs.iter().map(|out| (*out, verb(out))).chain([
        ("out.npy", "spmm a.npz b.npy -o out.npy".into()),
        ("out.npz", "compress b.npy out.npz".into()),
    ]);
    for (out, line) in lines {
        fs::write(folder.join(out), "old").unwrap();
        // A limit on the size of files is as good as a full disk. One block is 512 bytes, or 1024.
        let error = error(folder, &format!("trap '' XFSZ; ulimit -f 2; exec $NNZ -q {line}"));
        assert!(error.starts_with(&format!("error: {out}: ")), "{error}");
        assert_eq!(fs::read(folder.join(out)).unwrap(), b"old", "{line}");
        fs::remove_file(folder.join(out)).unwrap();
        assert_eq!(names(folder), ["a.npz", "b.npy"], "{line}");
    }
    if Path::new("/dev/full").exists() {
        std::os::unix::fs::symlink("/dev/full", folder.join("full.npz")).unwrap();
        assert!(error(folder, "$NNZ convert a.npz full.npz").contains("full.npz: No space left"));
    }
}
