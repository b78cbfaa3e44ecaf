//! Operands without their types: the first element of each, and the strides of dense ones.

use crate::buffer::{View, ViewMut};
use crate::device::Device;
use crate::driver::Memory;
use sparse_core::{DenseView, DenseViewMut, Element, Order};
use std::ops::Range;

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
    /// The operand's columns in a range.
    pub(crate) fn columns(self, columns: Range<usize>) -> Self {
        let start = self.place.start + columns.start * self.steps.1;
        Self { place: Place { start, ..self.place }, cols: columns.len(), ..self }
    }
}

impl<'a, T: Element> From<DenseView<'a, T, Device>> for DensePlace<'a> {
    fn from(view: DenseView<'a, T, Device>) -> Self {
        let steps = steps(view.order(), view.leading_dimension());
        Self { place: view.data().into(), rows: view.nrows(), cols: view.ncols(), steps }
    }
}

impl<'a, T: Element> From<DenseViewMut<'a, T, Device>> for DensePlace<'a> {
    fn from(view: DenseViewMut<'a, T, Device>) -> Self {
        let steps = steps(view.order(), view.leading_dimension());
        Self { rows: view.nrows(), cols: view.ncols(), steps, place: view.into_data().into() }
    }
}

/// The strides between rows and between columns.
pub(crate) fn steps(order: Order, leading_dimension: usize) -> (usize, usize) {
    match order {
        Order::RowMajor => (leading_dimension, 1),
        Order::ColMajor => (1, leading_dimension),
    }
}
