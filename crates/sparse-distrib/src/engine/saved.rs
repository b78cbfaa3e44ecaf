//! Handles made from matrices in files or in the host's memory.

use super::handle::{Handle, ResidentBatch};
use super::item::MatrixItems;
use crate::partition::Partition;
use sparse_core::{Axis, BatchCsr, Error, Host, Index, Result, Row, Scalar};
use sparse_io::npz::NpzFormat;
use sparse_io::parts::{Cover, Part, PartSet, SetKind};
use std::ops::Range;

impl<T: Scalar, I: Index, O: Index> Handle<Row, T, I, O> {
    /// The members of batches of the host, one after the other.
    ///
    /// ```
    /// use sparse_core::{BatchCsr, Csr};
    /// use sparse_distrib::Handle;
    ///
    /// let (wide, tall) = (Csr::<f64>::new(1, 2, vec![0, 1], vec![1], vec![5.0])?, Csr::identity(3)?);
    /// let batches = [BatchCsr::from_members(&[&wide, &wide])?, BatchCsr::from_members(&[&tall])?];
    /// let handle = Handle::from_batches(batches);
    /// assert_eq!((handle.len(), handle.shape(1), handle.nnz(2)), (3, (1, 2), Some(3)));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn from_batches(batches: impl IntoIterator<Item = BatchCsr<T, Host, I, O>>) -> Self {
        let mut saved = Saved { layouts: vec![], batches: vec![] };
        batches.into_iter().for_each(|batch| saved.add_members::<Row>(batch));
        saved.into_handle()
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Handle<A, T, I, O> {
    /// The matrices of a folder of parts, in the host's memory, with values rounded to `T`: those that were written in
    /// blocks as one matrix with these parts.
    ///
    /// ```
    /// use sparse_core::{Csr, Row};
    /// use sparse_distrib::Handle;
    /// use sparse_io::parts::{PartSet, PartWriter};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("set");
    /// let mut writer = PartWriter::<Row, f64>::matrix(&path, (4, 2), (2, 1))?;
    /// writer.write_block(0..2, 0..2, &Csr::<f64>::identity(2)?)?;
    /// writer.write_block(2..4, 0..2, &Csr::<f64>::identity(2)?)?;
    /// writer.finish()?;
    ///
    /// let handle = Handle::<Row, f64>::read(&PartSet::open(&path)?)?;
    /// assert_eq!((handle.len(), handle.partition(0).parts()), (1, 2));
    /// assert!(handle.fetch(0)?.triplets().eq([(0, 0, 1.0), (1, 1, 1.0), (2, 0, 1.0), (3, 1, 1.0)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Operands`] if the set has the other format; [`Error::Io`] and [`Error::File`], with the name of the
    /// file, for a part that cannot be read, is not what the manifest says, does not fit the types, or is not one of
    /// the balanced blocks that [`Partition`] makes.
    pub fn read(set: &PartSet) -> Result<Self> {
        if set.format().name() != A::FORMAT {
            let reason = format!("{} has {}, not {}", set.folder().display(), set.format().name(), A::FORMAT);
            return Err(Error::operands("read", reason));
        }
        let mut saved = Saved { layouts: vec![], batches: vec![] };
        match set.kind() {
            SetKind::Batch { .. } | SetKind::Matrices { .. } => {
                (0..set.parts().len()).try_for_each(|part| saved.read_members::<A>(set, part))?;
            }
            SetKind::Matrix { row_blocks, col_blocks }
            | SetKind::MatricesInBlocks { row_blocks, col_blocks, .. } => {
                let partition = Partition::mesh(row_blocks, col_blocks)?;
                let firsts = (0..set.parts().len()).step_by(partition.parts());
                firsts.map(|first| first..first + partition.parts()).try_for_each(|parts| {
                    saved.layouts.push(layout_of(set, partition, parts.clone())?);
                    parts.into_iter().try_for_each(|part| saved.read_block::<A>(set, part))
                })?;
            }
        }
        Ok(saved.into_handle())
    }
}

/// The matrices read so far.
struct Saved<T: Scalar, I: Index, O: Index> {
    layouts: Vec<MatrixItems>,
    batches: Vec<ResidentBatch<T, I, O>>,
}

impl<T: Scalar, I: Index, O: Index> Saved<T, I, O> {
    /// Adds whole matrices, which are transposes if `A` is columns.
    fn add_members<A: Axis>(&mut self, batch: BatchCsr<T, Host, I, O>) {
        let first = self.layouts.last().map_or(0, |last| last.items().end);
        let items: Vec<_> = (first..first + batch.count()).collect();
        let (rows, cols) = batch.member_shape();
        let layout =
            |&first: &usize| MatrixItems { shape: A::swap(rows, cols), partition: Partition::WHOLE, first };
        self.layouts.extend(items.iter().map(layout));
        self.batches.push(ResidentBatch::on_host(items, batch));
    }

    /// Reads a part of a batch, or of matrices of any shapes.
    fn read_members<A: Axis>(&mut self, set: &PartSet, part: usize) -> Result<()> {
        let mut members = set.read_members(part)?;
        // Columns are stored as the rows of the transposes.
        (members.rows, members.cols) = A::swap(members.rows, members.cols);
        members.format = NpzFormat::Csr;
        let members = members.into_typed::<Row, T, I, O>();
        self.add_members::<A>(members.map_err(|error| in_part(set, part, &error))?);
        Ok(())
    }

    /// Reads a block, whose item has the part's number.
    fn read_block<A: Axis>(&mut self, set: &PartSet, part: usize) -> Result<()> {
        let mut block = set.read_block(part)?;
        (block.rows, block.cols) = A::swap(block.rows, block.cols);
        block.format = NpzFormat::Csr;
        let batch = block.into_csr().and_then(|block| BatchCsr::from_members(&[&block]));
        let batch = batch.map_err(|error| in_part(set, part, &error))?;
        self.batches.push(ResidentBatch::on_host(vec![part], batch));
        Ok(())
    }

    fn into_handle<A: Axis>(self) -> Handle<A, T, I, O> {
        Handle::new(self.layouts, self.batches)
    }
}

/// The matrix whose blocks are some parts of a set.
fn layout_of(set: &PartSet, partition: Partition, parts: Range<usize>) -> Result<MatrixItems> {
    let blocks: Vec<_> = set.parts()[parts.clone()].iter().filter_map(block_of).collect();
    let (Some((top, left)), Some((bottom, right))) = (blocks.first(), blocks.last()) else {
        return Ok(MatrixItems { shape: (0, 0), partition, first: parts.start });
    };
    let (row, col) = (top.start, left.start);
    let shape = (bottom.end - row, right.end - col);
    for (index, needed) in partition.iter(shape).enumerate() {
        let shifted = |range: Range<usize>, by| range.start + by..range.end + by;
        let (rows, cols) = (shifted(needed.rows, row), shifted(needed.cols, col));
        if blocks.get(index) != Some(&(&rows, &cols)) {
            let reason = format!("is not rows {rows:?} and columns {cols:?}, block {index} of {partition}");
            return Err(in_part(set, parts.start + index, &reason));
        }
    }
    Ok(MatrixItems { shape, partition, first: parts.start })
}

/// The rows and columns of a part that is a block.
fn block_of(part: &Part) -> Option<(&Range<usize>, &Range<usize>)> {
    match &part.covers {
        Cover::Block { rows, cols } => Some((rows, cols)),
        Cover::Members(_) => None,
    }
}

/// An error of the file of a part.
fn in_part(set: &PartSet, part: usize, reason: &dyn std::fmt::Display) -> Error {
    let path = set.folder().join(&set.parts()[part].file);
    Error::File { path, line: None, reason: reason.to_string() }
}
