//! A batch of dense matrices as an operand.

use crate::Device;
use crate::launch::Launch;
use crate::operand::{Pointer, steps};
use sparse_core::{DenseBatchView, Scalar};

/// A batch of dense matrices.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    pub(super) data: Pointer<'a>,
    pub(super) count: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) stride: usize,
    pub(super) steps: (usize, usize),
}

impl<'a, T: Scalar> From<&DenseBatchView<'a, T, Device>> for Batch<'a> {
    fn from(a: &DenseBatchView<'a, T, Device>) -> Self {
        Self {
            data: a.data().into(),
            count: a.count(),
            rows: a.nrows(),
            cols: a.ncols(),
            stride: a.stride(),
            steps: steps(a.order(), a.leading_dimension()),
        }
    }
}

impl<'a> Launch<'a> {
    /// The common arguments of counting and filling.
    pub(super) fn batch(self, a: Batch<'a>) -> Self {
        let launch = self.size(a.count * a.rows).size(a.rows).size(a.cols).view(a.data);
        launch.size(a.stride).size(a.steps.0).size(a.steps.1)
    }
}
