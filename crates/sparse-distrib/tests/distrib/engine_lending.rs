//! Matrices that lie one after the other in the source's memory, which the engine takes from there.

use crate::engine::{POLICIES, check, options, reference, twenty};
use sparse_core::backend::HostBuffer;
use sparse_core::op::Keep;
use sparse_core::reference::Reference;
use sparse_core::{BatchCsr, Col, Dense, DenseBatchView, Order, Result, Row};
use sparse_distrib::schedule::Policy;
use sparse_distrib::{DeviceWorker, Engine, Ledger, Options, Partition, Resident, Source, Staging, Worker};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// A batch that lends its matrices, and the number of copies that were asked for.
struct Lender<'a> {
    batch: DenseBatchView<'a, f32>,
    copies: AtomicUsize,
}

impl Source<f32> for Lender<'_> {
    fn len(&self) -> usize {
        self.batch.count()
    }

    fn shape(&self, item: usize) -> (usize, usize) {
        Source::shape(&self.batch, item)
    }

    fn lend(&self, items: Range<usize>) -> Option<&[f32]> {
        self.batch.lend(items)
    }

    fn fill(&self, item: usize, elements: &mut [f32]) -> Result<()> {
        self.copies.fetch_add(1, SeqCst);
        self.batch.fill(item, elements)
    }
}

fn elements(matrices: &[Dense<f32>]) -> Vec<f32> {
    matrices.iter().flat_map(|matrix| matrix.data().iter().copied()).collect()
}

/// Compresses all by rows and by columns; returns the number of copies.
fn copies(elements: &[f32], matrices: &[Dense<f32>], options: &Options<'_, f32>) -> usize {
    let batch = DenseBatchView::new(elements, 20, 24, (4, 6), 6, Order::RowMajor).unwrap();
    let lender = Lender { batch, copies: AtomicUsize::new(0) };
    let engine = || Engine::new(vec![reference("first"), reference("second")]).unwrap();
    check(&engine().compress::<Row>(&lender, options).unwrap().handle, matrices);
    check(&engine().compress::<Col>(&lender, options).unwrap().handle, matrices);
    lender.copies.into_inner()
}

#[test]
fn neighbours_in_memory_are_not_copied_on_the_host() {
    let matrices = twenty();
    let elements = elements(&matrices);
    assert_eq!(copies(&elements, &matrices, &options(Some(Policy::Pull { chunk_bytes: 320 }))), 0);
    // Other policies may give a device matrices that are no neighbours.
    for policy in POLICIES {
        assert!(copies(&elements, &matrices, &options(policy)) <= 40, "{policy:?}");
    }
    let cut = Options { partition: Some(Partition::rows(2).unwrap()), ..options(None) };
    assert_eq!(copies(&elements, &matrices, &cut), 80);
}

/// A device that copies from its own staging memory alone, of which this many buffers were allocated.
struct Staged {
    worker: DeviceWorker<Reference, f32, i32, i32>,
    buffers: Arc<AtomicUsize>,
}

struct OwnMemory(Arc<AtomicUsize>);

impl Staging<f32> for OwnMemory {
    fn allocate(&self, len: usize) -> Result<HostBuffer<f32>> {
        self.0.fetch_add(1, SeqCst);
        // Elements that are not written would become entries.
        Ok(Box::new(vec![9.0; len]))
    }

    fn is_direct(&self, _elements: &[f32]) -> bool {
        false
    }
}

impl Worker<f32, i32, i32> for Staged {
    fn name(&self) -> &str {
        "staged"
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
        self.worker.compress(chunk, keep)
    }

    fn adopt(&self, part: &BatchCsr<f32>) -> Result<Box<dyn Resident<f32, i32, i32>>> {
        self.worker.adopt(part)
    }

    fn staging(&self) -> Box<dyn Staging<f32>> {
        Box::new(OwnMemory(self.buffers.clone()))
    }

    fn trim(&mut self) {
        self.worker.trim();
    }
}

#[test]
fn what_is_not_lent_in_staging_memory_is_written_to_slots_of_it() {
    let matrices = twenty();
    let elements = elements(&matrices);
    let batch = DenseBatchView::new(&elements[..], 20, 24, (4, 6), 6, Order::RowMajor).unwrap();
    for slots in [1, 2, 5] {
        let buffers = Arc::<AtomicUsize>::default();
        let worker = Staged { worker: DeviceWorker::new(Reference), buffers: buffers.clone() };
        let mut engine = Engine::<f32>::new(vec![Box::new(worker)]).unwrap();
        let lender = Lender { batch, copies: AtomicUsize::new(0) };
        // Chunks of three matrices, the last of two.
        let options = Options { slots, ..options(Some(Policy::Pull { chunk_bytes: 500 })) };
        check(&engine.compress::<Row>(&lender, &options).unwrap().handle, &matrices);
        assert_eq!(lender.copies.into_inner(), 20);
        assert!((1..=slots).contains(&buffers.load(SeqCst)), "a slot keeps its buffer");
    }
}

#[test]
fn padded_matrices_are_not_lent() {
    let elements = elements(&twenty());
    let batch =
        |stride, shape, order| DenseBatchView::new(&elements[..], 10, stride, shape, 6, order).unwrap();
    assert_eq!(batch(24, (4, 6), Order::RowMajor).lend(3..5), Some(&elements[72..120]));
    assert_eq!(batch(24, (6, 4), Order::ColMajor).lend(0..1), Some(&elements[..24]));
    assert_eq!(batch(24, (4, 5), Order::RowMajor).lend(0..1), None);
    assert_eq!(batch(48, (4, 6), Order::RowMajor).lend(0..1), None);
}
