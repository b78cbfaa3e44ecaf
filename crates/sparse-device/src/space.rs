//! A device as a [`Space`].

use crate::buffer::{Buffer, View, ViewMut};
use crate::device::Device;
use sparse_core::{Element, Space};
use std::ops::Range;

impl Space for Device {
    type Buffer<T: Element> = Buffer<T>;
    type View<'a, T: Element> = View<'a, T>;
    type ViewMut<'a, T: Element> = ViewMut<'a, T>;

    fn view<T: Element>(buffer: &Self::Buffer<T>) -> Self::View<'_, T> {
        buffer.view()
    }

    fn view_mut<T: Element>(buffer: &mut Self::Buffer<T>) -> Self::ViewMut<'_, T> {
        buffer.view_mut()
    }

    fn slice<'a, T: Element>(view: Self::View<'a, T>, range: Range<usize>) -> Self::View<'a, T> {
        view.slice(range)
    }

    fn slice_mut<'a, T: Element>(view: Self::ViewMut<'a, T>, range: Range<usize>) -> Self::ViewMut<'a, T> {
        view.slice(range)
    }

    fn reborrow<'a, T: Element>(view: &'a mut Self::ViewMut<'_, T>) -> Self::ViewMut<'a, T> {
        view.reborrow()
    }

    fn as_shared<'a, T: Element>(view: &'a Self::ViewMut<'_, T>) -> Self::View<'a, T> {
        view.as_shared()
    }
}
