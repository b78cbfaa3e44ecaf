//! Memory of a device as a [`Space`]: a view is a buffer, a start and a length.

use crate::{Device, Memory};
use sparse_core::{ContextId, Element, Space, space};
use std::marker::PhantomData;
use std::ops::Range;

/// Owned memory of a device.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(crate) memory: Memory,
    pub(crate) len: usize,
    pub(crate) context: ContextId,
    pub(crate) element: PhantomData<T>,
}

impl<T> Buffer<T> {
    /// Bytes of the elements.
    pub(crate) fn bytes(&self) -> usize {
        self.len * size_of::<T>()
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
    /// The memory, and the byte of it where the view starts, for those who hand it to another library.
    pub fn place(&self) -> (&'a Memory, usize) {
        (self.memory, self.offset())
    }

    /// Where the view starts in its buffer, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.start * size_of::<T>()
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// Where the view starts in its buffer, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.start * size_of::<T>()
    }
}

impl Space for Device {
    type Buffer<T: Element> = Buffer<T>;
    type View<'a, T: Element> = View<'a, T>;
    type ViewMut<'a, T: Element> = ViewMut<'a, T>;

    fn view<T: Element>(buffer: &Self::Buffer<T>) -> Self::View<'_, T> {
        let Buffer { ref memory, len, context, .. } = *buffer;
        View { memory, start: 0, len, context, element: PhantomData }
    }

    fn view_mut<T: Element>(buffer: &mut Self::Buffer<T>) -> Self::ViewMut<'_, T> {
        let Buffer { ref memory, len, context, .. } = *buffer;
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
