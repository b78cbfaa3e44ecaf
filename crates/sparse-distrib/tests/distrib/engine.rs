//! The engine against the compression of each matrix by itself: any shapes, policies and devices, failures, and memory
//! that does not suffice.

use crate::common::{cases, matrices, partitions};
use crate::faulty::{Fault, Faults, FaultyWorker, STEPS, Step};
use crate::suite::matrices::same;
use backend_cpu::Cpu;
use proptest::prelude::*;
use sparse_core::op::Keep;
use sparse_core::reference::Reference;
use sparse_core::{Axis, BatchCsr, Col, Compressed, Dense, DenseBatchView, DenseView, Error, Order, Row};
use sparse_distrib::schedule::Policy;
use sparse_distrib::{
    Cause, DeviceWorker, Engine, Generated, Handle, Ledger, NpySource, Options, Outcome, Parallelism,
    Partition, Progress, Scheme, Source, Worker,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

pub(crate) const POLICIES: [Option<Policy>; 6] = [
    None,
    Some(Policy::Type1),
    Some(Policy::Type2ByCount),
    Some(Policy::Type2ByBytes),
    Some(Policy::Lpt),
    Some(Policy::Pull { chunk_bytes: 320 }),
];

pub(crate) const SCHEMES: [Option<Scheme>; 6] =
    [None, Some(Scheme::Sfc), Some(Scheme::Cfs), Some(Scheme::Ed1), Some(Scheme::Ed2), Some(Scheme::Bitmap)];

pub(crate) type Workers = Vec<Box<dyn Worker<f32, i32, i32>>>;

pub(crate) fn reference(name: &str) -> Box<dyn Worker<f32, i32, i32>> {
    Box::new(DeviceWorker::new(Reference).named(name).with_budget(1 << 30).with_rate(1e9))
}

/// Twenty matrices of 4 x 6 with up to 23 entries each.
pub(crate) fn twenty() -> Vec<Dense<f32>> {
    let element = |k: usize, at: usize| if (at * 7 + k) % 24 < k { (at + 1) as f32 } else { 0.0 };
    let elements = |k| (0..24).map(|at| element(k, at)).collect();
    (0..20).map(|k| Dense::new(elements(k), 4, 6, Order::RowMajor).unwrap()).collect()
}

pub(crate) fn views(matrices: &[Dense<f32>]) -> Vec<DenseView<'_, f32>> {
    matrices.iter().map(Dense::as_view).collect()
}

pub(crate) fn options(policy: Option<Policy>) -> Options<'static, f32> {
    Options { policy, chunk_bytes: 320, patience: Duration::ZERO, ..Options::default() }
}

pub(crate) fn compress<A: Axis>(
    workers: Workers,
    matrices: &[Dense<f32>],
    options: &Options<'_, f32>,
) -> Outcome<A, f32, i32, i32> {
    Engine::new(workers).unwrap().compress(&views(matrices), options).unwrap()
}

/// Every finished matrix has the bytes of its own compression.
pub(crate) fn check<A: Axis>(handle: &Handle<A, f32>, matrices: &[Dense<f32>]) {
    assert_eq!(handle.len(), matrices.len());
    for item in handle.finished() {
        let alone = Compressed::<A, f32>::from_dense(matrices[item].as_view()).unwrap();
        assert!(same(&handle.fetch(item).unwrap(), &alone), "matrix {item}");
        assert_eq!(handle.nnz(item), Some(alone.values().len()));
    }
}

/// All matrices are there, with their bytes.
pub(crate) fn check_all<A: Axis>(
    outcome: Outcome<A, f32, i32, i32>,
    matrices: &[Dense<f32>],
) -> sparse_distrib::Report {
    let (handle, report) = outcome.complete().unwrap();
    check(&handle, matrices);
    assert_eq!((handle.finished().count(), report.items), (matrices.len(), matrices.len()));
    let parts = (0..handle.len()).map(|matrix| handle.partition(matrix).parts()).sum::<usize>();
    assert_eq!(
        (report.bytes_out, report.devices.iter().map(|device| device.items).sum::<usize>()),
        (handle.bytes(), parts)
    );
    report
}

/// Matrices of five shapes and any density, so that many have the same shape.
fn of_few_shapes() -> impl Strategy<Value = Dense<f32>> {
    let shapes = prop::sample::select(&[(0, 5), (5, 0), (1, 9), (9, 1), (4, 6)][..]);
    let percents = prop::sample::select(&[0_u8, 1, 10, 50, 100][..]);
    (shapes, percents).prop_flat_map(|((rows, cols), percent)| {
        let element = (0_u8..100).prop_map(move |n| if n < percent { f32::from(n + 1) } else { 0.0 });
        let elements = prop::collection::vec(element, rows * cols);
        elements.prop_map(move |elements| Dense::new(elements, rows, cols, Order::RowMajor).unwrap())
    })
}

/// Amounts of matrices: a few of any shapes, or many of which some have the same.
fn amounts() -> impl Strategy<Value = Vec<Dense<f32>>> {
    prop_oneof![prop::collection::vec(matrices(), 0..12), prop::collection::vec(of_few_shapes(), 1..60)]
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn policies_and_devices_change_nothing(
        matrices in amounts(),
        policy in prop::sample::select(&POLICIES[..]),
        scheme in prop::sample::select(&SCHEMES[..]),
        partition in prop::option::of(partitions()),
        devices in 1_usize..5,
        slots in 0_usize..3,
        parallelism in prop::sample::select(&Parallelism::ALL[..]),
    ) {
        let options = Options { scheme, partition, slots, parallelism, ..options(policy) };
        let workers = || (0..devices).map(|k| reference(&k.to_string())).collect();
        check_all(compress::<Row>(workers(), &matrices, &options), &matrices);
        check_all(compress::<Col>(workers(), &matrices, &options), &matrices);
    }

    #[test]
    fn neither_do_failures(
        matrices in amounts(),
        policy in prop::sample::select(&POLICIES[..]),
        scheme in prop::sample::select(&SCHEMES[..]),
        step in prop::sample::select(&STEPS[..]),
        fault in prop_oneof![Just(Fault::Broken), Just(Fault::OutOfMemory)],
        start in 0_usize..4,
        length in 1_usize..6,
        budget in 200_u64..4000,
        kind in 0_usize..3,
    ) {
        let faults = Faults::new(step, fault, start..start + length);
        let boxed = [FaultyWorker::boxed, FaultyWorker::with_two_streams, FaultyWorker::unpacking][kind];
        let workers = vec![boxed("faulty", &faults, budget), reference("sound")];
        // A fault of the download may come as late as here, after the run.
        let outcome = compress::<Row>(workers, &matrices, &Options { scheme, ..options(policy) });
        prop_assert!(outcome.report.unfinished.is_empty(), "{:?}", outcome.report);
        let mut handle = outcome.handle;
        let moved = (0..length + 1).any(|_| handle.move_to_host().is_ok());
        prop_assert!(moved);
        check(&handle, &matrices);
        prop_assert_eq!(handle.finished().count(), matrices.len());
    }
}

/// A device that fails in some calls of a step, and has some memory.
fn faulty_devices() -> impl Strategy<Value = (Step, Fault, usize, usize, u64)> {
    let fault = prop_oneof![Just(Fault::Broken), Just(Fault::OutOfMemory)];
    (prop::sample::select(&STEPS[..]), fault, 0_usize..6, 0_usize..6, 100_u64..3000)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn every_matrix_is_finished_or_named(
        matrices in amounts(),
        policy in prop::sample::select(&POLICIES[..]),
        devices in prop::collection::vec(faulty_devices(), 1..4),
        streams in 1..3,
    ) {
        let boxed = if streams == 1 { FaultyWorker::boxed } else { FaultyWorker::with_two_streams };
        let worker = |(step, fault, start, length, budget)| {
            let faults = Faults::new(step, fault, start..start + length);
            boxed("faulty", &faults, budget)
        };
        let workers = devices.into_iter().map(worker).collect();
        let Outcome { mut handle, report } = compress::<Row>(workers, &matrices, &options(policy));
        // Each of up to three devices refuses five downloads at most.
        prop_assert!((0..16).any(|_| handle.move_to_host().is_ok()));
        check(&handle, &matrices);
        let unfinished = report.unfinished.iter().flat_map(|rest| rest.items.clone());
        let mut all: Vec<usize> = handle.finished().chain(unfinished).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..matrices.len()).collect::<Vec<_>>());
        prop_assert_eq!(report.items, handle.finished().count());
    }
}

#[test]
fn a_failing_device_costs_no_matrix_under_any_policy() {
    let matrices = twenty();
    for policy in POLICIES {
        for step in [Step::Upload, Step::Plan, Step::Kernel, Step::Result] {
            let faults = Faults::new(step, Fault::Broken, usize::from(step != Step::Plan)..usize::MAX);
            let workers = vec![FaultyWorker::boxed("faulty", &faults, 1 << 30), reference("sound")];
            let report = check_all(compress::<Row>(workers, &matrices, &options(policy)), &matrices);
            let faulty = &report.devices[0];
            if faults.count(step) > usize::from(step != Step::Plan) {
                assert!(faulty.failure.as_ref().unwrap().contains(&format!("{step:?} failed")), "{faulty:?}");
                assert!(report.retries > 0);
            } else {
                assert!(matches!(report.policy, Policy::Pull { .. }), "{step:?}: {report:?}");
            }
        }
    }
}

#[test]
fn what_a_dead_device_holds_is_compressed_again() {
    let matrices = twenty();
    // Memory for some parts; to move them to the host fails.
    let faults = Faults::new(Step::Download, Fault::Broken, 0..usize::MAX);
    let workers = vec![FaultyWorker::boxed("faulty", &faults, 400), reference("sound")];
    let report = check_all(compress::<Row>(workers, &matrices, &options(Some(Policy::Lpt))), &matrices);
    assert_eq!((report.devices[0].items, report.devices[1].items), (0, 20), "{report:?}");
}

#[test]
fn the_last_device_to_fail_ends_the_run() {
    let matrices = twenty();
    let faults = Faults::new(Step::Kernel, Fault::Broken, 1..usize::MAX);
    let workers = vec![FaultyWorker::boxed("only", &faults, 1 << 20)];
    let outcome = compress::<Col>(workers, &matrices, &options(None));
    check(&outcome.handle, &matrices);
    let done = outcome.report.items;
    let unfinished = &outcome.report.unfinished[..];
    assert!(
        matches!(unfinished, [rest] if matches!(rest.cause, Cause::NoDevice) && rest.items.len() == 20 - done)
    );
    assert!(0 < done && done < 20);
    assert!(outcome.handle.fetch(19).unwrap_err().to_string().contains("matrix 19 of 20 is not there"));
    let error = outcome.complete().unwrap_err().to_string();
    assert!(
        error.contains(&format!("{done} of 20 matrices")) && error.contains("only: faulty: Kernel"),
        "{error}"
    );
}

#[test]
fn out_of_memory_at_any_step_is_not_the_end() {
    let matrices = twenty();
    for step in STEPS {
        for calls in [0..1, 0..2, 1..2, 1..4, 2..3] {
            let faults = Faults::new(step, Fault::OutOfMemory, calls.clone());
            let workers = vec![FaultyWorker::boxed("only", &faults, 1 << 20)];
            let outcome = compress::<Row>(workers, &matrices, &options(None));
            assert!(outcome.report.devices[0].failure.is_none());
            assert!(outcome.report.unfinished.is_empty(), "{step:?} {calls:?}: {:?}", outcome.report);
        }
        // A device that never has memory leaves all to the other.
        let faults = Faults::new(step, Fault::OutOfMemory, 0..usize::MAX);
        let workers = vec![FaultyWorker::boxed("full", &faults, 1 << 20), reference("sound")];
        let outcome = compress::<Row>(workers, &matrices, &options(Some(Policy::Lpt)));
        assert!(outcome.report.unfinished.is_empty());
        assert!(step == Step::Download || outcome.report.devices[0].items == 0);
    }
}

#[test]
fn short_memory_spills_then_splits_then_goes_elsewhere_then_fails() {
    let matrices = in_one_row(twenty());
    let run = |budget, workers_beside: Workers, spill| {
        let mut workers = vec![FaultyWorker::boxed("small", &Faults::none(), budget)];
        workers.extend(workers_beside);
        compress::<Row>(
            workers,
            &matrices,
            &Options { spill, chunk_bytes: 700, ..options(Some(Policy::Lpt)) },
        )
    };
    // One chunk at a time, but not all parts.
    let report = check_all(run(1000, vec![], true), &matrices);
    assert!(report.devices[0].spills > 0 && report.devices[0].splits == 0, "{report:?}");
    // One matrix: 96 bytes of elements and twice 2 offsets and 19 entries.
    let report = check_all(run(96 + 2 * (8 + 19 * 8), vec![], true), &matrices);
    assert!(report.devices[0].splits > 0, "{report:?}");
    // A matrix with few entries fits, others do not.
    let outcome = run(300, vec![], true);
    check(&outcome.handle, &matrices);
    assert!((1..20).contains(&outcome.report.items));
    let first = &outcome.report.unfinished[0];
    match &first.cause {
        Cause::Error(Error::OutOfMemory { needed, available }) => {
            assert!(needed > available && *available <= 300)
        }
        cause => panic!("{cause}"),
    }
    let report = check_all(run(300, vec![reference("large")], true), &matrices);
    assert!(report.devices[0].items > 0, "{report:?}");
    // Without spills what is finished stays, and the rest goes elsewhere.
    let report = check_all(run(1000, vec![reference("large")], false), &matrices);
    assert_eq!(report.devices[0].spills, 0);
}

/// The same elements as matrices of one row, which cannot be cut by rows.
fn in_one_row(matrices: Vec<Dense<f32>>) -> Vec<Dense<f32>> {
    let in_one_row =
        |a: Dense<f32>| Dense::new(a.data().to_vec(), 1, a.data().len(), Order::RowMajor).unwrap();
    matrices.into_iter().map(in_one_row).collect()
}

#[test]
fn a_plan_serves_all_chunks_of_one_shape() {
    let matrices = twenty();
    let faults = Faults::none();
    let workers = vec![FaultyWorker::boxed("only", &faults, 1 << 20)];
    check_all(compress::<Row>(workers, &matrices, &options(Some(Policy::Lpt))), &matrices);
    assert_eq!((faults.count(Step::Kernel), faults.count(Step::Plan)), (10, 1));
}

#[test]
fn a_source_that_fails_is_asked_twice() {
    let failures = AtomicUsize::new(0);
    let source = |failing: usize| {
        let failures = &failures;
        failures.store(0, SeqCst);
        Generated::new(vec![(2, 3); 10], move |item, elements: &mut [f32]| {
            elements.fill(item as f32);
            if item == 7 && failures.fetch_add(1, SeqCst) < failing {
                return Err(Error::operands("generate", "no luck"));
            }
            Ok(())
        })
    };
    let mut engine = Engine::<f32>::new(vec![reference("a"), reference("b")]).unwrap();
    for policy in POLICIES {
        let outcome = engine.compress::<Row>(&source(1), &options(policy)).unwrap();
        let (handle, report) = outcome.complete().unwrap();
        assert_eq!((report.retries, handle.fetch(7).unwrap().values().len()), (1, 6));

        let outcome = engine.compress::<Row>(&source(2), &options(policy)).unwrap();
        assert_eq!((outcome.report.items, &outcome.report.unfinished[0].items[..]), (9, &[7][..]));
        assert!(outcome.complete().unwrap_err().to_string().contains("no luck"));
    }
}

#[test]
fn a_matrix_larger_than_memory_fails_alone() {
    let source = Generated::new(vec![(1, 1), (1 << 30, 1 << 30), (1, 1)], |_, elements: &mut [f32]| {
        elements.fill(1.0);
        Ok(())
    });
    let mut engine = Engine::<f32>::new(vec![reference("only")]).unwrap();
    let outcome = engine.compress::<Row>(&source, &options(None)).unwrap();
    assert_eq!((outcome.report.items, &outcome.report.unfinished[0].items[..]), (2, &[1][..]));
    assert!(
        matches!(outcome.complete(), Err(Error::OutOfMemory { needed, available: 0 }) if needed == 1 << 62)
    );
}

/// Matrices without elements take no memory, so that a header may claim any number of them.
#[test]
fn more_matrices_or_parts_than_memory_lists_are_an_error() {
    let none: &[f32] = &[];
    let matrices = DenseBatchView::new(none, 1 << 60, 0, (0, 0), 0, Order::RowMajor).unwrap();
    let one = DenseBatchView::new(none, 1, 0, (0, 0), 0, Order::RowMajor).unwrap();
    let partition = Some(Partition::rows(usize::MAX).unwrap());
    for (source, partition) in [(matrices, None), (one, partition)] {
        let mut engine = Engine::<f32>::new(vec![Box::new(DeviceWorker::new(Reference))]).unwrap();
        let options = Options { partition, ..Options::default() };
        let outcome = engine.compress::<Row>(&source, &options);
        assert!(matches!(outcome, Err(Error::OutOfMemory { .. })));
    }
}

#[test]
fn a_cancelled_run_keeps_what_is_finished() {
    let (matrices, cancel) = (twenty(), AtomicBool::new(false));
    let progress = |progress: Progress| cancel.store(progress.items >= 6, SeqCst);
    let options = Options { progress: Some(&progress), cancel: Some(&cancel), ..options(Some(Policy::Lpt)) };
    let outcome = compress::<Row>(vec![reference("only")], &matrices, &options);
    check(&outcome.handle, &matrices);
    assert_eq!((outcome.report.items, outcome.handle.finished().count()), (6, 6));
    let [rest] = &outcome.report.unfinished[..] else { panic!("{:?}", outcome.report) };
    assert!(matches!(rest.cause, Cause::Cancelled));
    assert_eq!(rest.items.len(), 14);
}

#[test]
fn progress_rises_to_the_whole() {
    let (matrices, seen) = (twenty(), Mutex::new(vec![]));
    let progress = |progress: Progress| seen.lock().unwrap().push(progress);
    let options = Options { progress: Some(&progress), ..options(None) };
    check_all(compress::<Row>(vec![reference("a"), reference("b")], &matrices, &options), &matrices);
    let seen = seen.into_inner().unwrap();
    assert!(seen.is_sorted_by(|a, b| a.items < b.items && a.bytes < b.bytes && a.elapsed <= b.elapsed));
    let last = seen.last().unwrap();
    assert_eq!((last.items, last.bytes, last.remaining()), (20, 20 * 96, Some(Duration::ZERO)));
}

#[test]
#[should_panic(expected = "the generator's own")]
fn a_panic_of_the_source_reaches_the_caller() {
    let source = Generated::new(vec![(1, 1); 9], |item, _: &mut [f32]| {
        assert!(item != 5, "the generator's own");
        Ok(())
    });
    let mut engine = Engine::<f32>::new(vec![reference("a"), reference("b")]).unwrap();
    let _ = engine.compress::<Row>(&source, &options(None));
}

#[test]
fn a_matrix_whose_extents_do_not_fit_the_index_fails_alone() {
    let source = Generated::new(vec![(0, 3), (0, usize::MAX), (2, 1)], |_, elements: &mut [f32]| {
        elements.fill(1.0);
        Ok(())
    });
    let mut engine = Engine::<f32>::new(vec![reference("only")]).unwrap();
    let outcome = engine.compress::<Row>(&source, &options(None)).unwrap();
    assert_eq!((outcome.report.items, &outcome.report.unfinished[0].items[..]), (2, &[1][..]));
    assert!(matches!(outcome.complete(), Err(Error::IndexOverflow { .. })));
}

#[test]
fn handles_move_and_give_their_memory_back() {
    let matrices = twenty();
    let cpu = DeviceWorker::new(Cpu::new().unwrap()).named("cpu").with_budget(1 << 20);
    let ledger = cpu.ledger().clone();
    let mut engine = Engine::new(vec![Box::new(cpu) as Box<dyn Worker<f32, i32, i32>>]).unwrap();
    let options = Options { keep: Keep::Above(5.0), ..options(None) };
    let outcome = engine.compress::<Col>(&views(&matrices), &options).unwrap();
    let (mut handle, report) = outcome.complete().unwrap();
    let kept = matrices.iter().flat_map(|a| a.data().to_vec()).filter(|&v| v > 5.0).count();
    assert_eq!((report.nnz as usize, handle.placement(3)), (kept, Some("cpu")));
    let before = handle.fetch_all().unwrap();
    assert!(ledger.used() >= handle.bytes());

    let other = DeviceWorker::new(Reference).named("other").with_budget(handle.bytes());
    handle.move_to(&other).unwrap();
    assert_eq!((handle.placement(19), other.ledger().used()), (Some("other"), handle.bytes()));
    let small = DeviceWorker::new(Reference).named("small").with_budget(10);
    assert!(matches!(handle.move_to(&small), Err(Error::OutOfMemory { .. })));
    assert_eq!(handle.fetch_all().unwrap(), before);
    assert!(handle.batches()[0].resident().as_any().is::<BatchCsr<f32>>());
    drop(handle);
    assert_eq!(other.ledger().used(), 0);
}

#[test]
fn a_reservation_waits_for_one_that_runs() {
    let ledger = Ledger::new(10);
    let lease = ledger.reserve(8, Duration::ZERO).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ledger.reserve(5, Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(20));
        drop(lease);
        assert_eq!(waiting.join().unwrap().unwrap().bytes(), 5);
    });
    // What stays is not waited for.
    let mut resident = ledger.reserve(8, Duration::ZERO).unwrap();
    resident.settle(8);
    assert!(ledger.reserve(5, Duration::from_secs(60)).is_err());
}

/// The matrices of a source, in rows.
fn read(source: &dyn Source<f32>) -> Vec<Dense<f32>> {
    let read = |item| {
        let (rows, cols) = source.shape(item);
        let mut elements = vec![f32::NAN; rows * cols];
        source.fill(item, &mut elements).unwrap();
        Dense::new(elements, rows, cols, source.order(item)).unwrap()
    };
    (0..source.len()).map(read).collect()
}

#[test]
fn sources_agree_on_the_same_matrices() {
    // Three matrices of 2 x 4: in memory with padding, in one file of either order, and in a folder.
    let at = |k: usize, i: usize, j: usize| (100 * k + 10 * i + j) as f32;
    let folder = tempfile::tempdir().unwrap();
    let c_order: Vec<f32> = (0..24).map(|n| at(n / 8, n / 4 % 2, n % 4)).collect();
    let fortran: Vec<f64> = (0..24).map(|n| at(n % 3, n / 3 % 2, n / 6).into()).collect();
    let (c_path, f_path) = (folder.path().join("c.npy"), folder.path().join("f.npy"));
    sparse_io::npy::write(&c_path, &c_order, &[3, 2, 4], Order::RowMajor).unwrap();
    sparse_io::npy::write(&f_path, &fortran, &[3, 2, 4], Order::ColMajor).unwrap();
    let singles = folder.path().join("singles");
    std::fs::create_dir(&singles).unwrap();
    for k in 0..3 {
        let elements: Vec<f32> = (0..8).map(|n| at(k, n % 2, n / 2)).collect();
        sparse_io::npy::write(&singles.join(format!("{k}.npy")), &elements, &[2, 4], Order::ColMajor)
            .unwrap();
    }
    let padded: Vec<f32> =
        (0..33).map(|n| if n % 11 < 10 { at(n / 11, n % 11 / 5, n % 11 % 5) } else { -1.0 }).collect();
    let generated = Generated::new(vec![(2, 4); 3], |k, elements: &mut [f32]| {
        elements.iter_mut().enumerate().for_each(|(n, element)| *element = at(k, n / 4, n % 4));
        Ok(())
    });
    let sources: [Box<dyn Source<f32>>; 5] = [
        Box::new(generated),
        Box::new(DenseBatchView::new(&padded[..], 3, 11, (2, 4), 5, Order::RowMajor).unwrap()),
        Box::new(NpySource::open(&c_path).unwrap()),
        Box::new(NpySource::open(&f_path).unwrap()),
        Box::new(NpySource::open_folder(&singles).unwrap()),
    ];
    for source in &sources {
        let found = read(source.as_ref());
        assert_eq!(found.len(), 3);
        for (k, matrix) in found.iter().enumerate() {
            for (i, j) in (0..2).flat_map(|i| (0..4).map(move |j| (i, j))) {
                assert_eq!(matrix.at(i, j), at(k, i, j));
            }
            for part in Partition::mesh(2, 3).unwrap().iter((2, 4)) {
                let mut elements = vec![f32::NAN; part.rows.len() * part.cols.len()];
                source.fill_part(k, &part, &mut elements).unwrap();
                let (rows, cols) = part.shape();
                let found = Dense::new(elements, rows, cols, source.order(k)).unwrap();
                let positions = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j)));
                assert!(
                    positions
                        .into_iter()
                        .all(|(i, j)| { found.at(i, j) == at(k, part.rows.start + i, part.cols.start + j) })
                );
            }
        }
    }
    std::fs::write(singles.join("short.npy"), &std::fs::read(&c_path).unwrap()[..200]).unwrap();
    assert!(NpySource::open_folder(&singles).unwrap_err().to_string().contains("short.npy"));
    assert!(NpySource::open_folder(folder.path().join("none")).is_err());
}
