//! Matrices of the caller's arrays, and the arrays of matrices.

use crate::failure::Failure;
use crate::memory::Array;
use crate::names::{self, Index, MatrixFormat, Type};
use crate::sycl;
use nnz::catalog::Types;
use nnz::{Accelerator, Coo, Csr, Device, Error, Host, HostCsr, IndexType, Matrix, Scalar};
use std::ffi::c_void;

/// `nnz_csr` of `nnz.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Arrays {
    /// The type of the values.
    pub scalar: Type,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The number of entries.
    pub nnz: usize,
    /// `rows + 1` positions.
    pub offsets: *const i32,
    /// `nnz` columns.
    pub indices: *const i32,
    /// `nnz` values.
    pub values: *const c_void,
}

/// `nnz_wide_csr` of `nnz.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct WideArrays {
    /// The type of the values.
    pub scalar: Type,
    /// The type of the columns.
    pub index: Index,
    /// The type of the offsets.
    pub offset: Index,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The number of entries.
    pub nnz: usize,
    /// `rows + 1` positions.
    pub offsets: *const c_void,
    /// `nnz` columns.
    pub indices: *const c_void,
    /// `nnz` values.
    pub values: *const c_void,
}

/// `nnz_coo` of `nnz.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Coordinates {
    /// The type of the values.
    pub scalar: Type,
    /// The type of the rows and columns.
    pub index: Index,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The number of entries.
    pub nnz: usize,
    /// The row of each entry.
    pub row_indices: *const c_void,
    /// The column of each entry.
    pub col_indices: *const c_void,
    /// The value of each entry.
    pub values: *const c_void,
}

/// `nnz_info` of `nnz.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// The format.
    pub format: MatrixFormat,
    /// The type of the values.
    pub scalar: Type,
    /// The type of the rows and columns.
    pub index: Index,
    /// The type of the offsets; that of the indices where the format has none.
    pub offset: Index,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The number of entries.
    pub nnz: usize,
    /// The bytes of all arrays.
    pub bytes: usize,
}

impl From<Arrays> for WideArrays {
    fn from(arrays: Arrays) -> Self {
        let Arrays { scalar, rows, cols, nnz, offsets, indices, values } = arrays;
        let (offsets, indices) = (offsets.cast(), indices.cast());
        Self { scalar, index: 0, offset: 0, rows, cols, nnz, offsets, indices, values }
    }
}

/// The functions for one triple of types.
struct Functions {
    types: Types,
    borrow_csr: unsafe fn(&Device, &WideArrays) -> Result<Matrix, Failure>,
    copy_coo: unsafe fn(&Device, &Coordinates) -> Result<Matrix, Failure>,
    addresses: fn(&Matrix) -> Option<[*const c_void; 3]>,
}

macro_rules! functions {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        &[$(Functions {
            types: Types::of::<$t, $i, $o>(),
            borrow_csr: borrow_typed_csr::<$t, $i, $o>,
            copy_coo: copy_typed_coo::<$t, $i>,
            addresses: typed_addresses::<$t, $i, $o>,
        }),*]
    };
}

const FUNCTIONS: &[Functions] = nnz::for_all_types!(functions);

/// The functions of the types that three constants name.
fn functions_of(scalar: Type, index: Index, offset: Index) -> Result<&'static Functions, Failure> {
    let value = names::dtype(scalar)?;
    let [index, offset] = [names::index_type(index)?, names::index_type(offset)?].map(IndexType::name);
    let types = Types { value, index, offset };
    FUNCTIONS.iter().find(|functions| functions.types == types).ok_or_else(|| {
        let known: Vec<_> = Types::ALL.iter().map(ToString::to_string).collect();
        let reason = format!("values, indices and offsets are one of {}", known.join(" "));
        Error::unsupported(format_args!("a matrix of {types}"), reason).into()
    })
}

/// A CSR matrix over the caller's arrays.
///
/// # Safety
/// The arrays are what `nnz.h` asks for.
pub(crate) unsafe fn borrow_csr(device: &Device, arrays: &WideArrays) -> Result<Matrix, Failure> {
    let functions = functions_of(arrays.scalar, arrays.index, arrays.offset)?;
    // SAFETY: the caller promises what is asked.
    unsafe { (functions.borrow_csr)(device, arrays) }
}

/// A COO matrix with a copy of the caller's arrays.
///
/// # Safety
/// The arrays are what `nnz.h` asks for.
pub(crate) unsafe fn copy_coo(device: &Device, arrays: &Coordinates) -> Result<Matrix, Failure> {
    let functions = functions_of(arrays.scalar, arrays.index, arrays.index)?;
    // SAFETY: the caller promises what is asked.
    unsafe { (functions.copy_coo)(device, arrays) }
}

/// # Safety
/// As for [`borrow_csr`].
unsafe fn borrow_typed_csr<T: Scalar, I: nnz::Index, O: nnz::Index>(
    device: &Device,
    arrays: &WideArrays,
) -> Result<Matrix, Failure> {
    let &WideArrays { rows, cols, nnz, offsets, indices, values, .. } = arrays;
    I::try_new("rows", rows)?;
    I::try_new("cols", cols)?;
    O::try_new("nnz", nnz)?;
    let offsets = Array { name: "offsets", pointer: offsets, len: rows + 1 };
    let indices = Array { name: "indices", pointer: indices, len: nnz };
    let values = Array { name: "values", pointer: values, len: nnz };
    if let Device::Accelerator(backend, _) = device {
        // SAFETY: the caller promises what is asked.
        let (offsets, indices, values) = unsafe {
            (
                sycl::buffer::<O>(backend, offsets)?,
                sycl::buffer::<I>(backend, indices)?,
                sycl::buffer::<T>(backend, values)?,
            )
        };
        let csr: Csr<T, Accelerator, I, O> = backend.compressed((rows, cols), offsets, indices, values)?;
        return Ok(Matrix::wrap(device, csr)?);
    }
    let (offsets, indices, values) = (offsets.on_host()?, indices.on_host()?, values.on_host()?);
    // SAFETY: the caller promises what is asked for as long as the matrix lives.
    let csr = unsafe { HostCsr::<T, I, O>::borrow(rows, cols, offsets, indices, values)? };
    Ok(Matrix::wrap(device, csr)?)
}

/// # Safety
/// As for [`copy_coo`].
unsafe fn copy_typed_coo<T: Scalar, I: nnz::Index>(
    device: &Device,
    arrays: &Coordinates,
) -> Result<Matrix, Failure> {
    let &Coordinates { rows, cols, nnz, row_indices, col_indices, values, .. } = arrays;
    let array = |name, pointer| Array { name, pointer, len: nnz };
    // SAFETY: the caller promises what is asked.
    let (row_idx, col_idx, values) = unsafe {
        (
            array("row_indices", row_indices).to_vec::<I>(device)?,
            array("col_indices", col_indices).to_vec::<I>(device)?,
            array("values", values).to_vec::<T>(device)?,
        )
    };
    Ok(Matrix::from_typed(device, Coo::<T, Host, I>::new(rows, cols, row_idx, col_idx, values)?)?)
}

fn typed_addresses<T: Scalar, I: nnz::Index, O: nnz::Index>(matrix: &Matrix) -> Option<[*const c_void; 3]> {
    if let Some(a) = matrix.downcast_ref::<HostCsr<T, I, O>>() {
        let (offsets, indices, values) = (a.offsets(), a.indices(), a.values());
        return Some([offsets.as_ptr().cast(), indices.as_ptr().cast(), values.as_ptr().cast()]);
    }
    if let Some(a) = matrix.downcast_ref::<Csr<T, Host, I, O>>() {
        let (offsets, indices, values) = (a.offsets(), a.indices(), a.values());
        return Some([offsets.as_ptr().cast(), indices.as_ptr().cast(), values.as_ptr().cast()]);
    }
    sycl::addresses::<T, I, O>(matrix)
}

/// Format, types and sizes of a matrix.
pub(crate) fn info(matrix: &Matrix) -> Result<Info, Failure> {
    let (format, scalar, index, offset) = names::constants(matrix)?;
    let ((rows, cols), nnz, bytes) = (matrix.shape(), matrix.nnz(), matrix.bytes());
    Ok(Info { format, scalar, index, offset, rows, cols, nnz, bytes })
}

/// The arrays of a CSR matrix, or `None` of another format.
fn csr_arrays(matrix: &Matrix) -> Result<Option<WideArrays>, Failure> {
    let Info { scalar, index, offset, rows, cols, nnz, .. } = info(matrix)?;
    let addresses = (functions_of(scalar, index, offset)?.addresses)(matrix);
    Ok(addresses.map(|[offsets, indices, values]| WideArrays {
        scalar,
        index,
        offset,
        rows,
        cols,
        nnz,
        offsets,
        indices,
        values,
    }))
}

/// The arrays of a CSR matrix.
pub(crate) fn wide_arrays(matrix: &Matrix) -> Result<WideArrays, Failure> {
    csr_arrays(matrix)?.ok_or_else(|| {
        let reason = "those of csr can be had: nnz_convert makes it";
        Error::unsupported(format_args!("the arrays of {matrix:?}"), reason).into()
    })
}

/// The arrays of a CSR matrix, which may be the caller's, with the bytes of their elements.
pub(crate) fn arrays_with_bytes(matrix: &Matrix) -> Option<[(Array<'static>, usize); 3]> {
    let WideArrays { index, offset, rows, nnz, offsets, indices, values, .. } =
        csr_arrays(matrix).ok().flatten()?;
    let bytes_of = |index: Index| names::index_type(index).map_or(0, IndexType::bytes);
    Some([
        (Array { name: "the matrix's offsets", pointer: offsets, len: rows + 1 }, bytes_of(offset)),
        (Array { name: "the matrix's indices", pointer: indices, len: nnz }, bytes_of(index)),
        (Array { name: "the matrix's values", pointer: values, len: nnz }, matrix.dtype().bytes()),
    ])
}

/// The arrays of a CSR matrix with 32-bit indices and offsets.
pub(crate) fn arrays(matrix: &Matrix) -> Result<Arrays, Failure> {
    let found = wide_arrays(matrix)?;
    let WideArrays { scalar, index, offset, rows, cols, nnz, offsets, indices, values } = found;
    if (index, offset) != (0, 0) {
        let reason = "nnz_wide_arrays gives those of other types than int32_t";
        return Err(Error::unsupported(format_args!("an nnz_csr of {matrix:?}"), reason).into());
    }
    Ok(Arrays { scalar, rows, cols, nnz, offsets: offsets.cast(), indices: indices.cast(), values })
}
