//! The types of values that the suites compute with, and their names in other libraries.

use crate::peer::cublas::Blas;
use crate::peer::cusparse::Csrgeam2;
use clap::ValueEnum;
use faer::traits::ComplexField;
use sparse_core::{Accumulator, DType, c32, c64};
use sprs::MulAcc;
use sprs::errors::LinalgError;
use sprs::linalg::trisolve::lsolve_csr_dense_rhs;
use sprs::{CsMatI, CsMatViewI};

/// The name of a type in the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ValueType {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Complex of two `f32`.
    C32,
    /// Complex of two `f64`.
    C64,
}

impl ValueType {
    /// The type in which a file with values of `stored` runs: its own if they are complex, else `f32`.
    pub(crate) fn of_file(stored: DType) -> Self {
        match stored {
            DType::C32 => Self::C32,
            DType::C64 => Self::C64,
            DType::F16 | DType::Bf16 | DType::F32 | DType::F64 => Self::F32,
        }
    }
}

/// Calls a generic function with the type of a [`ValueType`].
macro_rules! with_type {
    ($value_type:expr, $T:ident => $call:expr) => {
        match $value_type {
            $crate::value::ValueType::F32 => {
                type $T = f32;
                $call
            }
            $crate::value::ValueType::F64 => {
                type $T = f64;
                $call
            }
            $crate::value::ValueType::C32 => {
                type $T = sparse_core::c32;
                $call
            }
            $crate::value::ValueType::C64 => {
                type $T = sparse_core::c64;
                $call
            }
        }
    };
}
pub(crate) use with_type;

/// A type of values that the suites compute with.
pub(crate) trait Value: Accumulator + ComplexField + MulAcc + Blas + Csrgeam2 {
    /// The name of the type in the arguments.
    const TYPE: ValueType;
    /// The letter of the type in names of BLAS routines.
    const LETTER: &'static str;
    /// The name of the type in NumPy.
    const NUMPY: &'static str;
    /// The type in double precision.
    type Double: Value;

    /// Solves `L·x = b` by sprs, with b in `x`.
    fn solve_by_sprs(l: CsMatViewI<'_, Self, i32>, x: &mut [Self]) -> Result<(), LinalgError>;

    /// Dense to CSR by sprs; `None` for complex numbers, which it does not take.
    fn compress_by_sprs(dense: ndarray::ArrayView2<'_, Self>) -> Option<CsMatI<Self, i32>>;

    /// `re + im·i`; `re` if the type is real.
    fn from_parts(re: f32, im: f32) -> Self {
        Self::from_c64(c64::new(re.into(), im.into()))
    }

    /// The name of an operation in records: with the type, unless that is the suites' default, `f32`.
    fn name_of(op: &str) -> String {
        if Self::TYPE == ValueType::F32 { op.into() } else { format!("{op} {}", Self::DTYPE) }
    }
}

macro_rules! impl_value {
    ($($T:ident $name:ident $letter:literal $numpy:literal $Double:ident $compress:expr;)+) => {$(
        impl Value for $T {
            const TYPE: ValueType = ValueType::$name;
            const LETTER: &'static str = $letter;
            const NUMPY: &'static str = $numpy;
            type Double = $Double;

            fn solve_by_sprs(l: CsMatViewI<'_, Self, i32>, x: &mut [Self]) -> Result<(), LinalgError> {
                lsolve_csr_dense_rhs(l, x)
            }

            fn compress_by_sprs(dense: ndarray::ArrayView2<'_, Self>) -> Option<CsMatI<Self, i32>> {
                $compress(dense)
            }
        }
    )+};
}

impl_value! {
    f32 F32 "s" "float32" f64 |dense| Some(CsMatI::csr_from_dense(dense, 0.0));
    f64 F64 "d" "float64" f64 |dense| Some(CsMatI::csr_from_dense(dense, 0.0));
    c32 C32 "c" "complex64" c64 |_| None;
    c64 C64 "z" "complex128" c64 |_| None;
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::Scalar;

    #[test]
    fn a_type_has_one_name() {
        for value_type in ValueType::value_variants() {
            let (named, name) = with_type!(*value_type, T => (T::TYPE, T::DTYPE.name()));
            assert_eq!(named, *value_type);
            assert_eq!(ValueType::from_str(name, false), Ok(*value_type));
        }
    }

    #[test]
    fn records_name_every_type_but_the_default() {
        assert_eq!((f32::name_of("spmv"), c64::name_of("spmv")), ("spmv".into(), "spmv c64".into()));
    }

    #[test]
    fn real_types_have_no_imaginary_part() {
        assert_eq!((f64::from_parts(2.0, 3.0), c32::from_parts(2.0, 3.0)), (2.0, c32::new(2.0, 3.0)));
    }
}
