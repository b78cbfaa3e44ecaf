//! The snapshots by insta's macros, so that `cargo insta review` shows what changed.
//!
//! The serial reference may create and change a snapshot; the CPU backend must give the reference's answers.
//! The harness writes the same files: `cargo xtask conformance --backend reference --bless`.

use backend_cpu::Cpu;
use insta::Settings;
use sparse_conformance::{Case, Filter, Record, Run, Snapshots, Status, Suite, table};
use sparse_core::c64;
use sparse_core::op::AllTypes;
use sparse_core::reference::Reference;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::LazyLock;

/// Files by the name of their snapshot.
type Files = BTreeMap<String, String>;

/// The answers of the serial reference.
static REFERENCE: LazyLock<Files> = LazyLock::new(|| answers(&Reference));

/// The answers of the backend in the harness's files: in double precision with 32-bit indices, which gives every answer
/// there is. The conformance table tests that other types give the same.
fn answers<B: AllTypes>(backend: &B) -> Files {
    let mut suite = Suite::new(backend);
    suite.all_operations::<B, f64, i32, i32>(backend).all_operations::<B, c64, i32, i32>(backend);
    suite.scan::<B, i32>(backend).scan::<B, i64>(backend);
    let folder = tempfile::tempdir().expect("a folder");
    let mut snapshots = Snapshots::bless(folder.path());
    let mut records: Vec<Record> = vec![];
    let (reference, cases, filter) = (Suite::reference(), cases(), Filter::default());
    Run { suite: &suite, reference: &reference, cases: &cases, filter: &filter }
        .run(&mut snapshots, &mut records);
    records.retain(|record| record.status == Status::Fail);
    assert!(records.is_empty(), "{records:#?}");
    snapshots.save().expect("the snapshots are written");
    files(folder.path())
}

/// The cases that have snapshots.
fn cases() -> Vec<Case> {
    let included = |case: &Case| case.matrix().is_ok_and(|matrix| Snapshots::include(case, &matrix));
    table().into_iter().filter(included).collect()
}

/// The snapshots of a folder, without insta's proposals in files `*.snap.new`.
fn files(folder: &Path) -> Files {
    let paths = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let snapshots = paths.filter(|path| path.extension().is_some_and(|extension| extension == "snap"));
    let named = |path: &Path| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("a file"))
    };
    snapshots.map(|path| named(&path)).collect()
}

/// The header of a file, which ends with the description, and the answers.
fn parts(file: &str) -> (&str, &str) {
    file.split_once("\n---\n").expect("a header")
}

/// Compares both answers with the file `name`. Those of the CPU come second in a block of duplicates: where they differ
/// from the reference's, insta shows that and writes nothing.
fn assert_snapshot(name: &str, reference: &str, cpu: &str) {
    let ((header, reference), (_, cpu)) = (parts(reference), parts(cpu));
    let (_, description) = header.split_once("\ndescription: ").expect("a description");
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(description);
    settings.bind(|| {
        insta::allow_duplicates! {
            insta::assert_snapshot!(name, reference.trim_end());
            insta::assert_snapshot!(name, cpu.trim_end());
        }
    });
}

#[test]
fn the_reference_and_the_cpu_give_the_snapshots() {
    let cpu = answers(&Cpu::new().expect("a CPU"));
    assert!(cpu.keys().eq(REFERENCE.keys()), "the CPU has snapshots of its own: {:?}", cpu.keys());
    let differs = |name: &str, reference: &str| {
        catch_unwind(AssertUnwindSafe(|| assert_snapshot(name, reference, &cpu[name]))).is_err()
    };
    // All are compared before the test fails, so that one run proposes every change.
    let changed: Vec<_> =
        REFERENCE.iter().filter(|(name, file)| differs(name, file)).map(|(name, _)| name).collect();
    assert!(changed.is_empty(), "{} snapshots differ: {changed:?}", changed.len());
}

#[test]
fn every_file_is_used_and_has_the_header_that_the_harness_writes() {
    for (name, stored) in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots")) {
        let written = REFERENCE.get(&name);
        let written = written.unwrap_or_else(|| panic!("no case of the table has the snapshot {name}"));
        assert_eq!(parts(&stored).0, parts(written).0, "{name}");
        assert_eq!(stored.lines().nth(1), Some(&*format!("source: {}", file!())), "{name}");
    }
}
