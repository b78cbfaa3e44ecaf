//! Memory of a device: buffers, and views of their parts.

use crate::driver::Memory;
use crate::index_type::IndexType;
use sparse_core::{ContextId, Element, space};
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

    /// All elements, with their type, which has their size.
    pub(crate) fn view<T>(&self) -> View<'_, T> {
        assert_eq!(self.element_bytes, size_of::<T>(), "the bytes of an element");
        let Self { ref memory, len, context, .. } = *self;
        View { memory, start: 0, len, context, element: PhantomData }
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

impl<T> Buffer<T> {
    /// All elements.
    pub(crate) fn view(&self) -> View<'_, T> {
        self.raw.view()
    }

    /// All elements, exclusively.
    pub(crate) fn view_mut(&mut self) -> ViewMut<'_, T> {
        let RawBuffer { ref memory, len, context, .. } = self.raw;
        ViewMut { memory, start: 0, len, context, element: PhantomData }
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

    /// A part of the view.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        let (start, len) = part(self.start, self.len, range);
        Self { start, len, ..self }
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// The offset of the view in its buffer, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.start * size_of::<T>()
    }

    /// A part of the view.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        let (start, len) = part(self.start, self.len, range);
        Self { start, len, ..self }
    }

    /// The same view for a shorter time.
    pub(crate) fn reborrow<'b>(&'b mut self) -> ViewMut<'b, T>
    where
        'a: 'b,
    {
        let Self { memory, start, len, context, .. } = *self;
        ViewMut { memory, start, len, context, element: PhantomData }
    }

    /// A shared view of the same elements.
    pub(crate) fn as_shared(&self) -> View<'_, T> {
        let Self { memory, start, len, context, .. } = *self;
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
