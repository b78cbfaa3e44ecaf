//! Elements of a vector in the host's memory.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Elements on the host: an owned vector, or borrowed memory.
pub(crate) enum HostElements<T> {
    Owned(Vec<T>),
    Borrowed(BorrowedElements<T>),
}

/// Borrowed elements, by the promise of [`new`](Self::new).
pub(crate) struct BorrowedElements<T>(NonNull<[T]>);

impl<T> BorrowedElements<T> {
    /// # Safety
    /// As for [`Vector::borrow`](super::Vector::borrow).
    pub(crate) unsafe fn new(elements: NonNull<[T]>) -> Self {
        Self(elements)
    }
}

// SAFETY: the elements are reached through `&self` and `&mut self` alone, like those of a vector.
unsafe impl<T: Send> Send for BorrowedElements<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for BorrowedElements<T> {}

/// An owned vector; borrowed memory is copied.
impl<T: Clone> Clone for HostElements<T> {
    fn clone(&self) -> Self {
        Self::Owned(self.to_vec())
    }
}

impl<T> Deref for HostElements<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(elements) => elements,
            // SAFETY: the lender promised that the elements exist, and that no code writes them during a call.
            Self::Borrowed(BorrowedElements(elements)) => unsafe { elements.as_ref() },
        }
    }
}

impl<T> DerefMut for HostElements<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Owned(elements) => elements,
            // SAFETY: the lender promised that the elements exist, and that no other code uses them during a call that
            // writes them.
            Self::Borrowed(BorrowedElements(elements)) => unsafe { elements.as_mut() },
        }
    }
}
