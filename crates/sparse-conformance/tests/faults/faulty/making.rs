//! Operations that make a matrix, with a fault.

use super::super::fault::{Fault, OnHost, drop_first};
use super::{Faulty, FaultyPlan};
use backend_cpu::Cpu;
use sparse_core::op::{
    CompressedArrays, Conversion, ConvertKernel, DenseToCsrKernel, Elementwise, ElementwiseKernel, Keep, Op,
    PruneKernel, PrunePlan, SelectKernel, SortKernel, SpgemmBound, SpgemmKernel,
};
use sparse_core::{Algorithm, Axis, Compressed, DenseBatchView, PatternId, PlanOptions, Result, Selection};

impl<A: Axis> SpgemmKernel<Compressed<A, f64>> for Faulty {
    type Plan = FaultyPlan<<Cpu as SpgemmKernel<Compressed<A, f64>>>::Plan, Vec<f64>>;

    fn spgemm_algorithms(&self) -> &'static [Algorithm] {
        SpgemmKernel::<Compressed<A, f64>>::spgemm_algorithms(&self.cpu)
    }

    unsafe fn spgemm_bound(&self, a: &Compressed<A, f64>, b: &Compressed<A, f64>) -> Result<SpgemmBound> {
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.spgemm_bound(a, b) }
    }

    unsafe fn plan_spgemm(
        &self,
        a: &Compressed<A, f64>,
        b: &Compressed<A, f64>,
        mask: Option<&Compressed<A, f64>>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        // SAFETY: the caller promises the same.
        Ok(FaultyPlan::new(unsafe { self.cpu.plan_spgemm(a, b, mask, options)? }, Op::None))
    }

    fn spgemm_pattern(&self, plan: &Self::Plan) -> (PatternId, usize) {
        SpgemmKernel::<Compressed<A, f64>>::spgemm_pattern(&self.cpu, &plan.plan)
    }

    fn spgemm_output(&self, plan: &Self::Plan) -> Result<Compressed<A, f64>> {
        let c: Compressed<A, f64> = self.cpu.spgemm_output(&plan.plan)?;
        // Plans require C's own pattern, which a copy lacks.
        if self.fault == Fault::ShiftsAnIndex { self.fault.made(c, &mut None) } else { Ok(c) }
    }

    unsafe fn run_spgemm(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, f64>,
        b: &Compressed<A, f64>,
        c: &mut Compressed<A, f64>,
    ) -> Result<()> {
        // SAFETY: the pattern is that which the caller promises.
        unsafe { self.cpu.run_spgemm(&mut plan.plan, &self.fault.operand(a)?, b, c)? };
        let all: Vec<_> = (0..c.nnz()).collect();
        self.fault.bring_back(&all, c.values_mut(), &mut plan.first);
        Ok(())
    }
}

impl<From, To> ConvertKernel<From, To> for Faulty
where
    Cpu: ConvertKernel<From, To>,
    From: OnHost + Conversion<To>,
    To: OnHost,
{
    type Plan = FaultyPlan<<Cpu as ConvertKernel<From, To>>::Plan, To>;

    fn convert_algorithms(&self) -> &'static [Algorithm] {
        ConvertKernel::<From, To>::convert_algorithms(&self.cpu)
    }

    fn plan_convert(&self, from: &From, layout: &From::Layout, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(
            ConvertKernel::<From, To>::plan_convert(&self.cpu, from, layout, options)?,
            Op::None,
        ))
    }

    unsafe fn run_convert(&self, plan: &mut Self::Plan, from: &From) -> Result<To> {
        // SAFETY: the pattern is the one that the caller promises.
        let made = unsafe {
            ConvertKernel::<From, To>::run_convert(&self.cpu, &mut plan.plan, &self.fault.operand(from)?)?
        };
        self.fault.made(made, &mut plan.first)
    }
}

impl<M: OnHost> SortKernel<M> for Faulty
where
    Cpu: SortKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as SortKernel<M>>::Plan, M>;

    fn sort_algorithms(&self) -> &'static [Algorithm] {
        SortKernel::<M>::sort_algorithms(&self.cpu)
    }

    fn plan_sort(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_sort(a, options)?, Op::None))
    }

    unsafe fn run_sort(&self, plan: &mut Self::Plan, a: &M) -> Result<M> {
        // SAFETY: the pattern is the one that the caller promises.
        let made = unsafe { self.cpu.run_sort(&mut plan.plan, &self.fault.operand(a)?)? };
        self.fault.made(made, &mut plan.first)
    }
}

impl<M: OnHost> PruneKernel<M> for Faulty
where
    Cpu: PruneKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as PruneKernel<M>>::Plan, M>;

    fn prune_algorithms(&self) -> &'static [Algorithm] {
        PruneKernel::<M>::prune_algorithms(&self.cpu)
    }

    fn plan_prune(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_prune(a, options)?, Op::None))
    }

    unsafe fn run_prune(&self, plan: &mut Self::Plan, a: &M, keep: Keep<f64>) -> Result<M> {
        // SAFETY: the pattern is the one that the caller promises.
        let made = unsafe { self.cpu.run_prune(&mut plan.plan, &self.fault.operand(a)?, keep)? };
        self.fault.made(made, &mut plan.first)
    }
}

impl<M: OnHost> SelectKernel<M> for Faulty
where
    Cpu: SelectKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as SelectKernel<M>>::Plan, M>;

    fn select_algorithms(&self) -> &'static [Algorithm] {
        SelectKernel::<M>::select_algorithms(&self.cpu)
    }

    fn plan_select(
        &self,
        a: &M,
        rows: &Selection<'_>,
        cols: &Selection<'_>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_select(a, rows, cols, options)?, Op::None))
    }

    unsafe fn run_select(&self, plan: &mut Self::Plan, a: &M) -> Result<M> {
        // SAFETY: the pattern is the one that the caller promises.
        let made = unsafe { self.cpu.run_select(&mut plan.plan, &self.fault.operand(a)?)? };
        self.fault.made(made, &mut plan.first)
    }
}

impl<M: OnHost> ElementwiseKernel<M> for Faulty
where
    Cpu: ElementwiseKernel<M> + PruneKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as ElementwiseKernel<M>>::Plan, M>;

    fn elementwise_algorithms(&self) -> &'static [Algorithm] {
        ElementwiseKernel::<M>::elementwise_algorithms(&self.cpu)
    }

    fn plan_elementwise(&self, op: Elementwise, a: &M, b: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_elementwise(op, a, b, options)?, Op::None))
    }

    unsafe fn run_elementwise(
        &self,
        plan: &mut Self::Plan,
        alpha: f64,
        a: &M,
        beta: f64,
        b: &M,
    ) -> Result<M> {
        let beta = if self.fault == Fault::TakesAlphaForBeta { alpha } else { beta };
        // SAFETY: the patterns are those that the caller promises.
        let made =
            unsafe { self.cpu.run_elementwise(&mut plan.plan, alpha, &self.fault.operand(a)?, beta, b)? };
        let made = match self.fault {
            Fault::DropsZeros => {
                PrunePlan::new(&self.cpu, &made, &PlanOptions::once())?.run(&made, Keep::NonZero)?
            }
            _ => made,
        };
        self.fault.made(made, &mut plan.first)
    }
}

// SAFETY: the CPU's arrays; a fault changes values, and indices only to others within range.
unsafe impl DenseToCsrKernel<f64, i32, i32> for Faulty {
    type Plan = FaultyPlan<<Cpu as DenseToCsrKernel<f64, i32, i32>>::Plan, Vec<f64>>;

    fn dense_to_csr_algorithms(&self) -> &'static [Algorithm] {
        DenseToCsrKernel::<f64, i32, i32>::dense_to_csr_algorithms(&self.cpu)
    }

    fn plan_dense_to_csr(
        &self,
        a: &DenseBatchView<'_, f64>,
        keep: Keep<f64>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let plan = DenseToCsrKernel::<f64, i32, i32>::plan_dense_to_csr(&self.cpu, a, keep, options)?;
        Ok(FaultyPlan::new(plan, Op::None))
    }

    unsafe fn run_dense_to_csr(
        &self,
        plan: &mut Self::Plan,
        a: DenseBatchView<'_, f64>,
    ) -> Result<CompressedArrays<Self, f64, i32, i32>> {
        // SAFETY: the caller promises the same.
        let arrays: CompressedArrays<Cpu, f64, i32, i32> =
            unsafe { self.cpu.run_dense_to_csr(&mut plan.plan, a)? };
        let CompressedArrays { member_ptr, offsets, indices, mut values } = arrays;
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut values);
        }
        self.fault.bring_back(&(0..values.len()).collect::<Vec<_>>(), &mut values, &mut plan.first);
        let indices = self.fault.indices(&indices)?;
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
    }
}
