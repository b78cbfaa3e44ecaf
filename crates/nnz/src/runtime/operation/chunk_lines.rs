//! Lines of compressed matrices of any type: cut into chunks, concatenated in memory, or written to a file.

use crate::Device;
use crate::runtime::Matrix;
use sparse_core::{Axis, Compressed, Csc, Csr, Error, Host, Index, Result, Scalar};
use sparse_io::Output;
use sparse_io::npz::ChunkWriter;
use std::marker::PhantomData;
use std::ops::Range;

/// The lines of a matrix on the host: rows of CSR, columns of CSC.
pub(in crate::runtime) trait Lines {
    fn count(&self) -> usize;
    /// A matrix of the lines in a range.
    fn chunk(&self, range: Range<usize>, host: &Device) -> Result<Matrix>;
    /// An empty assembly, for lines of the same type.
    fn assembly(&self) -> Box<dyn AnyAssembly>;
    /// A writer of lines of the same type, each `minor` long.
    fn npz_writer<'a>(&self, minor: usize, output: Output<'a>) -> Result<Box<dyn AnyChunkWriter + 'a>>;
}

/// A file of lines that are appended to each other.
pub(in crate::runtime) trait AnyChunkWriter {
    /// Appends the lines of a matrix on the host.
    fn append(&mut self, chunk: &Matrix) -> Result<()>;
    /// Writes the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Lines that are appended to each other.
pub(in crate::runtime) trait AnyAssembly {
    /// Appends the lines of a matrix on the host.
    fn append(&mut self, chunk: &Matrix) -> Result<()>;
    /// The matrix of all lines, each `minor` long.
    fn finish(self: Box<Self>, minor: usize, host: &Device) -> Result<Matrix>;
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Lines for Compressed<A, T, Host, I, O> {
    fn count(&self) -> usize {
        self.pattern().major()
    }

    fn chunk(&self, range: Range<usize>, host: &Device) -> Result<Matrix> {
        let (rows, cols) = A::swap(range.len(), self.pattern().minor());
        let (first, last) = (self.offsets()[range.start].as_usize(), self.offsets()[range.end].as_usize());
        let offsets = &self.offsets()[range.start..=range.end];
        let offsets = offsets.iter().map(|at| O::cast(at.as_usize() - first)).collect();
        let (indices, values) = (self.indices()[first..last].to_vec(), self.values()[first..last].to_vec());
        Matrix::wrap(host, Self::new_unsorted(rows, cols, offsets, indices, values)?)
    }

    fn assembly(&self) -> Box<dyn AnyAssembly> {
        Box::new(Assembly::<A, T, I, O> {
            offsets: vec![O::cast(0)],
            indices: vec![],
            values: vec![],
            axis: PhantomData,
        })
    }

    fn npz_writer<'a>(&self, minor: usize, output: Output<'a>) -> Result<Box<dyn AnyChunkWriter + 'a>> {
        let writer = ChunkWriter::<A, T, I>::new(output, minor)?;
        Ok(Box::new(TypedChunkWriter { writer, offsets: PhantomData::<O> }))
    }
}

/// A writer of chunks of one type.
struct TypedChunkWriter<'a, A, T, I, O> {
    writer: ChunkWriter<'a, A, T, I>,
    offsets: PhantomData<O>,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> AnyChunkWriter for TypedChunkWriter<'_, A, T, I, O> {
    fn append(&mut self, chunk: &Matrix) -> Result<()> {
        self.writer.append(typed_chunk::<A, T, I, O>(chunk)?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer.finish()
    }
}

/// The arrays of lines of one type.
struct Assembly<A, T, I, O> {
    offsets: Vec<O>,
    indices: Vec<I>,
    values: Vec<T>,
    axis: PhantomData<A>,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> AnyAssembly for Assembly<A, T, I, O> {
    fn append(&mut self, chunk: &Matrix) -> Result<()> {
        let chunk = typed_chunk::<A, T, I, O>(chunk)?;
        let before = self.indices.len();
        O::try_new("nnz", before + chunk.nnz())?;
        self.offsets.extend(chunk.offsets()[1..].iter().map(|at| O::cast(before + at.as_usize())));
        self.indices.extend_from_slice(chunk.indices());
        self.values.extend_from_slice(chunk.values());
        Ok(())
    }

    fn finish(self: Box<Self>, minor: usize, host: &Device) -> Result<Matrix> {
        let (rows, cols) = A::swap(self.offsets.len() - 1, minor);
        let Self { offsets, indices, values, .. } = *self;
        Matrix::wrap(host, Compressed::<A, T, Host, I, O>::new(rows, cols, offsets, indices, values)?)
    }
}

fn typed_chunk<A: Axis, T: Scalar, I: Index, O: Index>(
    chunk: &Matrix,
) -> Result<&Compressed<A, T, Host, I, O>> {
    let typed = chunk.downcast_ref();
    typed.ok_or_else(|| Error::operands("spgemm", "a chunk of the product is of another type"))
}

/// The lines of a matrix in CSR or CSC on the host.
pub(in crate::runtime) fn lines_of(matrix: &Matrix) -> Result<&dyn Lines> {
    macro_rules! find {
        ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
            $(
                if let Some(rows) = matrix.downcast_ref::<Csr<$t, Host, $i, $o>>() {
                    return Ok(rows);
                }
                if let Some(columns) = matrix.downcast_ref::<Csc<$t, Host, $i, $o>>() {
                    return Ok(columns);
                }
            )*
        };
    }
    sparse_core::for_all_types!(find);
    Err(matrix.unknown_types("rows and columns"))
}
