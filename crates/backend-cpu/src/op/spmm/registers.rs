//! Blocks of columns in the registers of AVX-512, of all types but those of 16 bits, and of AVX2, real ones alone.

use super::block::{RowMajor, Sink};
use super::part::Part;
use super::registers_avx2::*;
use super::registers_avx512::*;
use super::rows::Rows;
use crate::simd::{Isa, Simd, is};
use sparse_core::DType;
use sparse_core::Scalar;
use sparse_core::op::Op;

/// The most vectors summed at a time; registers are left for a value and a row of B.
const MAX_VECTORS: usize = 16;

/// True if kernels in registers take any number of columns.
pub(super) const fn take_all<S: Isa, T: Scalar>() -> bool {
    match S::SIMD {
        Simd::Avx512 => !matches!(T::DTYPE, DType::F16 | DType::Bf16),
        Simd::Avx2 => matches!(T::DTYPE, DType::F32 | DType::F64),
        _ => false,
    }
}

/// Writes `Σ value·B[column]` over the entries of each row to `sink`, for as many columns from `first` on as the
/// registers of `S` take: their number, or 0 if there are no kernels in registers.
///
/// # Safety
/// The processor has `S`; every column of `rows` is below the number of rows of `b`.
#[inline(always)]
pub(super) unsafe fn sums<S: Isa, R: Rows>(
    rows: &R,
    part: &Part,
    b: RowMajor<'_, R::Scalar>,
    first: usize,
    op: Op,
    sink: &mut impl Sink<R::Scalar>,
) -> usize {
    let (left, has_groups) = (b.columns - first, !part.groups.is_empty());
    macro_rules! take {
        ($kernel:ident, $vectors:expr, chains $chains:literal, rows $rows:literal, full $full:literal) => {
            match has_groups {
                true => $kernel::<{ $vectors }, $chains, $rows, $full, R>(rows, part, b, first, op, sink),
                false => $kernel::<{ $vectors }, $chains, 1, $full, R>(rows, part, b, first, op, sink),
            }
        };
    }
    // SAFETY: the caller's promises.
    unsafe {
        if const { is::<S, R::Scalar>(Simd::Avx512, DType::F64) } {
            match left {
                128.. => take!(f64s, MAX_VECTORS, chains 1, rows 1, full true),
                64.. => take!(f64s, 8, chains 1, rows 1, full true),
                32.. => take!(f64s, 4, chains 1, rows 2, full true),
                16.. => take!(f64s, 2, chains 2, rows 4, full true),
                8.. => take!(f64s, 1, chains 4, rows 4, full true),
                5.. => take!(f64s, 1, chains 4, rows 4, full false),
                4 => take!(half_f64s, 1, chains 4, rows 4, full true),
                2 => take!(quarter_f64s, 1, chains 4, rows 4, full true),
                _ => take!(half_f64s, 1, chains 4, rows 4, full false),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx512, DType::F32) } {
            match left {
                256.. => take!(f32s, MAX_VECTORS, chains 1, rows 1, full true),
                128.. => take!(f32s, 8, chains 1, rows 1, full true),
                64.. => take!(f32s, 4, chains 1, rows 2, full true),
                32.. => take!(f32s, 2, chains 2, rows 4, full true),
                16.. => take!(f32s, 1, chains 4, rows 4, full true),
                9.. => take!(f32s, 1, chains 4, rows 4, full false),
                8 => take!(half_f32s, 1, chains 4, rows 4, full true),
                4 => take!(quarter_f32s, 1, chains 4, rows 4, full true),
                2 => take!(pair_f32s, 1, chains 4, rows 4, full true),
                _ => take!(half_f32s, 1, chains 4, rows 4, full false),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx512, DType::C64) } {
            match left {
                32.. => take!(c64s, 8, chains 1, rows 1, full true),
                8.. => take!(c64s, 2, chains 1, rows 4, full true),
                4.. => take!(c64s, 1, chains 2, rows 4, full true),
                _ => take!(c64s, 1, chains 2, rows 4, full false),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx512, DType::C32) } {
            match left {
                64.. => take!(c32s, 8, chains 1, rows 1, full true),
                32.. => take!(c32s, 4, chains 1, rows 2, full true),
                8.. => take!(c32s, 1, chains 2, rows 4, full true),
                _ => take!(c32s, 1, chains 2, rows 4, full false),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx2, DType::F64) } {
            match left {
                32.. => fused_f64s::<8, R>(rows, part, b, first, sink),
                16.. => rounded_f64s::<4, R>(rows, part, b, first, sink),
                8.. => take!(avx2_f64s, 2, chains 1, rows 2, full true),
                4.. => take!(avx2_f64s, 1, chains 1, rows 4, full true),
                2 => take!(avx2_half_f64s, 1, chains 1, rows 4, full true),
                _ => take!(avx2_f64s, 1, chains 1, rows 4, full false),
            }
        } else if const { is::<S, R::Scalar>(Simd::Avx2, DType::F32) } {
            match left {
                64.. => fused_f32s::<8, R>(rows, part, b, first, sink),
                32.. => take!(avx2_fused_f32s, 4, chains 2, rows 1, full true),
                16.. => take!(avx2_f32s, 2, chains 1, rows 2, full true),
                8.. => take!(avx2_f32s, 1, chains 1, rows 4, full true),
                4 => take!(avx2_half_f32s, 1, chains 1, rows 4, full true),
                2 => take!(avx2_pair_f32s, 1, chains 1, rows 4, full true),
                _ => take!(avx2_f32s, 1, chains 1, rows 4, full false),
            }
        } else {
            0
        }
    }
}
