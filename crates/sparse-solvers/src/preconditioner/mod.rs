//! Approximate inverses that speed up convergence.

mod block_jacobi;
mod factors;
mod ic0;
mod ilu0;
mod inverse;
mod jacobi;

pub use block_jacobi::BlockJacobi;
pub use ic0::Ic0;
pub use ilu0::Ilu0;
pub use jacobi::{Jacobi, inverse_diagonal, inverse_diagonal_of_block};

use sparse_core::backend::{Backend, ViewOf};
use sparse_core::{Result, Scalar};
use std::fmt::Debug;

/// An approximation K of A whose inverse is cheap to apply.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_solvers::{Jacobi, Preconditioner};
///
/// let mut jacobi = Jacobi::from_inverse_diagonal(&Reference, vec![0.5, 0.25])?;
/// assert_eq!(jacobi.apply(&[8.0, 8.0])?, [4.0, 2.0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
pub trait Preconditioner<B: Backend, T: Scalar>: Debug {
    /// K⁻¹·r, in memory that the preconditioner owns, or `r` itself.
    ///
    /// # Errors
    /// [`Shape`](sparse_core::Error::Shape) if the length of `r` is not the number of rows of K; errors of the device's
    /// runtime.
    fn apply<'a>(&'a mut self, r: ViewOf<'a, B, T>) -> Result<ViewOf<'a, B, T>>;

    /// True if K is known to be the identity, so that rᴴ·K⁻¹·r is ‖r‖².
    fn is_identity(&self) -> bool {
        false
    }

    /// True if each [`apply`](Self::apply) enqueues the same work, takes no lock and waits for no device, so that a
    /// solver may [record](Backend::record) it and repeat the recording in place of further calls.
    fn is_recordable(&self) -> bool {
        false
    }
}

/// No preconditioner: K = I.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Identity;

impl<B: Backend, T: Scalar> Preconditioner<B, T> for Identity {
    fn apply<'a>(&'a mut self, r: ViewOf<'a, B, T>) -> Result<ViewOf<'a, B, T>> {
        Ok(r)
    }

    fn is_identity(&self) -> bool {
        true
    }

    fn is_recordable(&self) -> bool {
        true
    }
}

/// A preconditioner whose type is chosen at run time.
impl<B: Backend, T: Scalar, P: Preconditioner<B, T> + ?Sized> Preconditioner<B, T> for Box<P> {
    fn apply<'a>(&'a mut self, r: ViewOf<'a, B, T>) -> Result<ViewOf<'a, B, T>> {
        (**self).apply(r)
    }

    fn is_identity(&self) -> bool {
        (**self).is_identity()
    }

    fn is_recordable(&self) -> bool {
        (**self).is_recordable()
    }
}

/// A preconditioner that may be there or not; `None` is [`Identity`].
impl<B: Backend, T: Scalar, P: Preconditioner<B, T>> Preconditioner<B, T> for Option<P> {
    fn apply<'a>(&'a mut self, r: ViewOf<'a, B, T>) -> Result<ViewOf<'a, B, T>> {
        match self {
            Some(preconditioner) => preconditioner.apply(r),
            None => Ok(r),
        }
    }

    fn is_identity(&self) -> bool {
        self.as_ref().is_none_or(Preconditioner::is_identity)
    }

    fn is_recordable(&self) -> bool {
        self.as_ref().is_none_or(Preconditioner::is_recordable)
    }
}
