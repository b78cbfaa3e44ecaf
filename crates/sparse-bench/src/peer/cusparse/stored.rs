//! A matrix in each format that the library multiplies, made from CSR before the timed runs.

use super::blocks::{self, Blocks};
use super::descriptor::{BASE, SparseMatrix, start};
use super::library::{Cusparse, check};
use super::sliced_ell::{self, SLICE, SlicedEll};
use backend_cuda::Device;
use cudarc::cusparse::sys;
use sparse_core::{Backend, Csr, Result, Scalar, SparseFormat, space};
use sparse_device::Buffer;

/// Elements of sliced ELL for each entry from which on it is left out.
const MAX_PADDED: usize = 2;

/// A format of the library.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format {
    Csr,
    /// Sorted by rows.
    Coo,
    /// Slices of [`SLICE`] rows.
    SlicedEll,
    /// Square blocks.
    Blocks,
}

impl Format {
    /// The name of the format in records.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Csr => "cusparse:csr",
            Self::Coo => "cusparse:coo",
            Self::SlicedEll => "cusparse:sell",
            Self::Blocks => "cusparse:bsr",
        }
    }
}

/// The arrays that CSR does not have.
enum Arrays<T: Scalar> {
    Csr,
    Coo { rows: Buffer<i32> },
    SlicedEll { offsets: Buffer<i32>, columns: Buffer<i32>, values: Buffer<T> },
    Blocks { edge: usize, offsets: Buffer<i32>, columns: Buffer<i32>, values: Buffer<T> },
}

/// A matrix in one of cuSPARSE's formats, over the arrays of its CSR where the format uses them.
pub(super) struct Stored<'a, T: Scalar> {
    csr: &'a Csr<T, Device>,
    arrays: Arrays<T>,
}

impl<'a, T: Scalar> Stored<'a, T> {
    /// The matrix as it is.
    pub(super) fn in_csr(csr: &'a Csr<T, Device>) -> Self {
        Self { csr, arrays: Arrays::Csr }
    }

    /// `None` where the format would take more memory than it could gain by.
    pub(super) fn new(library: &Cusparse, csr: &'a Csr<T, Device>, format: Format) -> Result<Option<Self>> {
        let arrays = match format {
            Format::Csr => Some(Arrays::Csr),
            Format::Coo => Some(Arrays::Coo { rows: row_indices(library, csr)? }),
            Format::SlicedEll => in_slices(&library.device, csr)?,
            Format::Blocks => in_blocks(&library.device, csr)?,
        };
        Ok(arrays.map(|arrays| Self { csr, arrays }))
    }

    /// The matrix in CSR.
    pub(super) fn csr(&self) -> &'a Csr<T, Device> {
        self.csr
    }

    /// A descriptor, which must not outlive this.
    pub(super) fn describe(&self) -> Result<SparseMatrix> {
        let csr = self.csr;
        let (shape, nnz) = ((csr.nrows(), csr.ncols()), csr.nnz());
        let (csr_columns, csr_values) = (start(csr.col_idx()), start(csr.values()));
        match &self.arrays {
            Arrays::Csr => {
                SparseMatrix::csr::<T>(shape, nnz, (start(csr.row_ptr()), csr_columns, csr_values))
            }
            Arrays::Coo { rows } => {
                SparseMatrix::coo::<T>(shape, nnz, (start(rows), csr_columns, csr_values))
            }
            Arrays::SlicedEll { offsets, columns, values } => {
                let sizes = (nnz, space::Buffer::len(values), SLICE);
                SparseMatrix::sliced_ell::<T>(shape, sizes, (start(offsets), start(columns), start(values)))
            }
            Arrays::Blocks { edge, offsets, columns, values } => {
                let blocks = (space::Buffer::len(columns), *edge);
                SparseMatrix::bsr::<T>(shape, blocks, (start(offsets), start(columns), start(values)))
            }
        }
    }
}

/// The row of each entry.
fn row_indices<T: Scalar>(library: &Cusparse, a: &Csr<T, Device>) -> Result<Buffer<i32>> {
    let rows = library.device.zeros::<i32>(a.nnz())?;
    // SAFETY: the handle is alive; the offsets are those of a valid matrix, and there is an element for each entry.
    let status = unsafe {
        sys::cusparseXcsr2coo(
            library.handle,
            start(a.row_ptr()),
            a.nnz() as i32,
            a.nrows() as i32,
            start(&rows),
            BASE,
        )
    };
    check("cusparseXcsr2coo", status)?;
    Ok(rows)
}

fn in_slices<T: Scalar>(device: &Device, a: &Csr<T, Device>) -> Result<Option<Arrays<T>>> {
    let offsets = device.download(a.row_ptr())?;
    let lengths: Vec<_> = offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize).collect();
    let elements = sliced_ell::elements(&lengths);
    if elements > MAX_PADDED * a.nnz() || i32::try_from(elements).is_err() {
        return Ok(None);
    }
    let SlicedEll { offsets, columns, values } = SlicedEll::new(&a.to_host(device)?);
    Ok(Some(Arrays::SlicedEll {
        offsets: device.upload(&offsets)?,
        columns: device.upload(&columns)?,
        values: device.upload(&values)?,
    }))
}

fn in_blocks<T: Scalar>(device: &Device, a: &Csr<T, Device>) -> Result<Option<Arrays<T>>> {
    let host = a.to_host(device)?;
    let Some(edge) = blocks::best_edge(&host) else { return Ok(None) };
    let Blocks { edge, offsets, columns, values } = Blocks::new(&host, edge);
    Ok(Some(Arrays::Blocks {
        edge,
        offsets: device.upload(&offsets)?,
        columns: device.upload(&columns)?,
        values: device.upload(&values)?,
    }))
}
