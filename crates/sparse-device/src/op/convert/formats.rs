//! The formats of conversions, on a device.

use crate::Device;
use sparse_core::{BatchCompressed, Compressed, Coo, Csc, Csr, Ell, Hyb, Sell};

pub(super) type CompressedOn<A, T, I, O> = Compressed<A, T, Device, I, O>;
pub(super) type BatchOn<A, T, I, O> = BatchCompressed<A, T, Device, I, O>;
pub(super) type CsrOn<T, I, O> = Csr<T, Device, I, O>;
pub(super) type CscOn<T, I, O> = Csc<T, Device, I, O>;
pub(super) type CooOn<T, I> = Coo<T, Device, I>;
pub(super) type EllOn<T, I> = Ell<T, Device, I>;
pub(super) type HybOn<T, I> = Hyb<T, Device, I>;
pub(super) type SellOn<T, I, O> = Sell<T, Device, I, O>;
