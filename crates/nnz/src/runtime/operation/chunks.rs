//! Products of two sparse matrices by chunks of rows, for a product that is larger than the device's memory.

use super::chunk_lines::lines_of;
use super::conversion::unify_index_types;
use crate::Device;
use crate::runtime::dispatch::any_matrix::ProductExtent;
use crate::runtime::{Format, Matrix};
use sparse_core::{Error, Result};
use sparse_io::{FileKind, Output};
use std::ops::Range;

const OP: &str = "spgemm";

/// Products that may be larger than the device's memory.
impl Matrix {
    /// `A·B` in the host's memory, with the bits of [`matmul_sparse`](Self::matmul_sparse): the device that has B
    /// multiplies the rows of A chunk by chunk where the whole does not fit its memory.
    ///
    /// A chunk is halved while its rows of A and the upper bound of its rows of C
    /// ([`SpgemmPlan::bound`](crate::op::SpgemmPlan::bound)) take more than `memory_limit` bytes, and if the device
    /// runs out of memory. In addition, the device's memory has B and, for rows that do not fit local memory, a
    /// workspace of at most 256 MB. A single row is never divided. For CSC, chunks are columns of B, and A is on the
    /// device.
    ///
    /// The factor that is cut may be on any device; in the host's memory it takes only the device memory of one chunk.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(30, 30)?)?;
    /// let square = a.matmul_in_chunks(&a, Some(20_000))?; // some 15 chunks
    /// assert_eq!(square.downcast_ref::<Csr<f64>>(), (&a * &a)?.downcast_ref());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul_sparse`](Self::matmul_sparse); [`OutOfMemory`](Error::OutOfMemory) if the memory is short for a
    /// single row.
    #[doc(alias("out_of_core", "spgemm_in_chunks"))]
    pub fn matmul_in_chunks(&self, b: &Self, memory_limit: Option<u64>) -> Result<Self> {
        self.product_in_chunks(b, None, memory_limit)
    }

    /// `C⟨M⟩ = A·B` in the host's memory, with the bits of [`matmul_masked`](Self::matmul_masked), by chunks as
    /// [`matmul_in_chunks`](Self::matmul_in_chunks): a chunk has rows of A, of the mask and of C (CSC: columns of B, of
    /// the mask and of C). The mask may be on any device.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(30, 30)?)?;
    /// let product = a.matmul_masked_in_chunks(&a, &a, Some(20_000))?;
    /// assert_eq!(product.downcast_ref::<Csr<f64>>(), a.matmul_masked(&a, &a)?.downcast_ref());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul_masked`](Self::matmul_masked); [`OutOfMemory`](Error::OutOfMemory) if the memory is short for a
    /// single row.
    pub fn matmul_masked_in_chunks(&self, b: &Self, mask: &Self, memory_limit: Option<u64>) -> Result<Self> {
        self.check_factor_types(mask, "the mask")?;
        for (what, needed, found) in
            [("rows", self.nrows(), mask.nrows()), ("columns", b.ncols(), mask.ncols())]
        {
            if found != needed {
                let reason =
                    format_args!("the number of {what} of the mask is {found} where {needed} is needed");
                return Err(Error::shape(OP, reason));
            }
        }
        self.product_in_chunks(b, Some(mask), memory_limit)
    }

    /// Computes `A·B` by chunks of rows and gives each to `take`. The product may be larger than the host's memory.
    ///
    /// `take` has the number of the chunk's first row, and its rows as a matrix in the host's memory; of CSC, columns.
    /// Chunks come in order, one at a time, and the first error of `take` ends the product. All chunks together may
    /// have more entries than their type of offsets can count. `memory_limit` is that of
    /// [`matmul_in_chunks`](Self::matmul_in_chunks).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(30, 30)?)?;
    /// let mut nnz_of_rows = vec![];
    /// a.matmul_for_each_chunk(&a, Some(20_000), |first_row, chunk| {
    ///     assert_eq!(first_row, nnz_of_rows.len());
    ///     let rows = chunk.downcast_ref::<Csr<f64>>().unwrap();
    ///     nnz_of_rows.extend((0..rows.nrows()).map(|row| rows.pattern().range(row).len()));
    ///     Ok(())
    /// })?;
    /// assert_eq!(nnz_of_rows.iter().sum::<usize>(), (&a * &a)?.nnz());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul_in_chunks`](Self::matmul_in_chunks), and those of `take`.
    pub fn matmul_for_each_chunk(
        &self,
        b: &Self,
        memory_limit: Option<u64>,
        mut take: impl FnMut(usize, Self) -> Result<()>,
    ) -> Result<()> {
        let (product, part) = self.chunked_product(b, None, memory_limit)?;
        match product.of_part(&part)? {
            Some(whole) => take(0, whole),
            None => product.of_chunks(&part.to_device(&product.host)?, &mut take),
        }
    }

    /// Writes `A·B` to an `.npz` file by chunks of rows, of CSC by chunks of columns: the product may be larger than
    /// the memory of the device and of the host.
    ///
    /// The host's memory has a chunk and 8 bytes for each row of C; while the file is written, the disk has the entries
    /// twice. `memory_limit` is that of [`matmul_in_chunks`](Self::matmul_in_chunks).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("square.npz");
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(30, 30)?)?;
    /// a.matmul_to_npz(&a, Some(20_000), &path)?;
    /// assert_eq!(Matrix::read(&device, &path)?.nnz(), (&a * &a)?.nnz());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul_in_chunks`](Self::matmul_in_chunks); [`Io`](Error::Io) if the file cannot be written.
    pub fn matmul_to_npz<'a>(
        &self,
        b: &Self,
        memory_limit: Option<u64>,
        output: impl Into<Output<'a>>,
    ) -> Result<()> {
        let output = output.into();
        output.check()?;
        let (product, part) = self.chunked_product(b, None, memory_limit)?;
        if let Some(whole) = product.of_part(&part)? {
            return whole.write_as(output, FileKind::Npz);
        }
        let part = part.to_device(&product.host)?;
        let mut writer = lines_of(&part.factor)?.npz_writer(product.minor_extent(), output)?;
        product.of_chunks(&part, &mut |_, chunk| writer.append(&chunk))?;
        writer.finish()
    }

    fn product_in_chunks(&self, b: &Self, mask: Option<&Self>, memory_limit: Option<u64>) -> Result<Self> {
        let (product, part) = self.chunked_product(b, mask, memory_limit)?;
        if let Some(whole) = product.of_part(&part)? {
            return Ok(whole);
        }
        let part = part.to_device(&product.host)?;
        let mut assembly = lines_of(&part.factor)?.assembly();
        product.of_chunks(&part, &mut |_, chunk| assembly.append(&chunk))?;
        assembly.finish(product.minor_extent(), &product.host)
    }

    /// The product, and the operands that are cut.
    fn chunked_product(
        &self,
        b: &Self,
        mask: Option<&Self>,
        memory_limit: Option<u64>,
    ) -> Result<(ChunkedProduct, ChunkOperands)> {
        self.check_factor_types(b, "B")?;
        let by_rows = self.format() == Format::Csr;
        let (cut, whole) = if by_rows { (self, b) } else { (b, self) };
        let mut whole = whole.to_compressed(self.format())?;
        let mut factor = cut.to_compressed(self.format())?;
        let mut mask = mask.map(|mask| mask.to_compressed(self.format())).transpose()?;
        unify_index_types([&mut factor, &mut whole].into_iter().chain(mask.as_mut()))?;
        let part = ChunkOperands { factor, mask };
        let host = match whole.device() {
            Device::Cpu(_) => whole.device().clone(),
            Device::Accelerator(..) => Device::host()?,
        };
        Ok((ChunkedProduct { whole, host, by_rows, memory_limit }, part))
    }
}

/// The operands that are cut into chunks: rows of A and of the mask for CSR, columns of B and of the mask for CSC.
struct ChunkOperands {
    factor: Matrix,
    mask: Option<Matrix>,
}

impl ChunkOperands {
    fn to_device(&self, device: &Device) -> Result<Self> {
        let mask = self.mask.as_ref().map(|mask| mask.to_device(device)).transpose()?;
        Ok(Self { factor: self.factor.to_device(device)?, mask })
    }

    fn bytes(&self) -> u64 {
        (self.factor.bytes() + self.mask.as_ref().map_or(0, Matrix::bytes)) as u64
    }
}

/// A product that is computed by parts.
struct ChunkedProduct {
    /// The factor that is not cut, on the device that computes.
    whole: Matrix,
    /// The device of the result.
    host: Device,
    by_rows: bool,
    memory_limit: Option<u64>,
}

impl ChunkedProduct {
    /// Gives the product of a part that exceeds the memory to `take`, chunk by chunk on the host, each with the number
    /// of its first line.
    fn of_chunks(
        &self,
        part: &ChunkOperands,
        take: &mut dyn FnMut(usize, Matrix) -> Result<()>,
    ) -> Result<()> {
        let lines = lines_of(&part.factor)?;
        let mask = part.mask.as_ref().map(lines_of).transpose()?;
        let mut ranges = halves(0..lines.count());
        while let Some(range) = ranges.pop() {
            let mask = mask.map(|mask| mask.chunk(range.clone(), &self.host)).transpose()?;
            match self.of_part(&ChunkOperands { factor: lines.chunk(range.clone(), &self.host)?, mask })? {
                Some(product) => take(range.start, product)?,
                None => ranges.extend(halves(range)),
            }
        }
        Ok(())
    }

    /// The length of a line of the product.
    fn minor_extent(&self) -> usize {
        if self.by_rows { self.whole.ncols() } else { self.whole.nrows() }
    }

    /// The product of a part on the host; `None` if memory is short and the part has lines to divide.
    fn of_part(&self, part: &ChunkOperands) -> Result<Option<Matrix>> {
        let divisible = if self.by_rows { part.factor.nrows() } else { part.factor.ncols() } > 1;
        if divisible && part.bytes() > self.memory_limit.unwrap_or(u64::MAX) {
            return Ok(None);
        }
        match self.multiply(part, if divisible { self.memory_limit } else { None }) {
            Err(Error::OutOfMemory { .. }) if divisible => Ok(None),
            product => product,
        }
    }

    /// The product of a part on the host; `None` if it may exceed the limit.
    fn multiply(&self, part: &ChunkOperands, limit: Option<u64>) -> Result<Option<Matrix>> {
        let part = part.to_device(self.whole.device())?;
        let (a, b) = if self.by_rows { (&part.factor, &self.whole) } else { (&self.whole, &part.factor) };
        if let Some(limit) = limit {
            // C takes no more than its mask.
            let bound = match &part.mask {
                Some(mask) => mask.bytes() as u64,
                None => a.any().spgemm_bound(b)?.ok_or_else(|| a.other_indices(b))?.bytes,
            };
            if bound.saturating_add(part.bytes()) > limit {
                return Ok(None);
            }
        }
        let extent = part.mask.as_ref().map_or(ProductExtent::Whole, ProductExtent::Masked);
        a.product(b, extent)?.to_device(&self.host).map(Some)
    }
}

/// Both halves of a range of two lines or more, the first one last.
fn halves(range: Range<usize>) -> Vec<Range<usize>> {
    let middle = range.start + range.len() / 2;
    vec![middle..range.end, range.start..middle]
}
