//! Products and solves, with a fault.

use super::super::fault::{Fault, OnHost};
use super::{Faulty, FaultyPlan};
use backend_cpu::Cpu;
use sparse_core::op::{
    Op, Sampling, SddmmKernel, SpmmKernel, SpmvKernel, Triangle, Triangular, TrisolveKernel,
};
use sparse_core::reference::Entries;
use sparse_core::{Algorithm, DenseView, DenseViewMut, PlanOptions, Result};

impl<M: OnHost + Entries> SpmvKernel<M> for Faulty
where
    Cpu: SpmvKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as SpmvKernel<M>>::Plan, Vec<f64>>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        SpmvKernel::<M>::spmv_algorithms(&self.cpu, op)
    }

    fn plan_spmv(&self, a: &M, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_spmv(a, op, options)?, op))
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: f64,
        a: &M,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) -> Result<()> {
        let (before, a, x) = (y.to_vec(), self.fault.operand(a)?, self.fault.elements(x));
        if let Some(order) = self.order() {
            Self::in_order(order, plan.op, alpha, &a, &x, beta, y);
            return Ok(());
        }
        // SAFETY: pattern and lengths are those that the caller promises.
        unsafe { self.cpu.run_spmv(&mut plan.plan, alpha, &a, &x, beta, y)? };
        match self.fault {
            Fault::ReadsYAtBetaZero if beta == 0.0 => {
                y.iter_mut().zip(before).for_each(|(y, before)| *y += beta * before);
            }
            // SAFETY: none: this is the fault. Guard words of the same allocation follow y.
            Fault::WritesPastTheEnd => unsafe { *y.as_mut_ptr().add(y.len()) = 1.0 },
            _ => self.fault.spoil(&before, y),
        }
        self.fault.bring_back(&(0..y.len()).collect::<Vec<_>>(), y, &mut plan.first);
        Ok(())
    }
}

impl<M: OnHost> SpmmKernel<M> for Faulty
where
    Cpu: SpmmKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as SpmmKernel<M>>::Plan, Vec<f64>>;

    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm] {
        SpmmKernel::<M>::spmm_algorithms(&self.cpu, op)
    }

    fn plan_spmm(&self, a: &M, op: Op, columns: usize, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_spmm(a, op, columns, options)?, op))
    }

    unsafe fn run_spmm(
        &self,
        plan: &mut Self::Plan,
        alpha: f64,
        a: &M,
        b: DenseView<'_, f64>,
        beta: f64,
        mut c: DenseViewMut<'_, f64>,
    ) -> Result<()> {
        let (before, a, elements) =
            (c.data_mut().to_vec(), self.fault.operand(a)?, self.fault.elements(b.data()));
        let b = DenseView::<f64>::new(&elements, b.nrows(), b.ncols(), b.leading_dimension(), b.order())?;
        // SAFETY: pattern and shapes are those that the caller promises.
        unsafe { self.cpu.run_spmm(&mut plan.plan, alpha, &a, b, beta, c.reborrow())? };
        self.fault.spoil_dense(&before, c, &mut plan.first);
        Ok(())
    }
}

impl<M: OnHost + Entries> TrisolveKernel<M> for Faulty
where
    Cpu: TrisolveKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as TrisolveKernel<M>>::Plan, Vec<f64>>;

    fn trisolve_algorithms(&self) -> &'static [Algorithm] {
        TrisolveKernel::<M>::trisolve_algorithms(&self.cpu)
    }

    unsafe fn plan_trisolve(&self, a: &M, system: Triangular, options: &PlanOptions) -> Result<Self::Plan> {
        let triangle = match (self.fault == Fault::TakesTheOtherTriangle, system.triangle) {
            (true, Triangle::Lower) => Triangle::Upper,
            (true, Triangle::Upper) => Triangle::Lower,
            (false, triangle) => triangle,
        };
        // SAFETY: the caller promises the same.
        let plan = unsafe { self.cpu.plan_trisolve(a, Triangular { triangle, ..system }, options)? };
        Ok(FaultyPlan::new(plan, system.op))
    }

    unsafe fn run_trisolve(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        b: DenseView<'_, f64>,
        mut x: DenseViewMut<'_, f64>,
    ) -> Result<()> {
        let (before, a, elements) =
            (x.data_mut().to_vec(), self.fault.system(a)?, self.fault.elements(b.data()));
        let b = DenseView::<f64>::new(&elements, b.nrows(), b.ncols(), b.leading_dimension(), b.order())?;
        // SAFETY: pattern and shapes are those that the caller promises.
        unsafe { self.cpu.run_trisolve(&mut plan.plan, &a, b, x.reborrow())? };
        self.fault.spoil_solution(x.reborrow());
        self.fault.spoil_dense(&before, x, &mut plan.first);
        Ok(())
    }
}

impl<M: OnHost> SddmmKernel<M> for Faulty
where
    Cpu: SddmmKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as SddmmKernel<M>>::Plan, Vec<f64>>;

    fn sddmm_algorithms(&self) -> &'static [Algorithm] {
        SddmmKernel::<M>::sddmm_algorithms(&self.cpu)
    }

    fn plan_sddmm(
        &self,
        p: &M,
        sampling: Sampling,
        inner: usize,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_sddmm(p, sampling, inner, options)?, Op::None))
    }

    unsafe fn run_sddmm(
        &self,
        plan: &mut Self::Plan,
        alpha: f64,
        p: &M,
        u: DenseView<'_, f64>,
        v: DenseView<'_, f64>,
        beta: f64,
        c: &mut [f64],
    ) -> Result<()> {
        let (before, p, elements) = (c.to_vec(), self.fault.operand(p)?, self.fault.elements(v.data()));
        let v = DenseView::<f64>::new(&elements, v.nrows(), v.ncols(), v.leading_dimension(), v.order())?;
        // SAFETY: pattern and shapes are those that the caller promises.
        unsafe { self.cpu.run_sddmm(&mut plan.plan, alpha, &p, u, v, beta, c)? };
        self.fault.spoil(&before, c);
        self.fault.bring_back(&(0..c.len()).collect::<Vec<_>>(), c, &mut plan.first);
        Ok(())
    }
}
