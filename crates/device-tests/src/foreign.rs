//! Dense matrices in a device's memory, allocated by this backend or another library, compressed in place.

use crate::each_device;
use sparse_core::reference::Reference;
use sparse_core::{Axis, Backend, BatchCsr, Col, DenseBatchView, Order, Row};
use sparse_device::foreign::ForeignArray;
use sparse_device::{Device, Library};
use sparse_distrib::{
    DeviceMatrices, DeviceStack, DeviceWorker, Engine, Generated, Options, Parallelism, Partition, Report,
    Scheme, Source, SourceChain, Worker,
};

/// Elements of which every seventh or so is an entry.
pub fn elements(len: usize) -> Vec<f32> {
    (0..len).map(|k| if k * 2_654_435_761 % 1000 < 150 { (k % 50 + 1) as f32 } else { 0.0 }).collect()
}

fn worker(backend: &Device) -> DeviceWorker<Device, f32, i32, i32> {
    DeviceWorker::new(backend.clone()).unpacking().named("device").with_budget(1 << 30)
}

/// Compresses a source on a device, and compares the matrices with those of the reference; returns the report.
fn check<A: Axis>(
    backend: &Device,
    source: &dyn Source<f32>,
    host: &dyn Source<f32>,
    options: &Options<'_, f32>,
) -> Report {
    let mut alone: Engine<f32> = Engine::new(vec![Box::new(DeviceWorker::new(Reference))]).unwrap();
    let expected = alone.compress::<A>(host, &Options::default()).unwrap().handle.fetch_all().unwrap();
    let mut engine = Engine::<f32>::new(vec![Box::new(worker(backend))]).unwrap();
    let (handle, report) = engine.compress::<A>(source, options).unwrap().complete().unwrap();
    assert!(handle.fetch_all().unwrap() == expected, "{options:?}");
    assert!(handle.batches().iter().all(|batch| batch.resident().as_any().is::<BatchCsr<f32, Device>>()));
    report
}

/// Checks that the matrices of an array are found where `host` has copies of its elements, from the first to the last.
///
/// # Safety
/// As for [`Device::borrow_stack`].
pub unsafe fn check_borrowed(backend: &Device, array: &ForeignArray, host: &[f32]) {
    // SAFETY: the caller makes the same promise.
    let stack = unsafe { backend.borrow_stack::<f32>(array) }.unwrap();
    let layout = stack.layout();
    let (counts, shape) = ((layout.count, layout.stride), layout.shape());
    let (ld, order) = (layout.leading_dimension, layout.order);
    let batch = DenseBatchView::<f32>::new(host, layout.count, layout.stride, shape, ld, order).unwrap();
    let buffer = stack.buffer();
    let matrices =
        DeviceMatrices::new::<Device, f32>(buffer, stack.start(), counts, shape, ld, order).unwrap();
    let source = DeviceStack::<_, f32>::new(backend.clone(), matrices).unwrap();
    check::<Row>(backend, &source, &batch, &Options::default());
    check::<Col>(backend, &source, &batch, &Options::default());
    let mut copy = vec![0.0; shape.0 * shape.1];
    let mut expected = copy.clone();
    for item in 0..layout.count {
        source.fill(item, &mut copy).unwrap();
        batch.fill(item, &mut expected).unwrap();
        assert!(copy == expected, "matrix {item}");
    }
}

/// The refusal of an array.
///
/// # Safety
/// As for [`Device::borrow_stack`], should the array not be refused.
pub unsafe fn refusal(backend: &Device, array: &ForeignArray) -> String {
    // SAFETY: the caller makes the same promise.
    unsafe { backend.borrow_stack::<f32>(array) }.unwrap_err().to_string()
}

/// Layouts of 12 matrices of 30 x 20: padded or not, from an element within a word on, in both orders.
const LAYOUTS: [(usize, usize, usize, Order); 5] = [
    (0, 600, 20, Order::RowMajor),
    (0, 600, 30, Order::ColMajor),
    (3, 960, 32, Order::RowMajor),
    (8, 701, 23, Order::RowMajor),
    (5, 1000, 40, Order::ColMajor),
];

/// Stacks in the memory of a device have the bytes that the reference finds, in both orientations, whole and in parts,
/// with every scheme and parallelism.
pub fn stacks_are_compressed_where_they_lie(library: &Library) {
    let host = elements(12 * 1000 + 50);
    each_device(library, |backend| {
        let buffer = backend.upload(&host).unwrap();
        for (start, stride, ld, order) in LAYOUTS {
            let matrices =
                DeviceMatrices::new::<Device, f32>(&buffer, start, (12, stride), (30, 20), ld, order)
                    .unwrap();
            let source = DeviceStack::<_, f32>::new(backend.clone(), matrices).unwrap();
            let batch = DenseBatchView::<f32>::new(&host[start..], 12, stride, (30, 20), ld, order).unwrap();
            let partitions = [None, Some(Partition::rows(3)), Some(Partition::mesh(2, 2))];
            for partition in partitions.map(|partition| partition.map(Result::unwrap)) {
                let named = Parallelism::ALL.map(|parallelism| (None, parallelism));
                for (scheme, parallelism) in
                    [(Some(Scheme::Bitmap), Parallelism::Batch)].into_iter().chain(named)
                {
                    let options = Options { partition, scheme, parallelism, ..Options::default() };
                    let report = check::<Row>(backend, &source, &batch, &options);
                    assert_eq!((report.devices[0].scheme, report.items), (Scheme::Sfc, 12));
                    check::<Col>(backend, &source, &batch, &options);
                }
            }
        }
    });
}

/// A chain of stacks and of a source on the host, compressed by the device and a second one, which takes the matrices
/// that do not fit the first.
pub fn stacks_and_sources_of_the_host_are_compressed_together(library: &Library) {
    let host = elements(20 * 600);
    each_device(library, |backend| {
        let buffer = backend.upload(&host).unwrap();
        let stack = DeviceStack::<_, f32>::packed(backend.clone(), &buffer, 20, (30, 20)).unwrap();
        let generated = Generated::new(vec![(9, 7); 10], |item, target: &mut [f32]| {
            target.copy_from_slice(&host[item * 63..][..63]);
            Ok(())
        });
        let batch = DenseBatchView::<f32>::new(&host, 20, 600, (30, 20), 20, Order::RowMajor).unwrap();
        let source = SourceChain::new(vec![&stack, &generated, &stack]);
        let copies = SourceChain::new(vec![&batch, &generated, &batch]);
        check::<Row>(backend, &source, &copies, &Options::default());

        let mut alone: Engine<f32> = Engine::new(vec![Box::new(DeviceWorker::new(Reference))]).unwrap();
        let expected =
            alone.compress::<Col>(&copies, &Options::default()).unwrap().handle.fetch_all().unwrap();
        // The second device has none of the stacks in its memory, and the first only for a part of the results.
        for (budget, spill) in [(1 << 30, true), (16_000, true), (16_000, false), (100, false)] {
            let second: Box<dyn Worker<f32, i32, i32>> =
                Box::new(DeviceWorker::new(Reference).named("second"));
            let workers = vec![Box::new(worker(backend).with_budget(budget)) as Box<_>, second];
            let options = Options { spill, patience: std::time::Duration::ZERO, ..Options::default() };
            let outcome = Engine::new(workers).unwrap().compress::<Col>(&source, &options).unwrap();
            let (handle, report) = outcome.complete().unwrap();
            assert!(handle.fetch_all().unwrap() == expected, "{report:?}");
            let in_place = report.devices[0].items >= 40;
            assert_eq!((in_place, report.retries), (budget == 1 << 30 || spill, 0), "{budget}: {report:?}");
        }
    });
}
