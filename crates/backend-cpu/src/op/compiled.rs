//! Products that are compiled in this crate, once for every format and type.
//!
//! A generic function is compiled in each program that calls it, which takes minutes for products of every format, type
//! and instruction set. So the kernel traits of products find function pointers by the type of the matrix in a table of
//! this crate, and no other crate compiles the functions. The functions are in [`spmv`], [`spmm`], [`sddmm`], [`spgemm`]
//! and [`trisolve`], which know nothing of the tables. The tables have the rows of the catalogue: a format that gets a product
//! there has it here.

use super::sddmm::{self, SddmmFormat, SddmmPlan};
use super::spgemm::{self, SpgemmPlan};
use super::spmm::source::SpmmFormat;
use super::spmm::{self, SpmmPlan};
use super::spmv::{self, SpmvFormat, SpmvPlan};
use super::trisolve::{self, TrisolvePlan};
use crate::Cpu;
use sparse_core::catalog::Types;
use sparse_core::op::{
    AccOf, Op, Sampling, SddmmKernel, SpgemmBound, SpgemmKernel, SpmmKernel, SpmvKernel, Triangular,
    TrisolveKernel,
};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, AlgorithmSet, Axis, BatchCsc, BatchCsr, Compressed, Coo, Csc, Csr, DenseView, DenseViewMut,
    Ell, Error, Host, HostCsr, Hyb, Index, PatternId, PlanOptions, Result, Scalar, Sell, for_all_types,
    for_each_operation,
};
use std::any::{Any, TypeId};
use std::marker::PhantomData;

/// The functions of one operation for each format, in no order.
type Functions = [&'static (dyn Any + Send + Sync)];

/// The functions of one operation for each triple of types.
type Table = [&'static Functions];

/// The functions for values `T`, indices `I` and offsets `O`: one constant for each product.
struct OfTypes<T, I, O>(PhantomData<(T, I, O)>);

macro_rules! functions {
    (
        formats { $($of:ident $of_name:ident $of_kernel:ident $of_title:literal { $($formats:tt)+ })+ }
        types { $($types:tt)+ }
        elements { $($elements:tt)+ }
    ) => {
        $(functions! { $of_name of $($formats)+ })+
    };
    (spmv of $($formats:tt)+) => { functions! { SPMV: spmv, $($formats)+ } };
    (spmm of $($formats:tt)+) => { functions! { SPMM: spmm, $($formats)+ } };
    // What is no product is compiled in the programs that call it.
    ($other:ident of $($formats:tt)+) => {};
    ($constant:ident: $product:ident, $($format:ident<$($index:ident),+>),+) => {
        impl<T: Scalar, I: Index, O: Index> OfTypes<T, I, O> {
            const $constant: &'static Functions = &[
                $(&$product::Functions::<$format<T, Host, $($index),+>>::ALL,)+
                // CSR in the caller's memory, which is no format of the catalogue.
                &$product::Functions::<HostCsr<T, I, O>>::ALL,
            ];
        }
    };
}

for_each_operation!(functions);

impl<T: Scalar, I: Index, O: Index> OfTypes<T, I, O> {
    // Of CSR in the caller's memory alone.
    const SPMV_ONCE: &'static Functions = &[&spmv::once::Functions::<T, I, O>::ALL];
    // CSR and CSC have the same functions.
    const SPGEMM: &'static Functions = &[&spgemm::Functions::<T, I, O>::ALL];
    const TRISOLVE: &'static Functions = &[&trisolve::Functions::<T, I, O>::ALL];
    // All formats have the same functions, whatever their offsets.
    const SDDMM: &'static Functions = &[&sddmm::Functions::<T, I>::ALL];
}

macro_rules! spmv_of_all_types {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => { &[$(OfTypes::<$t, $i, $o>::SPMV),*] };
}

macro_rules! spmv_once_of_all_types {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => { &[$(OfTypes::<$t, $i, $o>::SPMV_ONCE),*] };
}

macro_rules! spmm_of_all_types {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => { &[$(OfTypes::<$t, $i, $o>::SPMM),*] };
}

macro_rules! spgemm_of_all_types {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => { &[$(OfTypes::<$t, $i, $o>::SPGEMM),*] };
}

macro_rules! trisolve_of_all_types {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => { &[$(OfTypes::<$t, $i, $o>::TRISOLVE),*] };
}

// Functions and not statics, which cargo compiles again, with every product, for the unit tests of this crate. Never
// inlined: the program that they were inlined into would compile every product, too.

macro_rules! sddmm_of_all_types {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => { &[$(OfTypes::<$t, $i, $o>::SDDMM),*] };
}

/// The functions of SpMV.
#[inline(never)]
const fn spmv_table() -> &'static Table {
    const { for_all_types!(spmv_of_all_types) }
}

/// The functions of SpMV without a plan.
#[inline(never)]
const fn spmv_once_table() -> &'static Table {
    const { for_all_types!(spmv_once_of_all_types) }
}

/// The functions of SpMM.
#[inline(never)]
const fn spmm_table() -> &'static Table {
    const { for_all_types!(spmm_of_all_types) }
}

/// The functions of SpGEMM.
#[inline(never)]
const fn spgemm_table() -> &'static Table {
    const { for_all_types!(spgemm_of_all_types) }
}

/// The functions of triangular solves.
#[inline(never)]
const fn trisolve_table() -> &'static Table {
    const { for_all_types!(trisolve_of_all_types) }
}

/// The functions of SDDMM.
#[inline(never)]
const fn sddmm_table() -> &'static Table {
    const { for_all_types!(sddmm_of_all_types) }
}

/// The functions of type `F`.
///
/// # Errors
/// [`Error::Unsupported`] if the types are none of [`for_all_types`].
fn find<F: Any>(table: &'static Table, op: &str, format: &str) -> Result<&'static F> {
    let functions: Option<&'static dyn Any> = find_type(table, TypeId::of::<F>());
    functions.and_then(<dyn Any>::downcast_ref).ok_or_else(|| unknown_types(op, format))
}

/// The functions whose type has this id; not generic, so that the search is compiled once.
fn find_type(table: &'static Table, wanted: TypeId) -> Option<&'static dyn Any> {
    let mut functions = table.iter().flat_map(|functions| functions.iter());
    functions.find_map(|functions| {
        let functions: &'static dyn Any = *functions;
        (functions.type_id() == wanted).then_some(functions)
    })
}

#[cold]
fn unknown_types(op: &str, format: &str) -> Error {
    let known: Vec<_> = Types::ALL.iter().map(ToString::to_string).collect();
    let reason = format!("values, indices and offsets are one of {}", known.join(" "));
    Error::unsupported(format!("{op} of {format} with these types on the CPU"), reason)
}

impl Cpu {
    /// `y ← op(A)·x` without a plan; false if a column of A is out of range, which nobody has looked at.
    pub(crate) fn multiply_once<T: Scalar, I: Index, O: Index>(
        &self,
        a: &HostCsr<T, I, O>,
        op: Op,
        x: &[T],
        y: &mut [T],
    ) -> Result<bool> {
        let functions: &spmv::once::Functions<T, I, O> = find(spmv_once_table(), "spmv", "csr")?;
        Ok((functions.multiply)(self, a, op, x, y))
    }
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
        let functions: &spmv::Functions<M> = find(spmv_table(), "spmv", M::FORMAT)?;
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

impl<M: SpmmFormat> SpmmKernel<M> for Cpu
where
    Reference: SpmmKernel<M>,
{
    type Plan = SpmmPlan<M>;

    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm] {
        spmm::algorithms(spmm::has_stored_rows::<M>(op))
    }

    fn plan_spmm(&self, a: &M, op: Op, columns: usize, options: &PlanOptions) -> Result<Self::Plan> {
        let functions: &spmm::Functions<M> = find(spmm_table(), "spmm", M::FORMAT)?;
        (functions.plan)(a, op, columns, options)
    }

    unsafe fn spmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        c: DenseViewMut<'_, M::Scalar>,
    ) -> Result<()> {
        // SAFETY: the caller makes the same promises.
        unsafe { (plan.functions.run)(self, plan, alpha, a, b, beta, c) }
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpgemmKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = SpgemmPlan<T, I, O>;

    fn spgemm_algorithms(&self) -> &'static [Algorithm] {
        spgemm::algorithms()
    }

    unsafe fn spgemm_bound(
        &self,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
    ) -> Result<SpgemmBound> {
        spgemm::bound_of(self, a, b)
    }

    unsafe fn plan_spgemm(
        &self,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
        mask: Option<&Compressed<A, T, Host, I, O>>,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let functions = find(spgemm_table(), "spgemm", A::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { SpgemmPlan::new(self, functions, (a, b, mask), options) }
    }

    fn spgemm_pattern(&self, plan: &Self::Plan) -> (PatternId, usize) {
        plan.pattern::<A>()
    }

    fn spgemm_output(&self, plan: &Self::Plan) -> Result<Compressed<A, T, Host, I, O>> {
        plan.output()
    }

    unsafe fn spgemm(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Host, I, O>,
        b: &Compressed<A, T, Host, I, O>,
        c: &mut Compressed<A, T, Host, I, O>,
    ) -> Result<()> {
        // SAFETY: the caller makes the same promises.
        unsafe { plan.run(self, a, b, c) }
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> TrisolveKernel<Compressed<A, T, Host, I, O>> for Cpu {
    type Plan = TrisolvePlan<T, I, O>;

    fn trisolve_algorithms(&self) -> &'static [Algorithm] {
        trisolve::algorithms()
    }

    unsafe fn plan_trisolve(
        &self,
        a: &Compressed<A, T, Host, I, O>,
        system: Triangular,
        options: &PlanOptions,
    ) -> Result<Self::Plan> {
        let functions = find(trisolve_table(), "trisolve", A::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { TrisolvePlan::new(self, functions, a, system, options) }
    }

    unsafe fn trisolve(
        &self,
        plan: &mut Self::Plan,
        a: &Compressed<A, T, Host, I, O>,
        b: DenseView<'_, T>,
        x: DenseViewMut<'_, T>,
    ) -> Result<()> {
        // SAFETY: the caller makes the same promises.
        unsafe { plan.run(self, a, b, x) }
    }
}

impl<M: SddmmFormat> SddmmKernel<M> for Cpu {
    type Plan = SddmmPlan<M::Scalar>;

    fn sddmm_algorithms(&self) -> &'static [Algorithm] {
        sddmm::algorithms()
    }

    fn plan_sddmm(&self, _: &M, sampling: Sampling, _: usize, options: &PlanOptions) -> Result<Self::Plan> {
        SddmmPlan::new(sampling, options)
    }

    unsafe fn sddmm(
        &self,
        plan: &mut Self::Plan,
        alpha: AccOf<M>,
        p: &M,
        u: DenseView<'_, M::Scalar>,
        v: DenseView<'_, M::Scalar>,
        beta: AccOf<M>,
        c: &mut [M::Scalar],
    ) -> Result<()> {
        let functions = find(sddmm_table(), "sddmm", M::FORMAT)?;
        // SAFETY: the caller makes the same promises.
        unsafe { plan.run(self, functions, (alpha, p), (u, v), (beta, c)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::catalog::Operation;

    /// The numbers of functions in the rows of a table, for a constant: a test that asks for a table when it runs has
    /// every product compiled again.
    const fn lengths(table: &Table) -> [usize; Types::ALL.len()] {
        let mut lengths = [0; Types::ALL.len()];
        let mut row = 0;
        while row < table.len() {
            lengths[row] = table[row].len();
            row += 1;
        }
        lengths
    }

    #[test]
    fn products_have_functions_for_every_format_and_type_of_the_catalogue() {
        const OF_SPMV: [usize; Types::ALL.len()] = lengths(spmv_table());
        const OF_SPMM: [usize; Types::ALL.len()] = lengths(spmm_table());
        for (lengths, operation) in [(OF_SPMV, Operation::Spmv), (OF_SPMM, Operation::Spmm)] {
            // One more: CSR in the caller's memory.
            let formats = operation.formats().len() + 1;
            assert_eq!(lengths, [formats; Types::ALL.len()], "{operation}");
        }
    }
}
