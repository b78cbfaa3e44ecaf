//! Descriptors of operands for cuSPARSE. A descriptor names memory and does not own it.

use super::library::check;
use crate::peer::cuda::pointer;
use backend_cuda::Device;
use cudarc::cusparse::sys;
use sparse_core::{DType, DenseView, Element, Error, Order, Result, Scalar, Space};
use sparse_device::{Buffer, View};
use std::ffi::c_void;
use std::ptr;

pub(super) const INDEX: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
pub(super) const BASE: sys::cusparseIndexBase_t = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
/// Matrices are multiplied as they are stored.
pub(super) const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;

/// The library's name of a type.
pub(super) fn data_type<T: Scalar>() -> Result<sys::cudaDataType> {
    match T::DTYPE {
        DType::F32 => Ok(sys::cudaDataType::CUDA_R_32F),
        DType::F64 => Ok(sys::cudaDataType::CUDA_R_64F),
        DType::C32 => Ok(sys::cudaDataType::CUDA_C_32F),
        DType::C64 => Ok(sys::cudaDataType::CUDA_C_64F),
        DType::F16 | DType::Bf16 => {
            Err(Error::unsupported(format_args!("cuSPARSE in {}", T::DTYPE), "16 bits are not compared"))
        }
    }
}

/// The first element of a buffer.
pub(super) fn start<T: Element, P>(buffer: &Buffer<T>) -> *mut P {
    pointer(&Device::view(buffer)).cast()
}

/// One and zero in the type of the product, for alpha and beta. Aligned as the library's complex numbers are, of which
/// it reads 16 bytes at once.
#[repr(C, align(16))]
pub(super) struct Scalars<T> {
    one: T,
    zero: T,
}

impl<T: Scalar> Scalars<T> {
    pub(super) fn new() -> Self {
        Self { one: T::ONE, zero: T::ZERO }
    }

    /// One, for a call that takes its address.
    pub(super) fn one(&self) -> *const T {
        &raw const self.one
    }

    /// The arguments of a call: alpha, beta and their type.
    pub(super) fn arguments(&self) -> Result<(*const c_void, *const c_void, sys::cudaDataType)> {
        Ok(((&raw const self.one).cast(), (&raw const self.zero).cast(), data_type::<T>()?))
    }
}

/// The arrays of a compressed format: offsets, columns and values; the latter two may come later.
pub(super) type Arrays = (*mut c_void, *mut c_void, *mut c_void);

/// The object that a call makes.
pub(super) fn made<H>(
    call: &'static str,
    create: impl FnOnce(*mut *mut H) -> sys::cusparseStatus_t,
) -> Result<*mut H> {
    let mut object = ptr::null_mut();
    check(call, create(&raw mut object))?;
    Ok(object)
}

/// A sparse matrix.
pub(super) struct SparseMatrix(pub(super) sys::cusparseSpMatDescr_t);

impl SparseMatrix {
    /// CSR of row offsets, columns and values.
    pub(super) fn csr<T: Scalar>(
        (rows, cols): (usize, usize),
        nnz: usize,
        (offsets, columns, values): Arrays,
    ) -> Result<Self> {
        let (rows, cols, nnz, value) = (rows as i64, cols as i64, nnz as i64, data_type::<T>()?);
        let made = made("cusparseCreateCsr", |made| {
            // SAFETY: the call writes the descriptor; the library does not look into the arrays.
            unsafe {
                sys::cusparseCreateCsr(
                    made, rows, cols, nnz, offsets, columns, values, INDEX, INDEX, BASE, value,
                )
            }
        });
        made.map(Self)
    }

    /// COO of rows, columns and values, sorted by rows.
    pub(super) fn coo<T: Scalar>(
        (rows, cols): (usize, usize),
        nnz: usize,
        (row_idx, columns, values): Arrays,
    ) -> Result<Self> {
        let (rows, cols, nnz, value) = (rows as i64, cols as i64, nnz as i64, data_type::<T>()?);
        let made = made("cusparseCreateCoo", |made| {
            // SAFETY: the call writes the descriptor; the library does not look into the arrays.
            unsafe {
                sys::cusparseCreateCoo(made, rows, cols, nnz, row_idx, columns, values, INDEX, BASE, value)
            }
        });
        made.map(Self)
    }

    /// Sliced ELL of `elements` with the padding, in slices of `slice` rows.
    pub(super) fn sliced_ell<T: Scalar>(
        (rows, cols): (usize, usize),
        (nnz, elements, slice): (usize, usize, usize),
        (offsets, columns, values): Arrays,
    ) -> Result<Self> {
        let (rows, cols, value) = (rows as i64, cols as i64, data_type::<T>()?);
        let (nnz, elements, slice) = (nnz as i64, elements as i64, slice as i64);
        let made = made("cusparseCreateSlicedEll", |made| {
            // SAFETY: the call writes the descriptor; the library does not look into the arrays.
            unsafe {
                sys::cusparseCreateSlicedEll(
                    made, rows, cols, nnz, elements, slice, offsets, columns, values, INDEX, INDEX, BASE,
                    value,
                )
            }
        });
        made.map(Self)
    }

    /// BSR of `count` square blocks of `edge` rows, each row-major.
    pub(super) fn bsr<T: Scalar>(
        (rows, cols): (usize, usize),
        (count, edge): (usize, usize),
        (offsets, columns, values): Arrays,
    ) -> Result<Self> {
        let (rows, cols, value) = ((rows / edge) as i64, (cols / edge) as i64, data_type::<T>()?);
        let (count, edge, order) = (count as i64, edge as i64, sys::cusparseOrder_t::CUSPARSE_ORDER_ROW);
        let made = made("cusparseCreateBsr", |made| {
            // SAFETY: the call writes the descriptor; the library does not look into the arrays.
            unsafe {
                sys::cusparseCreateBsr(
                    made, rows, cols, count, edge, edge, offsets, columns, values, INDEX, INDEX, BASE, value,
                    order,
                )
            }
        });
        made.map(Self)
    }
}

impl Drop for SparseMatrix {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `made` and is not used after this.
        let _ = unsafe { sys::cusparseDestroySpMat(self.0) };
    }
}

/// A dense vector.
pub(super) struct Vector(pub(super) sys::cusparseDnVecDescr_t);

impl Vector {
    pub(super) fn new<T: Scalar>(view: &View<'_, T>) -> Result<Self> {
        let (len, value) = (sparse_core::space::View::len(view) as i64, data_type::<T>()?);
        // SAFETY: the call writes the descriptor; the library does not look into the elements.
        let create = |made| unsafe { sys::cusparseCreateDnVec(made, len, pointer(view), value) };
        made("cusparseCreateDnVec", create).map(Self)
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
    pub(super) fn new<T: Scalar>(indices: &Buffer<i32>, values: &Buffer<T>) -> Result<Self> {
        let (len, value) = (sparse_core::space::Buffer::len(indices) as i64, data_type::<T>()?);
        let (indices, values) = (start(indices), start(values));
        // SAFETY: the call writes the descriptor; the library does not look into the arrays.
        let create =
            |made| unsafe { sys::cusparseCreateSpVec(made, len, len, indices, values, INDEX, BASE, value) };
        made("cusparseCreateSpVec", create).map(Self)
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
        let order = match a.order() {
            Order::RowMajor => sys::cusparseOrder_t::CUSPARSE_ORDER_ROW,
            Order::ColMajor => sys::cusparseOrder_t::CUSPARSE_ORDER_COL,
        };
        let (rows, cols, ld) = (a.nrows() as i64, a.ncols() as i64, a.leading_dimension() as i64);
        let (data, value) = (pointer(&a.data()), data_type::<T>()?);
        // SAFETY: the call writes the descriptor; the library does not look into the elements.
        let create = |made| unsafe { sys::cusparseCreateDnMat(made, rows, cols, ld, data, value, order) };
        made("cusparseCreateDnMat", create).map(Self)
    }
}

impl Drop for DenseMatrix {
    fn drop(&mut self) {
        // SAFETY: the descriptor was made by `new` and is not used after this.
        let _ = unsafe { sys::cusparseDestroyDnMat(self.0) };
    }
}
