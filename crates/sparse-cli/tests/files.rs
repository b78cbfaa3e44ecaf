//! The files that the command reads and writes: their state after a failure, and the memory they need.
#![cfg(unix)]

mod common;

use common::{array, coordinates, error, npy_header, run, shell};
use nnz::io::parts::PartSet;
use std::fs;
use std::path::Path;
use std::process::Command;

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
    run(folder, "$NNZ -q distribute b.npy -o set");
    let set = names(&folder.join("set"));
    for (line, out) in [
        ("distribute b.npy -o new", "new"),
        ("distribute b.npy b.npy --partition row:2 -o new", "new"),
        ("distribute b.npy -o set", "set"),
    ] {
        let error = error(folder, &format!("trap '' XFSZ; ulimit -f 2; exec $NNZ -q {line}"));
        assert!(error.starts_with(&format!("error: {out}/part-00000-")), "{error}");
        assert_eq!(names(folder), ["a.npz", "b.npy", "set"], "{line}");
        assert_eq!(names(&folder.join("set")), set, "{line}");
    }
    if Path::new("/dev/full").exists() {
        std::os::unix::fs::symlink("/dev/full", folder.join("full.npz")).unwrap();
        assert!(error(folder, "$NNZ convert a.npz full.npz").contains("full.npz: No space left"));
    }
}

/// Commands that write to stdout: help, version, a script, a report, data.
const PRINTED: [&str; 7] =
    ["--help", "-h", "help spmv", "--version", "completions bash", "info a.npz", "convert a.npz -"];

#[test]
fn a_full_stdout_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "$NNZ generate uniform 500 500 9 7 -o a.npz");
    for line in PRINTED {
        let error = error(folder.path(), &format!("$NNZ {line} > /dev/full"));
        assert!(error.starts_with("error: <stdout>: No space left"), "{line}: {error}");
    }
}

#[test]
fn a_closed_stdout_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "$NNZ generate uniform 500 500 9 7 -o a.npz");
    for line in PRINTED {
        // The reader is gone before the command starts.
        let done = shell(folder.path(), &format!("{{ sleep 0.2; $NNZ {line}; echo $? > status; }} | true"));
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{line}");
        assert_eq!(fs::read_to_string(folder.path().join("status")).unwrap(), "0\n", "{line}");
    }
}

#[cfg(not(feature = "mpi"))]
#[test]
fn several_processes_without_mpi_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    array(folder, "b.npy", "(2, 2)", &[1.0; 4]);
    for variable in ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"] {
        let error = error(folder, &format!("{variable}=3 $NNZ distribute b.npy -o out.npz"));
        assert!(error.contains("3 processes were started") && error.contains("--features mpi"), "{error}");
        assert_eq!(names(folder), ["b.npy"]);
    }
    run(folder, "OMPI_COMM_WORLD_SIZE=1 $NNZ distribute b.npy -o out.npz --backend cpu");
}

#[test]
fn a_list_of_booleans_is_a_mask() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    coordinates(folder, "a.mtx", "3 2 3\n1 1 1\n2 2 2\n3 1 3\n");
    fs::write(folder.join("mask.npy"), [npy_header("|b1", "(3,)"), vec![1, 0, 1]].concat()).unwrap();
    run(folder, "$NNZ slice a.mtx --rows ::2 -o range.mtx && $NNZ slice a.mtx --rows mask.npy -o mask.mtx");
    run(folder, "cmp range.mtx mask.mtx");
    let error = error(folder, "$NNZ slice a.mtx --cols mask.npy -o bad.mtx");
    assert_eq!(error, "error: mask.npy: the mask has 3 elements, but 2 are needed");
}

#[test]
fn negative_numbers_of_a_list_count_from_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    coordinates(folder, "a.mtx", "3 2 3\n1 1 1\n2 2 2\n3 1 3\n");
    array(folder, "list.npy", "(2,)", &[-1.0, 0.0]);
    run(folder, "$NNZ slice a.mtx --rows ::-2 -o range.mtx && $NNZ slice a.mtx --rows list.npy -o list.mtx");
    run(folder, "cmp range.mtx list.mtx");
    array(folder, "before.npy", "(1,)", &[-3.0]);
    let error = error(folder, "$NNZ slice a.mtx --cols before.npy -o bad.mtx");
    assert_eq!(error, "error: before.npy: -3 is not the number of a column: there are 2, numbered from 0");
}

#[test]
fn an_added_term_has_the_factor_1_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    coordinates(folder, "a.mtx", "2 2 2\n1 1 1\n2 2 2\n");
    array(folder, "x.npy", "(2,)", &[3.0, 4.0]);
    array(folder, "y.npy", "(2,)", &[10.0, 20.0]);
    run(folder, "$NNZ spmv a.mtx x.npy --y y.npy -o sum.npy");
    let sum = nnz::io::npy::read(folder.join("sum.npy")).unwrap();
    assert_eq!(sum.values.into_typed::<f64>().unwrap(), [13.0, 28.0]);
}

#[test]
fn positions_of_no_columns_have_the_shape_of_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    coordinates(folder, "a.mtx", "3 2 1\n1 1 1\n");
    array(folder, "b.npy", "(2, 0)", &[]);
    run(folder, "$NNZ spmm a.mtx b.npy --reduce min -o c.npy --arg at.npy");
    let shape = |name: &str| nnz::io::npy::read(folder.join(name)).unwrap().shape;
    assert_eq!((shape("c.npy"), shape("at.npy")), (vec![3, 0], vec![3, 0]));
}

#[test]
fn schemes_and_parallelism_change_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let elements: Vec<f64> =
        (0..5 * 40 * 30).map(|k| if k % 7 < 2 { f64::from(k % 31) } else { 0.0 }).collect();
    array(folder, "stack.npy", "(5, 40, 30)", &elements);
    for format in ["csr", "csc"] {
        let distribute = format!("$NNZ -q distribute stack.npy --backend cpu --threads 2 --to {format}");
        run(folder, &format!("{distribute} -o batch.npz"));
        for scheme in ["sfc", "cfs", "ed1", "ed2", "bitmap"] {
            for name in ["inter_task", "intra_task"] {
                let options = format!("--scheme {scheme} --parallel {name}");
                run(folder, &format!("{distribute} {options} -o out.npz && cmp out.npz batch.npz"));
            }
        }
    }
}

/// The parts of an array of three dimensions, as the slides on CFS have them, but for indices, which are local.
#[test]
fn parts_of_an_array_have_the_numbers_of_the_literature() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/array.npy");
    fs::copy(data, folder.join("array.npy")).unwrap();
    let as_csc: [[&[i32]; 3]; 4] = [
        [&[1, 2, 3, 4, 5, 5, 5, 5, 5], &[0, 0, 0, 0], &[1, 5, 9, 13]],
        [&[1, 1, 1, 2, 3, 3, 3, 3, 3], &[1, 1], &[10, 14]],
        [&[1, 2, 2, 2, 2, 4, 6, 6, 6], &[1, 0, 1, 0, 1], &[3, 2, 4, 6, 7]],
        [&[1, 1, 1, 2, 3, 3, 4, 5, 6], &[0, 0, 1, 1, 1], &[11, 15, 8, 12, 16]],
    ];
    let as_csr: [[&[i32]; 3]; 4] = [
        [&[1, 5, 5], &[0, 1, 2, 3], &[1, 5, 9, 13]],
        [&[1, 1, 3], &[2, 3], &[10, 14]],
        [&[1, 3, 6], &[4, 5, 0, 4, 5], &[2, 6, 3, 4, 7]],
        [&[1, 3, 6], &[2, 3, 5, 6, 7], &[11, 15, 8, 12, 16]],
    ];
    for scheme in ["sfc", "cfs", "ed1", "ed2", "bitmap"] {
        for (format, expected) in [("csc", as_csc), ("csr", as_csr)] {
            let out = format!("{scheme}_{format}");
            let distribute = "$NNZ -q distribute array.npy --ekmr --partition mesh:2x2 --backend cpu";
            run(folder, &format!("{distribute} --scheme {scheme} --to {format} -o {out}"));
            let parts = PartSet::open(folder.join(out)).unwrap();
            assert_eq!((parts.shape(), parts.parts().len()), ((4, 16), 4));
            for (index, expected) in expected.into_iter().enumerate() {
                let part = parts.read_block(index).unwrap();
                let offsets: Vec<i32> = part.major.into_typed("offset").unwrap();
                let indices: Vec<i32> = part.minor.into_typed("index").unwrap();
                let values = part.values.into_typed::<f32>().unwrap();
                let pointers: Vec<i32> = offsets.iter().map(|offset| offset + 1).collect();
                let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
                assert_eq!([&pointers[..], &indices, &values], expected, "{scheme}, {format}, part {index}");
            }
        }
    }
}

#[test]
fn a_closed_pipe_is_no_failure_and_hides_none() {
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
    assert_eq!(status("convert a.npz -"), Some(0));
    assert_eq!(status("solve a.npz b.npy -o - --method cg --backend cpu"), Some(0));
}

/// Writes a system of 36 equations and its solution.
fn write_system(folder: &Path) {
    array(folder, "b.npy", "(36,)", &[1.0; 36]);
    run(folder, "$NNZ generate stencil-5 6 6 -o s.mtx");
    run(folder, "$NNZ solve s.mtx b.npy -o solution.npy --method cg --backend cpu");
}

/// The crate `nnz` has the feature `direct` where the whole workspace is tested, and not where the command is alone.
#[test]
fn direct_solution_takes_a_feature() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_system(folder);
    let done = shell(folder, "$NNZ solve s.mtx b.npy -o x.npy --method direct --tol 1e-13 -v");
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("this build lacks the feature `direct`") {
        assert_eq!(done.status.code(), Some(1), "{said}");
        assert!(!folder.join("x.npy").exists());
        return;
    }
    assert!(done.status.success() && said.contains("cholesky: A is Hermitian positive definite"), "{said}");
    let read = |name| nnz::io::npy::read(folder.join(name)).unwrap().into_dense::<f64>().unwrap();
    let (x, expected) = (read("x.npy"), read("solution.npy"));
    assert!(x.data().iter().zip(expected.data()).all(|(x, expected)| (x - expected).abs() < 1e-8));
}

#[test]
fn pipes_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, "$NNZ generate uniform 40 40 3 7 -o a.mtx && $NNZ convert a.mtx a.npz && gzip -k a.mtx");
    coordinates(folder, "rows.mtx", "4000000000 3 2\n1 1 1.5\n4000000000 2 2.5\n");
    array(folder, "x.npy", "(40,)", &[1.5; 40]);
    run(folder, "$NNZ spmv a.mtx x.npy -o y.npy --backend cpu && $NNZ convert a.mtx a.npy");
    write_system(folder);
    // The pipe has only the data that is in it when it is opened; opening it again would block.
    run(folder, "mkfifo pipe.mtx pipe");
    let lines = [
        ("cat rows.mtx > pipe.mtx", "info pipe.mtx"),
        ("cat a.mtx > pipe.mtx", "info pipe.mtx"),
        ("cat a.mtx.gz > pipe", "convert pipe out.mtx && cmp out.mtx a.mtx"),
        ("cat a.npz > pipe", "convert pipe out.npz && cmp out.npz a.npz"),
        ("cat a.npz > pipe", "spmv pipe x.npy -o out.npy && cmp out.npy y.npy"),
        ("cat x.npy > pipe", "spmv a.mtx pipe -o out.npy && cmp out.npy y.npy"),
        ("cat a.npy > pipe", "compress pipe out.npz"),
        ("cat s.mtx > pipe.mtx", "solve pipe.mtx b.npy -o out.npy --method cg && cmp out.npy solution.npy"),
        ("cat b.npy > pipe", "solve s.mtx pipe -o out.npy --method cg && cmp out.npy solution.npy"),
        ("cmp a.npz pipe", "convert a.mtx pipe.npz"),
    ];
    run(folder, "ln -s pipe pipe.npz");
    for (other, line) in lines {
        run(folder, &format!("timeout 20 {other} & timeout 20 $NNZ -q --backend cpu {line} && wait $!"));
    }
    for file in ["a.mtx", "a.npz", "a.npy", "a.mtx.gz"] {
        error(folder, &format!("head -c 200 {file} > pipe & timeout 20 $NNZ -q convert pipe out.npz"));
    }
    assert!(error(folder, ": > pipe & timeout 20 $NNZ -q info pipe").contains("the file is empty"));
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
    write_system(folder);
    let lines = [
        "$NNZ convert - - < a.npz | cmp - a.mtx",
        "$NNZ convert - b.npz < a.npy && cmp b.npz a.npz",
        "$NNZ spmv - x.npy -o - --backend cpu < a.mtx | cmp - y.npy",
        "$NNZ spmv a.mtx - -o - --backend cpu < x.npy | cmp - y.npy",
        "$NNZ compress - - --backend cpu < a.npy | cmp - c.npz",
        "$NNZ solve - b.npy -o - --method cg --backend cpu < s.mtx | cmp - solution.npy",
        "$NNZ solve s.mtx - -o - --method cg --backend cpu 2> said < b.npy | cmp - solution.npy",
        "grep -q '^column 0: converged' said",
        "test -z \"$($NNZ solve s.mtx b.npy -o - --method cg --backend cpu -q 2>&1 > out.npy)\"",
        "$NNZ spy - -o - < a.npz > picture",
        "$NNZ info - < a.mtx > about && head -n 1 about | grep -q '<stdin>'",
    ];
    for line in lines {
        run(folder, line);
    }
    let done = shell(folder, "$NNZ spmv - - -o y.npy --backend cpu < x.npy");
    assert_eq!(done.status.code(), Some(2));
}

#[test]
fn distribute_reads_integers_and_empty_stacks_as_compress_does() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let odd = (1_i64 << 53) + 1;
    let integers: Vec<u8> = [1, odd].iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.join("odd.npy"), [npy_header("<i8", "(1, 2)"), integers].concat()).unwrap();
    let warning =
        shell(folder, "$NNZ -q distribute odd.npy -o odd; $NNZ distribute odd.npy -o odd.npz --strict");
    let refused = format!("error: odd.npy: element 1: f64 would round {odd}\n");
    assert_eq!(
        (warning.status.code(), String::from_utf8_lossy(&warning.stderr).into_owned()),
        (Some(1), refused)
    );
    assert_eq!(names(folder), ["odd", "odd.npy"]);

    let complex = [npy_header("<c16", "(1, 1)"), vec![0; 16]].concat();
    fs::write(folder.join("complex.npy"), complex).unwrap();
    let refused = error(folder, "$NNZ distribute odd.npy complex.npy --dtype f64 -o none");
    assert_eq!(refused, "error: complex.npy: the values are complex, f64 is not");
    array(folder, "none.npy", "(0, 3, 4)", &[]);
    run(folder, "$NNZ -q compress none.npy alone.npz && $NNZ -q distribute none.npy -o file.npz");
    assert_eq!(fs::read(folder.join("file.npz")).unwrap(), fs::read(folder.join("alone.npz")).unwrap());
    run(folder, "$NNZ -q distribute none.npy -o none");
    assert_eq!(PartSet::open(folder.join("none")).unwrap().shape(), (3, 4));
}

#[test]
fn norms_that_are_not_finite_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    for value in ["inf", "nan"] {
        coordinates(folder.path(), "a.mtx", &format!("1 1 1\n1 1 {value}\n"));
        let norm = shell(folder.path(), "$NNZ norm a.mtx --output json").stdout;
        let name = if value == "nan" { "NaN" } else { value };
        assert_eq!(String::from_utf8_lossy(&norm), format!("\"{name}\"\n"));
    }
}

#[test]
fn errors_of_contents_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    array(folder, "large.npy", "(1, 1)", &[1e300]);
    array(folder, "x.npy", "(1,)", &[1e300]);
    coordinates(folder, "one.mtx", "1 1 1\n1 1 1\n");
    run(folder, "$NNZ convert large.npy large.npz");
    for (line, file) in [
        ("convert large.npy out.mtx --dtype f32", "large.npy"),
        ("convert large.npz out.mtx --dtype f32", "large.npz"),
        ("compress large.npy out.npz --dtype f32", "large.npy"),
        ("spmv one.mtx x.npy -o out.npy --dtype f32", "x.npy"),
    ] {
        let error = error(folder, &format!("$NNZ -q {line}"));
        assert!(error.starts_with(&format!("error: {file}: ")), "{line}: {error}");
    }
}

/// The examples in the help of every subcommand but those of the server, which take one that runs.
#[test]
fn the_examples_in_the_help_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for generated in ["stencil_5 20 20 -o a.mtx", "band 400 1 2 -o b.mtx", "uniform 400 1 1 -o x.npy"] {
        run(folder, &format!("$NNZ generate {generated}"));
    }
    run(folder, "$NNZ generate uniform 400 8 8 -o u.npy && $NNZ order a.mtx -o p.npy");
    run(folder, "$NNZ convert a.mtx dense.npy");
    let help = |arguments: &str| String::from_utf8(shell(folder, arguments).stdout).unwrap();
    let commands = help("$NNZ --help");
    let commands = commands.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = commands.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| !["serve", "client", "help"].contains(name));
    let mut examples = vec![];
    for name in names {
        let help = help(&format!("$NNZ {name} --help"));
        let lines = help.lines().skip_while(|line| !line.starts_with("Example"));
        examples.extend(lines.filter_map(|line| line.strip_prefix("  nnz ")).map(str::to_owned));
    }
    assert!(examples.len() >= 30, "{examples:?}");
    examples.iter().for_each(|example| run(folder, &format!("$NNZ {example}")));
}
