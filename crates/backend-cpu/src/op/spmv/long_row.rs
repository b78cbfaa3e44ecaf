//! The sum of a long row where gathers are slow: by vectors of loads, or entry by entry.

#[cfg(target_arch = "x86_64")]
use super::long_row_x86;
use crate::primitive::dot::dot_by_loads;
use crate::simd::{Isa, Simd};
use sparse_core::op::Op;
use sparse_core::{DType, Index, Scalar};

/// Entries by which columns and values are prefetched ahead.
pub(super) const AHEAD: usize = 512;

/// True if sums of rows of more than 16 entries have vectors of loads, on a processor whose gathers are slow.
#[inline(always)]
pub(super) fn has_vectors_of_loads<S: Isa, T: Scalar, I: Index>() -> bool {
    let has_kernels = matches!(S::SIMD, Simd::Avx2 | Simd::Avx512)
        && matches!(T::DTYPE, DType::F32 | DType::F64)
        && size_of::<I>() == size_of::<i32>();
    has_kernels && !Simd::has_fast_gathers()
}

/// Distance in entries at which elements of x are prefetched.
#[cfg(target_arch = "x86_64")]
pub(super) const X_AHEAD: usize = 128;

/// The guarantees that a sum has of the columns of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// None: they are compared with the length of `x`.
    Any,
    /// They are below the length of `x`.
    InRange,
    /// They are below it, and the matrix stays in the caches, so that nothing is prefetched.
    Cached,
    /// They are below it, and columns of later rows follow, whose elements of `x` are prefetched.
    Fetched,
}

/// `Σ value·x[column]`, with values conjugated by `op`; `None` if a column is not below the length of `x`.
///
/// # Safety
/// The processor has `S`; there is a column for each value; the columns are what `known` says.
#[inline(always)]
pub(super) unsafe fn sum_by_loads<S: Isa, T: Scalar, I: Index>(
    columns: &[I],
    values: &[T],
    x: &[T],
    op: Op,
    known: Columns,
) -> Option<T::Acc> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the caller's promises.
    if let Some(sum) = unsafe { long_row_x86::sum::<S, T, I>(columns, values, x, known) } {
        return sum;
    }
    let _ = known;
    dot_by_loads::<AHEAD, T, I>(&columns[..values.len()], values, x, op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Vectorize;

    struct Sum<'a, T> {
        columns: &'a [i32],
        values: &'a [T],
        x: &'a [T],
        known: Columns,
    }

    impl<T: Scalar> Vectorize for Sum<'_, T> {
        type Out = Option<T::Acc>;

        #[inline(always)]
        fn run<S: Isa>(self) -> Self::Out {
            let Self { columns, values, x, known } = self;
            // SAFETY: the tests ask for columns that are in range where they say so.
            unsafe { sum_by_loads::<S, T, i32>(columns, values, x, Op::None, known) }
        }
    }

    fn check<T: Scalar>(simd: Simd) {
        let number = |k: usize| T::from_c64((k as f64).into());
        // The first element, which is in the lanes behind a row, is in none of the sums.
        let mut x: Vec<T> = (0..97).map(number).collect();
        x[0] = T::from_c64(f64::INFINITY.into());
        for len in 0..80 {
            let columns: Vec<i32> = (0..len as i32).map(|k| 1 + k * 29 % 96).collect();
            let values: Vec<T> = (0..len).map(|k| number(k % 5)).collect();
            let expected: usize =
                columns.iter().enumerate().map(|(k, &column)| k % 5 * column as usize).sum();
            for known in [Columns::Any, Columns::InRange, Columns::Cached, Columns::Fetched] {
                let sum = simd.run(Sum { columns: &columns, values: &values, x: &x, known });
                let expected = Some(T::Acc::from_c64((expected as f64).into()));
                assert_eq!(sum, expected, "{} {:?} {len} {known:?}", simd.name(), T::DTYPE);
            }
            for fault in 0..len {
                for column in [x.len() as i32, -1, i32::MIN] {
                    let mut columns = columns.clone();
                    columns[fault] = column;
                    let sum =
                        simd.run(Sum { columns: &columns, values: &values, x: &x, known: Columns::Any });
                    assert_eq!(sum, None, "{} {:?} {len} {fault} {column}", simd.name(), T::DTYPE);
                }
            }
        }
    }

    #[test]
    fn rows_of_any_length_are_summed_and_faults_found() {
        for simd in [Simd::Portable, Simd::Avx2, Simd::Avx512, Simd::Neon] {
            if simd.is_available() {
                check::<f32>(simd);
                check::<f64>(simd);
            }
        }
    }
}
