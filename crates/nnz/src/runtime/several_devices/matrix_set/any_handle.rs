//! The matrices of a set behind one object-safe trait, and how they are written to folders.

use super::workers::worker;
use crate::Device;
use crate::device::HostBackend;
use crate::runtime::Matrix;
use sparse_core::op::DenseToCsrKernel;
use sparse_core::{Axis, Error, Result, Scalar};
use sparse_device::Device as Accelerator;
use sparse_distrib::{Handle, Partition};
use sparse_io::parts::PartWriter;
use std::fmt::Debug;
use std::ops::Range;
use std::path::Path;

/// A [`Handle`] whose types are hidden.
pub(super) trait AnyHandle: Debug + Send + Sync {
    fn len(&self) -> usize;
    fn shape(&self, item: usize) -> (usize, usize);
    fn nnz(&self, item: usize) -> Option<usize>;
    fn partition(&self, item: usize) -> Partition;
    fn placement(&self, item: usize) -> Option<&str>;
    fn bytes(&self) -> u64;
    fn get(&self, item: usize, device: &Device) -> Result<Matrix>;
    fn get_part(&self, item: usize, index: usize, device: &Device) -> Result<Matrix>;
    fn to_batch(&self, device: &Device) -> Result<Matrix>;
    fn write_folder(&self, folder: &Path) -> Result<()>;
    fn write_blocks(&self, items: Range<usize>, folder: &Path) -> Result<()>;
    fn move_to(&mut self, device: &Device) -> Result<()>;
}

/// Entries and offsets of a file of a folder, unless it is one matrix.
const FILE_ENTRIES: usize = 8 << 20;

/// Files that are written at the same time, each by a thread.
const FILES_AT_ONCE: usize = 16;

impl<A: Axis, T: Scalar> AnyHandle for Handle<A, T>
where
    HostBackend: DenseToCsrKernel<T, i32, i32>,
    Accelerator: DenseToCsrKernel<T, i32, i32>,
{
    fn len(&self) -> usize {
        Handle::len(self)
    }

    fn shape(&self, item: usize) -> (usize, usize) {
        Handle::shape(self, item)
    }

    fn nnz(&self, item: usize) -> Option<usize> {
        Handle::nnz(self, item)
    }

    fn partition(&self, item: usize) -> Partition {
        Handle::partition(self, item)
    }

    fn placement(&self, item: usize) -> Option<&str> {
        Handle::placement(self, item)
    }

    fn bytes(&self) -> u64 {
        Handle::bytes(self)
    }

    fn get(&self, item: usize, device: &Device) -> Result<Matrix> {
        Matrix::from_typed(device, self.fetch(item)?)
    }

    fn get_part(&self, item: usize, index: usize, device: &Device) -> Result<Matrix> {
        Matrix::from_typed(device, self.fetch_part(item, index)?)
    }

    fn to_batch(&self, device: &Device) -> Result<Matrix> {
        Matrix::from_typed(device, Handle::to_batch(self)?)
    }

    fn write_folder(&self, folder: &Path) -> Result<()> {
        let shapes: Vec<_> = (0..self.len()).map(|item| Handle::shape(self, item)).collect();
        let mut writer = match self.common_shape() {
            Ok(shape) => PartWriter::<A, T>::batch(folder, shape)?,
            Err(_) => PartWriter::matrices(folder)?,
        };
        let sizes = shapes
            .iter()
            .enumerate()
            .map(|(item, &(rows, cols))| Handle::nnz(self, item).unwrap_or_default() + A::swap(rows, cols).0);
        let sizes: Vec<_> = sizes.collect();
        let files: Vec<_> = files(&shapes, &sizes).collect();
        for at_once in files.chunks(FILES_AT_ONCE) {
            let batches: Result<Vec<_>> =
                at_once.iter().map(|items| self.to_batch_of(items.clone())).collect();
            writer.write_batches(&batches?)?;
        }
        writer.finish()
    }

    fn write_blocks(&self, items: Range<usize>, folder: &Path) -> Result<()> {
        let partition = |item| Handle::partition(self, item);
        if let Some(item) = items.clone().find(|&item| partition(item) != partition(items.start)) {
            let (first, other) = (partition(items.start), partition(item));
            let reason = format!("matrix {item} is cut by {other}, matrix {} by {first}", items.start);
            return Err(Error::shape("write_blocks", reason));
        }
        let grid = items.clone().next().map_or((1, 1), |item| partition(item).grid());
        let mut writer = match items.len() {
            1 => PartWriter::<A, T>::matrix(folder, Handle::shape(self, items.start), grid)?,
            _ => PartWriter::matrices_in_blocks(folder, grid)?,
        };
        for item in items {
            for (index, part) in partition(item).iter(Handle::shape(self, item)).enumerate() {
                writer.write_block(part.rows, part.cols, &self.fetch_part(item, index)?)?;
            }
        }
        writer.finish()
    }

    fn move_to(&mut self, device: &Device) -> Result<()> {
        Handle::move_to(self, worker(device, None).as_ref())
    }
}

/// The matrices of each file: of one shape, and of sizes that sum up to a file's.
fn files(shapes: &[(usize, usize)], sizes: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let (first, mut entries) = (start, *sizes.get(start)?);
        start += 1;
        while start < shapes.len() && shapes[start] == shapes[first] && entries + sizes[start] <= FILE_ENTRIES
        {
            entries += sizes[start];
            start += 1;
        }
        Some(first..start)
    })
}
