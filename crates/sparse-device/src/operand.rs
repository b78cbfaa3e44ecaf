//! Operands without their types: pointers to their first elements, and the strides of dense ones.

use crate::buffer::{View, ViewMut};
use crate::device::Device;
use crate::driver::Memory;
use sparse_core::{DenseView, DenseViewMut, Element, Order};
use std::ops::Range;

/// A pointer to elements on a device: their memory, and the index of the first one there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pointer<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) start: usize,
}

impl<'a, T> From<View<'a, T>> for Pointer<'a> {
    fn from(View { memory, start, .. }: View<'a, T>) -> Self {
        Self { memory, start }
    }
}

impl<'a, T> From<ViewMut<'a, T>> for Pointer<'a> {
    fn from(ViewMut { memory, start, .. }: ViewMut<'a, T>) -> Self {
        Self { memory, start }
    }
}

/// A pointer to the elements of a dense operand, its extents, and its strides between rows and between columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenseOperand<'a> {
    pub(crate) data: Pointer<'a>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) steps: (usize, usize),
}

impl DenseOperand<'_> {
    /// The operand's columns in a range.
    pub(crate) fn columns(self, columns: Range<usize>) -> Self {
        let start = self.data.start + columns.start * self.steps.1;
        Self { data: Pointer { start, ..self.data }, cols: columns.len(), ..self }
    }
}

impl<'a, T: Element> From<DenseView<'a, T, Device>> for DenseOperand<'a> {
    fn from(view: DenseView<'a, T, Device>) -> Self {
        let steps = steps(view.order(), view.leading_dimension());
        Self { data: view.data().into(), rows: view.nrows(), cols: view.ncols(), steps }
    }
}

impl<'a, T: Element> From<DenseViewMut<'a, T, Device>> for DenseOperand<'a> {
    fn from(view: DenseViewMut<'a, T, Device>) -> Self {
        let steps = steps(view.order(), view.leading_dimension());
        Self { rows: view.nrows(), cols: view.ncols(), steps, data: view.into_data().into() }
    }
}

/// The strides between rows and between columns.
pub(crate) fn steps(order: Order, leading_dimension: usize) -> (usize, usize) {
    match order {
        Order::RowMajor => (leading_dimension, 1),
        Order::ColMajor => (1, leading_dimension),
    }
}
