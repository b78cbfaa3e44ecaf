//! Memory of a device as a [`Space`]: a view is a buffer, a start and a length.

use crate::launch::steps;
use crate::program::IndexType;
use crate::{Device, Memory};
use sparse_core::{ContextId, DenseView, DenseViewMut, Element, Space, space};
use std::marker::PhantomData;
use std::ops::{Deref, Range};

/// Owned memory of a device, typed only by the size of its elements.
#[derive(Debug)]
pub struct RawBuffer {
    pub(crate) memory: Memory,
    pub(crate) len: usize,
    pub(crate) element_bytes: usize,
    pub(crate) context: ContextId,
}

impl RawBuffer {
    /// Bytes of the elements.
    pub(crate) fn bytes(&self) -> usize {
        self.len * self.element_bytes
    }

    /// The type of the elements, which are indices.
    pub(crate) fn index_type(&self) -> IndexType {
        if self.element_bytes == 4 { IndexType::I32 } else { IndexType::I64 }
    }

    /// The buffer with the type of its elements, which have this size.
    pub(crate) fn of<T>(self) -> Buffer<T> {
        assert_eq!(self.element_bytes, size_of::<T>(), "the bytes of an element");
        Buffer { raw: self, element: PhantomData }
    }
}

/// Owned memory of a device.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(crate) raw: RawBuffer,
    element: PhantomData<T>,
}

/// A typed buffer is passed where only the size of its elements matters.
impl<T> Deref for Buffer<T> {
    type Target = RawBuffer;

    fn deref(&self) -> &RawBuffer {
        &self.raw
    }
}

/// A shared view of a part of a [`Buffer`].
#[derive(Debug)]
pub struct View<'a, T> {
    pub(crate) memory: &'a Memory,
    pub(crate) start: usize,
    len: usize,
    context: ContextId,
    element: PhantomData<&'a T>,
}

/// An exclusive view of a part of a [`Buffer`].
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    pub(crate) memory: &'a Memory,
    pub(crate) start: usize,
    len: usize,
    context: ContextId,
    element: PhantomData<&'a mut T>,
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<'a, T: Element> View<'a, T> {
    /// The memory and the view's first byte in it, for another library.
    pub fn place(&self) -> (&'a Memory, usize) {
        (self.memory, self.offset())
    }

    /// The offset of the view in its buffer, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.start * size_of::<T>()
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// The offset of the view in its buffer, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.start * size_of::<T>()
    }
}

/// The position of an operand: its memory, and the number of its first element there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) start: usize,
}

impl<'a, T> From<View<'a, T>> for Place<'a> {
    fn from(View { memory, start, .. }: View<'a, T>) -> Self {
        Self { memory, start }
    }
}

impl<'a, T> From<ViewMut<'a, T>> for Place<'a> {
    fn from(ViewMut { memory, start, .. }: ViewMut<'a, T>) -> Self {
        Self { memory, start }
    }
}

/// The position of a dense operand, and its strides between rows and between columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DensePlace<'a> {
    pub(crate) place: Place<'a>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) steps: (usize, usize),
}

impl DensePlace<'_> {
    /// Some of the columns.
    pub(crate) fn columns(self, columns: Range<usize>) -> Self {
        let start = self.place.start + columns.start * self.steps.1;
        Self { place: Place { start, ..self.place }, cols: columns.len(), ..self }
    }
}

impl<'a, T: Element> From<DenseView<'a, T, Device>> for DensePlace<'a> {
    fn from(view: DenseView<'a, T, Device>) -> Self {
        let steps = steps(view.order(), view.leading_dimension());
        Self { place: view.data().into(), rows: view.rows(), cols: view.cols(), steps }
    }
}

impl<'a, T: Element> From<DenseViewMut<'a, T, Device>> for DensePlace<'a> {
    fn from(view: DenseViewMut<'a, T, Device>) -> Self {
        let steps = steps(view.order(), view.leading_dimension());
        Self { rows: view.rows(), cols: view.cols(), steps, place: view.into_data().into() }
    }
}

impl Space for Device {
    type Buffer<T: Element> = Buffer<T>;
    type View<'a, T: Element> = View<'a, T>;
    type ViewMut<'a, T: Element> = ViewMut<'a, T>;

    fn view<T: Element>(buffer: &Self::Buffer<T>) -> Self::View<'_, T> {
        let RawBuffer { ref memory, len, context, .. } = buffer.raw;
        View { memory, start: 0, len, context, element: PhantomData }
    }

    fn view_mut<T: Element>(buffer: &mut Self::Buffer<T>) -> Self::ViewMut<'_, T> {
        let RawBuffer { ref memory, len, context, .. } = buffer.raw;
        ViewMut { memory, start: 0, len, context, element: PhantomData }
    }

    fn slice<'a, T: Element>(view: Self::View<'a, T>, range: Range<usize>) -> Self::View<'a, T> {
        let (start, len) = part(view.start, view.len, range);
        View { start, len, ..view }
    }

    fn slice_mut<'a, T: Element>(view: Self::ViewMut<'a, T>, range: Range<usize>) -> Self::ViewMut<'a, T> {
        let (start, len) = part(view.start, view.len, range);
        ViewMut { start, len, ..view }
    }

    fn reborrow<'a, T: Element>(view: &'a mut Self::ViewMut<'_, T>) -> Self::ViewMut<'a, T> {
        let ViewMut { memory, start, len, context, .. } = *view;
        ViewMut { memory, start, len, context, element: PhantomData }
    }

    fn as_shared<'a, T: Element>(view: &'a Self::ViewMut<'_, T>) -> Self::View<'a, T> {
        let ViewMut { memory, start, len, context, .. } = *view;
        View { memory, start, len, context, element: PhantomData }
    }
}

/// Start and length of a part; panics as a slice does if the range passes the end, which callers check.
fn part(start: usize, len: usize, range: Range<usize>) -> (usize, usize) {
    assert!(range.start <= range.end && range.end <= len, "{range:?} of {len}");
    (start + range.start, range.end - range.start)
}

impl<T: Element> space::Buffer<T> for Buffer<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn context(&self) -> ContextId {
        self.context
    }
}

impl<T: Element> space::View<T> for View<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn context(&self) -> ContextId {
        self.context
    }
}

impl<T: Element> space::ViewMut<T> for ViewMut<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn context(&self) -> ContextId {
        self.context
    }
}
