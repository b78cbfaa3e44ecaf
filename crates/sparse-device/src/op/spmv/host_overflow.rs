//! The overflow of HYB on the host, while the device works on the rows.

use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::primitive::raw::VectorOperands;
use crate::{Buffer, Device, Kernel, View};
use sparse_core::{Backend, Hyb, Index, Result, Scalar, Space};

/// The plan: the coordinates of the overflow, and buffers for the transfers between host and device.
#[derive(Debug)]
pub struct HostOverflow<T: Scalar> {
    rows: Kernel,
    add: Kernel,
    coordinates: Vec<(usize, usize)>,
    values: Vec<T>,
    x: Vec<T>,
    sums: Vec<T::Acc>,
    row_sums: Buffer<T::Acc>,
    overflow_sums: Buffer<T::Acc>,
}

impl<T: Scalar> HostOverflow<T> {
    pub(super) fn new<I: Index>(backend: &Device, a: &Hyb<T, Device, I>) -> Result<Self> {
        let index = IndexType::of::<I>();
        let defines = Defines::default().index(index).offset(index);
        let kernel = |entry| backend.kernel_of(T::DTYPE, "ell_spmv", entry, defines.clone());
        let (rows, cols) = (backend.download(a.coo().row_idx())?, backend.download(a.coo().col_idx())?);
        let coordinates = rows.iter().zip(&cols).map(|(row, col)| (row.as_usize(), col.as_usize()));
        Ok(Self {
            rows: kernel("ell_spmv_sums")?,
            add: kernel("ell_spmv_add")?,
            coordinates: coordinates.collect(),
            values: vec![T::ZERO; rows.len()],
            x: vec![T::ZERO; a.ncols()],
            sums: vec![T::Acc::ZERO; a.nrows()],
            row_sums: backend.allocate(a.nrows())?,
            overflow_sums: backend.allocate(a.nrows())?,
        })
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.row_sums.bytes() + self.overflow_sums.bytes()
    }

    /// Fetches x and the values, submits the rows to the device, adds the overflow on the host, and adds both.
    pub(super) fn run<I: Index>(
        &mut self,
        backend: &Device,
        a: &Hyb<T, Device, I>,
        x: View<'_, T>,
        operands: VectorOperands<'_>,
    ) -> Result<()> {
        backend.download_into(Device::view(a.coo().values()), &mut self.values)?;
        backend.download_into(x, &mut self.x)?;
        let (n, ell) = (a.nrows(), a.ell());
        let launch = backend.launch(&self.rows).size(n).size(ell.width()).buffer(ell.col_idx());
        launch.buffer(ell.values()).view(x).buffer(&self.row_sums).items(n)?;
        backend.usable_driver()?.flush()?;
        self.add_up();
        // SAFETY: only the plan uses the sums, which are of this type.
        unsafe {
            backend.usable_driver()?.write(&self.overflow_sums.memory, 0, bytemuck::cast_slice(&self.sums))
        }?;
        let launch = backend.launch(&self.add).size(n).factor(operands.alpha).buffer(&self.row_sums);
        launch.buffer(&self.overflow_sums).factor(operands.beta).view(operands.y).items(n)
    }

    fn add_up(&mut self) {
        self.sums.fill(T::Acc::ZERO);
        for (&(row, col), value) in self.coordinates.iter().zip(&self.values) {
            self.sums[row] = self.sums[row] + value.to_acc() * self.x[col].to_acc();
        }
    }
}
