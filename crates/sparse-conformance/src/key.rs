//! The names of subjects.

use crate::build::Build;
use sparse_core::{DType, Scalar, catalog};

/// The name of a subject: operation, format, types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The operation: `spmv`.
    pub op: &'static str,
    /// The format, or the pair of formats: `csr`, `csr_to_ell`.
    pub format: String,
    /// Value, index and offset type: `f64,i32,i32`; only the value's if the operation has no other.
    pub types: String,
    /// The type of the values.
    pub dtype: DType,
}

impl Key {
    /// The key of `op` in `format` for these types, the first of which is `T`.
    pub(crate) fn new<T: Scalar>(op: catalog::Operation, format: impl Into<String>, types: String) -> Self {
        Self { op: op.name(), format: format.into(), types, dtype: T::DTYPE }
    }

    /// The key of `op` in the format `H`.
    pub(crate) fn of<H: Build>(op: catalog::Operation) -> Self {
        Self::new::<H::Scalar>(op, H::FORMAT, H::types())
    }

    /// True if the format has several members.
    pub(crate) fn is_batch(&self) -> bool {
        self.format.starts_with("batch")
    }

    /// True if the format, the only one, is of compressed columns.
    pub(crate) fn is_by_columns(&self) -> bool {
        matches!(self.format.as_str(), "csc" | "batch_csc")
    }

    /// True if all indices have 32 bits.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.types.contains("i64")
    }

    /// `spmv/csr`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.op, self.format)
    }
}
