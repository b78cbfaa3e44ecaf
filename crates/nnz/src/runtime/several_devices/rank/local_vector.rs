//! One rank's elements of a vector that is divided among ranks.

use super::{RankBackend, RankKernels};
use sparse_core::backend::SpaceOf;
use sparse_core::{Accumulator, Backend, Error, Result, Scalar};
use sparse_distrib::DistributedVector;
use std::any::Any;

/// A rank's elements of a vector in the memory of its backend, which is hidden. All but the last two are collective
/// calls with parts of the same matrix.
pub(in crate::runtime) trait AnyLocalVector<T>: Send + Sync {
    fn download(&self, host: &mut [T]) -> Result<()>;
    fn axpby(&mut self, alpha: T, x: &dyn AnyLocalVector<T>, beta: T) -> Result<()>;
    fn dot(&self, y: &dyn AnyLocalVector<T>) -> Result<T>;
    fn nrm2(&self) -> Result<f64>;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

/// A rank's elements of a vector.
pub(super) struct LocalVector<B: Backend, T: Accumulator> {
    pub(super) backend: RankBackend<B>,
    pub(super) vector: DistributedVector<T, SpaceOf<B>>,
}

impl<B: RankKernels<T>, T: Accumulator> LocalVector<B, T> {
    pub(super) fn of(part: &dyn AnyLocalVector<T>) -> Result<&Self> {
        part.as_any().downcast_ref().ok_or_else(other_matrix)
    }

    pub(super) fn of_mut(part: &mut dyn AnyLocalVector<T>) -> Result<&mut Self> {
        part.as_any_mut().downcast_mut().ok_or_else(other_matrix)
    }
}

impl<B: RankKernels<T>, T: Accumulator> AnyLocalVector<T> for LocalVector<B, T> {
    fn download(&self, host: &mut [T]) -> Result<()> {
        self.backend.agree("download", self.backend.local().download_into(self.vector.local(), host))
    }

    fn axpby(&mut self, alpha: T, x: &dyn AnyLocalVector<T>, beta: T) -> Result<()> {
        let added = self.vector.axpby(&self.backend, alpha, &Self::of(x)?.vector, beta);
        self.backend.agree("axpby", added)
    }

    fn dot(&self, y: &dyn AnyLocalVector<T>) -> Result<T> {
        self.vector.dot(&self.backend, &Self::of(y)?.vector)
    }

    fn nrm2(&self) -> Result<f64> {
        Ok(self.vector.nrm2(&self.backend)?.to_c64().re)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// The error of vectors whose matrices have other devices or types.
#[cold]
pub(in crate::runtime) fn other_matrix() -> Error {
    Error::operands("spmv", "the vectors are not of one matrix")
}
