//! The files that the command reads and writes: their state after a failure, and the memory they need.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs a line of the shell in `folder`; `$NNZ` is the command.
fn shell(folder: &Path, line: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.current_dir(folder).env("NNZ", env!("CARGO_BIN_EXE_nnz")).env("CUDA_VISIBLE_DEVICES", "");
    shell.args(["-c", line]).output().expect("a shell runs")
}

/// The error of a line of the shell, which must fail.
fn error(folder: &Path, line: &str) -> String {
    let done = shell(folder, line);
    let error = String::from_utf8_lossy(&done.stderr).trim_end().to_owned();
    assert_eq!(done.status.code(), Some(1), "{line}: {error}");
    assert_eq!(error.lines().count(), 1, "{line}: {error}");
    error
}

/// Runs a line of the shell, which must succeed.
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
        // A limit on the size of files acts as a full disk. One block is 512 bytes, or 1024.
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

/// Writes a Matrix Market file of coordinates.
fn coordinates(folder: &Path, name: &str, body: &str) {
    let text = format!("%%MatrixMarket matrix coordinate real general\n{body}");
    fs::write(folder.join(name), text).unwrap();
}

/// Writes an array of `<f8` that claims a shape.
fn array(folder: &Path, name: &str, shape: &str, values: &[f64]) {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (header.len() as u16).to_le_bytes();
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.join(name), [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), &data].concat())
        .unwrap();
}

#[test]
fn claims_of_sizes_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    array(folder, "x.npy", "(3,)", &[1.0, 2.0, 4.0]);
    coordinates(folder, "none.mtx", "3 0 0\n");
    for size in ["4000000000", "9000000000000000000"] {
        coordinates(folder, "rows.mtx", &format!("{size} 3 2\n1 1 1.5\n{size} 2 2.5\n"));
        coordinates(folder, "cols.mtx", &format!("3 {size} 2\n1 1 1\n2 {size} 2\n"));
        array(folder, "rows.npy", &format!("({size}, 0)"), &[]);
        array(folder, "cols.npy", &format!("(0, {size})"), &[]);
        array(folder, "batch.npy", &format!("({size}, 0, 3)"), &[]);
        let refused = [
            "convert rows.mtx out.npz",
            "convert cols.mtx out.npy",
            "spmv rows.mtx x.npy -o out.npy --format coo",
            "spmv cols.mtx x.npy -o out.npy --op t",
            "spmm none.mtx cols.npy -o out.npy",
            "compress rows.npy out.npz",
            "compress cols.npy out.npz --to csc",
            "compress batch.npy out.npz",
            "spy rows.mtx -o out.svg",
        ];
        for line in refused {
            error(folder, &format!("ulimit -v 4000000; exec $NNZ -q --backend cpu {line}"));
        }
        let done = [
            "info rows.mtx",
            "info rows.npy",
            "convert rows.mtx coo.npz --format coo",
            "convert coo.npz coo.mtx --format COO",
            "spy cols.mtx -o out.svg",
        ];
        for line in done {
            run(folder, &format!("ulimit -v 4000000; exec $NNZ -q --backend cpu {line}"));
        }
        assert_eq!(fs::read(folder.join("coo.mtx")).unwrap(), fs::read(folder.join("rows.mtx")).unwrap());
    }
    coordinates(folder, "many.mtx", "33600000 3 2\n33600000 2 2\n7 1 1\n");
    run(folder, "$NNZ convert many.mtx many.npz --format coo");
    let line = "exec $NNZ -q --backend cpu spmv many.npz x.npy -o - --format coo --dtype f32 | tail -c 8";
    assert_eq!(shell(folder, line).stdout, [0.0, 4.0_f32].map(f32::to_le_bytes).concat());
    let error = error(folder, "exec $NNZ -q --backend cpu spmv many.npz x.npy -o y.npy");
    assert!(error.ends_with("info, spmv and spmm read it with --format coo"), "{error}");
}

#[test]
fn a_failure_stays_one_when_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, "$NNZ generate stencil-5 9 9 -o a.npz");
    array(folder, "b.npy", "(81,)", &[1.0; 81]);
    let status = |words: &str| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnz"));
        command.current_dir(folder).args(words.split(' ')).stdout(writer).stderr(std::process::Stdio::null());
        command.status().unwrap().code()
    };
    assert_eq!(status("info a.npz"), Some(0));
    assert_eq!(status("solve a.npz b.npy -o x.npy --method cg --max-iterations 1 --backend cpu"), Some(1));
    assert_eq!(status("convert a.npz -"), Some(1));
}

#[test]
fn pipes_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, "$NNZ generate uniform 40 40 3 7 -o a.mtx && $NNZ convert a.mtx a.npz && gzip -k a.mtx");
    coordinates(folder, "rows.mtx", "4000000000 3 2\n1 1 1.5\n4000000000 2 2.5\n");
    array(folder, "x.npy", "(40,)", &[1.5; 40]);
    run(folder, "$NNZ spmv a.mtx x.npy -o y.npy --backend cpu && $NNZ convert a.mtx a.npy");
    // The pipe has only the data that is in it when it is opened; opening it again would block.
    run(folder, "mkfifo pipe.mtx pipe");
    let lines = [
        ("cat rows.mtx > pipe.mtx", "info pipe.mtx"),
        ("cat a.mtx > pipe.mtx", "info pipe.mtx"),
        ("cat a.mtx.gz > pipe", "convert pipe out.mtx && cmp out.mtx a.mtx"),
        ("cat a.npz > pipe", "convert pipe out.npz && cmp out.npz a.npz"),
        ("cat a.npz > pipe", "spmv pipe x.npy -o out.npy --backend cpu && cmp out.npy y.npy"),
        ("cat x.npy > pipe", "spmv a.mtx pipe -o out.npy --backend cpu && cmp out.npy y.npy"),
        ("cat a.npy > pipe", "compress pipe out.npz --backend cpu"),
        ("cmp a.npz pipe", "convert a.mtx pipe.npz"),
    ];
    run(folder, "ln -s pipe pipe.npz");
    for (other, line) in lines {
        run(folder, &format!("timeout 20 {other} & timeout 20 $NNZ -q {line} && wait $!"));
    }
    for file in ["a.mtx", "a.npz", "a.npy", "a.mtx.gz"] {
        error(folder, &format!("head -c 200 {file} > pipe & timeout 20 $NNZ -q convert pipe out.npz"));
    }
    assert!(error(folder, ": > pipe & timeout 20 $NNZ -q info pipe").contains("the banner ends"));
}

#[test]
fn a_dash_is_standard_input_or_output() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(
        folder,
        "$NNZ generate uniform 40 40 3 7 -o - > a.mtx && $NNZ convert a.mtx a.npz && $NNZ convert a.mtx a.npy",
    );
    array(folder, "x.npy", "(40,)", &[1.5; 40]);
    run(folder, "$NNZ spmv a.mtx x.npy -o y.npy --backend cpu && $NNZ compress a.npy c.npz --backend cpu");
    let lines = [
        "$NNZ convert - - < a.npz | cmp - a.mtx",
        "$NNZ convert - b.npz < a.npy && cmp b.npz a.npz",
        "$NNZ spmv - x.npy -o - --backend cpu < a.mtx | cmp - y.npy",
        "$NNZ spmv a.mtx - -o - --backend cpu < x.npy | cmp - y.npy",
        "$NNZ compress - - --backend cpu < a.npy | cmp - c.npz",
        "$NNZ spy - -o - < a.npz > picture",
        "$NNZ info - < a.mtx > about && head -n 1 about | grep -q '<stdin>'",
    ];
    for line in lines {
        run(folder, line);
    }
    let done = shell(folder, "$NNZ spmv - - -o y.npy --backend cpu < x.npy");
    assert_eq!(done.status.code(), Some(2));
}
