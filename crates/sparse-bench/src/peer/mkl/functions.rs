//! The functions of oneMKL that are called here, with the types of its C headers for 32-bit integers.

use super::library::Mkl;
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

/// Declares functions of the library by their names and types; a missing one is an error when it is used.
macro_rules! functions {
    ($($name:ident: $type:ty,)*) => {
        #[allow(non_snake_case, reason = "these are the library's names")]
        impl Mkl {
            $(pub(super) fn $name(&self) -> Result<$type> {
                // SAFETY: the type is that of MKL's headers, and the library is never unloaded.
                let function = unsafe { self.library.get(stringify!($name)) };
                function.map(|function| *function).context(concat!("this MKL has no ", stringify!($name)))
            })*
        }
    };
}

functions! {
    MKL_Set_Interface_Layer: unsafe extern "C" fn(c_int) -> c_int,
    MKL_Set_Threading_Layer: unsafe extern "C" fn(c_int) -> c_int,
    MKL_Set_Num_Threads: unsafe extern "C" fn(c_int),
    MKL_Set_Dynamic: unsafe extern "C" fn(c_int),
    MKL_Get_Version_String: unsafe extern "C" fn(*mut c_char, c_int),

    mkl_scsrmv: unsafe extern "C" fn(
        *const c_char, *const i32, *const i32, *const f32, *const c_char, *const f32, *const i32, *const i32,
        *const i32, *const f32, *const f32, *mut f32,
    ),
    mkl_cspblas_scsrgemv: unsafe extern "C" fn(
        *const c_char, *const i32, *const f32, *const i32, *const i32, *const f32, *mut f32,
    ),
    mkl_scsrmm: unsafe extern "C" fn(
        *const c_char, *const i32, *const i32, *const i32, *const f32, *const c_char, *const f32, *const i32,
        *const i32, *const i32, *const f32, *const i32, *const f32, *mut f32, *const i32,
    ),
    mkl_sdnscsr: unsafe extern "C" fn(
        *const i32, *const i32, *const i32, *mut f32, *const i32, *mut f32, *mut i32, *mut i32, *mut i32,
    ),

    mkl_sparse_s_create_csr: unsafe extern "C" fn(
        *mut Handle, c_int, i32, i32, *mut i32, *mut i32, *mut i32, *mut f32,
    ) -> Status,
    mkl_sparse_s_create_coo: unsafe extern "C" fn(
        *mut Handle, c_int, i32, i32, i32, *mut i32, *mut i32, *mut f32,
    ) -> Status,
    mkl_sparse_destroy: unsafe extern "C" fn(Handle) -> Status,
    mkl_sparse_set_mv_hint: unsafe extern "C" fn(Handle, c_int, Description, i32) -> Status,
    mkl_sparse_set_mm_hint: unsafe extern "C" fn(Handle, c_int, Description, c_int, i32, i32) -> Status,
    mkl_sparse_set_sv_hint: unsafe extern "C" fn(Handle, c_int, Description, i32) -> Status,
    mkl_sparse_optimize: unsafe extern "C" fn(Handle) -> Status,
    mkl_sparse_s_mv: unsafe extern "C" fn(
        c_int, f32, Handle, Description, *const f32, f32, *mut f32,
    ) -> Status,
    mkl_sparse_s_mm: unsafe extern "C" fn(
        c_int, f32, Handle, Description, c_int, *const f32, i32, i32, f32, *mut f32, i32,
    ) -> Status,
    mkl_sparse_s_trsv: unsafe extern "C" fn(c_int, f32, Handle, Description, *const f32, *mut f32) -> Status,
    mkl_sparse_spmm: unsafe extern "C" fn(c_int, Handle, Handle, *mut Handle) -> Status,
    mkl_sparse_s_add: unsafe extern "C" fn(c_int, Handle, f32, Handle, *mut Handle) -> Status,
    mkl_sparse_convert_csr: unsafe extern "C" fn(Handle, c_int, *mut Handle) -> Status,
    mkl_sparse_order: unsafe extern "C" fn(Handle) -> Status,
    mkl_sparse_s_dense2csr: unsafe extern "C" fn(
        i32, i32, c_int, i32, *const f32, c_int, Description, *mut Handle,
    ) -> Status,
    mkl_sparse_s_export_csr: unsafe extern "C" fn(
        Handle, *mut c_int, *mut i32, *mut i32, *mut *mut i32, *mut *mut i32, *mut *mut i32, *mut *mut f32,
    ) -> Status,
}
