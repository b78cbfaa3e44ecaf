//! The types of NumPy's arrays that a matrix can have, and other arguments of Python by their names.

use crate::error::wrong_type;
use nnz::op::Op;
use nnz::{DType, IndexType, Scalar, c64};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::types::{PyComplex, PyComplexMethods};
use pyo3::{Bound, PyResult};

/// A type of values that NumPy has, too.
pub(crate) trait Value: Scalar + numpy::Element {}

impl<T: Scalar + numpy::Element> Value for T {}

/// A type of indices that NumPy has, too.
pub(crate) trait Position: nnz::Index + numpy::Element {}

impl<I: nnz::Index + numpy::Element> Position for I {}

/// Calls an expression with the type of values as `$T`.
macro_rules! with_values {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            nnz::DType::F16 => {
                type $T = nnz::f16;
                $body
            }
            nnz::DType::F32 => {
                type $T = f32;
                $body
            }
            nnz::DType::C32 => {
                type $T = nnz::c32;
                $body
            }
            nnz::DType::C64 => {
                type $T = nnz::c64;
                $body
            }
            // `dtype_of` names no other type.
            _ => {
                type $T = f64;
                $body
            }
        }
    };
}

/// Calls an expression with the types of values and indices as `$T` and `$I`.
macro_rules! with_types {
    ($dtype:expr, $index:expr, $T:ident, $I:ident => $body:expr) => {
        match $index {
            nnz::IndexType::I32 => {
                type $I = i32;
                $crate::types::with_values!($dtype, $T => $body)
            }
            nnz::IndexType::I64 => {
                type $I = i64;
                $crate::types::with_values!($dtype, $T => $body)
            }
        }
    };
}

/// Calls an expression with the type of NumPy's character as `$T`: one of values or of indices.
macro_rules! with_elements {
    ($char:expr, $T:ident => $body:expr) => {
        match $char {
            'i' => {
                type $T = i32;
                $body
            }
            'l' => {
                type $T = i64;
                $body
            }
            'e' => {
                type $T = nnz::f16;
                $body
            }
            'f' => {
                type $T = f32;
                $body
            }
            'F' => {
                type $T = nnz::c32;
                $body
            }
            'D' => {
                type $T = nnz::c64;
                $body
            }
            // `Element::of` knows no other type.
            _ => {
                type $T = f64;
                $body
            }
        }
    };
}

pub(crate) use {with_elements, with_types, with_values};

/// NumPy's character of a type of values.
pub(crate) fn char_of(dtype: DType) -> char {
    match dtype {
        DType::F32 => 'f',
        DType::C32 => 'F',
        DType::C64 => 'D',
        DType::F64 => 'd',
        DType::F16 | DType::Bf16 => 'e',
    }
}

/// The type of one of NumPy's characters, which Python's classes name.
pub(crate) fn named(char: char) -> PyResult<DType> {
    match char {
        'f' => Ok(DType::F32),
        'd' => Ok(DType::F64),
        'F' => Ok(DType::C32),
        'D' => Ok(DType::C64),
        other => Err(wrong_type("dtype", &format_args!("'{other}'"), "'f', 'd', 'F' or 'D'")),
    }
}

/// The type of an array of values: `f16`, `f32`, `f64`, `c32` or `c64`.
pub(crate) fn dtype_of(name: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<DType> {
    let descr = array.dtype();
    match (descr.char(), descr.is_native_byteorder()) {
        (b'e', Some(true)) => Ok(DType::F16),
        (b'f', Some(true)) => Ok(DType::F32),
        (b'd', Some(true)) => Ok(DType::F64),
        (b'F', Some(true)) => Ok(DType::C32),
        (b'D', Some(true)) => Ok(DType::C64),
        _ => Err(wrong_type(name, &descr, "float16, float32, float64, complex64 or complex128")),
    }
}

/// The type of an array of indices: 32 or 64 bits.
pub(crate) fn index_of(name: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<IndexType> {
    let descr = array.dtype();
    match (descr.kind(), descr.itemsize(), descr.is_native_byteorder()) {
        (b'i', 4, Some(true)) => Ok(IndexType::I32),
        (b'i', 8, Some(true)) => Ok(IndexType::I64),
        _ => Err(wrong_type(name, &descr, "int32 or int64")),
    }
}

/// op(A) by its letter, as BLAS has it.
pub(crate) fn op_of(letter: &str) -> PyResult<Op> {
    match letter {
        "N" => Ok(Op::None),
        "T" => Ok(Op::Transpose),
        "H" => Ok(Op::ConjugateTranspose),
        _ => Err(PyValueError::new_err(format!("op is '{letter}' where 'N', 'T' or 'H' is right"))),
    }
}

/// A factor of any type of number.
pub(crate) fn factor(number: &Bound<'_, PyComplex>) -> c64 {
    c64::new(number.real(), number.imag())
}
