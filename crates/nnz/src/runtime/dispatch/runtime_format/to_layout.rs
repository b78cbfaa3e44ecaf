//! CSR matrices in another layout.

use super::{DeviceBackend, copy_of};
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::{Layout, Matrix};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{FullBackend, Operations};
use sparse_core::{Coo, Csc, Csr, Ell, Hyb, Index, Result, Scalar, Sell};

/// Converts a CSR matrix to another layout; one that has the layout already is not copied.
pub(super) fn into_layout<B, T, I, O>(
    on: DeviceBackend<'_, B>,
    csr: Csr<T, SpaceOf<B>, I, O>,
    layout: &Layout,
) -> Result<Matrix>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    if *layout == Layout::Csr { on.erase(csr) } else { csr_to_layout(on, &csr, layout) }
}

/// Converts a CSR matrix to another layout; one that has the layout already is copied.
pub(super) fn csr_to_layout<B, T, I, O>(
    on: DeviceBackend<'_, B>,
    csr: &Csr<T, SpaceOf<B>, I, O>,
    layout: &Layout,
) -> Result<Matrix>
where
    B: RuntimeBackend + FullBackend<T, I, O>,
    T: Scalar,
    I: Index,
    O: Index,
{
    let backend = on.backend;
    match layout {
        Layout::Csr => on.erase(csr.with_values(copy_of::<B, T>(backend, csr.values())?)?),
        Layout::Csc => on.erase(Operations::convert::<_, Csc<T, SpaceOf<B>, I, O>>(backend, csr, &())?),
        Layout::Coo => on.erase(Operations::convert::<_, Coo<T, SpaceOf<B>, I>>(backend, csr, &())?),
        Layout::Ell(layout) => {
            on.erase(Operations::convert::<_, Ell<T, SpaceOf<B>, I>>(backend, csr, layout)?)
        }
        Layout::Hyb(layout) => {
            on.erase(Operations::convert::<_, Hyb<T, SpaceOf<B>, I>>(backend, csr, layout)?)
        }
        Layout::Sell(layout) => {
            on.erase(Operations::convert::<_, Sell<T, SpaceOf<B>, I, O>>(backend, csr, layout)?)
        }
    }
}
