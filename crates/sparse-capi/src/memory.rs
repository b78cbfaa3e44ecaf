//! Memory of the caller as operands of a backend.

use backend_cpu::Cpu;
use sparse_core::backend::{ViewMutOf, ViewOf};
use sparse_core::{Backend, Csr, Element, Error, HostCsr, Result, Scalar, SpaceOf, SparseFormat};
use std::ptr::{NonNull, slice_from_raw_parts_mut};

/// A backend that computes in the caller's memory.
pub(crate) trait CallerMemory: Backend {
    /// Borrowed elements of the caller.
    type Elements<T: Element>;
    /// A CSR matrix whose arrays are the caller's or the backend's.
    type Csr<T: Scalar>: SparseFormat<Scalar = T, Space = SpaceOf<Self>>;

    /// Borrows `len` elements; if that is 0, `pointer` may be anything.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for memory that the backend cannot use.
    ///
    /// # Safety
    /// `pointer` is what `nnz.h` asks for on this backend, as long as the elements are used. Elements that are written
    /// are borrowed once.
    unsafe fn borrow<T: Element>(&self, pointer: *mut T, len: usize) -> Result<Self::Elements<T>>;

    /// The elements as an input operand.
    fn view<T: Element>(elements: &Self::Elements<T>) -> ViewOf<'_, Self, T>;

    /// The elements as an output operand.
    fn view_mut<T: Element>(elements: &mut Self::Elements<T>) -> ViewMutOf<'_, Self, T>;

    /// A matrix over borrowed arrays, which are checked.
    ///
    /// # Errors
    /// Those of [`Csr::new_unsorted`](sparse_core::Compressed::new_unsorted); an error of the device's runtime.
    fn csr<T: Scalar>(
        &self,
        shape: (usize, usize),
        offsets: Self::Elements<i32>,
        indices: Self::Elements<i32>,
        values: Self::Elements<T>,
    ) -> Result<Self::Csr<T>>;

    /// A matrix of the backend's own.
    fn owned<T: Scalar>(matrix: Csr<T, SpaceOf<Self>>) -> Self::Csr<T>;

    /// The addresses of the offsets, the indices and the values.
    fn addresses<T: Scalar>(matrix: &Self::Csr<T>) -> (*const i32, *const i32, *const T);
}

/// Elements on the host, by the promise of [`CallerMemory::borrow`].
pub(crate) struct HostElements<T>(*mut [T]);

impl CallerMemory for Cpu {
    type Elements<T: Element> = HostElements<T>;
    type Csr<T: Scalar> = HostCsr<T>;

    unsafe fn borrow<T: Element>(&self, pointer: *mut T, len: usize) -> Result<HostElements<T>> {
        let pointer = if len == 0 { NonNull::dangling().as_ptr() } else { pointer };
        if !pointer.is_aligned() {
            let reason = format!("{pointer:p} is not aligned to {} bytes", align_of::<T>());
            return Err(Error::unsupported("the caller's memory", reason));
        }
        Ok(HostElements(slice_from_raw_parts_mut(pointer, len)))
    }

    fn view<T: Element>(elements: &HostElements<T>) -> &[T] {
        // SAFETY: the caller of `borrow` promised that the elements exist, and nobody writes them meanwhile.
        unsafe { &*elements.0 }
    }

    fn view_mut<T: Element>(elements: &mut HostElements<T>) -> &mut [T] {
        // SAFETY: the caller of `borrow` promised that the elements exist, and nobody else uses them meanwhile. If beta
        // is 0 nothing need have written them yet; memory from another language has some bytes, and every pattern of
        // bytes is an `Element`.
        unsafe { &mut *elements.0 }
    }

    fn csr<T: Scalar>(
        &self,
        (rows, cols): (usize, usize),
        offsets: HostElements<i32>,
        indices: HostElements<i32>,
        values: HostElements<T>,
    ) -> Result<HostCsr<T>> {
        // SAFETY: the caller of `borrow` promised the same for as long as the matrix lives.
        unsafe { HostCsr::borrow(rows, cols, offsets.0, indices.0, values.0) }
    }

    fn owned<T: Scalar>(matrix: Csr<T>) -> HostCsr<T> {
        matrix.into()
    }

    fn addresses<T: Scalar>(matrix: &HostCsr<T>) -> (*const i32, *const i32, *const T) {
        (matrix.offsets().as_ptr(), matrix.indices().as_ptr(), matrix.values().as_ptr())
    }
}
