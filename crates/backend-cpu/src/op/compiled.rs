//! Operations that are compiled in this crate, once for every format and type.
//!
//! A generic function is compiled in each program that calls it, which takes minutes for operations on every format,
//! type and instruction set. So the kernel traits find function pointers by the type of the matrix in a table of this
//! crate, and no other crate compiles the functions. The tables have the rows of the catalogue: a format that gets an
//! operation there has it here.

use super::{
    convert, dense_to_csr, elementwise, prune, reduce, sddmm, select, softmax, sort, spgemm, spmm,
    spmm_reduce, spmv, to_dense, trisolve, vector,
};
use sparse_core::catalog::Types;
use sparse_core::{
    BatchCsc, BatchCsr, Coo, Csc, Csr, Ell, Error, Host, HostCsr, Hyb, Index, Result, Scalar, Sell,
    for_all_types, for_each_operation,
};
use std::any::{Any, TypeId};
use std::marker::PhantomData;

/// The functions of one operation for each format, in no order.
type Functions = [&'static (dyn Any + Send + Sync)];

/// The functions of one operation for each triple of types.
pub(super) type Table = [&'static Functions];

/// The functions for values `T`, indices `I` and offsets `O`: one constant for each operation.
struct OfTypes<T, I, O>(PhantomData<(T, I, O)>);

/// Defines the constant of each operation of the catalogue: the functions of its formats, such as
///
/// ```text
/// const SORT: &'static Functions =
///     &[&sort::Functions::<Csr<T, Host, I, O>>::ALL, &sort::Functions::<Csc<T, Host, I, O>>::ALL, …];
/// ```
macro_rules! functions {
    (
        formats { $($of:ident $of_name:ident $of_kernel:ident $of_title:literal { $($formats:tt)+ })+ }
        types { $($types:tt)+ }
        elements { $($elements:tt)+ }
    ) => {
        $(functions! { $of_name of $($formats)+ })+
    };
    // The first three take CSR in the caller's memory, too, which is no format of the catalogue.
    (spmv of $($formats:tt)+) => { functions! { SPMV: spmv, [HostCsr<T, I, O>] $($formats)+ } };
    (spmm of $($formats:tt)+) => { functions! { SPMM: spmm, [HostCsr<T, I, O>] $($formats)+ } };
    (to_dense of $($formats:tt)+) => { functions! { TO_DENSE: to_dense, [HostCsr<T, I, O>] $($formats)+ } };
    (spmm_reduce of $($formats:tt)+) => { functions! { SPMM_REDUCE: spmm_reduce, [] $($formats)+ } };
    (convert of $($formats:tt)+) => { functions! { CONVERT: convert, [] $($formats)+ } };
    (sort of $($formats:tt)+) => { functions! { SORT: sort, [] $($formats)+ } };
    (prune of $($formats:tt)+) => { functions! { PRUNE: prune, [] $($formats)+ } };
    (select of $($formats:tt)+) => { functions! { SELECT: select, [] $($formats)+ } };
    (elementwise of $($formats:tt)+) => { functions! { ELEMENTWISE: elementwise, [] $($formats)+ } };
    (reduce of $($formats:tt)+) => { functions! { REDUCE: reduce, [] $($formats)+ } };
    (softmax of $($formats:tt)+) => { functions! { SOFTMAX: softmax, [] $($formats)+ } };
    // The formats of these have functions in common, which are below, or are a few lines.
    ($other:ident of $($formats:tt)+) => {};
    ($constant:ident: $op:ident, [$($more:ty)?] $($($format:ident<$($index:ident),+>)=>+),+) => {
        impl<T: Scalar, I: Index, O: Index> OfTypes<T, I, O> {
            const $constant: &'static Functions = &[
                $(&$op::Functions::<$($format<T, Host, $($index),+>),+>::ALL,)+
                $(&$op::Functions::<$more>::ALL,)?
            ];
        }
    };
}

for_each_operation!(functions);

impl<T: Scalar, I: Index, O: Index> OfTypes<T, I, O> {
    // Of CSR in the caller's memory alone.
    const SPMV_ONCE: &'static Functions = &[&spmv::once::Functions::<T, I, O>::ALL];
    // Of arrays in the caller's memory.
    const BORROWED: &'static Functions = &[&convert::borrowed::Functions::<T, I, O>::ALL];
    const SPMM_ACROSS: &'static Functions = &[&spmm::across::Functions::<T, I, O>::ALL];
    const SPGEMM_ONCE: &'static Functions = &[&spgemm::once::Functions::<T, I, O>::ALL];
    // CSR and CSC have the same functions.
    const SPGEMM: &'static Functions = &[&spgemm::Functions::<T, I, O>::ALL];
    const TRISOLVE: &'static Functions = &[&trisolve::Functions::<T, I, O>::ALL];
    // Of vectors, which have no positions.
    const VECTOR: &'static Functions = &[&vector::Functions::<T>::ALL];
    // All formats have the same functions, whatever their offsets.
    const SDDMM: &'static Functions = &[&sddmm::Functions::<T, I>::ALL];
    const DENSE_TO_CSR: &'static Functions = &[&dense_to_csr::Functions::<T, I, O>::ALL];
}

/// Defines a function that returns the table of an operation: its constant of every triple of types.
///
/// A function and not a static, which cargo compiles again, with every operation, for the unit tests of this crate.
/// Never inlined, as the caller's program would then compile every operation, too.
macro_rules! table {
    ($table:ident = $constant:ident of $(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        #[inline(never)]
        pub(super) const fn $table() -> &'static Table {
            const { &[$(OfTypes::<$t, $i, $o>::$constant),*] }
        }
    };
}

/// Defines the table of every operation, given the triples of types.
macro_rules! tables {
    ($($types:tt)*) => {
        table! { spmv_table = SPMV of $($types)* }
        table! { spmv_once_table = SPMV_ONCE of $($types)* }
        table! { spmm_table = SPMM of $($types)* }
        table! { spmm_across_table = SPMM_ACROSS of $($types)* }
        table! { spmm_reduce_table = SPMM_REDUCE of $($types)* }
        table! { sddmm_table = SDDMM of $($types)* }
        table! { spgemm_table = SPGEMM of $($types)* }
        table! { spgemm_once_table = SPGEMM_ONCE of $($types)* }
        table! { convert_table = CONVERT of $($types)* }
        table! { borrowed_table = BORROWED of $($types)* }
        table! { to_dense_table = TO_DENSE of $($types)* }
        table! { sort_table = SORT of $($types)* }
        table! { prune_table = PRUNE of $($types)* }
        table! { select_table = SELECT of $($types)* }
        table! { elementwise_table = ELEMENTWISE of $($types)* }
        table! { reduce_table = REDUCE of $($types)* }
        table! { softmax_table = SOFTMAX of $($types)* }
        table! { trisolve_table = TRISOLVE of $($types)* }
        table! { vector_table = VECTOR of $($types)* }
        table! { dense_to_csr_table = DENSE_TO_CSR of $($types)* }
    };
}

for_all_types!(tables);

/// The functions of type `F`.
///
/// # Errors
/// [`Error::Unsupported`] if the types are none of [`for_all_types`].
pub(super) fn find<F: Any>(table: &'static Table, op: &str, format: &str) -> Result<&'static F> {
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
