//! `y ← alpha·op(A)·x + beta·y`.
//!
//! Every format has a native kernel for the direction that it is stored in. For the other direction, and for unsorted
//! coordinates, the plan has the entries row by row with the positions of their values ([`RowPattern`]).
//!
//! | module | contents |
//! |---|---|
//! | `compressed` | CSR and CSC: the table of algorithms and the choice (`automatic`), whose numbers are in `thresholds`; `row_per_thread` and `merge_path` |
//! | `coo`, `ell`, `hyb`, `sell` | the other formats, with their algorithms |
//! | `repeated_rows` | kernels in `repeated_rows_x86`, and for short rows `shifted_x86` and `transposed_x86` |
//! | `shared_columns` | kernels in `shared_columns_x86` |
//! | `segmented_sums` | rows in `part_rows`, kernels in `segmented_sums_x86` and `equal_rows_x86` |
//! | `rows_by_length`, `chunked_scatter` | the algorithms of these names |
//! | `transposed_pattern` | and `sorted_rows` |
//! | `row_block`, `long_row` | sums of other rows: 64 neighbouring ones, or a long one |
//! | `once` | products without a plan, over the caller's arrays |
//! | `elements_x86`, `lanes_x86`, `masked_x86`, `slab_sums`, `part_sums`, `members` | helpers of several algorithms |

mod chunked_scatter;
mod compressed;
mod coo;
#[cfg(target_arch = "x86_64")]
mod elements_x86;
mod ell;
#[cfg(target_arch = "x86_64")]
mod equal_rows_x86;
mod hyb;
#[cfg(target_arch = "x86_64")]
mod lanes_x86;
mod long_row;
#[cfg(target_arch = "x86_64")]
mod long_row_x86;
#[cfg(target_arch = "x86_64")]
mod masked_x86;
mod members;
pub(super) mod once;
mod part_rows;
mod part_sums;
mod repeated_rows;
#[cfg(target_arch = "x86_64")]
mod repeated_rows_x86;
mod row_block;
mod rows_by_length;
mod segmented_sums;
#[cfg(target_arch = "x86_64")]
mod segmented_sums_x86;
mod sell;
mod shared_columns;
#[cfg(target_arch = "x86_64")]
mod shared_columns_x86;
#[cfg(target_arch = "x86_64")]
pub(super) mod shifted_x86;
mod slab_sums;
mod thresholds;
mod transposed_pattern;
#[cfg(target_arch = "x86_64")]
mod transposed_x86;

use super::compiled::{find, spmv_table};
use super::plan::fmt_product;
use crate::Cpu;
use crate::primitive::entries::Entries;
use crate::primitive::update::Update;
use sparse_core::op::{AccOf, Op, SpmvKernel};
use sparse_core::reference::Reference;
use sparse_core::{Algorithm, AlgorithmSet, Choice, KernelPlan, PlanOptions, Result, Scalar, SparseFormat};
use thresholds::SpmvThresholds;
use transposed_pattern::Gathered;

const TRANSPOSED_PATTERN: Algorithm =
    Algorithm::new("transposed_pattern", "for op(A) across the stored direction")
        .preprocessing("op(A)'s pattern by rows, with the positions of the values");

/// The contents of a plan that an algorithm needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The result of the format's [`prepare`](SpmvFormat::prepare).
    Own,
    /// The pattern of op(A) by rows, which takes as long as several products.
    RowPattern,
}

/// The kernels of a format for SpMV.
pub trait SpmvFormat: Entries {
    /// The plan of the format's own algorithms.
    type Native: Send;

    /// The format's algorithms.
    type Algorithm: AlgorithmSet<Needs = Needs>;

    /// The serial reference among them.
    const SEQUENTIAL: Self::Algorithm;

    /// True if the algorithm computes products with op(A).
    fn fits(algorithm: Self::Algorithm, op: Op) -> bool;

    /// The best algorithm for this pattern, with the reason.
    fn automatic(&self, op: Op) -> (Self::Algorithm, String);

    /// The best algorithm for a plan that is used often, if it is another.
    fn automatic_if_often(&self, _: &Cpu, _: Op) -> Option<(Self::Algorithm, String)> {
        None
    }

    /// Prepares an algorithm for a backend's instruction set.
    fn prepare(&self, cpu: &Cpu, algorithm: Self::Algorithm, op: Op) -> Result<Prepared<Self::Native>>;

    /// Bytes of the plan.
    fn native_bytes(native: &Self::Native) -> usize;

    /// Multiplies by a prepared algorithm.
    ///
    /// # Safety
    /// `native` was prepared for the pattern of `self`; the operands have the lengths of its shape and direction.
    unsafe fn multiply(&self, cpu: &Cpu, native: &mut Self::Native, product: Product<'_, Self::Scalar>);
}

/// The contents of a plan for an algorithm.
pub enum Prepared<Native> {
    /// The plan of the serial reference.
    Sequential,
    /// The pattern of op(A) by rows.
    RowPattern,
    /// The plan of the format's own kernel.
    Native(Native),
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
    pub(super) functions: &'static Functions<M>,
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
        fmt_product(f, "SpmvPlan", self, self.op)
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
fn automatic<M: SpmvFormat>(cpu: &Cpu, a: &M, op: Op, options: &PlanOptions) -> (M::Algorithm, String) {
    if options.expected_calls >= SpmvThresholds::CPU.often
        && let Some(choice) = a.automatic_if_often(cpu, op)
    {
        return choice;
    }
    let (algorithm, reason) = a.automatic(op);
    if options.expected_calls <= 1 && *algorithm.needs() == Needs::RowPattern {
        return (M::SEQUENTIAL, "a pattern by rows does not pay off in one call".into());
    }
    (algorithm, reason)
}

impl<M: SpmvFormat> SpmvKernel<M> for Cpu
where
    Reference: SpmvKernel<M>,
{
    type Plan = SpmvPlan<M>;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        M::Algorithm::table(&|algorithm| M::fits(algorithm, op))
    }

    fn plan_spmv(&self, a: &M, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        let functions: &Functions<M> = find(spmv_table(), "spmv", M::FORMAT)?;
        (functions.plan)(self, a, op, options)
    }

    unsafe fn run_spmv(
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

/// The functions of one format, which are compiled in this crate.
pub(super) struct Functions<M: SpmvFormat>
where
    Reference: SpmvKernel<M>,
{
    pub(super) plan: fn(&Cpu, &M, Op, &PlanOptions) -> Result<SpmvPlan<M>>,
    pub(super) run: RunOf<M>,
}

/// As for [`SpmvKernel::run_spmv`].
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
    pub(super) const ALL: Self = Self { plan: SpmvPlan::new, run: SpmvPlan::run };
}

impl<M: SpmvFormat> SpmvPlan<M>
where
    Reference: SpmvKernel<M>,
{
    fn new(cpu: &Cpu, a: &M, op: Op, options: &PlanOptions) -> Result<Self> {
        let (preferred, reason) = match &options.algorithm {
            Some(_) => (M::SEQUENTIAL, String::new()),
            None => automatic(cpu, a, op, options),
        };
        let offered = M::Algorithm::table(&|algorithm| M::fits(algorithm, op));
        let (algorithm, choice) = options.choose_among("spmv", offered, preferred, reason)?;
        let kernel = match a.prepare(cpu, algorithm, op)? {
            Prepared::Sequential => {
                let options = PlanOptions { algorithm: None, ..options.clone() };
                Kernel::Sequential(Reference.plan_spmv(a, op, &options)?)
            }
            Prepared::RowPattern => Kernel::Gathered(Gathered::new(a, op)?),
            Prepared::Native(native) => Kernel::Native(native),
        };
        Ok(Self { functions: const { &Functions::ALL }, choice, op, kernel })
    }

    /// # Safety
    /// As for [`SpmvKernel::run_spmv`].
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
            Kernel::Sequential(plan) => return unsafe { Reference.run_spmv(plan, alpha, a, x, beta, y) },
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{ASSUMED_FAST_GATHERS, Simd};
    use num_traits::One;
    use sparse_core::op::{SpmvPlan, VectorKernel};
    use sparse_core::{Csr, Host, c64};
    use sparse_generate::{band, stencil_5, stencil_27, uniform, with_row_lengths};

    /// Calls `check` with every instruction set of vectors, as processors with fast and with slow gathers run it. One
    /// thread, since only this one assumes them.
    fn for_both_kinds_of_gathers(check: impl Fn(&Cpu, &str)) {
        for simd in [Simd::Avx2, Simd::Avx512].into_iter().filter(|simd| simd.is_available()) {
            for is_fast in [false, true] {
                ASSUMED_FAST_GATHERS.set(Some(is_fast));
                check(&Cpu::with(1, simd).unwrap(), &format!("{}, fast gathers: {is_fast}", simd.name()));
            }
        }
        ASSUMED_FAST_GATHERS.set(None);
    }

    /// A·x by a plan of the backend.
    fn product<B, T: Scalar>(backend: &B, a: &Csr<T>, x: &[T], options: &PlanOptions) -> Vec<T>
    where
        B: SpmvKernel<Csr<T>, Space = Host> + VectorKernel<T>,
    {
        let mut y = vec![T::ZERO; a.nrows()];
        let mut plan = SpmvPlan::new(backend, a, Op::None, options).unwrap();
        plan.run(T::Acc::one(), a, x, T::Acc::ZERO, &mut y).unwrap();
        y
    }

    /// Every algorithm and the product of one call; small integers, so that every order of summation is exact.
    fn check<T: Scalar>(name: &str, a: &Csr<T>)
    where
        Reference: SpmvKernel<Csr<T>> + VectorKernel<T>,
    {
        let x: Vec<_> = (0..a.ncols()).map(|i| T::from_c64(c64::new((i % 7) as f64 - 3.0, 0.0))).collect();
        let expected = product(&Reference, a, &x, &PlanOptions::default());
        for_both_kinds_of_gathers(|cpu, kind| {
            for algorithm in cpu.spmv_algorithms(Op::None) {
                let found = product(cpu, a, &x, &PlanOptions::forced(algorithm.name));
                assert!(found == expected, "{name}, {}, {kind}", algorithm.name);
            }
            let mut y = vec![T::ZERO; a.nrows()];
            let arrays = (&raw const a.offsets()[..], &raw const a.indices()[..], &raw const a.values()[..]);
            // SAFETY: nobody writes the arrays.
            unsafe { cpu.multiply_borrowed(a.shape(), arrays, Op::None, &x, &mut y).unwrap() };
            assert!(y == expected, "{name}, one call, {kind}");
        });
    }

    #[test]
    fn kernels_for_fast_and_for_slow_gathers_agree_with_the_reference() {
        fn check_all<T: Scalar>()
        where
            Reference: SpmvKernel<Csr<T>> + VectorKernel<T>,
        {
            let lengths: Vec<_> =
                (0..3000).map(|row| [0, 1, 3, 9, 30, 70, 150][(row * 5 + row / 7) % 7]).collect();
            let beside_empty: Vec<_> = (0..6000).map(|row| if row % 43 < 40 { 5 } else { 0 }).collect();
            let mut long = vec![2; 4000];
            long[1234] = 20_000;
            let matrices = [
                ("stencil_5", stencil_5(140, 140)),
                ("stencil_27", stencil_27(11, 11, 11)),
                ("band", band(3000, 12, 13, 3)),
                ("short rows", uniform(15_000, 400, 5, 1)),
                ("rows of middle length", uniform(1500, 2500, 21, 2)),
                ("rows of 600 entries", uniform(60, 3000, 600, 3)),
                ("unequal rows", with_row_lengths(&lengths, 2000, 4)),
                ("rows of one length beside empty ones", with_row_lengths(&beside_empty, 2000, 7)),
                ("a long row", with_row_lengths(&long, 25_000, 5)),
                ("an x of 16 MiB", with_row_lengths(&lengths[..200], (16 << 20) / size_of::<T>(), 6)),
            ];
            for (name, a) in matrices {
                check::<T>(name, &a.unwrap());
            }
        }
        check_all::<f32>();
        check_all::<f64>();
        check_all::<c64>();
    }
}
