//! The requirements of the suite on a backend.

use crate::value::Value;
use sparse_core::backend::SpaceOf;
use sparse_core::op::{SpmmKernel, SpmvKernel, VectorKernel};
use sparse_core::{Backend, Csr, c32, c64};

/// Returns the seconds of a number of repetitions of the work.
pub(crate) type Clock<'a> =
    dyn Fn(usize, &mut dyn FnMut() -> sparse_core::Result<()>) -> sparse_core::Result<f64> + 'a;

/// The products that the suite times in a type.
pub(crate) trait Multiplies<T: Value>:
    Backend + VectorKernel<T> + SpmvKernel<Csr<T, SpaceOf<Self>>> + SpmmKernel<Csr<T, SpaceOf<Self>>>
{
}

impl<T: Value, B> Multiplies<T> for B where
    B: Backend + VectorKernel<T> + SpmvKernel<Csr<T, SpaceOf<B>>> + SpmmKernel<Csr<T, SpaceOf<B>>>
{
}

/// The products in every type.
pub(crate) trait MultipliesAll:
    Multiplies<f32> + Multiplies<f64> + Multiplies<c32> + Multiplies<c64>
{
}

impl<B: Multiplies<f32> + Multiplies<f64> + Multiplies<c32> + Multiplies<c64>> MultipliesAll for B {}
