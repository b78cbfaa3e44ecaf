//! Descriptors of operands for cuSPARSE. A descriptor names memory and does not own it.

use super::check;
use backend_cuda::{Device, address};
use cudarc::cusparse::sys;
use sparse_core::{Csr, DType, DenseView, Element, Error, Order, Result, Scalar, Space, SparseFormat};
use sparse_device::{Buffer, View};
use std::ffi::c_void;
use std::ptr;

pub(super) const INDEX: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
pub(super) const BASE: sys::cusparseIndexBase_t = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;

/// The library's name of a type.
pub(super) fn data_type<T: Scalar>() -> Result<sys::cudaDataType> {
    match T::DTYPE {
        DType::F32 => Ok(sys::cudaDataType::CUDA_R_32F),
        DType::F64 => Ok(sys::cudaDataType::CUDA_R_64F),
        other => {
            Err(Error::unsupported(format_args!("cuSPARSE in {other}"), "only f32 and f64 are compared"))
        }
    }
}

/// The first element of a view, for calls that take any pointer.
pub(in crate::peer) fn pointer<T: Element>(view: &View<'_, T>) -> *mut c_void {
    ptr::without_provenance_mut(address(view) as usize)
}

/// The first element of a buffer.
pub(super) fn start<T: Element, P>(buffer: &Buffer<T>) -> *mut P {
    pointer(&Device::view(buffer)).cast()
}

/// A sparse matrix.
pub(super) struct SparseMatrix(pub(super) sys::cusparseSpMatDescr_t);

impl SparseMatrix {
    pub(super) fn new<T: Scalar>(a: &Csr<T, Device>) -> Result<Self> {
        let (shape, arrays) =
            ((a.rows(), a.cols()), (start(a.row_ptr()), start(a.col_idx()), start(a.values())));
        Self::of_arrays::<T>(shape, a.nnz(), arrays)
    }

    /// CSR of row offsets, columns and values; the latter two may come later.
    pub(super) fn of_arrays<T: Scalar>(
        (rows, cols): (usize, usize),
        nnz: usize,
        (offsets, indices, values): (*mut c_void, *mut c_void, *mut c_void),
    ) -> Result<Self> {
        let mut descriptor = ptr::null_mut();
        // SAFETY: the call writes the descriptor; the library does not look into the arrays.
        let status = unsafe {
            sys::cusparseCreateCsr(
                &raw mut descriptor,
                rows as i64,
                cols as i64,
                nnz as i64,
                offsets,
                indices,
                values,
                INDEX,
                INDEX,
                BASE,
                data_type::<T>()?,
            )
        };
        check("cusparseCreateCsr", status)?;
        Ok(Self(descriptor))
    }
}

impl Drop for SparseMatrix {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `of_arrays` and is not used after this.
        let _ = unsafe { sys::cusparseDestroySpMat(self.0) };
    }
}

/// A dense vector.
pub(super) struct Vector(pub(super) sys::cusparseDnVecDescr_t);

impl Vector {
    pub(super) fn new<T: Scalar>(view: &View<'_, T>) -> Result<Self> {
        let mut descriptor = ptr::null_mut();
        let len = sparse_core::space::View::len(view) as i64;
        // SAFETY: the call writes the descriptor; the library does not look into the elements.
        let status =
            unsafe { sys::cusparseCreateDnVec(&raw mut descriptor, len, pointer(view), data_type::<T>()?) };
        check("cusparseCreateDnVec", status)?;
        Ok(Self(descriptor))
    }

    /// Sets other elements, of the same number.
    pub(super) fn set<T: Element>(&self, view: &View<'_, T>) -> Result<()> {
        // SAFETY: the descriptor is alive; the library does not look into the elements.
        check("cusparseDnVecSetValues", unsafe { sys::cusparseDnVecSetValues(self.0, pointer(view)) })
    }
}

impl Drop for Vector {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `new` and is not used after this.
        let _ = unsafe { sys::cusparseDestroyDnVec(self.0) };
    }
}

/// A sparse vector.
pub(super) struct SparseVector(pub(super) sys::cusparseSpVecDescr_t);

impl SparseVector {
    /// A vector with an entry for each element of `indices`.
    pub(super) fn new(indices: &Buffer<i32>, values: &Buffer<f32>) -> Result<Self> {
        let mut descriptor = ptr::null_mut();
        let len = sparse_core::space::Buffer::len(indices) as i64;
        // SAFETY: the call writes the descriptor; the library does not look into the arrays.
        let status = unsafe {
            sys::cusparseCreateSpVec(
                &raw mut descriptor,
                len,
                len,
                start(indices),
                start(values),
                INDEX,
                BASE,
                data_type::<f32>()?,
            )
        };
        check("cusparseCreateSpVec", status)?;
        Ok(Self(descriptor))
    }
}

impl Drop for SparseVector {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `new` and is not used after this.
        let _ = unsafe { sys::cusparseDestroySpVec(self.0) };
    }
}

/// A dense matrix.
pub(super) struct DenseMatrix(pub(super) sys::cusparseDnMatDescr_t);

impl DenseMatrix {
    pub(super) fn new<T: Scalar>(a: &DenseView<'_, T, Device>) -> Result<Self> {
        let mut descriptor = ptr::null_mut();
        let order = match a.order() {
            Order::RowMajor => sys::cusparseOrder_t::CUSPARSE_ORDER_ROW,
            Order::ColMajor => sys::cusparseOrder_t::CUSPARSE_ORDER_COL,
        };
        let (rows, cols, ld) = (a.rows() as i64, a.cols() as i64, a.leading_dimension() as i64);
        // SAFETY: the call writes the descriptor; the library does not look into the elements.
        let status = unsafe {
            sys::cusparseCreateDnMat(
                &raw mut descriptor,
                rows,
                cols,
                ld,
                pointer(&a.data()),
                data_type::<T>()?,
                order,
            )
        };
        check("cusparseCreateDnMat", status)?;
        Ok(Self(descriptor))
    }
}

impl Drop for DenseMatrix {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `new` and is not used after this.
        let _ = unsafe { sys::cusparseDestroyDnMat(self.0) };
    }
}
