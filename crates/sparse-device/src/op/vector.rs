//! Vector operations. Reductions leave one partial result a work-group, whose number depends on the length alone; the
//! host adds them in order.

use crate::launch::Launch;
use crate::program::Defines;
use crate::{Buffer, Device, Driver, View, ViewMut};
use num_traits::Float;
use sparse_core::op::{RealOf, VectorKernel};
use sparse_core::space::{View as _, ViewMut as _};
use sparse_core::{Backend, DenseViewMut, Element, Result, Scalar, c64};
use std::sync::Arc;

/// Work-groups of a reduction, at most.
const PARTIALS: usize = 256;
/// Elements that a work-item adds, at least, before another work-group is worth it.
const ITEMS_PER_LANE: usize = 8;

impl<D: Driver> Device<D> {
    pub(super) fn vector_kernel<T: Scalar>(&self, entry: &'static str) -> Result<Arc<D::Kernel>> {
        self.kernel_of::<T>("vector", entry, Defines::default().set("BLOCK", self.inner.block))
    }

    /// Runs a reduction over `len` elements, all of whose arguments are there but the last: the partial results.
    pub(super) fn partials<R: Element>(&self, reduction: Launch<'_, D>, len: usize) -> Result<Vec<R>> {
        let groups = len.div_ceil(self.inner.block * ITEMS_PER_LANE).min(PARTIALS);
        let partial: Buffer<D, R> = self.allocate(groups)?;
        reduction.buffer(&partial).groups(groups, self.inner.block)?;
        self.download(&partial)
    }

    fn scale<T: Scalar>(&self, beta: T::Acc, c: DenseViewMut<'_, T, Self>) -> Result<()> {
        let kernel = self.vector_kernel::<T>("vector_scale")?;
        let (rows, cols) = (c.rows(), c.cols());
        self.launch(&kernel).size(rows).size(cols).value(beta).dense_mut(c).items(rows * cols)
    }
}

impl<D: Driver, T: Scalar> VectorKernel<T> for Device<D> {
    unsafe fn axpby(
        &self,
        alpha: T::Acc,
        x: View<'_, D, T>,
        beta: T::Acc,
        y: ViewMut<'_, D, T>,
    ) -> Result<()> {
        if alpha.is_zero() {
            // SAFETY: the caller promises the same of y.
            return unsafe { self.scal(beta, y) };
        }
        let kernel = self.vector_kernel::<T>("vector_axpby")?;
        let len = y.len();
        self.launch(&kernel).size(len).value(alpha).view(x).value(beta).view_mut(y).items(len)
    }

    unsafe fn dot(&self, x: View<'_, D, T>, y: View<'_, D, T>) -> Result<T::Acc> {
        let kernel = self.vector_kernel::<T>("vector_dot")?;
        let reduction = self.launch(&kernel).size(x.len()).view(x).view(y);
        let partials: Vec<T::Acc> = self.partials(reduction, x.len())?;
        Ok(partials.into_iter().fold(T::Acc::ZERO, |sum, part| sum + part))
    }

    /// Scaled by a power of two near the largest element, so that no square overflows and none that counts underflows.
    unsafe fn nrm2(&self, x: View<'_, D, T>) -> Result<RealOf<T>> {
        let kernel = self.vector_kernel::<T>("vector_largest")?;
        let parts: Vec<RealOf<T>> = self.partials(self.launch(&kernel).size(x.len()).view(x), x.len())?;
        let largest = parts.into_iter().fold(RealOf::<T>::ZERO, Float::max);
        let exponent = match largest.is_zero() || largest.is_infinite() {
            true => 0,
            false => i32::from(largest.integer_decode().1) + 1,
        };
        let kernel = self.vector_kernel::<T>("vector_squares")?;
        let reduction = self.launch(&kernel).size(x.len()).value(-exponent).view(x);
        let squares: Vec<RealOf<T>> = self.partials(reduction, x.len())?;
        let sum = squares.into_iter().fold(RealOf::<T>::ZERO, |sum, part| sum + part);
        let norm = sum.to_c64().re.sqrt() * f64::from(exponent).exp2();
        Ok(RealOf::<T>::from_c64(c64::new(norm, 0.0)))
    }

    unsafe fn scal(&self, alpha: T::Acc, x: ViewMut<'_, D, T>) -> Result<()> {
        let len = x.len();
        self.scale(alpha, DenseViewMut::new(x, len, 1, 1, sparse_core::Order::RowMajor)?)
    }

    unsafe fn scale_dense(&self, beta: T::Acc, c: DenseViewMut<'_, T, Self>) -> Result<()> {
        self.scale(beta, c)
    }
}
