//! The end of every product: `y ← alpha·sum + beta·y`.

use crate::simd::fetch_address;
use sparse_core::{Accumulator, Scalar};

/// `alpha` and `beta` of a product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Update<Acc> {
    pub(crate) alpha: Acc,
    pub(crate) beta: Acc,
}

impl<Acc: Accumulator> Update<Acc> {
    /// `y ← alpha·sum + beta·y`; `beta == 0` does not read `y`.
    #[inline(always)]
    pub(crate) fn write<T: Scalar<Acc = Acc>>(&self, y: &mut T, sum: Acc) {
        let mut value = self.alpha * sum;
        if !self.beta.is_zero() {
            value += self.beta * y.to_acc();
        }
        *y = T::from_acc(value);
    }

    /// [`write`](Self::write) of neighbouring elements.
    #[inline(always)]
    pub(crate) fn write_all<T: Scalar<Acc = Acc>>(&self, y: &mut [T], sums: &[Acc]) {
        // Outside the loop, which is then compiled to vectors.
        if self.beta.is_zero() {
            for (y, &sum) in y.iter_mut().zip(sums) {
                *y = T::from_acc(self.alpha * sum);
            }
        } else {
            for (y, &sum) in y.iter_mut().zip(sums) {
                self.write(y, sum);
            }
        }
    }
}

/// Memory that the tasks of one operation write at positions of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disjoint<T> {
    start: *mut T,
    len: usize,
}

// SAFETY: elements are only accessed through `at`, whose callers promise that no two threads use one position.
unsafe impl<T: Send> Send for Disjoint<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Disjoint<T> {}

impl<T> Disjoint<T> {
    pub(crate) fn new(memory: &mut [T]) -> Self {
        Self { start: memory.as_mut_ptr(), len: memory.len() }
    }

    /// The first element.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for kernels in registers"))]
    pub(crate) fn start(&self) -> *mut T {
        self.start
    }

    /// The element at `position`.
    ///
    /// # Safety
    /// The memory outlives the reference, and nothing else accesses the position meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn at<'a>(self, position: usize) -> &'a mut T {
        assert!(position < self.len);
        // SAFETY: inside the memory by the assertion; exclusive by the caller's promise.
        unsafe { &mut *self.start.add(position) }
    }

    /// The `len` elements from `start` on.
    ///
    /// # Safety
    /// The memory outlives the reference, and nothing else accesses these positions meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn slice<'a>(self, start: usize, len: usize) -> &'a mut [T] {
        assert!(start <= self.len && len <= self.len - start);
        // SAFETY: inside the memory by the assertion; exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), len) }
    }

    /// Prefetches the cache line of the element at `position`, if there is one.
    #[inline(always)]
    pub(crate) fn fetch(self, position: usize) {
        fetch_address(self.start.wrapping_add(position));
    }
}
