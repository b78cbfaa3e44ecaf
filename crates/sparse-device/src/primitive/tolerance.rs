//! The tolerance of compression and pruning as a kernel argument.

use crate::driver::Value;
use crate::launch::Launch;
use sparse_core::Scalar;
use sparse_core::op::{Keep, RealOf};

/// [`Keep`] as two kernel arguments: 1 if a tolerance is set (else 0), and the tolerance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance(i32, Value);

impl Tolerance {
    pub(crate) fn new<T: Scalar>(keep: Keep<T>) -> Self {
        match keep {
            Keep::NonZero => Self(0, Value::new(&RealOf::<T>::ZERO)),
            Keep::Above(tolerance) => Self(1, Value::new(&tolerance)),
        }
    }
}

impl Launch<'_> {
    /// Passes a tolerance: elements of larger magnitude become entries.
    pub(crate) fn tolerance(self, Tolerance(is_set, tolerance): Tolerance) -> Self {
        self.value(is_set).factor(tolerance)
    }
}
