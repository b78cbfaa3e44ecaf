//! The command under `mpirun`: distributed files have the bytes of those of one process, and products and solutions
//! agree with those of one process within the bounds.
#![cfg(unix)]

mod common;

use common::{npy_header, shell};
use std::fs;
use std::path::Path;
use std::process::Output;

/// Settings of Open MPI as in the tests of `sparse-distrib`: more ranks than cores, as root, in a container.
const OPEN_MPI: &str = "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 \
    OMPI_MCA_btl_vader_single_copy_mechanism=none MPIEXEC_TIMEOUT=60";

/// Runs a line of the shell in which `$MPIRUN` starts ranks. Their files are in a folder of this test's own: Open MPI
/// fails where several begin to make one at once.
fn mpi(folder: &Path, line: &str) -> Output {
    let files = "mkdir -p .mpi; export TMPDIR=$PWD/.mpi";
    let set = format!(
        "export {OPEN_MPI}; MPIRUN=mpirun; CPU='--backend cpu --threads 1'; DISTRIBUTE=\"$NNZ distribute $CPU\""
    );
    shell(folder, &format!("{files}; {set}; {line}"))
}

fn succeeds(folder: &Path, line: &str) {
    let Output { status, stderr, .. } = mpi(folder, line);
    assert!(status.success(), "{line}: {}", String::from_utf8_lossy(&stderr));
}

/// Writes an array of f32 with a few entries.
fn array(folder: &Path, name: &str, shape: &str, len: usize) {
    let element = |k: usize| if k % 7 < 2 { (k % 31) as f32 - 15.5 } else { 0.0 };
    let data: Vec<u8> = (0..len).flat_map(|k| element(k).to_le_bytes()).collect();
    fs::write(folder.join(name), [npy_header("<f4", shape), data].concat()).unwrap();
}

/// The files below a folder with their contents. Parts have random names: the manifest says which is which.
fn contents(folder: &Path) -> Vec<Vec<u8>> {
    let manifest = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let mut nameless = manifest.clone();
    for part in nameless["parts"].as_array_mut().unwrap() {
        part.as_object_mut().unwrap().remove("file");
    }
    let parts = manifest["parts"].as_array().unwrap().iter();
    let files = parts.map(|part| fs::read(folder.join(part["file"].as_str().unwrap())).unwrap());
    [nameless.to_string().into_bytes()].into_iter().chain(files).collect()
}

#[test]
fn ranks_write_the_bytes_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    array(folder, "stack.npy", "(5, 40, 30)", 5 * 40 * 30);
    array(folder, "odd.npy", "(17, 9)", 17 * 9);
    succeeds(
        folder,
        "$DISTRIBUTE stack.npy -o one.npz && $DISTRIBUTE stack.npy odd.npy --to csc -o one && \
         $DISTRIBUTE odd.npy --partition mesh:2x2 -o parts",
    );
    for ranks in [2, 3] {
        let run = format!("$MPIRUN -n {ranks} $DISTRIBUTE");
        succeeds(folder, &format!("{run} stack.npy -o ranks.npz && cmp ranks.npz one.npz"));
        succeeds(folder, &format!("{run} stack.npy odd.npy --to csc --scheme ed2 -o ranks"));
        assert_eq!(contents(&folder.join("ranks")), contents(&folder.join("one")), "{ranks} ranks");
    }
    succeeds(folder, "$MPIRUN -n 1 $DISTRIBUTE stack.npy -o single.npz && cmp single.npz one.npz");
    // More ranks than work for some: 4 parts on 3 ranks.
    let reported = mpi(folder, "$MPIRUN -n 3 $DISTRIBUTE odd.npy --partition mesh:2x2 -o ranks_parts");
    let reported = String::from_utf8_lossy(&reported.stdout).into_owned();
    assert!(reported.starts_with("matrices  1 in 4 parts, "), "{reported}");
    assert_eq!(reported.lines().filter(|line| line.starts_with("rank ")).count(), 3, "{reported}");
    assert_eq!(contents(&folder.join("ranks_parts")), contents(&folder.join("parts")));
    // The model's table of every rank, for its own matrices.
    let reported = mpi(folder, "$MPIRUN -n 2 $DISTRIBUTE stack.npy --explain -o explained.npz");
    let reported = String::from_utf8_lossy(&reported.stdout).into_owned();
    let lines = |start: &str| reported.lines().filter(|line| line.starts_with(start)).count();
    let titles = reported.lines().filter(|&line| line == "rank 0" || line == "rank 1").count();
    assert_eq!((titles, lines("scheme  compressed by"), lines("bitmap  sender")), (2, 2, 2), "{reported}");
}

#[test]
fn an_error_of_a_rank_is_told_once_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    array(folder, "a.npy", "(40, 30)", 40 * 30);
    // Rank 1 has no such input, other arguments, or is killed before it has sent its part, which mpirun tells in one of
    // two ways.
    let only_0 = "case $OMPI_COMM_WORLD_RANK in 0) exec";
    let lines = [
        ("-o out.npz", "1) cd /; exec", "rank 1: a.npy: No such file"),
        ("-o out", "1) set -- \"$@\" --to csc; exec", "rank 1 has other arguments than rank 0"),
        ("-o out", "1) kill -9 $$; exec", "signal 9|non-zero exit code"),
    ];
    for (out, other, expected) in lines {
        let line = format!("{only_0} \"$@\";; {other} \"$@\";; esac");
        let line = format!("$MPIRUN -n 2 sh -c '{line}' sh $DISTRIBUTE a.npy {out}");
        let done = mpi(folder, &line);
        let reported = String::from_utf8_lossy(&done.stderr);
        assert!(
            !done.status.success() && expected.split('|').any(|text| reported.contains(text)),
            "{reported}"
        );
        assert!(reported.matches("error: ").count() <= 1, "{reported}");
        assert!(!folder.join("out.npz").exists() && !folder.join("out").exists());
    }
}

/// The numbers of a vector in a file of little-endian `f64`.
fn numbers(folder: &Path, name: &str) -> Vec<f64> {
    let bytes = fs::read(folder.join(name)).unwrap();
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[header..].chunks_exact(8).map(|number| f64::from_le_bytes(number.try_into().unwrap())).collect()
}

/// A vector of numbers without a pattern.
fn vector(folder: &Path, name: &str, len: usize) {
    let values: Vec<f64> = (0..len).map(|k| (k * 7919 % 1009) as f64 / 3.0 - 168.0).collect();
    common::array(folder, name, &format!("({len},)"), &values);
}

fn assert_close(folder: &Path, [found, expected]: [&str; 2], bound: f64) {
    let (found, expected) = (numbers(folder, found), numbers(folder, expected));
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let difference = found.iter().zip(&expected).fold(0.0_f64, |most, (x, y)| most.max((x - y).abs()));
    assert!(difference <= bound * largest, "{difference:e} where the largest number is {largest}");
}

#[test]
fn ranks_multiply_as_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    vector(folder, "x.npy", 90);
    vector(folder, "long.npy", 120);
    succeeds(folder, "$NNZ generate uniform 120 90 6 -o a.npz && $NNZ generate band 3 1 1 -o tiny.mtx");
    succeeds(folder, "$NNZ spmv $CPU a.npz x.npy -o one.npy");
    let reported = mpi(folder, "$MPIRUN -n 3 $NNZ spmv $CPU a.npz x.npy -o ranks.npy -v");
    let reported = String::from_utf8_lossy(&reported.stderr).into_owned();
    assert!(reported.contains("rank 2: rows 80..120, 240 entries, 60 remote columns, cpu"), "{reported}");
    assert_close(folder, ["ranks.npy", "one.npy"], 1e-14);

    let options = "--op t --alpha=-2 --beta 0.5 --y x.npy";
    succeeds(folder, &format!("$NNZ spmv $CPU a.npz long.npy -o one.npy {options}"));
    succeeds(folder, &format!("$MPIRUN -n 3 $NNZ spmv $CPU a.npz long.npy -o ranks.npy {options}"));
    assert_close(folder, ["ranks.npy", "one.npy"], 1e-14);

    // One of four ranks has no row.
    vector(folder, "x.npy", 3);
    succeeds(folder, "$NNZ spmv $CPU tiny.mtx x.npy -o one.npy");
    succeeds(folder, "$MPIRUN -n 4 $NNZ spmv $CPU tiny.mtx x.npy -o - > ranks.npy");
    assert_close(folder, ["ranks.npy", "one.npy"], 1e-14);

    // A batch is one matrix, in a file and in parts.
    array(folder, "stack.npy", "(3, 4, 5)", 60);
    vector(folder, "x.npy", 15);
    succeeds(
        folder,
        "$NNZ compress stack.npy batch.npz --dtype f64 && $DISTRIBUTE stack.npy --dtype f64 -o batch",
    );
    succeeds(folder, "$NNZ spmv $CPU batch.npz x.npy -o one.npy");
    for batch in ["batch.npz", "batch"] {
        succeeds(folder, &format!("$MPIRUN -n 2 $NNZ spmv $CPU {batch} x.npy -o ranks.npy"));
        assert_close(folder, ["ranks.npy", "one.npy"], 1e-14);
    }
}

/// The file that `nnz spmv` or `nnz spmm` on ranks has written, and its messages.
fn product(folder: &Path, ranks: usize, arguments: &str) -> (Vec<u8>, String) {
    let done = mpi(folder, &format!("$MPIRUN -n {ranks} $NNZ {arguments} $CPU -o product.npy -v"));
    let reported = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{arguments}: {reported}");
    (fs::read(folder.join("product.npy")).unwrap(), reported)
}

#[test]
fn ranks_that_read_their_rows_give_the_bits_of_a_root_that_reads_all() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    vector(folder, "x.npy", 90);
    array(folder, "dense.npy", "(120, 90)", 120 * 90);
    succeeds(folder, "$NNZ generate uniform 120 90 6 -o a.npz && $NNZ convert a.npz a.mtx.gz");
    succeeds(folder, "$NNZ convert a.npz a.mtx");
    succeeds(
        folder,
        "$DISTRIBUTE dense.npy --partition mesh:2x2 -o parts && $NNZ convert parts parts.mtx.gz",
    );
    succeeds(folder, "$DISTRIBUTE dense.npy --partition row:2 --to csc -o csc");
    for ranks in 2..=4 {
        for (by_rows, by_root) in [("a.npz", "a.mtx.gz"), ("parts", "parts.mtx.gz"), ("a.mtx", "a.mtx.gz")] {
            let (read, reported) = product(folder, ranks, &format!("spmv {by_rows} x.npy"));
            assert!(reported.contains("reading: each rank its rows\n"), "{reported}");
            let host = "exchange: the host's memory (an exchange by NCCL is not supported: cpu is not a CUDA device)\n";
            assert!(reported.contains(host), "{reported}");
            let (sent, reported) = product(folder, ranks, &format!("spmv {by_root} x.npy"));
            assert!(reported.contains("reading: rank 0 all rows (reading partitions of "), "{reported}");
            assert!(read == sent, "{by_rows} on {ranks} ranks");
        }
    }
    let (_, reported) = product(folder, 2, "spmv csc x.npy");
    assert!(
        reported.contains("reading: rank 0 all rows (") && reported.contains("its parts are csc)"),
        "{reported}"
    );
    // A stream is read once, by the process that has it.
    let (expected, _) = product(folder, 3, "spmv a.npz x.npy");
    let (piped, reported) = product(folder, 3, "spmv - x.npy < a.npz");
    assert!(reported.contains("reading: rank 0 all rows (standard input is read once)\n"), "{reported}");
    assert!(piped == expected);
    succeeds(folder, "mkfifo pipe");
    let writer = std::thread::spawn({
        let (from, to) = (folder.join("a.npz"), folder.join("pipe"));
        move || fs::copy(from, to).map(drop)
    });
    assert!(product(folder, 3, "spmv pipe x.npy").0 == expected);
    writer.join().unwrap().unwrap();
}

#[test]
fn ranks_multiply_dense_matrices_as_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let numbers = |len: usize| (0..len).map(|k| (k * 7919 % 1009) as f64 / 3.0 - 168.0).collect::<Vec<_>>();
    common::array(folder, "b.npy", "(90, 3)", &numbers(270));
    common::array(folder, "c.npy", "(120, 3)", &numbers(360));
    common::array(folder, "none.npy", "(90, 0)", &[]);
    vector(folder, "x.npy", 90);
    succeeds(folder, "$NNZ generate uniform 120 90 6 -o a.npz");
    let cases = [
        "a.npz b.npy --alpha 0.5 --beta=-2 --y c.npy",
        "a.npz c.npy --op t --alpha=-2 --beta 0.5 --y b.npy",
        "a.npz x.npy",
        "a.npz none.npy",
    ];
    for case in cases {
        succeeds(folder, &format!("$NNZ spmm $CPU {case} -o one.npy"));
        for ranks in 1..=4 {
            succeeds(folder, &format!("$MPIRUN -n {ranks} $NNZ spmm $CPU {case} -o ranks.npy"));
            assert_close(folder, ["ranks.npy", "one.npy"], 1e-14);
        }
    }
    let done = mpi(folder, "$MPIRUN -n 2 $NNZ spmm $CPU a.npz b.npy -o no.npy --reduce max");
    let reported = String::from_utf8_lossy(&done.stderr);
    assert!(reported.matches("error: --reduce max and --arg run on one device").count() == 1, "{reported}");
    assert_eq!(done.status.code(), Some(2));
}

#[test]
fn an_error_of_a_product_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    vector(folder, "x.npy", 3);
    common::coordinates(folder, "bad.mtx", "3 3 2\n1 1 1\n1 7 2\n");
    common::coordinates(folder, "a.mtx", "3 3 2\n1 1 1\n2 2 2\n");
    vector(folder, "short.npy", 2);
    let lines = [
        ("bad.mtx x.npy", "error: bad.mtx: line 4: column 7 ", 1),
        ("a.mtx short.npy", "error: spmv: the length of x is 2 where 3 is needed\n", 1),
        ("a.mtx x.npy --devices cpu,cpu", "error: each rank takes the device of its number: leave out", 2),
        ("a.mtx x.npy --exchange nccl", "exchange by NCCL is not supported: cpu is not a CUDA device\n", 1),
        ("a.mtx x.npy --exchange peer", "devices of one process exchange by it, ranks by nccl or host\n", 1),
    ];
    for (arguments, expected, status) in lines {
        let backend = if arguments.contains("--devices") { "" } else { "$CPU" };
        let done = mpi(folder, &format!("$MPIRUN -n 2 $NNZ spmv {backend} {arguments} -o y.npy"));
        let reported = String::from_utf8_lossy(&done.stderr);
        assert!(reported.contains(expected) && reported.matches("error: ").count() == 1, "{reported}");
        assert!(
            [1, status].contains(&done.status.code().unwrap()) && !folder.join("y.npy").exists(),
            "{reported}"
        );
    }
}

/// The numbers of iterations in a report of `nnz solve --output json`.
fn iterations(report: &[u8]) -> Vec<u64> {
    let report: serde_json::Value = serde_json::from_slice(report).unwrap();
    report["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["iterations"].as_u64().unwrap())
        .collect()
}

#[test]
fn ranks_solve_as_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    vector(folder, "b.npy", 400);
    succeeds(folder, "$NNZ generate stencil_5 20 20 -o a.mtx && $NNZ generate stencil_5 1 2 -o tiny.mtx");
    for (ranks, method) in [(3, "cg"), (2, "bicgstab --jacobi")] {
        let solve = format!("$NNZ solve $CPU a.mtx b.npy --method {method} --output json");
        let one = mpi(folder, &format!("{solve} -o one.npy"));
        let several = mpi(folder, &format!("$MPIRUN -n {ranks} {solve} -o ranks.npy"));
        let (one, several) = (iterations(&one.stdout), iterations(&several.stdout));
        assert!(
            one.len() == 1 && several.len() == 1 && one[0].abs_diff(several[0]) <= 2,
            "{one:?}, {several:?}"
        );
        assert_close(folder, ["ranks.npy", "one.npy"], 1e-8);
    }

    // Two right-hand sides, and two of four ranks without rows.
    common::array(folder, "b.npy", "(2, 2)", &[1.0, -2.0, 3.0, 0.0]);
    succeeds(folder, "$NNZ solve $CPU tiny.mtx b.npy --method cg -o one.npy");
    let reported = mpi(folder, "$MPIRUN -n 4 $NNZ solve $CPU tiny.mtx b.npy --method cg -o ranks.npy");
    let reported = String::from_utf8_lossy(&reported.stdout).into_owned();
    assert!(
        reported.starts_with("column 0: converged ") && reported.contains("\ncolumn 1: converged "),
        "{reported}"
    );
    assert_eq!(reported.lines().filter(|line| line.starts_with("rank ")).count(), 4, "{reported}");
    assert!(reported.contains("\nexchange: the host's memory ("), "{reported}");
    assert_close(folder, ["ranks.npy", "one.npy"], 1e-12);
}

#[test]
fn an_error_of_a_solver_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    vector(folder, "b.npy", 4);
    common::coordinates(folder, "singular.mtx", "4 4 2\n1 1 1\n2 2 1\n");
    let lines = [
        ("cg", "error: column 0: not converged to 1e-10: ", 1),
        ("cg --jacobi", "row 2: a diagonal entry with a finite inverse is needed", 1),
        ("gmres", "error: gmres runs on one device: start one process, or use cg or bicgstab\n", 2),
    ];
    for (method, expected, status) in lines {
        let done = mpi(
            folder,
            &format!("$MPIRUN -n 2 $NNZ solve $CPU singular.mtx b.npy --method {method} -o x.npy"),
        );
        let reported = String::from_utf8_lossy(&done.stderr);
        assert!(reported.contains(expected) && reported.matches("error: ").count() == 1, "{reported}");
        assert_eq!(done.status.code(), Some(status), "{reported}");
    }
}
