//! Memory of a device as a [`Space`]: a view is a buffer, a start and a length.

use crate::{Device, Driver};
use sparse_core::{ContextId, Element, Space, space};
use std::marker::PhantomData;
use std::ops::Range;

/// Owned memory of a device.
#[derive(Debug)]
pub struct Buffer<D: Driver, T> {
    pub(crate) memory: D::Memory,
    pub(crate) len: usize,
    pub(crate) context: ContextId,
    pub(crate) element: PhantomData<T>,
}

impl<D: Driver, T> Buffer<D, T> {
    /// Bytes of the elements.
    pub(crate) fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

/// A shared view of a part of a [`Buffer`].
#[derive(Debug)]
pub struct View<'a, D: Driver, T> {
    pub(crate) memory: &'a D::Memory,
    pub(crate) start: usize,
    len: usize,
    context: ContextId,
    element: PhantomData<&'a T>,
}

/// An exclusive view of a part of a [`Buffer`].
#[derive(Debug)]
pub struct ViewMut<'a, D: Driver, T> {
    pub(crate) memory: &'a D::Memory,
    pub(crate) start: usize,
    len: usize,
    context: ContextId,
    element: PhantomData<&'a mut T>,
}

impl<D: Driver, T> Clone for View<'_, D, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Driver, T> Copy for View<'_, D, T> {}

impl<'a, D: Driver, T: Element> View<'a, D, T> {
    /// The memory, and the byte of it where the view starts, for those who hand it to another library.
    pub fn place(&self) -> (&'a D::Memory, usize) {
        (self.memory, self.offset())
    }

    /// Where the view starts in its buffer, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.start * size_of::<T>()
    }
}

impl<D: Driver, T: Element> ViewMut<'_, D, T> {
    /// Where the view starts in its buffer, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.start * size_of::<T>()
    }
}

impl<D: Driver> Space for Device<D> {
    type Buffer<T: Element> = Buffer<D, T>;
    type View<'a, T: Element> = View<'a, D, T>;
    type ViewMut<'a, T: Element> = ViewMut<'a, D, T>;

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

impl<D: Driver, T: Element> space::Buffer<T> for Buffer<D, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn context(&self) -> ContextId {
        self.context
    }
}

impl<D: Driver, T: Element> space::View<T> for View<'_, D, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn context(&self) -> ContextId {
        self.context
    }
}

impl<D: Driver, T: Element> space::ViewMut<T> for ViewMut<'_, D, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn context(&self) -> ContextId {
        self.context
    }
}
