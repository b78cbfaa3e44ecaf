//! The engine of `sparse-distrib` on a device and the host at once.

use crate::each_device;
use sparse_core::reference::Reference;
use sparse_core::{Axis, BatchCsr, Col, Error, Row};
use sparse_device::{Device, Library};
use sparse_distrib::schedule::Policy;
use sparse_distrib::{DeviceWorker, Engine, Generated, Options, Parallelism, Partition, SCHEMES, Worker};

/// 40 matrices of three shapes, the more entries the later; one shape has no elements.
fn matrices() -> Generated<impl Fn(usize, &mut [f32]) -> Result<(), Error> + Sync> {
    let shapes = (0..40).map(|k| [(30, 40), (70, 9), (5, 0)][k % 3]).collect();
    Generated::new(shapes, |item, elements: &mut [f32]| {
        for (at, element) in elements.iter_mut().enumerate() {
            let is_entry = (at * 13 + item) % 80 < item;
            *element = if is_entry { (at % 50 + 1) as f32 } else { 0.0 };
        }
        Ok(())
    })
}

fn compresses_as_the_reference<A: Axis>(backend: &Device) {
    let source = matrices();
    let mut alone: Engine<f32> = Engine::new(vec![Box::new(DeviceWorker::new(Reference))]).unwrap();
    let expected = alone.compress::<A>(&source, &Options::default()).unwrap().handle.fetch_all().unwrap();
    for budget in [1 << 30, 24_000] {
        let device = || DeviceWorker::new(backend.clone()).named("device").with_budget(budget);
        let host = DeviceWorker::new(Reference).named("reference");
        let workers: Vec<Box<dyn Worker<f32, i32, i32>>> = vec![Box::new(device()), Box::new(host)];
        let options = Options { policy: Some(Policy::Lpt), ..Options::default() };
        let outcome = Engine::new(workers).unwrap().compress::<A>(&source, &options).unwrap();
        let (mut handle, report) = outcome.complete().unwrap();
        assert_eq!(handle.fetch_all().unwrap(), expected);
        let used = &report.devices[0];
        // The host compresses the chunks that the device has not begun.
        assert!(used.items > 0 && used.failure.is_none(), "{report:?}");
        assert_eq!(used.spills > 0, budget == 24_000, "{report:?}");
        let on_device = handle.batches().iter().find(|batch| batch.placement() == "device").unwrap();
        assert!(on_device.resident().as_any().is::<BatchCsr<f32, Device>>());

        let larger = device().with_budget(1 << 30);
        handle.move_to(&larger).unwrap();
        assert!((0..40).all(|item| handle.placement(item) == Some("device")));
        handle.move_to_host().unwrap();
        assert_eq!((larger.ledger().used(), handle.fetch_all().unwrap()), (0, expected.clone()));
    }
    let partitions = [None, Some(Partition::mesh(2, 3).unwrap())];
    for (scheme, partition) in SCHEMES.iter().flat_map(|info| partitions.map(|cut| (info.scheme, cut))) {
        let device = DeviceWorker::new(backend.clone()).unpacking().with_budget(1 << 30);
        let mut engine = Engine::new(vec![Box::new(device) as Box<dyn Worker<f32, i32, i32>>]).unwrap();
        for parallelism in Parallelism::ALL {
            let options = Options { scheme: Some(scheme), partition, parallelism, ..Options::default() };
            let (handle, _) = engine.compress::<A>(&source, &options).unwrap().complete().unwrap();
            assert_eq!(handle.fetch_all().unwrap(), expected, "{scheme} {partition:?} {parallelism}");
        }
    }
}

/// Compressed matrices have the reference's bytes with any memory limit of the device and any scheme, whole and in
/// parts; they move to the host and back.
pub fn a_device_and_the_host_compress_together(library: &Library) {
    each_device(library, |backend| {
        compresses_as_the_reference::<Row>(backend);
        compresses_as_the_reference::<Col>(backend);
    });
}
