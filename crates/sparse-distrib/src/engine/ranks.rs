//! A run on several ranks: each compresses its share of the matrices, and the root gets them all.

use super::handle::{Handle, ResidentBatch};
use super::item::{self, MatrixItems};
use super::report::Report;
use super::source::{DeviceMatrices, Source};
use super::{Engine, Options, Outcome};
use crate::Block;
use crate::collective::{agree, all_gather, tagged, untagged};
use crate::partition::{Part, Partition};
use crate::transport::Transport;
use crate::wire::ed2;
use sparse_core::op::ScanElement;
use sparse_core::{Axis, BatchCsr, Error, Host, Index, Order, Result, Scalar};
use std::ops::Range;

/// The operation in errors.
const OP: &str = "compress";
/// The rank that gathers the matrices.
const ROOT: usize = 0;

/// The result of a run on several ranks: all matrices at rank 0, and the report of this rank's share.
pub type RankOutcome<A, T, I, O> = (Option<Handle<A, T, I, O>>, Report);

impl<T: Scalar, I: Index, O: ScanElement> Engine<T, I, O> {
    /// Compresses all matrices of a source on all ranks, each with its own engine: a collective call. Rank 0 gets all
    /// of them, in the host's memory and in the order of the source, as [`compress`](Self::compress) would make them
    /// alone.
    ///
    /// A rank compresses consecutive matrices (or parts, if [`Options::partition`] is set) with about the same number
    /// of elements as every other rank's, and reads no others; all ranks know all shapes. Results travel as [`ed2`],
    /// whose checksum notices a changed byte. The report is that of this rank's share.
    ///
    /// ```
    /// use sparse_core::Row;
    /// use sparse_core::reference::Reference;
    /// use sparse_distrib::{DeviceWorker, Engine, Generated, Local, Options};
    ///
    /// let diagonals = Generated::new(vec![(8, 8); 10], |item, elements: &mut [f32]| {
    ///     elements.fill(0.0);
    ///     elements.iter_mut().step_by(9).for_each(|element| *element = item as f32 + 1.0);
    ///     Ok(())
    /// });
    /// let results = Local::run(3, |rank| {
    ///     let mut engine = Engine::<f32>::new(vec![Box::new(DeviceWorker::new(Reference))])?;
    ///     engine.compress_on_ranks::<Row>(&rank, &diagonals, &Options::default())
    /// });
    /// let results = results.into_iter().collect::<sparse_core::Result<Vec<_>>>()?;
    /// assert!(results.iter().map(|(_, report)| report.items).eq([4, 3, 3]));
    /// let all = results[0].0.as_ref().expect("rank 0 has the matrices");
    /// assert_eq!(all.len(), 10);
    /// assert_eq!(all.fetch(9)?.values(), &[10.0; 8]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// On all ranks, with the first rank that failed: [`Error::Operands`] if ranks have other matrices or settings than
    /// rank 0, or could not compress one; those of [`compress`](Self::compress) and of the transport.
    pub fn compress_on_ranks<A: Axis>(
        &mut self,
        transport: &dyn Transport,
        source: &dyn Source<T>,
        options: &Options<'_, T>,
    ) -> Result<RankOutcome<A, T, I, O>> {
        let partition = options.partition.map_or_else(|| Partition::rows(1), Ok)?;
        check_agreement::<A, T>(transport, source, partition)?;
        let items = items_of_ranks(source, partition, transport.ranks());
        let rank_items = RankItems { source, partition, items: items[transport.rank()].clone() };
        let done = rank_items.compress::<A, I, O>(self, options);
        let (layouts, (own, report)) = agree(transport, ROOT, OP, done)?;
        let gathered = match transport.rank() {
            ROOT => {
                gather(transport, &items, &layouts, &own).map(|batches| Some(Handle::new(layouts, batches)))
            }
            _ => send(transport, &own).map(|()| None),
        };
        Ok((agree(transport, ROOT, OP, gathered)?, report))
    }
}

/// An error on all ranks unless all have the same shapes, partition, orientation and type of values.
fn check_agreement<A: Axis, T: Scalar>(
    transport: &dyn Transport,
    source: &dyn Source<T>,
    partition: Partition,
) -> Result<()> {
    let shapes = (0..source.len()).fold(0, |sum, matrix| {
        let (rows, cols) = source.shape(matrix);
        let [rows, cols] = [rows, cols].map(|extent| (extent as u64).to_le_bytes());
        crc32c::crc32c_append(sum, &[rows, cols].concat())
    });
    let (row_blocks, col_blocks) = partition.grid();
    let words = [
        source.len() as u64,
        shapes.into(),
        row_blocks as u64,
        col_blocks as u64,
        u64::from(A::IS_ROW),
        T::DTYPE as u64,
    ];
    let ((), all) = all_gather(transport, OP, Ok(()), |()| words.to_vec())?;
    match all.iter().position(|other| *other != all[ROOT]) {
        None => Ok(()),
        Some(rank) => {
            let reason = format!("rank {rank} has other matrices or settings than rank {ROOT}");
            Err(Error::operands(OP, reason))
        }
    }
}

/// The items of each rank: consecutive, with about the same number of elements on every rank.
fn items_of_ranks<T: Scalar>(
    source: &dyn Source<T>,
    partition: Partition,
    ranks: usize,
) -> Vec<Range<usize>> {
    let parts = (0..source.len()).flat_map(|matrix| partition.iter(source.shape(matrix)));
    let mut ends = vec![0_u128];
    for part in parts {
        let (rows, cols) = part.shape();
        // An item without elements counts as one element.
        ends.push(ends[ends.len() - 1] + rows as u128 * cols as u128 + 1);
    }
    let total = ends[ends.len() - 1];
    // The first item of a rank begins nearest behind its part of the elements.
    let start = |rank: usize| ends.partition_point(|&end| end * (ranks as u128) < total * rank as u128);
    (0..ranks).map(|rank| start(rank)..start(rank + 1)).collect()
}

/// The items of one rank as a source of whole matrices.
struct RankItems<'a, T> {
    source: &'a dyn Source<T>,
    partition: Partition,
    items: Range<usize>,
}

/// The layouts of all matrices, and the compressed items of one rank with their report.
type CompressedItems<A, T, I, O> = (Vec<MatrixItems>, (Handle<A, T, I, O>, Report));

impl<T: Scalar> RankItems<'_, T> {
    /// Compresses the items; an error names the matrix.
    fn compress<A: Axis, I: Index, O: Index>(
        &self,
        engine: &mut Engine<T, I, O>,
        options: &Options<'_, T>,
    ) -> Result<CompressedItems<A, T, I, O>> {
        let layouts = item::layouts::<T, I, O>(self.source, Some(self.partition), u64::MAX, A::IS_ROW)?;
        let options = Options { partition: None, ..options.clone() };
        let outcome: Outcome<A, T, I, O> = engine.compress(self, &options)?;
        let first =
            outcome.report.unfinished.first().and_then(|unfinished| unfinished.items.first().copied());
        let complete = outcome.complete().map_err(|error| match first {
            Some(item) => Error::operands(OP, format_args!("matrix {}: {error}", self.find(item).0)),
            None => error,
        });
        Ok((layouts, complete?))
    }

    /// The matrix and the part of an item of the share.
    fn find(&self, item: usize) -> (usize, Part) {
        let item = self.items.start + item;
        let (matrix, index) = (item / self.partition.parts(), item % self.partition.parts());
        (matrix, self.partition.part(self.source.shape(matrix), index))
    }
}

impl<T: Scalar> Source<T> for RankItems<'_, T> {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn shape(&self, item: usize) -> (usize, usize) {
        self.find(item).1.shape()
    }

    fn order(&self, item: usize) -> Order {
        self.source.order(self.find(item).0)
    }

    fn fill(&self, item: usize, elements: &mut [T]) -> Result<()> {
        let (matrix, part) = self.find(item);
        self.source.fill_part(matrix, &part, elements)
    }

    fn lend(&self, items: Range<usize>) -> Option<&[T]> {
        let start = self.items.start;
        let is_whole = self.partition.parts() == 1;
        is_whole.then(|| self.source.lend(start + items.start..start + items.end))?
    }

    fn on_device(&self, items: Range<usize>) -> Option<DeviceMatrices<'_>> {
        let (matrix, part) = self.find(items.start);
        match self.partition.parts() {
            1 => self.source.on_device(matrix..matrix + items.len()),
            _ if items.len() == 1 => Some(self.source.on_device(matrix..matrix + 1)?.part(&part)),
            _ => None,
        }
    }

    fn fill_part(&self, item: usize, part: &Part, elements: &mut [T]) -> Result<()> {
        let (matrix, Part { rows, cols }) = self.find(item);
        let rows = rows.start + part.rows.start..rows.start + part.rows.end;
        let cols = cols.start + part.cols.start..cols.start + part.cols.end;
        self.source.fill_part(matrix, &Part { rows, cols }, elements)
    }

    fn is_divisible(&self, item: usize) -> bool {
        self.source.is_divisible(self.find(item).0)
    }
}

/// Sends every matrix of a share to the root, or the error in its place.
fn send<A: Axis, T: Scalar, I: Index, O: ScanElement>(
    transport: &dyn Transport,
    own: &Handle<A, T, I, O>,
) -> Result<()> {
    (0..own.len()).try_for_each(|item| {
        let encoded = own.fetch(item).and_then(|block| ed2::encode(&Part::whole(own.shape(item)), &block));
        transport.send(ROOT, tagged(encoded.map_err(|error| error.to_string())))
    })
}

/// The items of all ranks at the root, each as a batch on the host.
fn gather<A: Axis, T: Scalar, I: Index, O: ScanElement>(
    transport: &dyn Transport,
    items: &[Range<usize>],
    layouts: &[MatrixItems],
    own: &Handle<A, T, I, O>,
) -> Result<Vec<ResidentBatch<T, I, O>>> {
    let shapes =
        layouts.iter().flat_map(|layout| layout.partition.iter(layout.shape).map(|part| part.shape()));
    let ranks =
        items.iter().enumerate().flat_map(|(rank, range)| range.clone().map(move |item| (rank, item)));
    let mut batches = Ok(vec![]);
    for ((rank, item), shape) in ranks.zip(shapes) {
        let block = match rank {
            ROOT => own.fetch(item - items[ROOT].start),
            _ => receive(transport, rank, shape),
        };
        // Messages after an error are received, too, since their sender may wait.
        batches = batches.and_then(|mut batches: Vec<_>| {
            batches.push(ResidentBatch::on_host(vec![item], batch_of(block?, shape)?));
            Ok(batches)
        });
    }
    batches
}

fn receive<A: Axis, T: Scalar, I: Index, O: Index>(
    transport: &dyn Transport,
    rank: usize,
    shape: (usize, usize),
) -> Result<Block<A, T, I, O>> {
    let message = untagged(transport.receive(rank)?);
    let message = message.map_err(|reason| Error::operands(OP, format_args!("rank {rank}: {reason}")))?;
    ed2::decode(&Part::whole(shape), &message)
}

/// A batch of one matrix, by rows: one that is compressed by columns becomes its transpose.
fn batch_of<A: Axis, T: Scalar, I: Index, O: Index>(
    block: Block<A, T, I, O>,
    (rows, cols): (usize, usize),
) -> Result<BatchCsr<T, Host, I, O>> {
    let member_ptr = vec![0, block.nnz()];
    let (offsets, indices, values) = block.into_parts();
    BatchCsr::new(A::swap(rows, cols), member_ptr, offsets, indices, values)
}
