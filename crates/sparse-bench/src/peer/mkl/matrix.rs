//! Matrices of the inspector-executor, and the errors of its calls.

use super::functions::{Handle, Status};
use super::library::Mkl;
use crate::peer::call;
use anyhow::Result;
use std::marker::PhantomData;
use std::ptr;

/// The result of a call of the inspector-executor.
pub(super) fn check(call: &'static str, status: Status) -> sparse_core::Result<()> {
    if status == 0 { Ok(()) } else { Err(call::failed("mkl", call, status)) }
}

/// A matrix of the inspector-executor, over arrays that live as long as `'a`, or of its own.
pub(super) struct SparseMatrix<'a> {
    pub(super) library: &'a Mkl,
    pub(super) handle: Handle,
    arrays: PhantomData<&'a ()>,
}

impl<'a> SparseMatrix<'a> {
    /// The matrix that a call makes.
    pub(super) fn create(
        library: &'a Mkl,
        call: &'static str,
        make: impl FnOnce(*mut Handle) -> Status,
    ) -> Result<Self> {
        let mut handle = ptr::null_mut();
        check(call, make(&raw mut handle))?;
        Ok(Self { library, handle, arrays: PhantomData })
    }
}

impl Drop for SparseMatrix<'_> {
    fn drop(&mut self) {
        if let Ok(destroy) = self.library.sparse_destroy() {
            // SAFETY: the handle was made by the library and is not used after this.
            let _ = unsafe { destroy(self.handle) };
        }
    }
}

/// The contenders of MKL; the reason for a missing one is printed.
pub(super) fn available<P>(found: impl IntoIterator<Item = (&'static str, Result<P>)>) -> Vec<P> {
    let said = |(name, found)| crate::product::available(&format!("mkl:{name}"), found);
    found.into_iter().filter_map(said).collect()
}
