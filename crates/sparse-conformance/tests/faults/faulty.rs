//! The CPU backend with a fault: in its operands, in its answers, or in what its plans leave from run to run.

use backend_cpu::Cpu;
use sparse_core::backend::{Buf, ViewMutOf, ViewOf};
use sparse_core::format::Transfer;
use sparse_core::op::{
    Coefficient, CompressedArrays, Conversion, ConvertKernel, DenseToCsrKernel, GradientStep, Keep, Op,
    PruneKernel, RowStatistics, RowStatisticsKernel, ScanKernel, ScanKind, ScanOrder, SortKernel, SpmmKernel,
    SpmvKernel, ToDenseKernel, VectorKernel,
};
use sparse_core::reference::Entries;
use sparse_core::{
    Algorithm, Backend, Caps, Choice, ContextId, Csr, DenseBatchView, DenseView, DenseViewMut, Element, Host,
    KernelPlan, PlanOptions, Result, SparseFormat,
};
use std::any::TypeId;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A fault of a backend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    None,
    DropsAnEntry,
    ReadsTheNextColumn,
    ShiftsAnIndex,
    KeepsAnElement,
    KeepsTheFirstResult,
    ReadsYAtBetaZero,
    WritesPastTheEnd,
    WrongLeadingDimension,
    AccumulatesInF32,
    DependsOnThreadOrder,
    KeepsTheDirection,
    ForgetsAnUpload,
}

/// The CPU backend with a fault.
#[derive(Debug, Clone)]
pub(crate) struct Faulty {
    cpu: Cpu,
    fault: Fault,
    runs: Arc<AtomicUsize>,
}

/// The CPU backend's plan, what op(A) is, and what the first run gave.
#[derive(Debug)]
pub(crate) struct FaultyPlan<P, R> {
    plan: P,
    op: Op,
    first: Option<R>,
}

impl<P, R> FaultyPlan<P, R> {
    fn new(plan: P, op: Op) -> Self {
        Self { plan, op, first: None }
    }
}

impl<P: KernelPlan, R: Debug + Send> KernelPlan for FaultyPlan<P, R> {
    fn choice(&self) -> &Choice {
        self.plan.choice()
    }
}

/// A matrix of double precision on the host.
pub(crate) trait OnHost: SparseFormat<Scalar = f64, Space = Host, In<Host> = Self> + Sized {}

impl<M: SparseFormat<Scalar = f64, Space = Host, In<Host> = M>> OnHost for M {}

/// Copies of arrays, which a fault spoils.
struct Copies(Fault);

// SAFETY: copies have the elements of their buffers. A column that is shifted stays in the matrix; offsets that are shifted
// belong to results, which the table only looks at.
unsafe impl Transfer<Host, Host> for Copies {
    fn copy<T: Element>(&self, buffer: &Vec<T>) -> Result<Vec<T>> {
        let mut copy = buffer.clone();
        match self.0 {
            Fault::DropsAnEntry => drop_first::<f64>(elements_of(&mut copy)),
            Fault::AccumulatesInF32 => narrow(elements_of(&mut copy)),
            Fault::ShiftsAnIndex => {
                if let Some(index) = elements_of::<_, i32>(&mut copy).iter_mut().find(|index| **index > 0) {
                    *index -= 1;
                }
            }
            _ => {}
        }
        Ok(copy)
    }
}

/// The elements as those of type `U`; none where they are of another.
fn elements_of<T: Element, U: Element>(elements: &mut [T]) -> &mut [U] {
    if TypeId::of::<T>() == TypeId::of::<U>() { bytemuck::cast_slice_mut(elements) } else { &mut [] }
}

/// Makes the first element that is not zero one.
fn drop_first<T: Element>(elements: &mut [T]) {
    if let Some(first) = elements.iter_mut().find(|element| **element != T::default()) {
        *first = T::default();
    }
}

/// Rounds to single precision.
fn narrow(elements: &mut [f64]) {
    elements.iter_mut().for_each(|element| *element = f64::from(*element as f32));
}

impl Faulty {
    pub(crate) fn new(fault: Fault) -> Self {
        let cpu = Cpu::new().expect("the CPU backend starts");
        Self { cpu, fault, runs: Arc::default() }
    }

    /// The matrix as the fault has it read.
    fn operand<M: OnHost>(&self, a: &M) -> Result<M> {
        let in_values = matches!(self.fault, Fault::DropsAnEntry | Fault::AccumulatesInF32);
        a.transfer(&Copies(if in_values { self.fault } else { Fault::None }))
    }

    /// The elements of x, or of all of B, as the fault has them read.
    fn elements(&self, x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        if self.fault == Fault::ReadsTheNextColumn && !x.is_empty() {
            x.rotate_left(1);
        }
        x
    }

    /// Plants the fault in a vector, or in a dense matrix with its padding, that had the elements `before`.
    fn spoil<T: Element>(&self, before: &[T], y: &mut [T]) {
        match self.fault {
            Fault::KeepsAnElement => y[0] = before[0],
            Fault::AccumulatesInF32 => narrow(elements_of(y)),
            _ => {}
        }
    }

    /// Brings back what the first run left at these positions.
    fn bring_back(&self, positions: &[usize], y: &mut [f64], first: &mut Option<Vec<f64>>) {
        if self.fault == Fault::KeepsTheFirstResult {
            let first = first.get_or_insert_with(|| positions.iter().map(|&at| y[at]).collect());
            positions.iter().zip(first).for_each(|(&at, first)| y[at] = *first);
        }
    }

    /// Plants the fault in a dense matrix, whose lines may come to stand side by side.
    fn spoil_dense(&self, before: &[f64], mut c: DenseViewMut<'_, f64>, first: &mut Option<Vec<f64>>) {
        let ((lines, len), step) = (c.major_minor(), c.leading_dimension());
        let of_row = |row| (0..c.cols()).map(move |col| (row, col));
        let places = (0..c.rows()).flat_map(of_row).map(|(row, col)| c.position(row, col));
        let positions: Vec<_> = places.collect();
        let data = c.data_mut();
        self.spoil(before, data);
        self.bring_back(&positions, data, first);
        if self.fault == Fault::WrongLeadingDimension {
            (1..lines).for_each(|line| data.copy_within(line * step..line * step + len, line * len));
        }
    }

    /// Plants the fault in a matrix.
    fn made<M: OnHost>(&self, made: M, first: &mut Option<M>) -> Result<M> {
        match self.fault {
            Fault::ShiftsAnIndex => made.transfer(&Copies(self.fault)),
            Fault::KeepsTheFirstResult => first.get_or_insert(made).transfer(&Copies(Fault::None)),
            _ => Ok(made),
        }
    }

    /// The sums as they come when the parts of a row arrive in another order every time.
    fn in_some_order(
        &self,
        op: Op,
        alpha: f64,
        a: &impl Entries<Scalar = f64>,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) {
        let mut entries: Vec<_> = a.entries().collect();
        let first = self.runs.fetch_add(1, Ordering::Relaxed) * 7 % entries.len();
        entries.rotate_left(first);
        let mut sums = vec![0.0; y.len()];
        for (row, col, value) in entries {
            let (to, from) = if op.transposes() { (col, row) } else { (row, col) };
            sums[to] += value * x[from];
        }
        for (y, sum) in y.iter_mut().zip(sums) {
            *y = alpha * sum + if beta == 0.0 { 0.0 } else { beta * *y };
        }
    }
}

// SAFETY: its memory is the CPU backend's.
unsafe impl Backend for Faulty {
    type Space = Host;

    fn caps(&self) -> &Caps {
        self.cpu.caps()
    }

    fn context(&self) -> ContextId {
        self.cpu.context()
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        let mut host = host.to_vec();
        if self.fault == Fault::ForgetsAnUpload {
            drop_first::<f64>(elements_of(&mut host));
        }
        self.cpu.upload(&host)
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        self.cpu.download_into(device, host)
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        self.cpu.copy(from, to)
    }

    fn synchronize(&self) -> Result<()> {
        self.cpu.synchronize()
    }
}

impl VectorKernel<f64> for Faulty {
    unsafe fn axpby(
        &self,
        alpha: Coefficient<'_, Host, f64>,
        x: &[f64],
        beta: Coefficient<'_, Host, f64>,
        y: &mut [f64],
    ) -> Result<()> {
        let before = y.to_vec();
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.axpby(alpha, &self.elements(x), beta, y)? };
        self.spoil(&before, y);
        Ok(())
    }

    unsafe fn dot(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        let mut x = self.elements(x);
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut x);
        }
        // SAFETY: the caller promises the same.
        unsafe { VectorKernel::<f64>::dot(&self.cpu, &x, y) }
    }

    unsafe fn nrm2(&self, x: &[f64]) -> Result<f64> {
        let mut x = x.to_vec();
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut x);
        }
        // SAFETY: the caller promises the same.
        unsafe { VectorKernel::<f64>::nrm2(&self.cpu, &x) }
    }

    unsafe fn scal(&self, alpha: Coefficient<'_, Host, f64>, x: &mut [f64]) -> Result<()> {
        let before = x.to_vec();
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.scal(alpha, x)? };
        self.spoil(&before, x);
        Ok(())
    }

    unsafe fn scale_dense(&self, beta: f64, mut c: DenseViewMut<'_, f64>) -> Result<()> {
        let before = c.data_mut().to_vec();
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.scale_dense(beta, c.reborrow())? };
        self.spoil_dense(&before, c, &mut None);
        Ok(())
    }

    unsafe fn gradient_step(&self, room: &mut Vec<f64>, step: GradientStep<'_, Self, f64>) -> Result<()> {
        let before = step.p.to_vec();
        let GradientStep { q, p, x, r, rho, next_rho } = step;
        // SAFETY: the caller promises the same.
        unsafe { self.cpu.gradient_step(room, GradientStep { q, p: &mut *p, x, r, rho, next_rho })? };
        if self.fault == Fault::KeepsTheDirection {
            p.copy_from_slice(&before);
        }
        Ok(())
    }
}

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

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: f64,
        a: &M,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) -> Result<()> {
        let (before, a, x) = (y.to_vec(), self.operand(a)?, self.elements(x));
        if self.fault == Fault::DependsOnThreadOrder {
            self.in_some_order(plan.op, alpha, &a, &x, beta, y);
            return Ok(());
        }
        // SAFETY: pattern and lengths are those that the caller promises.
        unsafe { self.cpu.spmv(&mut plan.plan, alpha, &a, &x, beta, y)? };
        match self.fault {
            Fault::ReadsYAtBetaZero if beta == 0.0 => {
                y.iter_mut().zip(before).for_each(|(y, before)| *y += beta * before);
            }
            // SAFETY: none: this is the fault. Guard words of the same allocation stand behind y.
            Fault::WritesPastTheEnd => unsafe { *y.as_mut_ptr().add(y.len()) = 1.0 },
            _ => self.spoil(&before, y),
        }
        self.bring_back(&(0..y.len()).collect::<Vec<_>>(), y, &mut plan.first);
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

    unsafe fn spmm(
        &self,
        plan: &mut Self::Plan,
        alpha: f64,
        a: &M,
        b: DenseView<'_, f64>,
        beta: f64,
        mut c: DenseViewMut<'_, f64>,
    ) -> Result<()> {
        let (before, a, elements) = (c.data_mut().to_vec(), self.operand(a)?, self.elements(b.data()));
        let b = DenseView::<f64>::new(&elements, b.rows(), b.cols(), b.leading_dimension(), b.order())?;
        // SAFETY: pattern and shapes are those that the caller promises.
        unsafe { self.cpu.spmm(&mut plan.plan, alpha, &a, b, beta, c.reborrow())? };
        self.spoil_dense(&before, c, &mut plan.first);
        Ok(())
    }
}

impl<M: OnHost> ToDenseKernel<M> for Faulty
where
    Cpu: ToDenseKernel<M>,
{
    type Plan = FaultyPlan<<Cpu as ToDenseKernel<M>>::Plan, Vec<f64>>;

    fn to_dense_algorithms(&self) -> &'static [Algorithm] {
        ToDenseKernel::<M>::to_dense_algorithms(&self.cpu)
    }

    fn plan_to_dense(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        Ok(FaultyPlan::new(self.cpu.plan_to_dense(a, options)?, Op::None))
    }

    unsafe fn to_dense(&self, plan: &mut Self::Plan, a: &M, mut dense: DenseViewMut<'_, f64>) -> Result<()> {
        let before = dense.data_mut().to_vec();
        // SAFETY: pattern and shape are those that the caller promises.
        unsafe { self.cpu.to_dense(&mut plan.plan, &self.operand(a)?, dense.reborrow())? };
        self.spoil_dense(&before, dense, &mut plan.first);
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

    unsafe fn convert(&self, plan: &mut Self::Plan, from: &From) -> Result<To> {
        // SAFETY: the pattern is the one that the caller promises.
        let made =
            unsafe { ConvertKernel::<From, To>::convert(&self.cpu, &mut plan.plan, &self.operand(from)?)? };
        self.made(made, &mut plan.first)
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

    unsafe fn sort(&self, plan: &mut Self::Plan, a: &M) -> Result<M> {
        // SAFETY: the pattern is the one that the caller promises.
        let made = unsafe { self.cpu.sort(&mut plan.plan, &self.operand(a)?)? };
        self.made(made, &mut plan.first)
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

    unsafe fn prune(&self, plan: &mut Self::Plan, a: &M, keep: Keep<f64>) -> Result<M> {
        // SAFETY: the pattern is the one that the caller promises.
        let made = unsafe { self.cpu.prune(&mut plan.plan, &self.operand(a)?, keep)? };
        self.made(made, &mut plan.first)
    }
}

impl RowStatisticsKernel<Csr<f64>> for Faulty {
    type Plan = <Cpu as RowStatisticsKernel<Csr<f64>>>::Plan;

    fn row_statistics_algorithms(&self) -> &'static [Algorithm] {
        RowStatisticsKernel::<Csr<f64>>::row_statistics_algorithms(&self.cpu)
    }

    fn plan_row_statistics(&self, a: &Csr<f64>, options: &PlanOptions) -> Result<Self::Plan> {
        self.cpu.plan_row_statistics(a, options)
    }

    unsafe fn row_statistics(&self, plan: &mut Self::Plan, a: &Csr<f64>) -> Result<RowStatistics> {
        // SAFETY: the caller promises the same.
        let mut statistics = unsafe { self.cpu.row_statistics(plan, a)? };
        if self.fault == Fault::DropsAnEntry {
            statistics.longest = statistics.longest.saturating_sub(1);
        }
        Ok(statistics)
    }
}

impl DenseToCsrKernel<f64, i32, i32> for Faulty {
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

    unsafe fn dense_to_csr(
        &self,
        plan: &mut Self::Plan,
        a: DenseBatchView<'_, f64>,
    ) -> Result<CompressedArrays<Self, f64, i32, i32>> {
        // SAFETY: the caller promises the same.
        let arrays: CompressedArrays<Cpu, f64, i32, i32> =
            unsafe { self.cpu.dense_to_csr(&mut plan.plan, a)? };
        let CompressedArrays { member_ptr, offsets, indices, mut values } = arrays;
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut values);
        }
        self.bring_back(&(0..values.len()).collect::<Vec<_>>(), &mut values, &mut plan.first);
        let shifts = self.fault == Fault::ShiftsAnIndex;
        let indices = Copies(if shifts { self.fault } else { Fault::None }).copy(&indices)?;
        Ok(CompressedArrays { member_ptr, offsets, indices, values })
    }
}

impl ScanKernel<i32> for Faulty {
    type Plan = <Cpu as ScanKernel<i32>>::Plan;

    fn scan_algorithms(&self, order: ScanOrder) -> &'static [Algorithm] {
        ScanKernel::<i32>::scan_algorithms(&self.cpu, order)
    }

    fn plan_scan(
        &self,
        shape: (usize, usize),
        order: ScanOrder,
        kind: ScanKind,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        ScanKernel::<i32>::plan_scan(&self.cpu, shape, order, kind, options)
    }

    unsafe fn scan(&self, plan: &mut Self::Plan, input: &[i32], output: &mut [i32]) -> Result<()> {
        let (before, mut input) = (output.to_vec(), input.to_vec());
        if self.fault == Fault::DropsAnEntry {
            drop_first(&mut input);
        }
        // SAFETY: the caller promises the same.
        unsafe { ScanKernel::<i32>::scan(&self.cpu, plan, &input, output)? };
        self.spoil(&before, output);
        Ok(())
    }
}
