//! Two streams of one device: they work at once, share its memory, and are one device in the report.

use crate::engine::{check_all, compress, options, reference, twenty};
use crate::faulty::{Fault, Faults, FaultyWorker, Step};
use sparse_core::op::Keep;
use sparse_core::reference::Reference;
use sparse_core::{BatchCsr, DenseBatchView, Result, Row};
use sparse_distrib::schedule::Policy;
use sparse_distrib::{DeviceWorker, Ledger, Options, Resident, Worker};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// The calls of [`Worker::compress`] so far: the first waits for the second.
#[derive(Default)]
struct Calls {
    begun: Mutex<usize>,
    changed: Condvar,
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
        let mut begun = self.calls.begun.lock().unwrap();
        *begun += 1;
        self.calls.changed.notify_all();
        let one_alone = |begun: &mut usize| *begun < 2;
        let waited = self.calls.changed.wait_timeout_while(begun, Duration::from_secs(60), one_alone);
        assert!(!waited.unwrap().1.timed_out(), "no other stream has begun");
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
