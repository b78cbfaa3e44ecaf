//! Vector operations. Reductions write one partial result per work-group, whose number depends only on the length; one
//! work-group combines them in a fixed order.

use crate::defines::Defines;
use crate::driver::Value;
use crate::operand::DenseOperand;
use crate::primitive::reduction::{ITEMS_PER_LANE, MAX_PARTIALS};
use crate::{Buffer, Device, Kernel, View, ViewMut};
use sparse_core::op::{CoefficientOf, GradientAdvance, GradientStep, GradientTurn, RealOf, VectorKernel};
use sparse_core::space::{View as _, ViewMut as _};
use sparse_core::{Accumulator, Backend, DType, DenseViewMut, Result, Scalar, Space};

/// The kernels of a [`VectorPlan`](sparse_core::op::vector::VectorPlan), whose scalars stay on the device.
const PLANNED: [&str; 9] = [
    "vector_axpby",
    "vector_dot",
    "vector_sum",
    "vector_largest",
    "vector_squares",
    "vector_norm",
    "vector_advance",
    "vector_turn",
    "vector_turn_preconditioned",
];

/// The kernels of a conjugate gradient step at once, in their order.
const STEPS: [&str; 3] = ["vector_step_dot", "vector_step_advance", "vector_step_turn"];

/// The file of the kernels of a conjugate gradient step at once.
const STEP_FILE: &str = "vector_step";

/// Bytes of a vector that a work-item of these kernels takes at once.
const RUN_BYTES: usize = 16;

/// Work-groups per compute unit of these kernels, at most. Measured on an H200 with f32: four take the time of eight
/// and more at 9·10⁶ unknowns, and each adds up half of the partial results.
const STEP_GROUPS_PER_UNIT: usize = 4;

impl Device {
    pub(super) fn vector_kernel(&self, dtype: DType, entry: &'static str) -> Result<Kernel> {
        self.kernel_of(dtype, "vector", entry, Defines::default().set("BLOCK", self.inner.block))
    }

    /// `C ← beta·C`.
    pub(super) fn scale(&self, dtype: DType, beta: Value, c: DenseOperand<'_>) -> Result<()> {
        let kernel = self.vector_kernel(dtype, "vector_scale")?;
        let DenseOperand { rows, cols, .. } = c;
        self.launch(&kernel).size(rows).size(cols).factor(beta).dense(c).items(rows * cols)
    }

    /// The number of work-groups of the kernels of a conjugate gradient step, each of which adds up the partial results
    /// of the kernel before: on a GPU one element per work-item up to a limit, since the kernels are bound by memory
    /// latency.
    fn step_groups(&self, len: usize) -> usize {
        let items = if self.caps().is_cpu { ITEMS_PER_LANE } else { 1 };
        len.div_ceil(self.inner.block * items).clamp(1, MAX_PARTIALS)
    }

    /// The partial sums of conj(x)·y, for the next kernel of a conjugate gradient step.
    fn step_dot<T: Scalar>(&self, workspace: &Buffer<T::Acc>, x: View<'_, T>, y: View<'_, T>) -> Result<()> {
        let kernel = self.vector_kernel(T::DTYPE, "vector_dot")?;
        let launch = self.launch(&kernel).size(x.len()).view(x).view(y).buffer(workspace);
        launch.early().groups(self.step_groups(x.len()), self.inner.block)
    }

    /// A kernel of a conjugate gradient step at once.
    fn step_kernel(&self, dtype: DType, entry: &'static str) -> Result<Kernel> {
        self.kernel_of(dtype, STEP_FILE, entry, Defines::default().set("BLOCK", self.inner.block))
    }

    /// Allocates the partial results of reductions over `len` elements, two numbers each, and a number of a step.
    fn reduction_workspace<A: Scalar>(&self, len: usize) -> Result<Buffer<A>> {
        self.allocate(2 * self.step_groups(len) + 1)
    }

    /// The result of a reduction over `len` elements.
    fn reduced<A: Scalar>(
        &self,
        len: usize,
        reduce: impl FnOnce(&mut Buffer<A>, ViewMut<'_, A>) -> Result<()>,
    ) -> Result<A> {
        let (mut workspace, mut result) = (self.reduction_workspace(len)?, self.allocate(1)?);
        reduce(&mut workspace, Self::view_mut(&mut result))?;
        Ok(self.download(&result)?[0])
    }
}

impl<T: Scalar> VectorKernel<T> for Device {
    unsafe fn axpby(
        &self,
        alpha: CoefficientOf<'_, Self, T>,
        x: View<'_, T>,
        beta: CoefficientOf<'_, Self, T>,
        y: ViewMut<'_, T>,
    ) -> Result<()> {
        let kernel = self.vector_kernel(T::DTYPE, "vector_axpby")?;
        let len = y.len();
        let launch = self.launch(&kernel).size(len).coefficient(alpha).view(x);
        launch.coefficient(beta).view(y).items(len)
    }

    unsafe fn dot(&self, x: View<'_, T>, y: View<'_, T>) -> Result<T::Acc> {
        self.reduced(x.len(), |workspace, result| {
            // SAFETY: the caller promises the same of the operands; workspace and result were just made here.
            unsafe { VectorKernel::<T>::dot_into(self, workspace, x, y, result) }
        })
    }

    unsafe fn nrm2(&self, x: View<'_, T>) -> Result<RealOf<T>> {
        let norm: T::Acc = self.reduced(x.len(), |workspace, result| {
            // SAFETY: as above.
            unsafe { VectorKernel::<T>::nrm2_into(self, workspace, x, result) }
        })?;
        Ok(norm.re())
    }

    /// `x ← 0·x + alpha·x`: neither operand is read if its factor is zero.
    unsafe fn scal(&self, alpha: CoefficientOf<'_, Self, T>, x: ViewMut<'_, T>) -> Result<()> {
        let kernel = self.vector_kernel(T::DTYPE, "vector_axpby")?;
        let (len, x) = (x.len(), Self::as_shared(&x));
        let launch = self.launch(&kernel).size(len).coefficient(T::Acc::ZERO.into()).view(x);
        launch.coefficient(alpha).view(x).items(len)
    }

    unsafe fn scale_dense(&self, beta: T::Acc, c: DenseViewMut<'_, T, Self>) -> Result<()> {
        self.scale(T::DTYPE, Value::new(&beta), c.into())
    }

    fn plan_vectors(&self, len: usize) -> Result<Buffer<T::Acc>> {
        for entry in PLANNED {
            self.vector_kernel(T::DTYPE, entry)?;
        }
        if self.lacks(STEP_FILE).is_none() {
            STEPS.iter().try_for_each(|entry| self.step_kernel(T::DTYPE, entry).map(drop))?;
        }
        self.reduction_workspace(len)
    }

    unsafe fn dot_into(
        &self,
        workspace: &mut Buffer<T::Acc>,
        x: View<'_, T>,
        y: View<'_, T>,
        result: ViewMut<'_, T::Acc>,
    ) -> Result<()> {
        let (groups, block) = (self.partial_count(x.len()), self.inner.block);
        let dot = self.vector_kernel(T::DTYPE, "vector_dot")?;
        self.launch(&dot).size(x.len()).view(x).view(y).buffer(workspace).groups(groups, block)?;
        let sum = self.vector_kernel(T::DTYPE, "vector_sum")?;
        self.launch(&sum).size(groups).buffer(workspace).view(result).groups(1, block)
    }

    /// Scaled by a power of two near the largest element, so that no square overflows and none that matters underflows.
    unsafe fn nrm2_into(
        &self,
        workspace: &mut Buffer<T::Acc>,
        x: View<'_, T>,
        result: ViewMut<'_, T::Acc>,
    ) -> Result<()> {
        let (groups, block) = (self.partial_count(x.len()), self.inner.block);
        for entry in ["vector_largest", "vector_squares"] {
            let kernel = self.vector_kernel(T::DTYPE, entry)?;
            self.launch(&kernel).size(x.len()).view(x).buffer(workspace).groups(groups, block)?;
        }
        let norm = self.vector_kernel(T::DTYPE, "vector_norm")?;
        self.launch(&norm).size(groups).buffer(workspace).view(result).groups(1, block)
    }

    /// Every work-group adds up the partial results of the kernel before, in the same order.
    unsafe fn gradient_advance(
        &self,
        workspace: &mut Buffer<T::Acc>,
        advance: GradientAdvance<'_, Self, T>,
    ) -> Result<()> {
        let GradientAdvance { q, p, x, r, numbers } = advance;
        let (len, block, groups) = (q.len(), self.inner.block, self.step_groups(q.len()));
        self.step_dot(workspace, p, q)?;
        let kernel = self.vector_kernel(T::DTYPE, "vector_advance")?;
        let launch = self.launch(&kernel).size(len).view(numbers).view(p).view(q);
        launch.view(x).view(r).buffer(workspace).early().groups(groups, block)
    }

    unsafe fn gradient_turn(
        &self,
        workspace: &mut Buffer<T::Acc>,
        turn: GradientTurn<'_, Self, T>,
    ) -> Result<()> {
        let GradientTurn { r, z, p, numbers, next } = turn;
        let (len, block, groups) = (r.len(), self.inner.block, self.step_groups(r.len()));
        let entry = match z {
            Some(z) => {
                self.step_dot(workspace, r, z)?;
                "vector_turn_preconditioned"
            }
            None => "vector_turn",
        };
        let kernel = self.vector_kernel(T::DTYPE, entry)?;
        let launch = self.launch(&kernel).size(len).view(numbers).view(next);
        launch.view(z.unwrap_or(r)).view(p).buffer(workspace).early().groups(groups, block)
    }
    /// Three launches of as many work-groups, each of which adds up the partial results of the launch before.
    unsafe fn gradient_step(
        &self,
        workspace: &mut Buffer<T::Acc>,
        step: GradientStep<'_, Self, T>,
    ) -> Result<()> {
        let GradientStep { q, mut p, x, mut r, numbers, next } = step;
        if self.lacks(STEP_FILE).is_some() {
            let advance = GradientAdvance { q, p: p.as_shared(), x, r: r.reborrow(), numbers };
            // SAFETY: the caller promises the same of the operands.
            unsafe { VectorKernel::<T>::gradient_advance(self, workspace, advance)? };
            let turn = GradientTurn { r: r.as_shared(), z: None, p: p.reborrow(), numbers, next };
            // SAFETY: as above.
            return unsafe { VectorKernel::<T>::gradient_turn(self, workspace, turn) };
        }
        let (len, block) = (q.len(), self.inner.block);
        let most = self.caps().compute_units * STEP_GROUPS_PER_UNIT;
        let runs = len.div_ceil(block * (RUN_BYTES / size_of::<T>()));
        let groups = runs.clamp(1, most).min(self.step_groups(len));
        let [dot, advance, turn] = STEPS.map(|entry| self.step_kernel(T::DTYPE, entry));
        let (dot, advance, turn) = (dot?, advance?, turn?);
        let launch = self.launch(&dot).size(len).view(p.as_shared()).view(q).buffer(workspace);
        launch.early().groups(groups, block)?;
        let launch = self.launch(&advance).size(len).view(numbers).view(q).view(r.as_shared());
        launch.buffer(workspace).early().groups(groups, block)?;
        let launch = self.launch(&turn).size(len).view(numbers).view(next).view(r.as_shared());
        launch.view(p).view(x).buffer(workspace).early().groups(groups, block)
    }
}
