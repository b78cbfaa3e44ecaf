//! The two backends of the run-time layer (host and accelerator), and the tables of their matrix types.

use super::any_matrix::AnyMatrix;
use super::runtime_format::{RuntimeFormat, copy_of};
use super::typed_matrix::Typed;
use crate::Device;
use crate::device::HostBackend;
use crate::runtime::elements::HostElements;
use sparse_core::backend::{Backend, Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::{SpmvKernel, VectorKernel};
use sparse_core::{BatchCsc, BatchCsr, Coo, Csc, Csr, Element, Ell, HostCsr, Hyb, Sell, Space, SparseFormat};
use sparse_device::Device as Accelerator;
use std::any::Any;
use std::sync::Arc;

/// A backend of a [`Device`].
pub(crate) trait RuntimeBackend: Backend {
    /// One constructor for each supported type of matrix in this backend's memory.
    const CONSTRUCTORS: &'static [Constructor];

    /// The elements of a vector: on an accelerator, a copy-on-write buffer; on the host, a vector or borrowed memory.
    type Elements<T: Element>: Clone + Send + Sync + 'static;

    /// The backend of `device`, if it is of this type.
    fn of(device: &Device) -> Option<&Self>;

    /// A view of all elements.
    fn view_of<T: Element>(elements: &Self::Elements<T>) -> ViewOf<'_, Self, T>;

    /// An exclusive view of all elements; those that a clone shares are copied first.
    fn view_mut_of<'a, T: Element>(
        &self,
        elements: &'a mut Self::Elements<T>,
    ) -> sparse_core::Result<ViewMutOf<'a, Self, T>>;
}

/// Hides the type of a matrix, or returns it where it is of another type than the constructor's.
pub(crate) type Constructor = fn(Box<dyn Any>, &Device) -> Result<Arc<dyn AnyMatrix>, Box<dyn Any>>;

/// The operations that every format has, batches among them.
pub(crate) trait FormatKernels<M: SparseFormat<Space = SpaceOf<Self>>>:
    SpmvKernel<M> + VectorKernel<M::Scalar>
{
}

impl<B, M> FormatKernels<M> for B
where
    M: SparseFormat<Space = SpaceOf<B>>,
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
{
}

fn construct<B, M>(matrix: Box<dyn Any>, device: &Device) -> Result<Arc<dyn AnyMatrix>, Box<dyn Any>>
where
    B: RuntimeBackend + FormatKernels<M>,
    M: RuntimeFormat<B>,
{
    let Some(backend) = B::of(device) else { return Err(matrix) };
    let matrix: M = *matrix.downcast()?;
    Ok(Arc::new(Typed::new(backend.clone(), device.clone(), matrix)))
}

macro_rules! constructors {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        &[$(
            construct::<Self, Csr<$t, SpaceOf<Self>, $i, $o>>,
            construct::<Self, Csc<$t, SpaceOf<Self>, $i, $o>>,
            construct::<Self, BatchCsr<$t, SpaceOf<Self>, $i, $o>>,
            construct::<Self, BatchCsc<$t, SpaceOf<Self>, $i, $o>>,
            construct::<Self, Coo<$t, SpaceOf<Self>, $i>>,
            construct::<Self, Ell<$t, SpaceOf<Self>, $i>>,
            construct::<Self, Hyb<$t, SpaceOf<Self>, $i>>,
            construct::<Self, Sell<$t, SpaceOf<Self>, $i, $o>>,
        )*]
    };
}

macro_rules! all_borrowing {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        &[$(construct::<HostBackend, HostCsr<$t, $i, $o>>,)*]
    };
}

/// One constructor for each supported type of matrix over borrowed arrays on the host. A function and not a constant,
/// since the crate's unit tests would compile a constant with everything that it names.
pub(crate) fn borrowing_constructors() -> &'static [Constructor] {
    const { sparse_core::for_all_types!(all_borrowing) }
}

impl RuntimeBackend for HostBackend {
    const CONSTRUCTORS: &'static [Constructor] = sparse_core::for_all_types!(constructors);

    type Elements<T: Element> = HostElements<T>;

    fn of(device: &Device) -> Option<&Self> {
        match device {
            Device::Cpu(backend) => Some(backend),
            Device::Accelerator(..) => None,
        }
    }

    fn view_of<T: Element>(elements: &HostElements<T>) -> &[T] {
        elements
    }

    fn view_mut_of<'a, T: Element>(
        &self,
        elements: &'a mut HostElements<T>,
    ) -> sparse_core::Result<&'a mut [T]> {
        Ok(elements)
    }
}

impl RuntimeBackend for Accelerator {
    const CONSTRUCTORS: &'static [Constructor] = sparse_core::for_all_types!(constructors);

    type Elements<T: Element> = Arc<Buf<Self, T>>;

    fn of(device: &Device) -> Option<&Self> {
        match device {
            Device::Accelerator(backend, _) => Some(backend),
            Device::Cpu(_) => None,
        }
    }

    fn view_of<T: Element>(elements: &Arc<Buf<Self, T>>) -> ViewOf<'_, Self, T> {
        SpaceOf::<Self>::view(elements)
    }

    fn view_mut_of<'a, T: Element>(
        &self,
        elements: &'a mut Arc<Buf<Self, T>>,
    ) -> sparse_core::Result<ViewMutOf<'a, Self, T>> {
        if Arc::get_mut(elements).is_none() {
            *elements = Arc::new(copy_of(self, elements)?);
        }
        let buffer = Arc::get_mut(elements).expect("a new copy has no other owner");
        Ok(SpaceOf::<Self>::view_mut(buffer))
    }
}
