//! Compressed matrices that stay on the devices that made them.

use super::ledger::Lease;
use super::worker::{DeviceBatch, Resident, Worker};
use crate::Block;
use sparse_core::reference::Reference;
use sparse_core::{Axis, BatchCsr, Compressed, Error, Host, Index, Result, Scalar};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::Duration;

/// The name of the host's memory as a place of matrices that were moved there.
const HOST: &str = "host";

/// The compressed matrices of a run, each in the memory of some device: CSR for `A` = [`Row`](sparse_core::Row), CSC for
/// [`Col`](sparse_core::Col). Dropping it frees them.
///
/// A matrix that the run did not finish has a shape, and nothing else.
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
    shapes: Vec<(usize, usize)>,
    parts: Vec<Part<T, I, O>>,
    /// The part of each matrix, and its position there.
    places: Vec<Option<(usize, usize)>>,
    axis: PhantomData<A>,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Handle<A, T, I, O> {
    pub(super) fn new(shapes: Vec<(usize, usize)>, parts: Vec<Part<T, I, O>>) -> Self {
        let mut places = vec![None; shapes.len()];
        for (part, Part { items, .. }) in parts.iter().enumerate() {
            for (position, &item) in items.iter().enumerate() {
                places[item] = Some((part, position));
            }
        }
        Self { shapes, parts, places, axis: PhantomData }
    }

    /// The number of matrices, finished or not.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// True if there are no matrices.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// The positions of the matrices that are here.
    pub fn finished(&self) -> impl Iterator<Item = usize> + '_ {
        self.places.iter().enumerate().filter(|(_, place)| place.is_some()).map(|(item, _)| item)
    }

    /// (rows, columns) of a matrix, which is below [`len`](Self::len).
    pub fn shape(&self, item: usize) -> (usize, usize) {
        self.shapes[item]
    }

    /// The number of entries of a matrix; `None` if it is not finished.
    pub fn nnz(&self, item: usize) -> Option<usize> {
        let (part, position) = self.place(item)?;
        let starts = part.resident.member_ptr();
        Some(starts[position + 1] - starts[position])
    }

    /// The device whose memory has a matrix, or `host`; `None` if it is not finished.
    pub fn placement(&self, item: usize) -> Option<&str> {
        self.place(item).map(|(part, _)| part.placement())
    }

    /// Bytes of all matrices, wherever they are.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(Part::bytes).sum()
    }

    /// The parts: matrices of one shape in one allocation.
    pub fn parts(&self) -> &[Part<T, I, O>] {
        &self.parts
    }

    /// A copy of a matrix on the host.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such matrix or it is not finished; an error of the device's runtime.
    pub fn fetch(&self, item: usize) -> Result<Block<A, T, I, O>> {
        let (part, position) = self.place(item).ok_or_else(|| self.missing(item))?;
        let (rows, cols) = self.shapes[item];
        let (offsets, indices, values) = part.resident.member(position)?;
        Compressed::new(rows, cols, offsets, indices, values)
    }

    /// Copies of all matrices on the host, in the order of the source.
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch), with the first matrix that is not there.
    pub fn fetch_all(&self) -> Result<Vec<Block<A, T, I, O>>> {
        (0..self.len()).map(|item| self.fetch(item)).collect()
    }

    /// Moves all matrices to the memory of one device. After an error those that were moved before stay there, the
    /// others where they were.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or an error of a device's runtime.
    pub fn move_to(&mut self, worker: &dyn Worker<T, I, O>) -> Result<()> {
        self.parts.iter_mut().try_for_each(|part| part.move_to(worker))
    }

    /// Moves all matrices to the host's memory. After an error, as for [`move_to`](Self::move_to).
    ///
    /// # Errors
    /// An error of a device's runtime.
    pub fn move_to_host(&mut self) -> Result<()> {
        self.parts.iter_mut().try_for_each(Part::move_to_host)
    }

    /// The error for a matrix that is not there.
    #[cold]
    pub(super) fn missing(&self, item: usize) -> Error {
        let reason = format!("matrix {item} of {} is not there: it was not compressed", self.len());
        Error::shape("fetch", reason)
    }

    fn place(&self, item: usize) -> Option<(&Part<T, I, O>, usize)> {
        let (part, position) = self.places.get(item).copied()??;
        Some((&self.parts[part], position))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Debug for Handle<A, T, I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Handle");
        debug.field("format", &A::FORMAT).field("matrices", &self.len()).field("parts", &self.parts).finish()
    }
}

/// Compressed matrices of one shape in one allocation of a device.
pub struct Part<T: Scalar, I: Index, O: Index> {
    items: Vec<usize>,
    resident: Box<dyn Resident<T, I, O>>,
    /// The device and the account of its memory; none on the host after a move.
    device: Option<(String, Lease)>,
}

impl<T: Scalar, I: Index, O: Index> Part<T, I, O> {
    pub(super) fn new(
        items: Vec<usize>,
        resident: Box<dyn Resident<T, I, O>>,
        device: String,
        mut lease: Lease,
    ) -> Self {
        lease.settle(resident.bytes());
        Self { items, resident, device: Some((device, lease)) }
    }

    /// The positions of the members in the source.
    pub fn items(&self) -> &[usize] {
        &self.items
    }

    /// The device whose memory has the part, or `host`.
    pub fn placement(&self) -> &str {
        self.device.as_ref().map_or(HOST, |(name, _)| name)
    }

    /// Bytes of the part.
    pub fn bytes(&self) -> u64 {
        self.resident.bytes()
    }

    /// The number of entries of all members.
    pub fn nnz(&self) -> usize {
        self.resident.member_ptr().last().copied().unwrap_or_default()
    }

    /// The members where they are: [`Resident::as_any`] has the batch of the device's backend. Of matrices compressed to
    /// CSC they are the transposes.
    pub fn resident(&self) -> &dyn Resident<T, I, O> {
        self.resident.as_ref()
    }

    /// True if the part is in the memory of its device.
    pub(super) fn is_on_device(&self) -> bool {
        self.device.is_some()
    }

    pub(super) fn into_items(self) -> Vec<usize> {
        self.items
    }

    pub(super) fn move_to_host(&mut self) -> Result<()> {
        if self.is_on_device() {
            let batch = self.resident.to_host()?;
            (self.resident, self.device) = (Box::new(DeviceBatch { backend: Reference, batch }), None);
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
        lease.settle(self.resident.bytes());
        self.device = Some((worker.name().to_owned(), lease));
        Ok(())
    }
}

impl<T: Scalar, I: Index, O: Index> Debug for Part<T, I, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Part");
        debug.field("items", &self.items.len()).field("placement", &self.placement());
        debug.field("nnz", &self.nnz()).field("bytes", &self.bytes()).finish()
    }
}
