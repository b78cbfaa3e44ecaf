//! The threshold above which elements are kept.

use crate::driver::Value;
use crate::launch::Launch;
use sparse_core::Scalar;
use sparse_core::op::{Keep, RealOf};

/// A threshold as a kernel argument: whether it is set, and its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threshold(i32, Value);

impl Threshold {
    pub(crate) fn new<T: Scalar>(keep: Keep<T>) -> Self {
        match keep {
            Keep::NonZero => Self(0, Value::new(&RealOf::<T>::ZERO)),
            Keep::Above(tolerance) => Self(1, Value::new(&tolerance)),
        }
    }
}

impl Launch<'_> {
    /// Passes the threshold above which elements are kept.
    pub(crate) fn threshold(self, Threshold(is_set, tolerance): Threshold) -> Self {
        self.value(is_set).factor(tolerance)
    }
}
