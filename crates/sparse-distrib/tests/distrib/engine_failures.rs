//! Runs of the engine in which a device, its memory or the source fails, or that are cancelled: nothing is lost or
//! wrong, and what is not compressed is named.

use crate::common::cases;
use crate::engine::{
    POLICIES, SCHEMES, Workers, amounts, check, check_all, compress, options, reference, twenty,
};
use crate::faulty::{Fault, Faults, FaultyWorker, STEPS, Step};
use proptest::prelude::*;
use sparse_core::reference::Reference;
use sparse_core::{Col, Dense, DenseBatchView, Error, Order, Row};
use sparse_distrib::schedule::Policy;
use sparse_distrib::{
    Cause, DeviceStack, DeviceWorker, Engine, Generated, Options, Outcome, Partition, Progress,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// A device that fails in some calls of a step, and has some memory.
fn faulty_devices() -> impl Strategy<Value = (Step, Fault, usize, usize, u64)> {
    let fault = prop_oneof![Just(Fault::Broken), Just(Fault::OutOfMemory)];
    (prop::sample::select(&STEPS[..]), fault, 0_usize..6, 0_usize..6, 100_u64..3000)
}

proptest! {
    #![proptest_config(cases(40))]

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
            assert!(available.is_some_and(|available| *needed > available && available <= 300))
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
fn what_lies_in_the_memory_of_a_failing_device_is_copied_to_another() {
    let matrices = twenty();
    let elements = matrices.iter().flat_map(|matrix| matrix.data().to_vec()).collect();
    let stack = DeviceStack::<_, f32>::packed(Reference, &elements, 20, (4, 6)).unwrap();
    for boxed in [FaultyWorker::boxed, FaultyWorker::with_two_streams] {
        for step in [Step::Plan, Step::Kernel, Step::Result] {
            let faults = Faults::new(step, Fault::Broken, 0..usize::MAX);
            let workers = vec![boxed("faulty", &faults, 1 << 30), reference("sound")];
            let outcome = Engine::new(workers).unwrap().compress::<Row>(&stack, &options(None)).unwrap();
            let report = check_all(outcome, &matrices);
            assert!(report.devices[0].failure.is_some());
            assert_eq!((report.devices[0].items, report.devices[1].items), (0, 20), "{report:?}");
        }
        // Memory for some of the matrices at once, or for none.
        for (budget, least) in [(3000, 20), (300, 0)] {
            let workers = vec![boxed("small", &Faults::none(), budget), reference("large")];
            let outcome = Engine::new(workers).unwrap().compress::<Col>(&stack, &options(None)).unwrap();
            let report = check_all(outcome, &matrices);
            assert!(report.devices[0].items >= least && report.devices[0].splits > 0, "{report:?}");
        }
    }
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
        matches!(outcome.complete(), Err(Error::OutOfMemory { needed, available: None }) if needed == 1 << 62)
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
