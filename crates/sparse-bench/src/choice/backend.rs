//! The requirements of the suite on a backend.

use sparse_core::backend::SpaceOf;
use sparse_core::op::{SpmmKernel, SpmvKernel, VectorKernel};
use sparse_core::{Backend, Csr};

/// Returns the seconds of a number of repetitions of the work.
pub(crate) type Clock<'a> =
    dyn Fn(usize, &mut dyn FnMut() -> sparse_core::Result<()>) -> sparse_core::Result<f64> + 'a;

/// The products that the suite times.
pub(crate) trait Multiplies:
    Backend
    + VectorKernel<f32>
    + VectorKernel<f64>
    + SpmvKernel<Csr<f32, SpaceOf<Self>>>
    + SpmvKernel<Csr<f64, SpaceOf<Self>>>
    + SpmmKernel<Csr<f32, SpaceOf<Self>>>
{
}

impl<B> Multiplies for B where
    B: Backend
        + VectorKernel<f32>
        + VectorKernel<f64>
        + SpmvKernel<Csr<f32, SpaceOf<B>>>
        + SpmvKernel<Csr<f64, SpaceOf<B>>>
        + SpmmKernel<Csr<f32, SpaceOf<B>>>
{
}
