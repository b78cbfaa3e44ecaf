//! The compressed rows that a product is planned for.

use super::raw::RawCompressed;
use super::row_lengths::LazyRowLengths;
use crate::Device;
use sparse_core::PlanOptions;
use sparse_core::op::Op;

/// The rows of a product's sparse factor, in CSR or CSC along the compressed direction, and the settings of its plan.
#[derive(Debug)]
pub(crate) struct PlannedRows<'a> {
    pub(crate) backend: &'a Device,
    pub(crate) a: RawCompressed<'a>,
    pub(crate) op: Op,
    pub(crate) options: &'a PlanOptions,
    pub(crate) lengths: LazyRowLengths<'a>,
}

impl<'a> PlannedRows<'a> {
    /// The rows of `a`, whose lengths are read when needed.
    pub(crate) fn new(backend: &'a Device, a: RawCompressed<'a>, op: Op, options: &'a PlanOptions) -> Self {
        Self { backend, a, op, options, lengths: LazyRowLengths::new(backend, a.offsets) }
    }
}
