//! Common matrices and operands of the tests of both products. All values are small integers, so that every order of
//! summation is exact.

#![allow(dead_code, reason = "each test uses a part of these")]

use backend_cpu::{Cpu, Simd};
use sparse_core::op::{Conversion, ConvertKernel, ConvertPlan};
use sparse_core::reference::Reference;
use sparse_core::{
    BatchCsc, BatchCsr, Coo, Csc, Csr, Ell, Host, Hyb, HybWidth, Index, PlanOptions, Scalar, Sell,
    SellLayout, SparseFormat, c64,
};
use sparse_generate::{adversarial, band, uniform, with_row_lengths};
use std::sync::LazyLock;

/// alpha and beta of every run.
pub(crate) const SCALES: [(f64, f64); 6] =
    [(1.0, 0.0), (1.0, 1.0), (2.0, -1.0), (0.0, 1.0), (0.0, 0.0), (-1.0, 0.5)];

/// Every instruction set of this machine, with one and two threads in turn.
pub(crate) fn backends() -> &'static [Cpu] {
    static BACKENDS: LazyLock<Vec<Cpu>> = LazyLock::new(|| {
        let sets = [Simd::Portable, Simd::Avx2, Simd::Avx512, Simd::Neon].into_iter();
        let available = sets.filter(|simd| simd.is_available());
        available.enumerate().map(|(k, simd)| Cpu::with(1 + k % 2, simd).unwrap()).collect()
    });
    &BACKENDS
}

/// All backends for the first alpha and beta; for the others one is enough.
pub(crate) fn backends_for(scale: (f64, f64)) -> &'static [Cpu] {
    let all = backends();
    if scale == SCALES[0] { all } else { &all[all.len() - 1..] }
}

/// Small matrices of every awkward shape, and some large enough for several threads.
pub(crate) fn cases<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let mut lengths = vec![2; 4000];
    lengths[1234] = 20_000;
    lengths[1235] = 0;
    lengths[3999] = 6000;
    let mut cases = adversarial::all().unwrap();
    cases.push(("two_long_rows".into(), with_row_lengths(&lengths, 25_000, 1).unwrap()));
    cases.push(("uniform".into(), uniform(1500, 2500, 21, 2).unwrap()));
    cases.push(("band".into(), band(3000, 3, 4, 3).unwrap()));
    cases
}

/// Every third case, the one with long rows among them.
pub(crate) fn some_cases<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let cases = cases();
    let first = (cases.len() - 3) % 3;
    cases.into_iter().skip(first).step_by(3).collect()
}

/// Integers from −3 to 3.
pub(crate) fn integers<T: Scalar>(len: usize) -> Vec<T> {
    let value = |i: usize| ((i * 5 + i / 7) % 7) as f64 - 3.0;
    (0..len).map(|i| T::from_c64(c64::new(value(i), value(i + 3)))).collect()
}

/// A real number as accumulator.
pub(crate) fn acc<T: Scalar>(value: f64) -> T::Acc {
    T::Acc::from_c64(c64::new(value, 0.0))
}

/// NaN if it must not be read, else integers.
pub(crate) fn output<T: Scalar>(len: usize, beta: f64) -> Vec<T> {
    if beta == 0.0 { vec![T::from_c64(c64::new(f64::NAN, f64::NAN)); len] } else { integers(len) }
}

/// The bytes of values, so that comparisons see every bit.
pub(crate) fn bits<T: Scalar>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

pub(crate) fn convert<From, To>(from: &From, layout: &From::Layout) -> To
where
    From: Conversion<To> + SparseFormat<Space = Host>,
    To: SparseFormat<Space = Host>,
    Reference: ConvertKernel<From, To>,
{
    ConvertPlan::new(&Reference, from, layout, &PlanOptions::once()).unwrap().run(from).unwrap()
}

pub(crate) fn csc<T: Scalar>(a: &Csr<T>) -> Csc<T> {
    convert(a, &())
}

pub(crate) fn coo<T: Scalar>(a: &Csr<T>) -> Coo<T> {
    convert(a, &())
}

/// The same entries, the last one first, columns before rows.
pub(crate) fn shuffled_coo<T: Scalar>(a: &Csr<T>) -> Coo<T> {
    let mut triplets: Vec<_> = a.triplets().collect();
    triplets.sort_by_key(|&(i, j, _)| std::cmp::Reverse((j % 5, i)));
    Coo::from_triplets(a.nrows(), a.ncols(), triplets).unwrap()
}

pub(crate) fn ell<T: Scalar>(a: &Csr<T>) -> Ell<T> {
    convert(a, &sparse_core::EllLayout { width: None, max_bytes: Some(u64::MAX) })
}

pub(crate) fn hyb<T: Scalar>(a: &Csr<T>, width: usize) -> Hyb<T> {
    convert(a, &HybWidth::Width(width))
}

pub(crate) fn sell<T: Scalar>(a: &Csr<T>, slice_height: usize, sort_window: usize) -> Sell<T> {
    convert(a, &SellLayout { slice_height, sort_window })
}

/// Three members: `a`, one without entries, and `a` again.
pub(crate) fn batch<T: Scalar>(a: &Csr<T>) -> BatchCsr<T> {
    let nnz = a.nnz();
    let offsets = [a.offsets().clone(), vec![0; a.nrows() + 1], a.offsets().clone()].concat();
    let indices = [a.indices().clone(), a.indices().clone()].concat();
    let values = [a.values().clone(), a.values().clone()].concat();
    BatchCsr::new((a.nrows(), a.ncols()), vec![0, nnz, nnz, 2 * nnz], offsets, indices, values).unwrap()
}

pub(crate) fn batch_csc<T: Scalar>(a: &Csr<T>) -> BatchCsc<T> {
    batch(a).into_transpose()
}

/// The same matrix with other index types.
pub(crate) fn with_indices<T: Scalar, I: Index, O: Index>(a: &Csr<T>) -> Csr<T, Host, I, O> {
    let offsets = a.offsets().iter().map(|o| O::cast(o.as_usize())).collect();
    let indices = a.indices().iter().map(|i| I::cast(i.as_usize())).collect();
    Csr::new_unsorted(a.nrows(), a.ncols(), offsets, indices, a.values().clone()).unwrap()
}

/// The same pattern with values that round: tenths.
pub(crate) fn inexact<T: Scalar>(a: Csr<T>) -> Csr<T> {
    let tenth = |v: &T| T::from_c64(v.to_c64() * 0.1);
    a.with_values(a.values().iter().map(tenth).collect()).unwrap()
}
