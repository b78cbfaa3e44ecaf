//! Inter-task and intra-task: they change who works on a matrix, and no byte of the result.

use crate::engine::{SCHEMES, check_all, compress, options, twenty, views};
use crate::faulty::{Faults, FaultyWorker, Step};
use backend_cpu::{Cpu, Simd};
use sparse_core::{Axis, Col, Dense, Order, Row};
use sparse_distrib::{DeviceWorker, Engine, Generated, Options, Parallelism, Scheme};

#[test]
fn schemes_and_partitions_have_the_same_bytes_by_each() {
    fn check<A: Axis>(engine: &mut Engine<f32>, matrices: &[Dense<f32>], options: &Options<'_, f32>) {
        let report = check_all(engine.compress::<A>(&views(matrices), options).unwrap(), matrices);
        assert_eq!(report.devices[0].failure, None);
        assert_eq!(report.parallelism, options.parallelism);
    }
    // The last two are larger than a thread's portion.
    let element = |at: usize| if at.is_multiple_of(11) { (at % 97) as f32 } else { 0.0 };
    let large = || Dense::new((0..1100 * 1000).map(element).collect(), 1100, 1000, Order::RowMajor).unwrap();
    let matrices: Vec<_> = twenty().into_iter().chain([large(), large()]).collect();
    let cpu = Cpu::with(3, Simd::detect()).unwrap();
    let device = DeviceWorker::new(cpu.clone()).named("cpu").with_budget(1 << 30);
    let mut engine = Engine::new(vec![Box::new(device)]).unwrap().with_host(cpu);
    for (scheme, cut) in SCHEMES.iter().flat_map(|&scheme| [None, Some("mesh:2x3")].map(|cut| (scheme, cut)))
    {
        for parallelism in Parallelism::ALL {
            let partition = cut.map(|cut| cut.parse().unwrap());
            let options = Options { scheme, partition, parallelism, ..options(None) };
            let matrices = if scheme.is_none() { &matrices[..] } else { &matrices[..20] };
            check::<Row>(&mut engine, matrices, &options);
            check::<Col>(&mut engine, matrices, &options);
        }
    }
}

#[test]
fn a_device_launches_for_each_matrix_or_for_a_chunk() {
    let matrices = twenty();
    let launches = |parallelism, scheme| {
        let faults = Faults::none();
        let device = vec![FaultyWorker::unpacking("device", &faults, 1 << 20)];
        let options = Options { parallelism, scheme, ..options(None) };
        check_all(compress::<Row>(device, &matrices, &options), &matrices);
        faults.count(Step::Kernel)
    };
    // By the other schemes the host decodes, and the device computes nothing.
    for scheme in [None, Some(Scheme::Sfc), Some(Scheme::Ed2), Some(Scheme::Bitmap)] {
        let of_each = Parallelism::ALL.map(|parallelism| launches(parallelism, scheme));
        // A chunk of 320 bytes has two matrices.
        assert_eq!(of_each, [10, 10, 20], "{scheme:?}");
    }
}

#[test]
fn all_threads_of_the_host_take_one_matrix_after_the_other() {
    let order = std::sync::Mutex::new(vec![]);
    let source = Generated::new(vec![(50, 40); 30], |item, elements: &mut [f32]| {
        order.lock().unwrap().push(item);
        elements.fill(item as f32);
        Ok(())
    });
    let device = DeviceWorker::new(Cpu::with(3, Simd::detect()).unwrap());
    let mut engine = Engine::<f32>::new(vec![Box::new(device)]).unwrap();
    let options = Options { parallelism: Parallelism::IntraTask, ..Options::default() };
    let (handle, _) = engine.compress::<Row>(&source, &options).unwrap().complete().unwrap();
    assert_eq!((handle.len(), handle.batches().len()), (30, 30));
    assert!(order.lock().unwrap().is_sorted());
}
