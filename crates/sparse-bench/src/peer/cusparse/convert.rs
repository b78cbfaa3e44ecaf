//! Dense to CSR, matrix after matrix, and COO to CSR by a sort and a gather, to memory that is allocated before.

use super::descriptor::{BASE, DenseMatrix, SparseMatrix, SparseVector, Vector, start};
use super::library::{Cusparse, check};
use crate::conversion::{Arrays, Conversion, Convert};
use crate::value::Value;
use backend_cuda::Device;
use cudarc::cusparse::sys;
use sparse_core::{Backend, Coo, DenseBatchView, Element, Error, Result, Space};
use sparse_device::Buffer;
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

const DENSE_TO_CSR: sys::cusparseDenseToSparseAlg_t =
    sys::cusparseDenseToSparseAlg_t::CUSPARSE_DENSETOSPARSE_ALG_DEFAULT;

pub(super) fn dense_to_csr<'a, T: Value>(
    library: &'a Cusparse,
    a: DenseBatchView<'a, T, Device>,
    most: usize,
) -> Conversion<'a, T> {
    Conversion::new("cusparse", move || DenseToCsr::new(library, a, most))
}

pub(super) fn coo_to_csr<'a, T: Value>(library: &'a Cusparse, a: &'a Coo<T, Device>) -> Conversion<'a, T> {
    Conversion::new("cusparse:coosort", move || CooToCsr::new(library, a))
}

/// A part of a buffer on the host.
fn download<T: Element>(device: &Device, buffer: &Buffer<T>, range: Range<usize>) -> Result<Vec<T>> {
    let mut host = vec![T::zeroed(); range.len()];
    device.download_into(Device::slice(Device::view(buffer), range), &mut host)?;
    Ok(host)
}

/// Members of a batch, one after the other, each with the capacity of the fullest.
struct DenseToCsr<'a, T: Value> {
    library: &'a Cusparse,
    a: DenseBatchView<'a, T, Device>,
    most: usize,
    /// The entries of each member.
    nnz: Vec<usize>,
    offsets: Buffer<i32>,
    indices: Buffer<i32>,
    values: Buffer<T>,
    workspace: Buffer<u8>,
}

impl<'a, T: Value> DenseToCsr<'a, T> {
    fn new(library: &'a Cusparse, a: DenseBatchView<'a, T, Device>, most: usize) -> Result<Self> {
        let device = &library.device;
        let mut this = Self {
            library,
            a,
            most,
            nnz: vec![0; a.count()],
            offsets: device.zeros(a.count() * (a.nrows() + 1))?,
            indices: device.zeros(a.count() * most)?,
            values: device.zeros(a.count() * most)?,
            workspace: device.zeros(0)?,
        };
        let (dense, csr) = this.descriptors(0)?;
        let handle = library.handle;
        // SAFETY: handle and descriptors are alive.
        this.workspace = library.workspace("cusparseDenseToSparse_bufferSize", |size| unsafe {
            sys::cusparseDenseToSparse_bufferSize(handle, dense.0, csr.0, DENSE_TO_CSR, size)
        })?;
        Ok(this)
    }

    /// A member, and its CSR of which only the row offsets exist yet.
    fn descriptors(&self, member: usize) -> Result<(DenseMatrix, SparseMatrix)> {
        let (rows, cols) = (self.a.nrows(), self.a.ncols());
        let offsets = start::<_, i32>(&self.offsets).wrapping_add(member * (rows + 1));
        let arrays = (offsets.cast(), ptr::null_mut(), ptr::null_mut());
        let csr = SparseMatrix::csr::<T>((rows, cols), 0, arrays)?;
        Ok((DenseMatrix::new(&self.a.member(member))?, csr))
    }

    /// Converts a member; returns its number of entries.
    fn convert(&self, member: usize) -> Result<usize> {
        let (handle, workspace) = (self.library.handle, start::<_, c_void>(&self.workspace));
        let (dense, csr) = self.descriptors(member)?;
        // SAFETY: handle and descriptors are alive, the workspace has the size that was asked for, and the offsets have
        // an element more than there are rows.
        let status =
            unsafe { sys::cusparseDenseToSparse_analysis(handle, dense.0, csr.0, DENSE_TO_CSR, workspace) };
        check("cusparseDenseToSparse_analysis", status)?;
        let (mut rows, mut cols, mut nnz) = (0, 0, 0);
        // SAFETY: the numbers are written by the call.
        let status = unsafe { sys::cusparseSpMatGetSize(csr.0, &raw mut rows, &raw mut cols, &raw mut nnz) };
        check("cusparseSpMatGetSize", status)?;
        let nnz = nnz as usize;
        if nnz > self.most {
            let reason = format!("member {member} has {nnz} entries where the capacity is {}", self.most);
            return Err(Error::unsupported("cuSPARSE's dense to CSR", reason));
        }
        let offsets = start::<_, i32>(&self.offsets).wrapping_add(member * (self.a.nrows() + 1));
        let indices = start::<_, i32>(&self.indices).wrapping_add(member * self.most);
        let values = start::<_, T>(&self.values).wrapping_add(member * self.most);
        // SAFETY: the descriptor is alive; the arrays are long enough for the entries, as checked.
        let status =
            unsafe { sys::cusparseCsrSetPointers(csr.0, offsets.cast(), indices.cast(), values.cast()) };
        check("cusparseCsrSetPointers", status)?;
        // SAFETY: as for the analysis.
        let status =
            unsafe { sys::cusparseDenseToSparse_convert(handle, dense.0, csr.0, DENSE_TO_CSR, workspace) };
        check("cusparseDenseToSparse_convert", status)?;
        Ok(nnz)
    }
}

impl<T: Value> Convert<T> for DenseToCsr<'_, T> {
    fn run(&mut self) -> Result<Option<f64>> {
        for member in 0..self.nnz.len() {
            self.nnz[member] = self.convert(member)?;
        }
        Ok(None)
    }

    /// Sorts the entries of each row, which the library leaves in any order.
    fn arrays(&mut self) -> Result<Arrays<T>> {
        let device = &self.library.device;
        let offsets = device.download(&self.offsets)?;
        let (mut indices, mut values) = (vec![], vec![]);
        for (member, nnz) in self.nnz.iter().enumerate() {
            let entries = member * self.most..member * self.most + nnz;
            let rows = Arrays {
                offsets: offsets[member * (self.a.nrows() + 1)..][..=self.a.nrows()].to_vec(),
                indices: download(device, &self.indices, entries.clone())?,
                values: download(device, &self.values, entries)?,
            };
            let sorted = rows.with_sorted_rows();
            indices.extend(sorted.indices);
            values.extend(sorted.values);
        }
        Ok(Arrays { offsets, indices, values })
    }
}

/// COO to CSR: the coordinates are copied, since the sort changes them, and sorted with their positions; the values
/// follow.
struct CooToCsr<'a, T: Value> {
    library: &'a Cusparse,
    a: &'a Coo<T, Device>,
    identity: Buffer<i32>,
    positions: Buffer<i32>,
    rows: Buffer<i32>,
    offsets: Buffer<i32>,
    indices: Buffer<i32>,
    values: Buffer<T>,
    workspace: Buffer<u8>,
    from: Vector,
    to: SparseVector,
}

impl<'a, T: Value> CooToCsr<'a, T> {
    fn new(library: &'a Cusparse, a: &'a Coo<T, Device>) -> Result<Self> {
        let (device, nnz) = (&library.device, a.nnz());
        let identity: Vec<i32> = (0..nnz as i32).collect();
        let (positions, values) = (device.zeros(nnz)?, device.zeros(nnz)?);
        let (handle, m, n) = (library.handle, a.nrows() as i32, a.ncols() as i32);
        let (i, j) = (start(a.row_idx()), start(a.col_idx()));
        // SAFETY: the handle is alive and the coordinates have nnz elements.
        let workspace = library.workspace("cusparseXcoosort_bufferSizeExt", |size| unsafe {
            sys::cusparseXcoosort_bufferSizeExt(handle, m, n, nnz as i32, i, j, size)
        })?;
        Ok(Self {
            library,
            a,
            identity: device.upload(&identity)?,
            rows: device.zeros(nnz)?,
            offsets: device.zeros(a.nrows() + 1)?,
            indices: device.zeros(nnz)?,
            workspace,
            from: Vector::new(&Device::view(a.values()))?,
            to: SparseVector::new(&positions, &values)?,
            positions,
            values,
        })
    }
}

impl<T: Value> Convert<T> for CooToCsr<'_, T> {
    fn run(&mut self) -> Result<Option<f64>> {
        let (device, handle) = (&self.library.device, self.library.handle);
        let (m, n, nnz) = (self.a.nrows() as i32, self.a.ncols() as i32, self.a.nnz() as i32);
        device.copy(Device::view(&self.identity), Device::view_mut(&mut self.positions))?;
        device.copy(Device::view(self.a.row_idx()), Device::view_mut(&mut self.rows))?;
        device.copy(Device::view(self.a.col_idx()), Device::view_mut(&mut self.indices))?;
        let (i, j, p) = (start(&self.rows), start(&self.indices), start(&self.positions));
        let buffer = start(&self.workspace);
        // SAFETY: the handle is alive; coordinates and positions have nnz elements, the workspace the size that was
        // asked for.
        let status = unsafe { sys::cusparseXcoosortByRow(handle, m, n, nnz, i, j, p, buffer) };
        check("cusparseXcoosortByRow", status)?;
        // SAFETY: the rows ascend, and there is an offset more than rows.
        let status = unsafe { sys::cusparseXcoo2csr(handle, i, nnz, m, start(&self.offsets), BASE) };
        check("cusparseXcoo2csr", status)?;
        // SAFETY: the descriptors are alive; the positions are below the number of values.
        check("cusparseGather", unsafe { sys::cusparseGather(handle, self.from.0, self.to.0) })?;
        Ok(None)
    }

    fn arrays(&mut self) -> Result<Arrays<T>> {
        Arrays::download(&self.library.device, &self.offsets, &self.indices, &self.values)
    }
}
