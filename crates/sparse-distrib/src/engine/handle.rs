//! Compressed matrices that stay on the devices that made them.

use super::item::MatrixItems;
use super::ledger::Lease;
use super::worker::{Capacity, DeviceBatch, Resident, Worker};
use crate::Block;
use crate::merge::merge;
use crate::partition::Partition;
use sparse_core::op::ScanElement;
use sparse_core::reference::Reference;
use sparse_core::{Axis, BatchCsr, Compressed, Error, Host, Index, Result, Scalar};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::Duration;

/// The name of the host's memory, for matrices that were moved there.
const HOST: &str = "host";

/// The compressed matrices of a run, each in the memory of some device: CSR for `A` = [`Row`](sparse_core::Row), CSC
/// for [`Col`](sparse_core::Col). Dropping it frees them.
///
/// A matrix that the run did not finish has only a shape. A matrix that was cut is stored in parts, possibly on several
/// devices; [`fetch`](Self::fetch) merges them.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_core::{DenseBatchView, Order, Row};
/// use sparse_distrib::{DeviceWorker, Engine, Options};
///
/// let two = [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0];
/// let two = DenseBatchView::new(&two[..], 2, 4, (2, 2), 2, Order::RowMajor)?;
/// let mut engine = Engine::<f64>::new(vec![Box::new(DeviceWorker::new(Reference).named("first"))])?;
/// let (mut handle, _) = engine.compress::<Row>(&two, &Options::default())?.complete()?;
/// assert_eq!((handle.len(), handle.nnz(1), handle.placement(1)), (2, Some(1), Some("first")));
/// handle.move_to_host()?;
/// assert_eq!(handle.placement(1), Some("host"));
/// assert!(handle.fetch(1)?.triplets().eq([(1, 0, 3.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub struct Handle<A: Axis, T: Scalar, I: Index = i32, O: Index = i32> {
    matrices: Vec<MatrixItems>,
    batches: Vec<ResidentBatch<T, I, O>>,
    /// The batch of each part of each matrix, and its position there.
    places: Vec<Option<(usize, usize)>>,
    /// (rows, columns) of the members where there are none.
    pub(super) empty_shape: (usize, usize),
    axis: PhantomData<A>,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Handle<A, T, I, O> {
    pub(super) fn new(matrices: Vec<MatrixItems>, batches: Vec<ResidentBatch<T, I, O>>) -> Self {
        let mut places = vec![None; matrices.last().map_or(0, |last| last.items().end)];
        for (batch, ResidentBatch { items, .. }) in batches.iter().enumerate() {
            for (position, &item) in items.iter().enumerate() {
                places[item] = Some((batch, position));
            }
        }
        Self { matrices, batches, places, empty_shape: (0, 0), axis: PhantomData }
    }

    /// The handle whose [`common_shape`](Self::common_shape) is `shape` if it has no matrices; by default (0, 0).
    #[must_use]
    pub fn with_empty_shape(self, shape: (usize, usize)) -> Self {
        Self { empty_shape: shape, ..self }
    }

    /// The number of matrices, finished or not.
    pub fn len(&self) -> usize {
        self.matrices.len()
    }

    /// True if there are no matrices.
    pub fn is_empty(&self) -> bool {
        self.matrices.is_empty()
    }

    /// The positions of the finished matrices.
    pub fn finished(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|&matrix| self.is_finished(matrix))
    }

    /// (rows, columns) of a matrix, which is below [`len`](Self::len).
    pub fn shape(&self, matrix: usize) -> (usize, usize) {
        self.matrices[matrix].shape
    }

    /// The parts that a matrix, which is below [`len`](Self::len), was cut into: one if it is whole.
    pub fn partition(&self, matrix: usize) -> Partition {
        self.matrices[matrix].partition
    }

    /// The number of entries of a matrix; `None` if it is not finished.
    pub fn nnz(&self, matrix: usize) -> Option<usize> {
        self.matrices.get(matrix)?.items().map(|item| self.item_nnz(item)).sum()
    }

    /// The device whose memory has a matrix, or `host`; `None` if it is not finished. For a matrix in parts, the device
    /// of its first part.
    pub fn placement(&self, matrix: usize) -> Option<&str> {
        let first = self.matrices.get(matrix)?.first;
        self.is_finished(matrix).then(|| self.locate(first).map(|(batch, _)| batch.placement()))?
    }

    /// Bytes of all matrices, wherever they are.
    pub fn bytes(&self) -> u64 {
        self.batches.iter().map(ResidentBatch::bytes).sum()
    }

    /// The allocations of the devices, each with parts of one shape.
    pub fn batches(&self) -> &[ResidentBatch<T, I, O>] {
        &self.batches
    }

    /// A copy of a part of a matrix on the host, with local indices: of part `index` of its
    /// [`partition`](Self::partition).
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such part or it is not finished; an error of the device's runtime.
    pub fn fetch_part(&self, matrix: usize, index: usize) -> Result<Block<A, T, I, O>> {
        let layout = self.matrices.get(matrix).ok_or_else(|| self.missing(matrix))?;
        let item = layout.items().nth(index).ok_or_else(|| {
            let parts = layout.partition.parts();
            Error::shape("fetch", format_args!("part {index} of matrix {matrix}, which has {parts}"))
        })?;
        let (batch, position) = self.locate(item).ok_or_else(|| self.missing(matrix))?;
        let (rows, cols) = layout.partition.part(layout.shape, index).shape();
        let (offsets, indices, values) = batch.resident.member(position)?;
        Compressed::new(rows, cols, offsets, indices, values)
    }

    /// Moves all matrices to the memory of one device. After an error, matrices that were moved stay moved; the others
    /// stay where they were.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or an error of a device's runtime.
    pub fn move_to(&mut self, worker: &dyn Worker<T, I, O>) -> Result<()> {
        self.batches.iter_mut().try_for_each(|batch| batch.move_to(worker))
    }

    /// Moves all matrices to the host's memory. After an error, as for [`move_to`](Self::move_to).
    ///
    /// # Errors
    /// An error of a device's runtime.
    pub fn move_to_host(&mut self) -> Result<()> {
        self.batches.iter_mut().try_for_each(ResidentBatch::move_to_host)
    }

    /// True if the matrix was cut.
    pub(super) fn is_cut(&self, matrix: usize) -> bool {
        self.matrices[matrix].is_cut()
    }

    /// The matrix of an item that is not cut.
    pub(super) fn whole_matrix(&self, item: usize) -> Option<usize> {
        let matrix = self.matrices.partition_point(|layout| layout.items().end <= item);
        (!self.is_cut(matrix)).then_some(matrix)
    }

    /// The error for a matrix that is not finished or does not exist.
    #[cold]
    pub(super) fn missing(&self, matrix: usize) -> Error {
        let reason = format!("matrix {matrix} of {} is not there: it was not compressed", self.len());
        Error::shape("fetch", reason)
    }

    fn is_finished(&self, matrix: usize) -> bool {
        self.matrices[matrix].items().all(|item| self.places[item].is_some())
    }

    fn locate(&self, item: usize) -> Option<(&ResidentBatch<T, I, O>, usize)> {
        let (batch, position) = self.places[item]?;
        Some((&self.batches[batch], position))
    }

    fn item_nnz(&self, item: usize) -> Option<usize> {
        let (batch, position) = self.locate(item)?;
        let starts = batch.resident.member_ptr();
        Some(starts[position + 1] - starts[position])
    }
}

impl<A: Axis, T: Scalar, I: Index, O: ScanElement> Handle<A, T, I, O> {
    /// A copy of a matrix on the host; its parts are merged.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such matrix or it is not finished; [`Error::IndexOverflow`] if the parts have
    /// more entries than `O` counts; an error of the device's runtime.
    pub fn fetch(&self, matrix: usize) -> Result<Block<A, T, I, O>> {
        let layout = self.matrices.get(matrix).ok_or_else(|| self.missing(matrix))?;
        if !layout.is_cut() {
            return self.fetch_part(matrix, 0);
        }
        let blocks: Vec<_> = (0..layout.partition.parts())
            .map(|index| self.fetch_part(matrix, index))
            .collect::<Result<_>>()?;
        merge(&Reference, layout.partition, layout.shape, &blocks)
    }

    /// Copies of all matrices on the host, in the order of the source.
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch), with the first matrix that is not finished.
    pub fn fetch_all(&self) -> Result<Vec<Block<A, T, I, O>>> {
        (0..self.len()).map(|matrix| self.fetch(matrix)).collect()
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Debug for Handle<A, T, I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Handle");
        debug.field("format", &A::FORMAT).field("matrices", &self.len());
        debug.field("batches", &self.batches).finish()
    }
}

/// Compressed matrices, or parts of some, of one shape in one allocation of a device.
pub struct ResidentBatch<T: Scalar, I: Index, O: Index> {
    items: Vec<usize>,
    resident: Box<dyn Resident<T, I, O>>,
    /// The device and the account of its memory; none on the host after a move.
    device: Option<(String, Lease)>,
}

impl<T: Scalar, I: Index, O: Index> ResidentBatch<T, I, O> {
    pub(super) fn new(
        items: Vec<usize>,
        resident: Box<dyn Resident<T, I, O>>,
        device: String,
        mut lease: Lease,
    ) -> Self {
        lease.settle(resident.reserved_bytes());
        Self { items, resident, device: Some((device, lease)) }
    }

    /// A batch in the host's memory.
    pub(super) fn on_host(items: Vec<usize>, batch: BatchCsr<T, Host, I, O>) -> Self {
        Self {
            items,
            resident: Box::new(DeviceBatch { backend: Reference, batch, capacity: Capacity::Exact }),
            device: None,
        }
    }

    /// The positions of the members among the parts of all matrices, in the order of the source. Where no matrix was
    /// cut, these are the positions of the matrices.
    pub fn items(&self) -> &[usize] {
        &self.items
    }

    /// The device whose memory has the batch, or `host`.
    pub fn placement(&self) -> &str {
        self.device.as_ref().map_or(HOST, |(name, _)| name)
    }

    /// Bytes of the batch.
    pub fn bytes(&self) -> u64 {
        self.resident.bytes()
    }

    /// The number of entries of all members.
    pub fn nnz(&self) -> usize {
        self.resident.member_ptr().last().copied().unwrap_or_default()
    }

    /// The members where they are: [`Resident::as_any`] has the batch of the device's backend. For CSC, they are the
    /// transposes.
    pub fn resident(&self) -> &dyn Resident<T, I, O> {
        self.resident.as_ref()
    }

    /// True if the batch is in the memory of its device.
    pub(super) fn is_on_device(&self) -> bool {
        self.device.is_some()
    }

    pub(super) fn into_items(self) -> Vec<usize> {
        self.items
    }

    pub(super) fn move_to_host(&mut self) -> Result<()> {
        if self.is_on_device() {
            let batch = self.resident.to_host()?;
            (self.resident, self.device) =
                (Box::new(DeviceBatch { backend: Reference, batch, capacity: Capacity::Exact }), None);
        }
        Ok(())
    }

    fn move_to(&mut self, worker: &dyn Worker<T, I, O>) -> Result<()> {
        if self.placement() == worker.name() {
            return Ok(());
        }
        let mut lease = worker.ledger().reserve(self.bytes(), Duration::ZERO)?;
        let batch: BatchCsr<T, Host, I, O> = self.resident.to_host()?;
        self.resident = worker.adopt(&batch)?;
        lease.settle(self.resident.reserved_bytes());
        self.device = Some((worker.name().to_owned(), lease));
        Ok(())
    }
}

impl<T: Scalar, I: Index, O: Index> Debug for ResidentBatch<T, I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("ResidentBatch");
        debug.field("items", &self.items.len()).field("placement", &self.placement());
        debug.field("nnz", &self.nnz()).field("bytes", &self.bytes()).finish()
    }
}
