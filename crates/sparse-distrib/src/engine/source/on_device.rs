//! Matrices in the memory of a device.

use super::{Source, copy_lines, resize};
use crate::partition::Part;
use sparse_core::backend::{Buf, SpaceOf};
use sparse_core::space::{Buffer as _, Space};
use sparse_core::{Backend, ContextId, DenseBatchView, DenseView, Element, Error, Order, Result, Scalar};
use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::ops::Range;

/// Neighbouring matrices of one shape in the memory of a device, for the worker of that device: a [`DenseBatchView`]
/// whose types are hidden.
#[derive(Clone, Copy)]
pub struct DeviceMatrices<'a> {
    context: ContextId,
    buffer: &'a (dyn Any + Send + Sync),
    /// The first element in the buffer.
    start: usize,
    count: usize,
    stride: usize,
    shape: (usize, usize),
    leading_dimension: usize,
    order: Order,
}

impl<'a> DeviceMatrices<'a> {
    /// The matrices of a buffer from element `start` on, laid out as [`DenseBatchView::new`] says.
    ///
    /// # Errors
    /// Those of [`DenseBatchView::new`].
    pub fn new<S: Space, T: Element>(
        buffer: &'a S::Buffer<T>,
        start: usize,
        (count, stride): (usize, usize),
        shape: (usize, usize),
        leading_dimension: usize,
        order: Order,
    ) -> Result<Self> {
        let context = buffer.context();
        let matrices = Self { context, buffer, start, count, stride, shape, leading_dimension, order };
        matrices.view_of::<S, T>(buffer)?;
        Ok(matrices)
    }

    /// The context of the memory.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// The number of matrices.
    pub fn count(&self) -> usize {
        self.count
    }

    /// (rows, columns) of each.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The order of their elements.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The matrices as an operand of a backend.
    ///
    /// # Errors
    /// [`Error::Operands`] if they are of another type or in another kind of memory.
    pub fn view<S: Space, T: Element>(&self) -> Result<DenseBatchView<'a, T, S>> {
        let buffer = self.buffer.downcast_ref::<S::Buffer<T>>();
        let buffer = buffer.ok_or_else(|| {
            Error::operands("compress", "the matrices lie in memory that this device does not have")
        })?;
        self.view_of::<S, T>(buffer)
    }

    fn view_of<S: Space, T: Element>(&self, buffer: &'a S::Buffer<T>) -> Result<DenseBatchView<'a, T, S>> {
        let Self { start, count, stride, shape, leading_dimension, order, .. } = *self;
        let end = buffer.len();
        let elements = S::slice(S::view(buffer), start.min(end)..end);
        DenseBatchView::new(elements, count, stride, shape, leading_dimension, order)
    }

    /// The matrices in a range.
    #[must_use]
    pub(crate) fn members(self, members: Range<usize>) -> Self {
        Self { start: self.start + members.start * self.stride, count: members.len(), ..self }
    }

    /// A part of each matrix.
    #[must_use]
    pub(crate) fn part(self, part: &Part) -> Self {
        let ld = self.leading_dimension;
        let offset = match self.order {
            Order::RowMajor => part.rows.start * ld + part.cols.start,
            Order::ColMajor => part.cols.start * ld + part.rows.start,
        };
        Self { start: self.start + offset, shape: part.shape(), ..self }
    }

    /// The transposes.
    #[must_use]
    pub(crate) fn transposed(self) -> Self {
        let (rows, cols) = self.shape;
        Self { shape: (cols, rows), order: self.order.transposed(), ..self }
    }

    /// These matrices joined with the single matrix `next`, if it follows at the same distance without overlap.
    pub(crate) fn joined(self, next: Self) -> Option<Self> {
        let layout = |m: &Self| (m.context, m.shape, m.leading_dimension, m.order == Order::RowMajor);
        let is_same_buffer = std::ptr::addr_eq(self.buffer, next.buffer) && layout(&self) == layout(&next);
        let last = self.start + self.count.saturating_sub(1) * self.stride;
        let distance = next.start.checked_sub(last)?;
        let follows = self.count == 1 && distance >= self.length() || distance == self.stride;
        (is_same_buffer && next.count == 1 && follows).then_some(Self {
            count: self.count + 1,
            stride: distance,
            ..self
        })
    }

    /// The elements of a matrix, padding included.
    fn length(&self) -> usize {
        let (rows, cols) = self.shape;
        let (lines, length) = if self.order == Order::RowMajor { (rows, cols) } else { (cols, rows) };
        if lines == 0 { 0 } else { (lines - 1) * self.leading_dimension + length }
    }
}

impl Debug for DeviceMatrices<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { context, count, shape, order, .. } = self;
        write!(f, "DeviceMatrices({count} of {shape:?}, {order:?}, in context {})", context.number())
    }
}

/// A source of matrices of one shape in the memory of a device. That device compresses them in place, whatever the
/// scheme for other matrices; another device gets copies through the host.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_core::{Host, Order, Row};
/// use sparse_distrib::{DeviceMatrices, DeviceStack, DeviceWorker, Engine, Options};
///
/// // Two 2 x 2 matrices, here in the memory of the host.
/// let buffer = vec![1.0, 0.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0];
/// let matrices = DeviceMatrices::new::<Host, f64>(&buffer, 0, (2, 4), (2, 2), 2, Order::RowMajor)?;
/// let source = DeviceStack::<_, f64>::new(Reference, matrices)?;
/// let mut engine = Engine::<f64>::new(vec![Box::new(DeviceWorker::new(Reference))])?;
/// let (handle, _) = engine.compress::<Row>(&source, &Options::default())?.complete()?;
/// assert!(handle.fetch(1)?.triplets().eq([(0, 1, 3.0)]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceStack<'a, B: Backend, T: Scalar> {
    backend: B,
    matrices: DeviceMatrices<'a>,
    view: DenseBatchView<'a, T, SpaceOf<B>>,
}

impl<'a, B: Backend, T: Scalar> DeviceStack<'a, B, T> {
    /// The matrices, in the memory of `backend`.
    ///
    /// # Errors
    /// [`Error::Operands`] if they are of another type; [`Error::WrongContext`] if they are in the memory of another
    /// device.
    pub fn new(backend: B, matrices: DeviceMatrices<'a>) -> Result<Self> {
        let view = matrices.view::<SpaceOf<B>, T>()?;
        let (expected, found) = (backend.context().number(), matrices.context().number());
        if expected != found {
            return Err(Error::WrongContext { op: "compress", operand: "the stack", expected, found });
        }
        Ok(Self { backend, matrices, view })
    }

    /// All matrices of a buffer, one after the other and without padding.
    ///
    /// # Errors
    /// As for [`new`](Self::new), and [`Error::Format`] if the buffer is too short.
    pub fn packed(
        backend: B,
        buffer: &'a Buf<B, T>,
        count: usize,
        (rows, cols): (usize, usize),
    ) -> Result<Self> {
        let distance = (count, rows * cols);
        let matrices =
            DeviceMatrices::new::<SpaceOf<B>, T>(buffer, 0, distance, (rows, cols), cols, Order::RowMajor)?;
        Self::new(backend, matrices)
    }
}

impl<B: Backend, T: Scalar> Source<T> for DeviceStack<'_, B, T> {
    fn len(&self) -> usize {
        self.view.count()
    }

    fn shape(&self, _item: usize) -> (usize, usize) {
        self.view.shape()
    }

    fn order(&self, _item: usize) -> Order {
        self.view.order()
    }

    fn fill(&self, item: usize, elements: &mut [T]) -> Result<()> {
        self.fill_part(item, &Part::whole(self.view.shape()), elements)
    }

    /// Copies the elements from the first to the last of the part, and leaves out those between its lines.
    fn fill_part(&self, item: usize, part: &Part, elements: &mut [T]) -> Result<()> {
        let matrix = self.matrices.members(item..item + 1).part(part);
        let view = matrix.view::<SpaceOf<B>, T>()?;
        let (length, (rows, cols)) = (matrix.length(), matrix.shape());
        let from = SpaceOf::<B>::slice(view.data(), 0..length);
        if length == rows * cols {
            return self.backend.download_into(from, &mut elements[..length]);
        }
        let mut padded = vec![];
        resize(&mut padded, length)?;
        self.backend.download_into(from, &mut padded)?;
        copy_lines(
            DenseView::new(&padded[..], rows, cols, matrix.leading_dimension, matrix.order)?,
            elements,
        );
        Ok(())
    }

    fn on_device(&self, items: Range<usize>) -> Option<DeviceMatrices<'_>> {
        Some(self.matrices.members(items))
    }
}
