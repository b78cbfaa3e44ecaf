//! `y ← alpha·op(A)·x + beta·y`.
//!
//! Every format has a native kernel for the direction that it is stored in. For the other direction, and for unsorted
//! coordinates, the plan has the entries row by row with the positions of their values ([`RowPattern`]).

mod by_length;
#[cfg(target_arch = "x86_64")]
mod by_length_avx512;
mod compressed;
mod coo;
mod ell;
mod gathered;
mod hyb;
pub(super) mod lanes;
mod part_sums;
mod repeated;
#[cfg(target_arch = "x86_64")]
mod repeated_avx512;
mod scatter;
mod sell;

use super::SEQUENTIAL;
use super::entries::Entries;
use super::update::Update;
use crate::simd::Simd;
use crate::{Cpu, compiled};
use gathered::Gathered;
use sparse_core::op::{AccOf, Op, SpmvKernel};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, BatchCsc, BatchCsr, Choice, Coo, Csc, Csr, Ell, Host, HostCsr, Hyb, KernelPlan, PlanOptions,
    Result, Scalar, Sell, SparseFormat,
};

const TRANSPOSED_PATTERN: Algorithm =
    Algorithm::new("transposed_pattern", "for op(A) across the stored direction")
        .preprocessing("op(A)'s pattern by rows, with the positions of the values");
/// The algorithms that run on a pattern by rows.
const GATHERED: [&str; 2] = ["transposed_pattern", "sorted_rows"];
/// Calls from which on a plan may take as long as several products.
const OFTEN: usize = 32;
const TRANSPOSED: &[Algorithm] = &[TRANSPOSED_PATTERN, SEQUENTIAL];

/// The kernels of a format for SpMV.
pub trait SpmvFormat: Entries {
    /// The plan of the format's own algorithms.
    type Native: Send;

    /// The format's algorithms for `op`; `sequential` and those of [`Gathered`] may be among them.
    fn algorithms(op: Op) -> &'static [Algorithm];

    /// The best algorithm for this pattern, with the reason.
    fn automatic(&self, op: Op) -> (&'static str, String);

    /// The best algorithm for a plan that is used often, if it is another.
    fn automatic_if_often(&self, _: Simd, _: Op) -> Option<(&'static str, String)> {
        None
    }

    /// Prepares a native algorithm of the table.
    fn prepare(&self, algorithm: &'static str, op: Op) -> Result<Self::Native>;

    /// Bytes of the plan.
    fn native_bytes(native: &Self::Native) -> usize;

    /// Multiplies by a prepared algorithm.
    ///
    /// # Safety
    /// `native` was prepared for the pattern of `self`; the operands have the lengths of its shape and direction.
    unsafe fn multiply(&self, cpu: &Cpu, native: &mut Self::Native, product: Product<'_, Self::Scalar>);
}

/// The operands of one product.
pub struct Product<'a, T: Scalar> {
    x: &'a [T],
    y: &'a mut [T],
    update: Update<T::Acc>,
    op: Op,
}

/// The plan of SpMV for one pattern.
pub struct SpmvPlan<M: SpmvFormat>
where
    Reference: SpmvKernel<M>,
{
    functions: &'static Functions<M>,
    choice: Choice,
    op: Op,
    kernel: Kernel<M>,
}

enum Kernel<M: SpmvFormat>
where
    Reference: SpmvKernel<M>,
{
    Sequential(<Reference as SpmvKernel<M>>::Plan),
    Gathered(Gathered<M::Index, AccOf<M>>),
    Native(M::Native),
}

impl<M: SpmvFormat> std::fmt::Debug for SpmvPlan<M>
where
    Reference: SpmvKernel<M>,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpmvPlan")
            .field("choice", &self.choice)
            .field("op", &self.op)
            .field("workspace_bytes", &self.workspace_bytes())
            .finish()
    }
}

impl<M: SpmvFormat> KernelPlan for SpmvPlan<M>
where
    Reference: SpmvKernel<M>,
{
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        match &self.kernel {
            Kernel::Sequential(plan) => plan.workspace_bytes(),
            Kernel::Gathered(gathered) => gathered.bytes(),
            Kernel::Native(native) => M::native_bytes(native),
        }
    }
}

/// The best algorithm for this pattern and number of calls, with the reason.
fn automatic<M: SpmvFormat>(cpu: &Cpu, a: &M, op: Op, options: &PlanOptions) -> (&'static str, String) {
    if options.expected_calls >= OFTEN
        && let Some(choice) = a.automatic_if_often(cpu.simd(), op)
    {
        return choice;
    }
    let (name, reason) = a.automatic(op);
    if options.expected_calls <= 1 && GATHERED.contains(&name) {
        return (SEQUENTIAL.name, "a pattern by rows does not pay off in one call".into());
    }
    (name, reason)
}

/// The functions of one format, which are compiled in this crate.
struct Functions<M: SpmvFormat>
where
    Reference: SpmvKernel<M>,
{
    plan: fn(&Cpu, &M, Op, &PlanOptions) -> Result<SpmvPlan<M>>,
    run: RunOf<M>,
}

/// As for [`SpmvKernel::spmv`].
type RunOf<M> = unsafe fn(
    &Cpu,
    &mut SpmvPlan<M>,
    AccOf<M>,
    &M,
    &[<M as SparseFormat>::Scalar],
    AccOf<M>,
    &mut [<M as SparseFormat>::Scalar],
) -> Result<()>;

impl<M: SpmvFormat> Functions<M>
where
    Reference: SpmvKernel<M>,
{
    const ALL: Self = Self { plan: SpmvPlan::new, run: SpmvPlan::run };
}

macro_rules! table {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        &[$(
            &Functions::<Csr<$t, Host, $i, $o>>::ALL,
            &Functions::<Csc<$t, Host, $i, $o>>::ALL,
            &Functions::<HostCsr<$t, $i, $o>>::ALL,
            &Functions::<BatchCsr<$t, Host, $i, $o>>::ALL,
            &Functions::<BatchCsc<$t, Host, $i, $o>>::ALL,
            &Functions::<Sell<$t, Host, $i, $o>>::ALL,
            &Functions::<Coo<$t, Host, $i>>::ALL,
            &Functions::<Ell<$t, Host, $i>>::ALL,
            &Functions::<Hyb<$t, Host, $i>>::ALL,
        )*]
    };
}

static TABLE: &compiled::Table = sparse_core::for_all_types!(table);

impl<M: SpmvFormat> SpmvKernel<M> for Cpu
where
    Reference: SpmvKernel<M>,
{
    type Plan = SpmvPlan<M>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        M::algorithms(op)
    }

    fn plan_spmv(&self, a: &M, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let functions: &Functions<M> = compiled::find(TABLE, "spmv", M::FORMAT)?;
        (functions.plan)(self, a, op, options)
    }

    unsafe fn spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        x: &[M::Scalar],
        beta: AccOf<M>,
        y: &mut [M::Scalar],
    ) -> Result<()> {
        // SAFETY: the caller makes the same promises.
        unsafe { (plan.functions.run)(self, plan, alpha, a, x, beta, y) }
    }
}

impl<M: SpmvFormat> SpmvPlan<M>
where
    Reference: SpmvKernel<M>,
{
    fn new(cpu: &Cpu, a: &M, op: Op, options: &PlanOptions) -> Result<Self> {
        let (automatic, reason) = match &options.algorithm {
            Some(_) => (SEQUENTIAL.name, String::new()),
            None => automatic(cpu, a, op, options),
        };
        let choice = options.choose("spmv", M::algorithms(op), automatic, reason)?;
        let kernel = match choice.algorithm {
            "sequential" => {
                let options = PlanOptions { algorithm: None, ..options.clone() };
                Kernel::Sequential(Reference.plan_spmv(a, op, &options)?)
            }
            name if GATHERED.contains(&name) => Kernel::Gathered(Gathered::new(a, op)),
            native => Kernel::Native(a.prepare(native, op)?),
        };
        Ok(Self { functions: const { &Functions::ALL }, choice, op, kernel })
    }

    /// # Safety
    /// As for [`SpmvKernel::spmv`].
    unsafe fn run(
        cpu: &Cpu,
        plan: &mut Self,
        alpha: AccOf<M>,
        a: &M,
        x: &[M::Scalar],
        beta: AccOf<M>,
        y: &mut [M::Scalar],
    ) -> Result<()> {
        let op = plan.op;
        let update = Update { alpha, beta };
        match &mut plan.kernel {
            // SAFETY: the caller promises the same for this plan, which contains the reference's own.
            Kernel::Sequential(plan) => return unsafe { Reference.spmv(plan, alpha, a, x, beta, y) },
            Kernel::Gathered(gathered) => {
                gathered.multiply(cpu, a.value_arrays(), Product { x, y, update, op })
            }
            // SAFETY: the caller promises lengths and pattern.
            Kernel::Native(native) => unsafe {
                a.multiply(cpu, native, Product { x, y, update, op });
            },
        }
        Ok(())
    }
}
