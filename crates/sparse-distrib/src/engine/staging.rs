//! Memory of the host for chunks on their way to a device.

use sparse_core::backend::HostBuffer;
use sparse_core::{Backend, Result, Scalar};

/// The memory of the host from which a device copies the fastest. Every backend is one.
pub trait Staging<T>: Send + Sync {
    /// Allocates `len` zeros.
    ///
    /// # Errors
    /// [`OutOfMemory`](sparse_core::Error::OutOfMemory) if the host has none.
    fn allocate(&self, len: usize) -> Result<HostBuffer<T>>;

    /// True if the device copies these elements as fast as [allocated](Self::allocate) ones.
    fn is_direct(&self, elements: &[T]) -> bool;
}

impl<B: Backend, T: Scalar> Staging<T> for B {
    fn allocate(&self, len: usize) -> Result<HostBuffer<T>> {
        self.host_buffer(len)
    }

    fn is_direct(&self, elements: &[T]) -> bool {
        self.uploads_directly(elements)
    }
}
