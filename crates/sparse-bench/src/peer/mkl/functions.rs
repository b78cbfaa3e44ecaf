//! The functions of oneMKL that are called here, with the types of its C headers for 32-bit integers.

use super::library::Mkl;
use crate::value::Value;
use anyhow::{Context, Result};
use std::ffi::{c_char, c_int, c_void};

/// A sparse matrix of the inspector-executor interface.
pub(super) type Handle = *mut c_void;
/// `sparse_status_t`.
pub(super) type Status = c_int;

/// `struct matrix_descr`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Description {
    kind: c_int,
    fill: c_int,
    diagonal: c_int,
}

/// `SPARSE_MATRIX_TYPE_GENERAL`; the other two are ignored.
pub(super) const GENERAL: Description = Description { kind: 20, fill: 40, diagonal: 50 };
/// `SPARSE_MATRIX_TYPE_TRIANGULAR` with `SPARSE_FILL_MODE_LOWER` and `SPARSE_DIAG_NON_UNIT`.
pub(super) const LOWER: Description = Description { kind: 23, fill: 40, diagonal: 50 };
/// `SPARSE_OPERATION_NON_TRANSPOSE`.
pub(super) const PLAIN: c_int = 10;
/// `SPARSE_LAYOUT_ROW_MAJOR`.
pub(super) const ROW_MAJOR: c_int = 101;
/// `SPARSE_INDEX_BASE_ZERO`.
pub(super) const FROM_ZERO: c_int = 0;

/// Declares functions of the library by their names and types; a missing one is an error when it is used. `?` in a name
/// stands for the letter of the type of values.
macro_rules! functions {
    ($($function:ident $(<$T:ident>)? $name:literal: $type:ty,)*) => {
        impl Mkl {
            $(pub(super) fn $function$(<$T: Value>)?(&self) -> Result<$type> {
                let name = $name$(.replace('?', $T::LETTER))?;
                // SAFETY: the type is that of MKL's headers, and the library is never unloaded.
                let function = unsafe { self.library.get(name.as_bytes()) };
                function.map(|function| *function).with_context(|| format!("this MKL has no {name}"))
            })*
        }
    };
}

functions! {
    set_interface_layer "MKL_Set_Interface_Layer": unsafe extern "C" fn(c_int) -> c_int,
    set_threading_layer "MKL_Set_Threading_Layer": unsafe extern "C" fn(c_int) -> c_int,
    set_num_threads "MKL_Set_Num_Threads": unsafe extern "C" fn(c_int),
    set_dynamic "MKL_Set_Dynamic": unsafe extern "C" fn(c_int),
    get_version_string "MKL_Get_Version_String": unsafe extern "C" fn(*mut c_char, c_int),

    csrmv<T> "mkl_?csrmv": unsafe extern "C" fn(
        *const c_char, *const i32, *const i32, *const T, *const c_char, *const T, *const i32, *const i32,
        *const i32, *const T, *const T, *mut T,
    ),
    csrgemv<T> "mkl_cspblas_?csrgemv": unsafe extern "C" fn(
        *const c_char, *const i32, *const T, *const i32, *const i32, *const T, *mut T,
    ),
    csrmm<T> "mkl_?csrmm": unsafe extern "C" fn(
        *const c_char, *const i32, *const i32, *const i32, *const T, *const c_char, *const T, *const i32,
        *const i32, *const i32, *const T, *const i32, *const T, *mut T, *const i32,
    ),
    dnscsr<T> "mkl_?dnscsr": unsafe extern "C" fn(
        *const i32, *const i32, *const i32, *mut T, *const i32, *mut T, *mut i32, *mut i32, *mut i32,
    ),

    sparse_create_csr<T> "mkl_sparse_?_create_csr": unsafe extern "C" fn(
        *mut Handle, c_int, i32, i32, *mut i32, *mut i32, *mut i32, *mut T,
    ) -> Status,
    sparse_create_coo<T> "mkl_sparse_?_create_coo": unsafe extern "C" fn(
        *mut Handle, c_int, i32, i32, i32, *mut i32, *mut i32, *mut T,
    ) -> Status,
    sparse_destroy "mkl_sparse_destroy": unsafe extern "C" fn(Handle) -> Status,
    sparse_set_mv_hint "mkl_sparse_set_mv_hint": unsafe extern "C" fn(Handle, c_int, Description, i32) -> Status,
    sparse_set_mm_hint "mkl_sparse_set_mm_hint": unsafe extern "C" fn(Handle, c_int, Description, c_int, i32, i32) -> Status,
    sparse_set_sv_hint "mkl_sparse_set_sv_hint": unsafe extern "C" fn(Handle, c_int, Description, i32) -> Status,
    sparse_optimize "mkl_sparse_optimize": unsafe extern "C" fn(Handle) -> Status,
    sparse_mv<T> "mkl_sparse_?_mv": unsafe extern "C" fn(
        c_int, T, Handle, Description, *const T, T, *mut T,
    ) -> Status,
    sparse_mm<T> "mkl_sparse_?_mm": unsafe extern "C" fn(
        c_int, T, Handle, Description, c_int, *const T, i32, i32, T, *mut T, i32,
    ) -> Status,
    sparse_trsv<T> "mkl_sparse_?_trsv": unsafe extern "C" fn(c_int, T, Handle, Description, *const T, *mut T) -> Status,
    sparse_spmm "mkl_sparse_spmm": unsafe extern "C" fn(c_int, Handle, Handle, *mut Handle) -> Status,
    sparse_add<T> "mkl_sparse_?_add": unsafe extern "C" fn(c_int, Handle, T, Handle, *mut Handle) -> Status,
    sparse_convert_csr "mkl_sparse_convert_csr": unsafe extern "C" fn(Handle, c_int, *mut Handle) -> Status,
    sparse_order "mkl_sparse_order": unsafe extern "C" fn(Handle) -> Status,
    sparse_dense2csr<T> "mkl_sparse_?_dense2csr": unsafe extern "C" fn(
        i32, i32, c_int, i32, *const T, c_int, Description, *mut Handle,
    ) -> Status,
    sparse_export_csr<T> "mkl_sparse_?_export_csr": unsafe extern "C" fn(
        Handle, *mut c_int, *mut i32, *mut i32, *mut *mut i32, *mut *mut i32, *mut *mut i32, *mut *mut T,
    ) -> Status,
}
