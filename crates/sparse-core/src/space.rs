//! Memory: spaces, buffers and views.

use bytemuck::Pod;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// An element of a buffer: plain bytes, on the host or on a device.
pub trait Element: Pod + Default + Debug + PartialEq + Send + Sync {}

impl<T: Pod + Default + Debug + PartialEq + Send + Sync> Element for T {}

/// The identity of a context: buffers of one context mean nothing in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContextId(u64);

impl ContextId {
    /// The host's memory.
    pub const HOST: Self = Self(0);

    /// An id that no other context of this process has.
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The id as a number, for messages.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A kind of memory. [`Host`] is shared by the reference and by the CPU backend.
///
/// Operands are views (a buffer, a start and a length), not whole buffers: guard words before an output, sub-vectors
/// and the members of a batch need a start. On the host a view is a slice.
pub trait Space: Debug + Send + Sync + 'static {
    /// Owned memory for `T`.
    type Buffer<T: Element>: Buffer<T>;
    /// A shared view of a part of a buffer.
    type View<'a, T: Element>: View<T>;
    /// An exclusive view of a part of a buffer.
    type ViewMut<'a, T: Element>: ViewMut<T>;

    /// The whole buffer.
    fn view<T: Element>(buffer: &Self::Buffer<T>) -> Self::View<'_, T>;

    /// The whole buffer, exclusively.
    fn view_mut<T: Element>(buffer: &mut Self::Buffer<T>) -> Self::ViewMut<'_, T>;

    /// A part of a view. The range lies inside the view; callers check.
    fn slice<'a, T: Element>(view: Self::View<'a, T>, range: Range<usize>) -> Self::View<'a, T>;

    /// A part of an exclusive view. The range lies inside the view; callers check.
    fn slice_mut<'a, T: Element>(view: Self::ViewMut<'a, T>, range: Range<usize>) -> Self::ViewMut<'a, T>;

    /// Lends an exclusive view for a shorter time.
    fn reborrow<'a, T: Element>(view: &'a mut Self::ViewMut<'_, T>) -> Self::ViewMut<'a, T>;

    /// A shared view of the elements of an exclusive view.
    fn as_shared<'a, T: Element>(view: &'a Self::ViewMut<'_, T>) -> Self::View<'a, T>;

    /// A slice of the host as a view, where this is the host's memory and nothing needs to be uploaded; else `None`.
    ///
    /// ```
    /// use sparse_core::{Host, Space};
    ///
    /// assert_eq!(Host::host_view(&[1.0, 2.0]), Some(&[1.0, 2.0][..]));
    /// ```
    fn host_view<T: Element>(_slice: &[T]) -> Option<Self::View<'_, T>> {
        None
    }
}

/// Owned memory in some [`Space`].
pub trait Buffer<T>: Debug + Send + Sync {
    /// The number of elements.
    fn len(&self) -> usize;

    /// True if there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context that the memory belongs to.
    fn context(&self) -> ContextId;
}

/// A shared view of memory in some [`Space`].
pub trait View<T>: Copy + Debug + Send + Sync {
    /// The number of elements.
    fn len(&self) -> usize;

    /// True if there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context that the memory belongs to.
    fn context(&self) -> ContextId;
}

/// An exclusive view of memory in some [`Space`].
pub trait ViewMut<T>: Debug + Send {
    /// The number of elements.
    fn len(&self) -> usize;

    /// True if there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context that the memory belongs to.
    fn context(&self) -> ContextId;
}

/// The host's memory: buffers are vectors, views are slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host;

impl Space for Host {
    type Buffer<T: Element> = Vec<T>;
    type View<'a, T: Element> = &'a [T];
    type ViewMut<'a, T: Element> = &'a mut [T];

    fn view<T: Element>(buffer: &Self::Buffer<T>) -> Self::View<'_, T> {
        buffer
    }

    fn view_mut<T: Element>(buffer: &mut Self::Buffer<T>) -> Self::ViewMut<'_, T> {
        buffer
    }

    fn slice<'a, T: Element>(view: Self::View<'a, T>, range: Range<usize>) -> Self::View<'a, T> {
        &view[range]
    }

    fn slice_mut<'a, T: Element>(view: Self::ViewMut<'a, T>, range: Range<usize>) -> Self::ViewMut<'a, T> {
        &mut view[range]
    }

    fn reborrow<'a, T: Element>(view: &'a mut Self::ViewMut<'_, T>) -> Self::ViewMut<'a, T> {
        view
    }

    fn as_shared<'a, T: Element>(view: &'a Self::ViewMut<'_, T>) -> Self::View<'a, T> {
        view
    }

    fn host_view<T: Element>(slice: &[T]) -> Option<Self::View<'_, T>> {
        Some(slice)
    }
}

impl<T: Element> Buffer<T> for Vec<T> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn context(&self) -> ContextId {
        ContextId::HOST
    }
}

impl<T: Element> View<T> for &[T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn context(&self) -> ContextId {
        ContextId::HOST
    }
}

impl<T: Element> ViewMut<T> for &mut [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn context(&self) -> ContextId {
        ContextId::HOST
    }
}
