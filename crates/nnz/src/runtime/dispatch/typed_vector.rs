//! Vectors of a type that is known, behind the trait that hides it.

use super::backend::RuntimeBackend;
use super::operand_errors::{factor, mismatch};
use crate::Device;
use crate::runtime::Vector;
use sparse_core::backend::{SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::VectorKernel;
use sparse_core::op::vector::{axpby, dot, nrm2, scal};
use sparse_core::space::View as _;
use sparse_core::{ContextId, DType, Result, Scalar, Space as _, c64, cast_slice, with_dtype};
use std::any::Any;
use std::ops::Range;

/// A vector behind one object-safe trait; the methods are those of [`Vector`]. Operands are of this vector's type and
/// memory.
pub(in crate::runtime) trait AnyVector: Any + Send + Sync {
    fn len(&self) -> usize;
    fn dtype(&self) -> DType;
    fn context(&self) -> ContextId;
    fn boxed_clone(&self) -> Box<dyn AnyVector>;
    fn cast(&self, device: &Device, dtype: DType) -> Result<Vector>;
    fn copy_to(&self, device: &Device) -> Result<Vector>;
    fn dot(&self, y: &Vector) -> Result<c64>;
    fn nrm2(&self) -> Result<f64>;
    fn axpby(&mut self, alpha: c64, x: &Vector, beta: c64) -> Result<()>;
    fn scale(&mut self, alpha: c64) -> Result<()>;
    fn copy_from(&mut self, start: usize, x: &Vector, range: Range<usize>) -> Result<()>;
}

pub(in crate::runtime) struct TypedVector<B: RuntimeBackend, T: Scalar> {
    pub(in crate::runtime) backend: B,
    pub(in crate::runtime) elements: B::Elements<T>,
}

impl<B: RuntimeBackend, T: Scalar> TypedVector<B, T> {
    pub(in crate::runtime) fn view(&self) -> ViewOf<'_, B, T> {
        B::view_of(&self.elements)
    }

    pub(in crate::runtime) fn view_mut(&mut self) -> Result<ViewMutOf<'_, B, T>> {
        self.backend.view_mut_of(&mut self.elements)
    }

    /// A copy of the elements on the host.
    pub(in crate::runtime) fn to_host(&self) -> Result<Vec<T>> {
        let mut host = vec![T::ZERO; self.view().len()];
        self.backend.download_into(self.view(), &mut host)?;
        Ok(host)
    }
}

/// An operand whose type and memory were checked.
fn operand<'a, B: RuntimeBackend, T: Scalar>(op: &'static str, x: &'a Vector) -> Result<ViewOf<'a, B, T>> {
    x.typed::<B, T>().map(TypedVector::view).ok_or_else(|| mismatch(op, x.as_operand("x"), &[]))
}

impl<B: RuntimeBackend + VectorKernel<T>, T: Scalar> AnyVector for TypedVector<B, T> {
    fn len(&self) -> usize {
        self.view().len()
    }

    fn dtype(&self) -> DType {
        T::DTYPE
    }

    fn context(&self) -> ContextId {
        self.view().context()
    }

    fn boxed_clone(&self) -> Box<dyn AnyVector> {
        Box::new(Self { backend: self.backend.clone(), elements: self.elements.clone() })
    }

    fn cast(&self, device: &Device, dtype: DType) -> Result<Vector> {
        let values = self.to_host()?;
        with_dtype!(dtype, U => Vector::from_vec(device, cast_slice::<T, U>(&values)?))
    }

    fn copy_to(&self, device: &Device) -> Result<Vector> {
        Vector::from_vec(device, self.to_host()?)
    }

    fn dot(&self, y: &Vector) -> Result<c64> {
        let y = operand::<B, T>("dot", y)?;
        Ok(dot::<B, T>(&self.backend, self.view(), y)?.to_c64())
    }

    fn nrm2(&self) -> Result<f64> {
        Ok(nrm2::<B, T>(&self.backend, self.view())?.to_c64().re)
    }

    fn axpby(&mut self, alpha: c64, x: &Vector, beta: c64) -> Result<()> {
        let (alpha, beta) = (factor("axpby", "alpha", alpha)?, factor("axpby", "beta", beta)?);
        let x = operand::<B, T>("axpby", x)?;
        let y = self.backend.view_mut_of(&mut self.elements)?;
        axpby::<B, T>(&self.backend, alpha, x, beta, y)
    }

    fn scale(&mut self, alpha: c64) -> Result<()> {
        let alpha = factor("scale", "the factor", alpha)?;
        let x = self.backend.view_mut_of(&mut self.elements)?;
        scal::<B, T>(&self.backend, alpha, x)
    }

    fn copy_from(&mut self, start: usize, x: &Vector, range: Range<usize>) -> Result<()> {
        let end = start + range.len();
        let from = SpaceOf::<B>::slice(operand::<B, T>("copy_from", x)?, range);
        let to = SpaceOf::<B>::slice_mut(self.backend.view_mut_of(&mut self.elements)?, start..end);
        self.backend.copy(from, to)
    }
}
