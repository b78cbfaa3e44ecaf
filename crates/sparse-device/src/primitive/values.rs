//! The value arrays of a matrix.

use crate::buffer::RawBuffer;
use crate::launch::Launch;

/// The value arrays of a matrix: values from position `split` on are in `tail`. Only HYB has two.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    pub(crate) head: &'a RawBuffer,
    pub(crate) tail: &'a RawBuffer,
    pub(crate) split: usize,
}

impl<'a> Values<'a> {
    /// A single array.
    pub(crate) fn one(values: &'a RawBuffer) -> Self {
        Self { head: values, tail: values, split: values.len }
    }
}

impl<'a> Launch<'a> {
    /// The value arrays of a matrix, by position.
    pub(crate) fn values(self, values: Values<'a>) -> Self {
        self.size(values.split).buffer(values.head).buffer(values.tail)
    }
}
