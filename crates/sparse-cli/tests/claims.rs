//! Sizes that files claim and what packed files inflate to, under limits of memory and time: neither takes more than
//! the entries justify.
#![cfg(target_os = "linux")]

mod common;

use common::zip::{Member, zip};
use common::{array, coordinates, error, npy_header, run, shell};
use flate2::{Compression, write::GzEncoder};
use std::fs;
use std::io::Write;
use std::path::Path;

/// The command with about 1 GB of memory and 5 s of the processor: far less than claims name, and far more than they
/// take.
const LIMITS: &str = "ulimit -v 1000000; ulimit -t 5; exec $NNZ -q --threads 2 --backend cpu";

/// A number of rows that offsets could count, and one whose bytes no 64-bit number counts.
const SIZES: [&str; 2] = ["4000000000", "9000000000000000000"];

#[test]
fn claims_of_sizes_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    array(folder, "x.npy", "(3,)", &[1.0, 2.0, 4.0]);
    coordinates(folder, "none.mtx", "3 0 0\n");
    coordinates(folder, "three.mtx", "3 3 3\n1 1 4\n2 2 4\n3 3 4\n");
    coordinates(folder, "empty.mtx", "0 0 0\n");
    for size in SIZES {
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
            "distribute rows.npy -o out.npz",
            "distribute cols.npy -o out --to csc",
            "distribute batch.npy -o out",
            "slice rows.mtx --rows ::-1 -o out.mtx",
            "reduce rows.mtx --axis 1 -o out.npy",
            "norm rows.mtx --format csr",
        ];
        for line in refused {
            error(folder, &format!("{LIMITS} {line}"));
        }
        for shape in ["(2, 10000000000, 0)", "(50000000, 0, 0)", "(1000000000, 0, 3)"] {
            array(folder, "stack.npy", shape, &[]);
            error(folder, &format!("{LIMITS} distribute stack.npy -o out"));
        }
        let right_hand_sides = [
            ("three.mtx rows.npy", format!("the length of b is {size} where 3 is needed")),
            ("three.mtx cols.npy", "the length of b is 0 where 3 is needed".into()),
            ("empty.mtx cols.npy", format!("the outcomes of {size} columns would take")),
        ];
        for (files, expected) in right_hand_sides {
            let found = error(folder, &format!("{LIMITS} solve {files} -o out.npy --method cg"));
            assert!(found.contains(&expected), "{files}: {found}");
        }
        let done = [
            "info rows.mtx",
            "info rows.npy",
            "convert rows.mtx coo.npz --format coo",
            "convert coo.npz coo.mtx --format COO",
            "spy cols.mtx -o out.svg",
            "spy rows.mtx -o out.svg",
        ];
        for line in done {
            run(folder, &format!("{LIMITS} {line}"));
        }
        assert_eq!(fs::read(folder.join("coo.mtx")).unwrap(), fs::read(folder.join("rows.mtx")).unwrap());
    }
    let found = error(folder, &format!("{LIMITS} generate uniform 1000000000 1000000000 1 -o out.npz"));
    assert!(found.contains("out of memory"), "{found}");
    coordinates(folder, "many.mtx", "33600000 3 2\n33600000 2 2\n7 1 1\n");
    run(folder, "$NNZ convert many.mtx many.npz --format coo");
    let line = "exec $NNZ -q --backend cpu spmv many.npz x.npy -o - --format coo --dtype f32 | tail -c 8";
    assert_eq!(shell(folder, line).stdout, [0.0, 4.0_f32].map(f32::to_le_bytes).concat());
    let error = error(folder, "exec $NNZ -q --backend cpu spmv many.npz x.npy -o y.npy");
    let commands = "add, convert, info, multiply, norm, reduce, slice, spmm, spmv, spy and transpose";
    assert!(error.ends_with(&format!("{commands} read it with --format coo")), "{error}");
}

/// Matrices with far more rows or columns than entries are computed with as coordinates, without being asked to.
#[test]
fn coordinates_take_memory_for_entries_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The first coordinate is there twice.
    coordinates(folder, "rows.mtx", "4000000000 3 3\n7 1 1.5\n4000000000 2 2\n7 1 1\n");
    coordinates(folder, "cols.mtx", "3 4000000000 2\n1 7 2.5\n2 4000000000 2\n");
    let results = [
        ("norm rows.mtx --ord 1", "2.5\n"),
        ("norm cols.mtx --ord inf --format coo", "2.5\n"),
        ("slice rows.mtx --rows 5:8 --cols 0:2 -o -", "3 2 1\n2 1 2.5\n"),
        ("slice rows.mtx --rows -1 -o -", "1 3 1\n1 2 2.0\n"),
        ("slice rows.mtx --rows 6: --cols ::-1 -o -", "3999999994 3 2\n1 3 2.5\n3999999994 2 2.0\n"),
        ("slice cols.mtx --cols 6:9 -o -", "3 3 1\n1 1 2.5\n"),
        ("transpose cols.mtx -o -", "4000000000 3 2\n7 1 2.5\n4000000000 2 2.0\n"),
        ("transpose rows.mtx -o -", "3 4000000000 3\n1 7 1.5\n1 7 1.0\n2 4000000000 2.0\n"),
        ("add rows.mtx rows.mtx -o - --beta 2", "4000000000 3 2\n7 1 7.5\n4000000000 2 6.0\n"),
        ("multiply rows.mtx rows.mtx -o -", "4000000000 3 2\n7 1 6.25\n4000000000 2 4.0\n"),
    ];
    for (words, expected) in results {
        let done = shell(folder, &format!("{LIMITS} {words}"));
        let (found, said) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let found = found.strip_prefix("%%MatrixMarket matrix coordinate real general\n").unwrap_or(&found);
        assert_eq!((found, &*said), (expected, ""), "{words}");
    }
    for (words, sums) in [("rows.mtx --axis 0", [2.5, 2.0, 0.0]), ("cols.mtx --axis 1", [2.5, 2.0, 0.0])] {
        run(folder, &format!("{LIMITS} reduce {words} -o y.npy"));
        let found = fs::read(folder.join("y.npy")).unwrap();
        assert!(found.ends_with(&sums.map(f64::to_le_bytes).concat()), "{words}");
    }
}

/// Columns take no memory where matrices in CSR are stacked.
#[test]
fn wide_matrices_are_stacked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    coordinates(folder, "wide.mtx", "2 4000000000 2\n1 4000000000 1.5\n2 7 2\n");
    let stacks = [
        ("rows", "4 4000000000 4\n1 4000000000 1.5\n2 7 2.0\n3 4000000000 1.5\n4 7 2.0\n"),
        ("columns", "2 8000000000 4\n1 4000000000 1.5\n1 8000000000 1.5\n2 7 2.0\n2 4000000007 2.0\n"),
        ("diagonal", "4 8000000000 4\n1 4000000000 1.5\n2 7 2.0\n3 8000000000 1.5\n4 4000000007 2.0\n"),
    ];
    for (along, expected) in stacks {
        let done = shell(folder, &format!("{LIMITS} stack wide.mtx wide.mtx -o - --along {along}"));
        let (found, said) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(found.ends_with(&format!("general\n{expected}")), "{along}: {found}{said}");
    }
}

/// Writes a sparse matrix of `<f8` that claims a shape, with its two arrays of indices by their keys.
fn sparse(folder: &Path, name: &str, format: &str, shape: &[&str], indices: [(&str, Vec<u8>); 2]) {
    let shape: Vec<i64> = shape.iter().map(|extent| extent.parse().unwrap()).collect();
    let text = [npy_header(&format!("|S{}", format.len()), "()"), format.into()].concat();
    let mut members = vec![
        Member::stored("format", text),
        Member::stored("shape", indices_of(&format!("({},)", shape.len()), &shape)),
        Member::stored("data", [npy_header("<f8", "(2,)"), vec![0; 16]].concat()),
    ];
    members.extend(indices.map(|(key, bytes)| Member::stored(key, bytes)));
    fs::write(folder.join(name), zip(&members)).unwrap();
}

/// An array of `<i8` that claims a shape.
fn indices_of(shape: &str, indices: &[i64]) -> Vec<u8> {
    let data: Vec<u8> = indices.iter().flat_map(|index| index.to_le_bytes()).collect();
    [npy_header("<i8", shape), data].concat()
}

/// Writes matrices that claim `size` rows, columns or entries, and have two entries or none; their names.
fn write_claims(folder: &Path, size: &str) -> Vec<&'static str> {
    let banner = "%%MatrixMarket matrix";
    let texts = [
        ("rows.mtx", format!("coordinate real general\n{size} 3 2\n1 1 1.5\n{size} 2 2.5\n")),
        ("cols.mtx", format!("coordinate real general\n3 {size} 2\n1 1 1.5\n2 {size} 2.5\n")),
        ("square.mtx", format!("coordinate real symmetric\n{size} {size} 2\n1 1 1.5\n{size} 2 2.5\n")),
        ("entries.mtx", format!("coordinate real general\n3 3 {size}\n1 1 1.5\n3 2 2.5\n")),
        ("array.mtx", format!("array real general\n{size} {size}\n1.5\n")),
        ("array_rows.mtx", format!("array real general\n{size} 0\n")),
        ("array_cols.mtx", format!("array real general\n0 {size}\n")),
    ];
    for (name, text) in &texts {
        fs::write(folder.join(name), format!("{banner} {text}")).unwrap();
    }
    for name in ["square.mtx.gz", "entries.mtx.gz"] {
        let text = fs::read(folder.join(name.trim_end_matches(".gz"))).unwrap();
        fs::write(folder.join(name), gzip(&text)).unwrap();
    }
    let arrays = [
        ("vector.npy", format!("({size},)")),
        ("rows.npy", format!("({size}, 0)")),
        ("cols.npy", format!("(0, {size})")),
        ("column.npy", format!("({size}, 1)")),
        ("square.npy", format!("({size}, {size})")),
        ("batch.npy", format!("({size}, 0, 3)")),
        ("members.npy", format!("(0, {size}, {size})")),
    ];
    for (name, shape) in &arrays {
        array(folder, name, shape, &[]);
    }
    let last = size.parse::<i64>().unwrap() - 1;
    let two = |indices: [i64; 2]| indices_of("(2,)", &indices);
    let offsets = || ("indptr", indices_of("(4,)", &[0, 1, 2, 2]));
    let far = || ("indices", two([0, last]));
    sparse(folder, "csr_cols.npz", "csr", &["3", size], [offsets(), far()]);
    sparse(folder, "csr_rows.npz", "csr", &[size, "3"], [offsets(), ("indices", two([0, 1]))]);
    sparse(folder, "csc_rows.npz", "csc", &[size, "3"], [offsets(), far()]);
    sparse(folder, "coo.npz", "coo", &[size, size], [("row", two([0, last])), ("col", two([0, 1]))]);
    let claimed = ("indices", indices_of(&format!("({size},)"), &[0, 1]));
    sparse(folder, "entries.npz", "csr", &["3", "3"], [offsets(), claimed]);
    sparse(folder, "batch.npz", "batch_csr", &[size, size, "3"], [offsets(), ("indices", two([0, 1]))]);
    let packed = ["square.mtx.gz", "entries.mtx.gz"];
    let sparse = ["csr_cols.npz", "csr_rows.npz", "csc_rows.npz", "coo.npz", "entries.npz", "batch.npz"];
    let names = texts.iter().map(|&(name, _)| name).chain(arrays.iter().map(|&(name, _)| name));
    names.chain(packed).chain(sparse).collect()
}

#[test]
fn every_command_answers_or_refuses_any_claim() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    array(folder, "x.npy", "(3,)", &[1.0, 2.0, 4.0]);
    coordinates(folder, "three.mtx", "3 3 3\n1 1 4\n2 2 4\n3 3 4\n");
    coordinates(folder, "empty.mtx", "0 0 0\n");
    for size in SIZES {
        for name in write_claims(folder, size) {
            let of_matrices = [
                "info $F",
                "info $F --format coo",
                "advise $F",
                "spy $F",
                "convert $F out.npz",
                "convert $F out.npy",
                "convert $F out.mtx --format coo",
                "spmv $F x.npy -o out.npy",
                "spmv $F x.npy -o out.npy --format coo --op t",
                "spmm $F x.npy -o out.npy",
                "solve $F x.npy -o out.npy --method cg",
            ];
            let of_arrays = [
                "compress $F out.npz",
                "compress $F out.npz --to csc",
                "spmv three.mtx $F -o out.npy",
                "spmm three.mtx $F -o out.npy",
                "spmm empty.mtx $F -o out.npy",
                "spmm three.mtx x.npy -o out.npy --beta 1 --y $F",
                "solve three.mtx $F -o out.npy --method cg",
                "solve empty.mtx $F -o out.npy --method enqueued-cg",
            ];
            let arrays = if name.ends_with(".npy") { &of_arrays[..] } else { &[] };
            for words in of_matrices.iter().chain(arrays) {
                let done = shell(folder, &format!("F={name}; {LIMITS} {words}"));
                let said = String::from_utf8_lossy(&done.stderr);
                let is_sound = match done.status.code() {
                    Some(0) => said.is_empty(),
                    Some(1) => said.starts_with("error: ") && said.lines().count() == 1,
                    _ => false,
                };
                assert!(is_sound, "{words}, F={name} of {size}: {}: {said}", done.status);
            }
        }
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The command with 300 MB of memory, of which its program and its threads' stacks take a half.
const SMALL: &str = "ulimit -v 300000; ulimit -t 10; exec $NNZ -q --threads 2 --backend cpu";

#[test]
fn text_takes_memory_for_its_entries_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let head = "%%MatrixMarket matrix coordinate real general\n";
    // Members of a file are unpacked one after the other, so that 300 MiB take no time to pack.
    let blank_lines = gzip(&[b'\n'; 1 << 20]).repeat(300);
    let text = [gzip(head.as_bytes()), blank_lines, gzip(b"1 1 1\n1 1 7\n")].concat();
    fs::write(folder.join("blank.mtx.gz"), text).unwrap();
    let comment = gzip(&[b'%'; 1 << 20]).repeat(300);
    let text = [gzip(head.as_bytes()), comment, gzip(b"\n1 1 1\n1 1 7\n")].concat();
    fs::write(folder.join("comment.mtx.gz"), text).unwrap();
    for name in ["blank", "comment"] {
        run(folder, &format!("{SMALL} convert {name}.mtx.gz out.mtx"));
        assert_eq!(fs::read_to_string(folder.join("out.mtx")).unwrap(), format!("{head}1 1 1\n1 1 7.0\n"));
    }
    let line = gzip(&[b'1'; 1 << 20]).repeat(300);
    fs::write(folder.join("line.mtx.gz"), [gzip(format!("{head}1 1 1\n").as_bytes()), line].concat())
        .unwrap();
    let found = error(folder, &format!("{SMALL} info line.mtx.gz"));
    assert!(found.contains("line 3: the line has more than"), "{found}");
}

#[test]
fn members_of_an_archive_take_memory_for_what_is_kept_alone() {
    const MEBIBYTES: usize = 1 << 10;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sound = |key| {
        let bytes = match key {
            "format" => [npy_header("|S3", "()"), b"csr".to_vec()].concat(),
            "shape" => indices_of("(2,)", &[1, 2]),
            "indptr" => indices_of("(2,)", &[0, 2]),
            "indices" => indices_of("(2,)", &[0, 1]),
            _ => indices_of("(2,)", &[3, 4]),
        };
        Member::stored(key, bytes)
    };
    let keys = ["format", "shape", "indptr", "indices", "data"];
    fs::write(folder.join("sound.npz"), zip(&keys.map(sound))).unwrap();
    run(folder, &format!("{SMALL} info sound.npz"));
    let bombs = [
        (
            "format",
            "|S1073741824",
            "()",
            "`format`: shape () needs 1073741824 bytes, but 1024 are read at most",
        ),
        ("shape", "<i8", "(134217728,)", "`shape`: shape (134217728,) needs 1073741824 bytes, but 1024 are"),
        ("shape", "<i8", "(2,)", "`shape`: shape (2,) needs 16 bytes, but more follow the header"),
        (
            "indptr",
            "<i8",
            "(134217728,)",
            "`indptr` has 134217728 elements where a csr matrix of shape [1, 2]",
        ),
        ("indices", "<i8", "(2,)", "`indices`: shape (2,) needs 16 bytes, but more follow the header"),
        (
            "data",
            "|i1",
            "(1073741824,)",
            "`indices` has 2 elements where a csr matrix of shape [1, 2] with 1073",
        ),
        ("data", "|i1", "(2,)", "`data`: shape (2,) needs 2 bytes, but more follow the header"),
    ];
    for (bomb, descr, shape, expected) in bombs {
        let member = |key| match key == bomb {
            true => Member::with_zeros(key, &npy_header(descr, shape), MEBIBYTES),
            false => sound(key),
        };
        fs::write(folder.join("bomb.npz"), zip(&keys.map(member))).unwrap();
        for words in ["info bomb.npz", "convert bomb.npz out.mtx --format coo"] {
            let found = error(folder, &format!("{SMALL} {words}"));
            assert!(found.contains(expected), "{words}: {found}");
        }
    }
}
