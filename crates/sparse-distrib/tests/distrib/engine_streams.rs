//! Streams of one device: they work at once, share its memory, and are one device in the report.

use crate::engine::{check_all, compress, options, reference, twenty};
use crate::faulty::{Fault, Faults, FaultyWorker, Step};
use backend_cpu::{Cpu, Simd};
use sparse_core::op::Keep;
use sparse_core::reference::Reference;
use sparse_core::{BatchCsr, DenseBatchView, Result, Row};
use sparse_distrib::schedule::Policy;
use sparse_distrib::{DeviceWorker, Engine, Generated, Ledger, Options, Part, Resident, Worker};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// Calls so far, of which the first waits for the second.
#[derive(Default)]
struct Calls {
    begun: Mutex<usize>,
    changed: Condvar,
}

impl Calls {
    fn meet(&self) {
        let mut begun = self.begun.lock().unwrap();
        *begun += 1;
        self.changed.notify_all();
        let one_alone = |begun: &mut usize| *begun < 2;
        let waited = self.changed.wait_timeout_while(begun, Duration::from_secs(60), one_alone);
        assert!(!waited.unwrap().1.timed_out(), "no other thread has begun");
    }
}

/// A worker that compresses its first chunk only when its other stream has begun with another.
struct Meeting {
    worker: DeviceWorker<Reference, f32, i32, i32>,
    calls: Arc<Calls>,
    is_first: bool,
}

impl Meeting {
    fn new(calls: &Arc<Calls>, ledger: &Arc<Ledger>, is_first: bool) -> Self {
        let worker = DeviceWorker::new(Reference).named("meeting").with_ledger(ledger.clone());
        Self { worker, calls: calls.clone(), is_first }
    }
}

impl Worker<f32, i32, i32> for Meeting {
    fn name(&self) -> &str {
        self.worker.name()
    }

    fn is_host(&self) -> bool {
        false
    }

    fn rate(&self) -> Option<f64> {
        None
    }

    fn ledger(&self) -> &Arc<Ledger> {
        self.worker.ledger()
    }

    fn compress(
        &mut self,
        chunk: DenseBatchView<'_, f32>,
        keep: Keep<f32>,
    ) -> Result<Box<dyn Resident<f32, i32, i32>>> {
        self.calls.meet();
        self.worker.compress(chunk, keep)
    }

    fn adopt(&self, part: &BatchCsr<f32>) -> Result<Box<dyn Resident<f32, i32, i32>>> {
        self.worker.adopt(part)
    }

    fn trim(&mut self) {
        self.worker.trim();
    }

    fn further_streams(&self) -> Vec<Box<dyn Worker<f32, i32, i32>>> {
        let second = || Self::new(&self.calls, self.ledger(), false);
        self.is_first.then(|| Box::new(second()) as Box<dyn Worker<f32, i32, i32>>).into_iter().collect()
    }
}

#[test]
fn two_streams_work_at_once_and_are_one_device() {
    let (matrices, ledger) = (twenty(), Ledger::new(1 << 20));
    let worker = Meeting::new(&Arc::default(), &ledger, true);
    let outcome = compress::<Row>(vec![Box::new(worker)], &matrices, &options(None));
    assert_eq!(ledger.used(), outcome.handle.bytes());
    let report = check_all(outcome, &matrices);
    assert_eq!((report.devices.len(), report.devices[0].items), (1, 20));
    assert!((0.0..=report.seconds).contains(&report.devices[0].busy_seconds), "{report:?}");
}

#[test]
fn a_stream_whose_memory_is_short_waits_for_the_other() {
    let matrices = twenty();
    // As much as one chunk of two matrices needs, and not two of them.
    for budget in [1000, 1400, 2000] {
        let worker = FaultyWorker::with_two_streams("small", &Faults::none(), budget);
        let short = Options { chunk_bytes: 700, ..options(Some(Policy::Lpt)) };
        let report = check_all(compress::<Row>(vec![worker], &matrices, &short), &matrices);
        assert!(report.devices[0].spills > 0, "{report:?}");
    }
}

#[test]
fn a_failure_of_one_stream_takes_the_device_out_of_service() {
    let matrices = twenty();
    for calls in [0..usize::MAX, 3..4, 3..usize::MAX] {
        let faults = Faults::new(Step::Kernel, Fault::Broken, calls);
        let workers = vec![FaultyWorker::with_two_streams("faulty", &faults, 1 << 20), reference("sound")];
        let report = check_all(compress::<Row>(workers, &matrices, &options(Some(Policy::Lpt))), &matrices);
        assert!(report.devices[0].failure.as_ref().unwrap().contains("Kernel failed"), "{report:?}");
        assert!(report.retries > 0 && report.devices[1].failure.is_none(), "{report:?}");
    }
}

#[test]
fn the_cpu_has_a_stream_for_each_thread_and_reads_in_place() {
    // Three portions.
    let (shape, calls) = ((1, 1 << 20), Calls::default());
    let source = Generated::new(vec![shape; 3], |item, elements: &mut [f32]| {
        calls.meet();
        elements.fill(0.0);
        elements[item] = 1.0;
        Ok(())
    });
    let worker = |threads| -> Box<dyn Worker<f32, i32, i32>> {
        Box::new(DeviceWorker::new(Cpu::with(threads, Simd::detect()).unwrap()))
    };
    let mut engine = Engine::<f32>::new(vec![worker(2)]).unwrap();
    let options = Options::default();
    let (handle, report) = engine.compress::<Row>(&source, &options).unwrap().complete().unwrap();
    assert_eq!((handle.batches().len(), report.devices.len(), report.devices[0].items), (3, 1, 3));
    for item in 0..3 {
        assert!(handle.fetch(item).unwrap().triplets().eq([(0, item, 1.0)]));
    }

    let (matrices, faults) = (twenty(), Faults::none());
    check_all(compress::<Row>(vec![FaultyWorker::on_host(&faults)], &matrices, &options), &matrices);
    assert!(faults.count(Step::Kernel) > 0 && faults.count(Step::Upload) == 0);
}

/// The element of the large matrices below.
fn large_element(row: usize, column: usize) -> f32 {
    if (row * 31 + column * 7).is_multiple_of(100) { (row + column) as f32 } else { 0.0 }
}

#[test]
fn all_threads_write_the_lines_of_one_large_matrix() {
    let shape = (5000, 1001);
    let calls = Calls::default();
    let threads = thread::available_parallelism().unwrap().get();
    let source = Generated::by_parts(vec![shape], |_, part: &Part, elements: &mut [f32]| {
        if threads > 1 {
            calls.meet();
        }
        let places = part.rows.clone().flat_map(|row| part.cols.clone().map(move |column| (row, column)));
        elements
            .iter_mut()
            .zip(places)
            .for_each(|(element, (row, column))| *element = large_element(row, column));
        Ok(())
    });
    let device = FaultyWorker::boxed("device", &Faults::none(), 1 << 30);
    for worker in [device, reference("host")] {
        let mut engine = Engine::new(vec![worker]).unwrap();
        *calls.begun.lock().unwrap() = 0;
        let (handle, _) = engine.compress::<Row>(&source, &options(None)).unwrap().complete().unwrap();
        let blocks = *calls.begun.lock().unwrap();
        assert!(threads == 1 || blocks == 5, "{blocks} blocks of 4 MiB");
        let entries = (0..shape.0)
            .flat_map(|row| (0..shape.1).map(move |column| (row, column, large_element(row, column))));
        assert!(handle.fetch(0).unwrap().triplets().eq(entries.filter(|entry| entry.2 != 0.0)));
    }
}

#[test]
fn a_function_that_writes_whole_matrices_is_called_once_for_each() {
    let calls = Mutex::new(0);
    let source = Generated::new(vec![(3000, 1000)], |_, elements: &mut [f32]| {
        *calls.lock().unwrap() += 1;
        elements.fill(0.0);
        Ok(())
    });
    let mut engine = Engine::new(vec![reference("host")]).unwrap();
    engine.compress::<Row>(&source, &options(None)).unwrap().complete().unwrap();
    assert_eq!(*calls.lock().unwrap(), 1);
}
