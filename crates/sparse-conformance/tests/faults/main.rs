//! Planted faults of the CPU backend: each is found by every operation that it is for, and without them all pass.
//!
//! Faults of devices are planted in their kernels, by `device-tests`.

mod fault;
mod faulty;
mod lossy;
mod one_call;

use backend_cpu::{Cpu, Simd};
use fault::Fault;
use faulty::Faulty;
use one_call::OneCall;
use sparse_conformance::{Case, Filter, Record, Run, Snapshots, Status, Suite, Tier, table};
use sparse_core::catalog::Operation;
use sparse_core::op::{FullBackend, ScanKernel};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// The cases that find faults: rows of many lengths, entries in no order, numbers of many bits and with fractions, and
/// what is uploaded.
const CASES: [&str; 5] = [
    "rows_of_0_to_34_entries",
    "tiny_unsorted",
    "t2_f64_is_not_narrowed",
    "a1_random",
    "x3_uploaded_matrices_pass_the_checks",
];

/// A fault, and who must find it.
struct Planted {
    fault: Fault,
    /// A description of the fault.
    what: &'static str,
    /// The operations, as the table names them; those without a format in every one that they have. Or [`ON_MATRICES`].
    found_by: &'static [&'static str],
    /// A part of the message of one failure of each operation.
    reason: &'static str,
}

/// Every operation on a sparse matrix, a new one too.
const ON_MATRICES: &str = "every operation on a sparse matrix";

/// Declares [`FAULTS`] and a test of each.
macro_rules! faults {
    ($($name:ident: $fault:ident, $what:literal, $found_by:expr, $reason:literal;)+) => {
        /// The faults of the CPU backend.
        const FAULTS: &[Planted] =
            &[$(Planted { fault: Fault::$fault, what: $what, found_by: &$found_by, reason: $reason }),+];

        $(
            #[test]
            fn $name() {
                FAULTS.iter().filter(|planted| planted.fault == Fault::$fault).for_each(is_found);
            }
        )+
    };
}

faults! {
    a_lost_entry_is_found: LosesAnEntry, "an entry of the matrix is left out", [ON_MATRICES], "expected";
    a_dropped_entry_is_found: DropsAnEntry, "an entry is taken for zero",
        ["spmv", "spmm", "sddmm", "spgemm", "trisolve", "to_dense", "convert", "sort", "prune", "select", "elementwise", "reduce", "dense_to_csr", "scan",
            "vector/dot", "vector/nrm2"],
        "expected";
    a_column_off_by_one_is_found: ReadsTheNextColumn, "x is read one element further",
        ["spmv", "spmm", "sddmm", "trisolve", "vector/axpby", "vector/dot"], "expected";
    an_index_off_by_one_is_found: ShiftsAnIndex, "an index is one too low",
        ["spgemm", "convert", "sort", "prune", "select", "elementwise", "dense_to_csr"], "expected";
    an_element_that_is_not_written_is_found: KeepsAnElement, "the first element stays as it was",
        ["spmv", "spmm", "sddmm", "reduce", "to_dense", "scan", "vector/axpby", "vector/scal", "vector/scale_dense"], "element";
    a_stale_workspace_is_found: KeepsTheFirstResult, "a second run gives what the first one gave",
        ["spmv", "spmm", "sddmm", "spgemm", "trisolve", "to_dense", "convert", "sort", "prune", "select", "elementwise", "reduce", "dense_to_csr"],
        "expected";
    a_read_of_y_at_beta_zero_is_found: ReadsYAtBetaZero, "y is read where beta is 0",
        ["spmv"], "B1, B3: element";
    a_write_past_the_end_is_found: WritesPastTheEnd, "the element behind y is written",
        ["spmv"], "guard";
    a_wrong_leading_dimension_is_found: WrongLeadingDimension, "lines stand as if there were no padding",
        ["spmm", "trisolve", "to_dense", "vector/scale_dense"], "padding";
    f32_accumulation_is_found_by_integers: AccumulatesInF32, "sums are made in single precision",
        ["spmv"], "A2: element";
    a_sum_in_the_order_of_threads_is_found: DependsOnThreadOrder, "sums depend on the order of threads",
        ["spmv"], "R1: a second run gives other bits";
    a_sum_by_the_number_of_threads_is_found: DependsOnThreadCount, "sums depend on the number of threads",
        ["spmv"], "two backends differ: the word at";
    a_direction_that_is_not_turned_is_found: KeepsTheDirection, "the direction stays that of the last step",
        ["vector/gradient_step"], "result=x, r, p factor=1: A1: element";
    a_value_lost_on_its_way_is_found: ForgetsAnUpload, "the first value is not uploaded",
        ["rule"], "a matrix comes back";
    sums_of_zero_that_are_dropped_are_found: DropsZeros, "sums that become zero are not stored",
        ["elementwise"], "expected";
    a_factor_of_the_wrong_operand_is_found: TakesAlphaForBeta, "B is multiplied by the factor of A",
        ["elementwise"], "expected";
    the_other_triangle_is_found: TakesTheOtherTriangle, "the other triangle is solved",
        ["trisolve"], "expected 0";
    a_row_before_that_is_forgotten_is_found: ForgetsTheRowBefore,
        "the element of the row solved before is left out", ["trisolve"], "expected";
    a_right_hand_side_that_is_not_solved_is_found: SolvesOneColumn,
        "all right-hand sides are solved as the first", ["trisolve"], "expected";
}

/// Every operation in one type of values and indices.
fn all_operations<B: FullBackend<f64, i32, i32> + ScanKernel<i32>>(backend: &B) -> Suite {
    let mut suite = Suite::new(backend);
    suite.all_operations::<B, f64, i32, i32>(backend);
    suite.scan::<B, i32>(backend);
    suite
}

/// The CPU backend.
fn cpu() -> Cpu {
    Cpu::new().expect("the CPU backend starts")
}

/// The operations of the CPU backend with a fault; on one thread and on two where results are compared.
fn suite(fault: Fault) -> Suite {
    match fault {
        Fault::LosesAnEntry => lossy::suite(&cpu()),
        Fault::None | Fault::DependsOnThreadCount => {
            on_threads(1, fault).compared_with(on_threads(2, fault)).expect("the same operations")
        }
        _ => Faulty::new(cpu(), fault).suite(),
    }
}

/// The operations of the CPU backend with a fault and this number of threads.
fn on_threads(threads: usize, fault: Fault) -> Suite {
    let cpu = Cpu::with(threads, Simd::detect()).expect("the CPU backend starts");
    Faulty::new(cpu, fault).suite()
}

/// The records of one operation, or of all.
fn records(suite: &Suite, op: Option<&str>) -> Vec<Record> {
    let cases: Vec<Case> = table().into_iter().filter(|case| CASES.contains(&case.name.as_str())).collect();
    let filter = Filter { tier: Tier::Quick, op: op.map(Into::into), ..Filter::default() };
    let mut records = vec![];
    let run = Run { suite, reference: &Suite::reference(), cases: &cases, filter: &filter };
    run.run(&mut Snapshots::compare(Snapshots::default_folder()), &mut records);
    records
}

/// The operations that must find a fault, each in one format.
fn finders(planted: &Planted, suite: &Suite) -> BTreeSet<String> {
    let finds = |name: &String| {
        let op = name.split('/').next().unwrap_or_default();
        let takes_a_matrix = op.parse().is_ok_and(|op: Operation| !op.formats().is_empty());
        let is_named =
            |known: &&str| *known == name || *known == op || (*known == ON_MATRICES && takes_a_matrix);
        planted.found_by.iter().any(is_named)
    };
    suite.subjects().map(|subject| subject.key().name()).filter(finds).collect()
}

/// Asserts that every operation finds the fault, for the right reason.
fn is_found(planted: &Planted) {
    let suite = suite(planted.fault);
    let finders_here = finders(planted, &suite);
    assert_eq!(finders_here, finders(planted, &all_operations(&cpu())), "operations without the fault");
    for name in finders_here {
        let records = records(&suite, Some(&name));
        let finds = |record: &Record| record.status == Status::Fail && record.reason.contains(planted.reason);
        assert!(records.iter().any(finds), "{name} does not say `{}`: {records:#?}", planted.reason);
    }
}

#[test]
fn without_a_fault_everything_passes() {
    let failed = |record: &Record| record.status == Status::Fail;
    let records = records(&suite(Fault::None), None);
    assert!(records.len() > 200, "{} records", records.len());
    let failures: Vec<_> = records.into_iter().filter(failed).collect();
    assert_eq!(failures, vec![]);
}

#[test]
fn operations_for_one_call_pass_on_every_case() {
    let on_threads =
        |threads| OneCall(Cpu::with(threads, Simd::detect()).expect("the CPU backend starts")).suite();
    let suite = on_threads(1).compared_with(on_threads(2)).expect("the same operations");
    let filter = Filter { tier: Tier::Quick, ..Filter::default() };
    let (reference, cases) = (Suite::reference(), table());
    let mut records = vec![];
    let run = Run { suite: &suite, reference: &reference, cases: &cases, filter: &filter };
    run.run(&mut Snapshots::compare(Snapshots::default_folder()), &mut records);
    let passed = records.iter().filter(|record| record.status == Status::Pass).count();
    assert!(passed > 200, "{passed} checks passed");
    let failures: Vec<_> = records.into_iter().filter(|record| record.status == Status::Fail).collect();
    assert_eq!(failures, vec![]);
}

#[test]
fn f32_accumulation_is_found_by_the_bound_too() {
    let bound = |record: &Record| record.reason.contains("A1: element");
    assert!(records(&suite(Fault::AccumulatesInF32), Some("spmv/csr")).iter().any(bound));
}

#[test]
fn a_sum_by_the_number_of_threads_passes_where_nothing_is_compared() {
    for threads in [1, 2] {
        let records = records(&on_threads(threads, Fault::DependsOnThreadCount), Some("spmv/csr"));
        assert!(records.iter().all(|record| record.status == Status::Pass), "{records:#?}");
    }
}

#[test]
fn every_operation_has_a_fault() {
    let suite = all_operations(&cpu());
    let all: BTreeSet<_> = suite.subjects().map(|subject| subject.key().name()).collect();
    let found: BTreeSet<_> = FAULTS.iter().flat_map(|planted| finders(planted, &suite)).collect();
    assert_eq!(found, all);
}

#[test]
fn the_page_lists_every_fault() {
    let mut lines = String::from("| fault | found by |\n|---|---|\n");
    for Planted { what, found_by, .. } in FAULTS {
        let name = |name: &&str| if *name == ON_MATRICES { name.to_string() } else { format!("`{name}`") };
        let found_by: Vec<_> = found_by.iter().map(name).collect();
        writeln!(lines, "| {what} | {} |", found_by.join(", ")).expect("a string takes it");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/faults.md");
    let page = std::fs::read_to_string(page).expect("docs/faults.md");
    assert!(page.contains(&lines), "docs/faults.md should have this table:\n{lines}");
}
