//! The engine's schemes and cuts: they change how matrices travel, and no byte of the result.

use crate::engine::{POLICIES, SCHEMES, check_all, compress, options, reference, twenty, views};
use crate::faulty::{Faults, FaultyWorker, Step};
use crate::suite::matrices::same;
use backend_cpu::Cpu;
use sparse_core::reference::Reference;
use sparse_core::{Axis, Col, Dense, DenseBatchView, Error, Order, Row, f16};
use sparse_distrib::{DeviceWorker, Engine, Generated, Options, Partition, Rates, Scheme, Source, Worker};

#[test]
fn a_matrix_that_no_device_has_memory_for_is_cut_and_comes_back_whole() {
    fn check_cut<A: Axis>(large: &Dense<f32>, scheme: Option<Scheme>) {
        // A row or column alone takes 2000 bytes at most.
        let budgets = [20_000, 30_000];
        let workers = budgets.map(|budget| FaultyWorker::boxed("small", &Faults::none(), budget)).into();
        let mut matrices = twenty();
        matrices.push(large.clone());
        let outcome = compress::<A>(workers, &matrices, &Options { scheme, ..options(None) });
        let handle = &outcome.handle;
        let partition = handle.partition(20);
        assert!(partition.parts() > 4 && partition.is_along::<A>() && handle.partition(0).parts() == 1);
        let block = handle.fetch_part(20, 1).unwrap();
        assert_eq!(block.shape(), partition.part(large.shape(), 1).shape());
        assert!(handle.fetch_part(20, partition.parts()).is_err());
        let alone = compress::<A>(vec![reference("large")], &matrices[20..], &options(None)).handle;
        assert_eq!(alone.partition(0).parts(), 1);
        let batch = handle.to_batch_of(20..21).unwrap();
        assert!(same(&batch.member(0).to_owned().unwrap(), &alone.fetch(0).unwrap()));
        check_all(outcome, &matrices);
    }
    let element = |at: usize| if at.is_multiple_of(3) { (at % 97) as f32 } else { 0.0 };
    let large = Dense::new((0..64 * 60).map(element).collect(), 64, 60, Order::RowMajor).unwrap();
    for scheme in [Scheme::Sfc, Scheme::Ed2] {
        check_cut::<Row>(&large, Some(scheme));
        check_cut::<Col>(&large, Some(scheme));
    }
}

#[test]
fn cut_and_whole_matrices_become_one_batch() {
    let matrices = twenty();
    let partition = Some(Partition::mesh(2, 3).unwrap());
    let in_parts = compress::<Col>(vec![reference("a")], &matrices, &Options { partition, ..options(None) });
    let whole = compress::<Col>(vec![reference("a")], &matrices, &options(None));
    assert_eq!(in_parts.handle.to_batch().unwrap(), whole.handle.to_batch().unwrap());
    assert_eq!(in_parts.report.devices[0].items, 120);
    let some = whole.handle.to_batch_of(3..5).unwrap();
    assert!(same(&some.member(1).to_owned().unwrap(), &whole.handle.fetch(4).unwrap()));
}

#[test]
fn schemes_policies_and_partitions_change_no_byte() {
    let (matrices, cpu) = (twenty(), Cpu::new().unwrap());
    let partitions = [None, Some("mesh:2x4")];
    let partitions = partitions.map(|text| text.map(|text| text.parse().unwrap()));
    for (scheme, policy) in SCHEMES.iter().flat_map(|&scheme| POLICIES.map(|policy| (scheme, policy))) {
        for partition in partitions {
            let options = Options { scheme, partition, ..options(policy) };
            let device = DeviceWorker::new(cpu.clone()).named("cpu").with_budget(1 << 30).with_rate(2e9);
            let mut engine = Engine::new(vec![Box::new(device), reference("reference")]).unwrap();
            engine = engine.with_host(cpu.clone());
            let by_rows = engine.compress::<Row>(&views(&matrices), &options).unwrap();
            let report = check_all(by_rows, &matrices);
            let expected = scheme.unwrap_or(Scheme::Sfc);
            assert!(report.devices.iter().all(|device| device.scheme == expected), "{report:?}");
            check_all(engine.compress::<Col>(&views(&matrices), &options).unwrap(), &matrices);
        }
    }
}

#[test]
fn a_device_that_unpacks_gets_messages_as_they_are() {
    let matrices = twenty();
    for (scheme, cut) in SCHEMES.iter().flat_map(|&scheme| ["row:1", "mesh:2x4"].map(|cut| (scheme, cut))) {
        let partition = Some(cut.parse().unwrap());
        let options = Options { scheme, partition, ..options(None) };
        let faults = Faults::none();
        let device = || vec![FaultyWorker::unpacking("device", &faults, 1 << 20)];
        check_all(compress::<Row>(device(), &matrices, &options), &matrices);
        check_all(compress::<Col>(device(), &matrices, &options), &matrices);
        let is_unpacked = matches!(scheme, Some(Scheme::Ed2 | Scheme::Bitmap));
        let is_dense = matches!(scheme, None | Some(Scheme::Sfc));
        assert_eq!(faults.count(Step::Kernel) > 0, is_unpacked || is_dense, "{scheme:?}");
        assert_eq!(faults.count(Step::Plan) > 0, is_dense, "{scheme:?}");
    }
}

#[test]
fn the_model_chooses_by_link_and_density() {
    let run = |link, percent: usize, workers| {
        let element = |at: usize| if at % 100 < percent { 1.0 } else { 0.0 };
        let matrices = [Dense::new((0..4000).map(element).collect(), 40, 100, Order::RowMajor).unwrap()];
        let rates = Rates { link, host_scan: 10e9, host_memory: 100e9, ..Rates::UNLIMITED };
        let options = Options { rates: Some(rates), ..options(None) };
        check_all(compress::<Row>(workers, &matrices, &options), &matrices)
    };
    let device = || FaultyWorker::boxed("device", &Faults::none(), 1 << 20);
    let unpacking = || FaultyWorker::unpacking("device", &Faults::none(), 1 << 20);
    // A bitmap has 0.13 of the bytes, indices and values 0.2.
    let chosen = |device| run(1e9, 10, vec![device]).devices[0].scheme;
    assert_eq!((chosen(device()), chosen(unpacking())), (Scheme::Ed2, Scheme::Bitmap));
    let cases = [(1e9, 1, Scheme::Ed2), (1e9, 90, Scheme::Sfc), (50e9, 1, Scheme::Sfc)];
    for (link, percent, expected) in cases {
        let report = run(link, percent, vec![device(), reference("host")]);
        let explanation = report.explanation.as_ref().unwrap();
        assert_eq!((explanation.chosen, report.devices[0].scheme), (expected, expected), "{explanation}");
        assert_eq!(report.devices[1].scheme, Scheme::Sfc);
        assert_eq!(explanation.outcome, Some((expected, report.seconds)));
        assert!((explanation.density.nonzeros - percent as f64 / 100.0).abs() < 1e-9);
    }
    assert_eq!(run(1e9, 1, vec![reference("host")]).devices[0].scheme, Scheme::Sfc);
    let without_rates = compress::<Row>(vec![device()], &twenty(), &options(None)).report;
    assert!(without_rates.explanation.is_none() && without_rates.devices[0].scheme == Scheme::Sfc);
}

#[test]
fn the_model_knows_that_what_is_not_lent_is_copied_first() {
    let element = |at: usize| if at.is_multiple_of(100) { 1.0 } else { 0.0 };
    let elements: Vec<f32> = (0..4000).map(element).collect();
    let lent = DenseBatchView::new(&elements[..], 400, 10, (2, 5), 5, Order::RowMajor).unwrap();
    let written: Vec<_> = (0..400).map(|item| lent.member(item)).collect();
    let chosen = |source: &dyn Source<f32>, host_copy| {
        let rates = Rates { link: 9e9, host_scan: 10e9, host_copy, ..Rates::UNLIMITED };
        let mut engine = Engine::new(vec![FaultyWorker::boxed("device", &Faults::none(), 1 << 20)]).unwrap();
        let options = Options { rates: Some(rates), ..options(None) };
        engine.compress::<Row>(source, &options).unwrap().report.explanation.unwrap().chosen
    };
    assert_eq!([f64::INFINITY, 20e9].map(|copy| chosen(&lent, copy)), [Scheme::Ed2; 2]);
    // Reading at 20 and scanning at 10 GB/s are slower than the link.
    assert_eq!([f64::INFINITY, 20e9].map(|copy| chosen(&written, copy)), [Scheme::Ed2, Scheme::Sfc]);
}

#[test]
fn the_model_knows_that_a_thread_compresses_a_whole_matrix() {
    let element = |at: usize| if at.is_multiple_of(100) { 1.0 } else { 0.0 };
    let elements: Vec<f32> = (0..4000).map(element).collect();
    let threads = std::thread::available_parallelism().unwrap().get();
    let scan = |count| {
        let length = 4000 / count;
        let shape = (1, length);
        let source =
            DenseBatchView::new(&elements[..], count, length, shape, length, Order::RowMajor).unwrap();
        let rates = Rates { link: 1e9, host_scan: 1e9 * threads as f64, ..Rates::UNLIMITED };
        let mut engine = Engine::new(vec![FaultyWorker::boxed("device", &Faults::none(), 1 << 20)]).unwrap();
        let options = Options { rates: Some(rates), ..options(None) };
        engine.compress::<Row>(&source, &options).unwrap().report.explanation.unwrap().rates.host_scan
    };
    assert_eq!([scan(1), scan(2), scan(400)], [1, 2, 400].map(|count| 1e9 * threads.min(count) as f64));
}

#[test]
fn ed1_refuses_values_of_half_a_word() {
    let source = Generated::new(vec![(1, 1)], |_, _: &mut [f16]| Ok(()));
    let worker = DeviceWorker::<_, f16, i32, i32>::new(Reference);
    let mut engine = Engine::new(vec![Box::new(worker) as Box<dyn Worker<f16, i32, i32>>]).unwrap();
    let options = Options { scheme: Some(Scheme::Ed1), ..Options::default() };
    assert!(matches!(engine.compress::<Row>(&source, &options), Err(Error::Unsupported { .. })));
}
