//! The harness itself: expectations, filters, snapshots.

use backend_cpu::Cpu;
use sparse_conformance::{
    Case, Filter, Record, Run, Snapshots, Status, Suite, Tier, Triplets, corpus_folder, repository_corpus,
    table,
};
use sparse_core::catalog::{Format, Operation, Types};
use sparse_core::reference::Reference;
use sparse_core::{Csc, Csr, Host, c64};
use std::collections::BTreeSet;

fn suite() -> Suite {
    let mut suite = Suite::new(&Reference);
    suite.spmv::<Reference, Csr<f64>>(&Reference);
    suite
}

fn run(suite: &Suite, cases: &[Case], filter: &Filter, snapshots: &mut Snapshots) -> Vec<Record> {
    let mut records = vec![];
    Run { suite, reference: &Suite::new(&Reference), cases, filter }.run(snapshots, &mut records);
    records
}

fn only(op: &str, case: &str) -> Filter {
    Filter { tier: Tier::Quick, op: Some(op.into()), case: Some(case.into()), ..Filter::default() }
}

#[test]
fn a_known_failure_that_passes_is_a_failure() {
    let mut suite = suite();
    suite.expect_failure("spmv/csr/diagonal", "f64", "issue 1");
    let filter = only("spmv/csr", "diagonal");
    let records = run(&suite, &table(), &filter, &mut Snapshots::compare(Snapshots::default_folder()));
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].status, Status::Fail);
    assert_eq!(records[0].reason, "passes, but is expected to fail: issue 1");
}

#[test]
fn a_known_failure_that_fails_is_expected() {
    let empty = tempfile::tempdir().expect("a folder");
    let mut suite = suite();
    suite.expect_failure("spmv/csr/", "f64", "issue 1");
    let records = run(&suite, &table(), &only("spmv", "fully_dense"), &mut Snapshots::compare(empty.path()));
    assert_eq!(records[0].status, Status::ExpectedFailure);
    assert!(
        records[0].reason.starts_with("issue 1: no snapshot of op=n alpha=1 beta=0"),
        "{}",
        records[0].reason
    );
}

#[test]
fn blessed_answers_pass_and_changed_ones_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let filter = only("spmv", "fully_dense");
    let mut snapshots = Snapshots::bless(folder.path());
    assert_eq!(run(&suite(), &table(), &filter, &mut snapshots)[0].status, Status::Pass);
    snapshots.save().expect("the snapshots are written");
    let file = folder.path().join("spmv__fully_dense.snap");
    let passed = run(&suite(), &table(), &filter, &mut Snapshots::compare(folder.path()));
    assert_eq!(passed[0].status, Status::Pass, "{}", passed[0].reason);
    let changed = std::fs::read_to_string(&file).expect("the file").replace(" 1", " 2");
    std::fs::write(&file, changed).expect("the file");
    assert_eq!(
        run(&suite(), &table(), &filter, &mut Snapshots::compare(folder.path()))[0].status,
        Status::Fail
    );
}

#[test]
fn suites_are_compared_if_they_have_the_same_subjects() {
    let other = || Suite::new(&Reference);
    assert!(other().compared_with(other()).is_ok());
    let error = suite().compared_with(other()).err().expect("SpMV is missing");
    assert!(error.to_string().contains("different subjects"), "{error}");
}

#[test]
fn a_value_that_the_type_cannot_hold_skips_the_case() {
    let large = Case::new("large", || Ok(Triplets::new(1, 1, vec![(0, 0, c64::new(1e300, 0.0))])));
    let mut suite = Suite::new(&Reference);
    suite.spmv::<Reference, Csr<f32>>(&Reference);
    let records = run(&suite, &[large], &Filter::default(), &mut Snapshots::compare("nowhere"));
    assert_eq!(
        (records[0].status, records[0].reason.as_str()),
        (Status::Skipped, "a value of the case does not fit f32")
    );
}

#[test]
fn names_and_tiers_select() {
    let (suite, reference, cases) = (suite(), Suite::new(&Reference), table());
    let names = |filter: &Filter| -> Vec<String> {
        let run = Run { suite: &suite, reference: &reference, cases: &cases, filter };
        run.names().map(|(name, _)| name).collect()
    };
    let edges = |tier| names(&Filter { tier, case: Some("edge_*5".into()), ..Filter::default() });
    assert!(edges(Tier::Quick).is_empty());
    assert_eq!(
        edges(Tier::Ci),
        ["spmv/csr/edge_255", "spmv/csr/edge_256", "spmv/csr/edge_257", "spmv/csr/edge_1025"]
    );
    assert_eq!(names(&only("rule", "x1")), ["rule/backend/x1_arrays_that_break_a_format_are_refused"]);
}

#[test]
fn an_algorithm_is_chosen_by_its_name() {
    let cpu = Cpu::new().expect("the CPU backend starts");
    let mut suite = Suite::new(&cpu);
    suite.spmv::<Cpu, Csr<f64>>(&cpu);
    let filter = Filter { algorithm: Some("merge_path".into()), ..only("spmv", "fully_dense") };
    let mut snapshots = Snapshots::compare(Snapshots::default_folder());
    let records = run(&suite, &table(), &filter, &mut snapshots);
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].algorithm.as_str(), records[0].status), ("merge_path", Status::Pass));
}

#[test]
fn types_are_chosen_by_what_their_names_begin_with() {
    let mut suite = suite();
    suite.spmv::<Reference, Csr<f32>>(&Reference).spmv::<Reference, Csr<f64, Host, i64, i64>>(&Reference);
    let filter = Filter { op: Some("spmv".into()), types: vec!["f32,i32".into()], ..Filter::default() };
    let run = Run { suite: &suite, reference: &Suite::new(&Reference), cases: &table(), filter: &filter };
    let types: Vec<_> = run.names().map(|(_, types)| types).collect();
    assert!(!types.is_empty() && types.iter().all(|types| *types == "f32,i32,i32"), "{types:?}");
}

#[test]
fn the_tiny_tier_takes_one_type_of_values_and_indices_and_no_compressed_columns() {
    let mut suite = suite();
    suite.spmv::<Reference, Csr<f32>>(&Reference).spmv::<Reference, Csr<f64, Host, i64, i64>>(&Reference);
    suite.spmv::<Reference, Csc<f64>>(&Reference);
    let filter = Filter { tier: Tier::Tiny, op: Some("spmv".into()), ..Filter::default() };
    let run = Run { suite: &suite, reference: &Suite::new(&Reference), cases: &table(), filter: &filter };
    let names: Vec<_> = run.names().collect();
    let is_taken = |(name, types): &(String, &str)| name.starts_with("spmv/csr/") && *types == "f64,i32,i32";
    assert!(!names.is_empty() && names.iter().all(is_taken), "{names:?}");
}

#[test]
fn the_repository_has_eight_small_matrices_with_their_sources() {
    let folder = corpus_folder().expect("the folder");
    let sources = std::fs::read_to_string(folder.join("README.md")).expect("the sources");
    let cases = repository_corpus().expect("the corpus");
    assert_eq!(cases.len(), 8);
    let mut bytes = 0;
    for case in &cases {
        let file = folder.join(format!("{}.mtx.gz", case.name));
        bytes += std::fs::metadata(file).expect("a file").len();
        let rows = sources.lines().filter(|line| line.starts_with(&format!("| `{}` |", case.name)));
        assert_eq!(rows.count(), 2, "{} is described, and its source is named", case.name);
        assert!(!case.matrix().expect("a matrix").entries.is_empty(), "{}", case.name);
    }
    assert!(bytes <= 300_000, "{bytes} bytes");
    let of = |tier| cases.iter().filter(|case| case.tier == tier).count();
    assert_eq!([of(Tier::Tiny), of(Tier::Quick), of(Tier::Ci)], [0, 5, 3]);
}

#[test]
fn a_full_backend_has_every_operation_of_the_catalogue_once() {
    let suite = Suite::reference();
    let names = suite.subjects().map(|subject| format!("{} {}", subject.key().name(), subject.key().types));
    let names: Vec<_> = names.collect();
    let distinct: BTreeSet<_> = names.iter().map(String::as_str).collect();
    assert_eq!(distinct.len(), names.len());
    for operation in Operation::ALL {
        assert!(suite.subjects().any(|subject| subject.key().op == operation.name()), "{operation}");
        for formats in operation.formats() {
            let formats: Vec<_> = formats.iter().copied().map(Format::name).collect();
            let name = format!("{operation}/{}", formats.join("_to_"));
            for types in Types::ALL {
                let with_offsets = format!("{name} {types}");
                let without = format!("{name} {},{}", types.value, types.index);
                let is_there = |name: &String| distinct.contains(name.as_str());
                assert!(is_there(&with_offsets) != is_there(&without), "{name} {types}");
            }
        }
    }
}
