//! Distributed matrices from a matrix at one rank, or from rows at each.

use super::column_set::ColumnSet;
use super::spans::{RowSpans, slice_rows};
use super::{DistributedBackend, DistributedMatrix, ExchangePlan, LocalRows, Ownership, RowBlock};
use crate::collective::{all_gather, combine};
use crate::partition::Part;
use crate::transport::Transport;
use crate::wire::ed2;
use sparse_core::{Accumulator, Backend, Csr, Error, Host, Index, Result, Space, SparseFormat};
use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;

const OP: &str = "distributed matrix";

impl<T: Accumulator, S: Space, O: Index> DistributedMatrix<T, S, O> {
    /// Distributes the matrix of `root`: a collective call. Rows are divided by their entries, in proportion to
    /// `weights`, one for each rank, if the root has them; columns of a square matrix as its rows, of another evenly.
    ///
    /// # Errors
    /// [`Error::Operands`] if the root has no matrix, [`Error::Format`] unless its rows are sorted and without
    /// duplicates, [`Error::Shape`] for wrong weights; the errors of [`from_rows`](Self::from_rows).
    pub fn from_root<X, B, I>(
        backend: &DistributedBackend<X, B>,
        root: usize,
        matrix: Option<&Csr<T, Host, I, O>>,
        weights: Option<&[f64]>,
    ) -> Result<Self>
    where
        X: Transport,
        B: Backend<Space = S>,
        I: Index,
    {
        let divided = matrix.filter(|_| backend.rank() == root);
        let division = divided.map(|matrix| Ok((divide(matrix, backend.ranks(), weights)?, matrix.ncols())));
        let rows = |rows| slice_rows(matrix.ok_or_else(no_matrix)?, rows);
        Self::from_root_rows(backend, root, division.transpose(), rows)
    }

    /// Distributes a matrix of `root`, which makes the rows of one rank after the other: a collective call. `division`
    /// is that of the rows, with the number of columns, or the root's error; other ranks' is `None`. `rows` are called
    /// at the root alone, and sorted and without duplicates. Columns are divided as by [`from_root`](Self::from_root).
    ///
    /// ```
    /// use sparse_core::{Csr, Host, reference::Reference};
    /// use sparse_distrib::{DistributedBackend, DistributedMatrix, Local, Ownership};
    ///
    /// // The identity of order 4, which no rank has whole.
    /// let entries = Local::run(2, |rank| {
    ///     let backend = DistributedBackend::new(rank, Reference);
    ///     let division = (backend.rank() == 0).then_some((Ownership::even(4, 2)?, 4));
    ///     let a = DistributedMatrix::<f64>::from_root_rows(&backend, 0, Ok(division), |rows| {
    ///         let count = rows.len();
    ///         let (offsets, columns) = ((0..=count as i32).collect(), rows.map(|row| row as i32).collect());
    ///         Csr::<f64, Host, i32, i32>::new(count, 4, offsets, columns, vec![1.0; count])
    ///     })?;
    ///     Ok::<_, sparse_core::Error>(a.local_nnz())
    /// });
    /// assert!(entries.into_iter().all(|entries| entries.unwrap() == 2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Operands`] if the root has no division, [`Error::Shape`] if it is not for this number of ranks, the
    /// errors of `rows`; those of [`from_rows`](Self::from_rows).
    pub fn from_root_rows<X, B, I>(
        backend: &DistributedBackend<X, B>,
        root: usize,
        division: Result<Option<(Ownership, usize)>>,
        rows: impl Fn(Range<usize>) -> Result<Csr<T, Host, I, O>>,
    ) -> Result<Self>
    where
        X: Transport,
        B: Backend<Space = S>,
        I: Index,
    {
        let is_root = backend.rank() == root;
        let announced = if is_root {
            division.and_then(|division| announce(division, backend.ranks()))
        } else {
            Ok(vec![])
        };
        let bytes = |words: &Vec<u64>| bytemuck::cast_slice(words).to_vec();
        let announced_by_root = |messages: &[Vec<u8>]| Ok(messages[root].clone());
        let (_, words) = combine(backend.transport(), root, OP, announced, bytes, announced_by_root)?;
        let words: Vec<u64> = bytemuck::pod_collect_to_vec(&words);
        let division = Ownership::from_lengths(words.iter().skip(1).map(|&length| length as usize))?;
        let cols = words[0] as usize;
        let part = |rank| Part { rows: division.range(rank), cols: 0..cols };
        let own = match is_root {
            true => send_rows(backend, rows, part)?,
            false => ed2::decode(&part(backend.rank()), &backend.transport().receive(root)?),
        };
        Self::build(backend, own, None)
    }

    /// A matrix from consecutive rows on each rank, in the order of the ranks, with column indices of the whole matrix:
    /// a collective call. The rows stay where they are. Columns are divided as `columns` says, the same on all ranks;
    /// without it those of a square matrix as its rows, of another evenly.
    ///
    /// ```
    /// use sparse_core::{Csr, Host, reference::Reference};
    /// use sparse_distrib::{DistributedBackend, DistributedMatrix, Local};
    ///
    /// // Each of three ranks makes one row of a bidiagonal matrix, whose global indices have 64 bits.
    /// let shapes = Local::run(3, |rank| {
    ///     let backend = DistributedBackend::new(rank, Reference);
    ///     let k = backend.rank() as i64;
    ///     let row = Csr::<f64, Host, i64, i64>::new(1, 3, vec![0, 2], vec![k.max(1) - 1, k.max(1)], vec![1.0; 2])?;
    ///     let a = DistributedMatrix::from_rows(&backend, &row, None)?;
    ///     Ok::<_, sparse_core::Error>((a.shape(), a.nnz(), a.exchange_plan().ghosts()))
    /// });
    /// let shapes: Vec<_> = shapes.into_iter().map(Result::unwrap).collect();
    /// assert_eq!(shapes, [((3, 3), 6, 1), ((3, 3), 6, 1), ((3, 3), 6, 1)]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Operands`] if ranks do not agree on columns and types, [`Error::Shape`] if `columns` is not for this
    /// number of ranks and columns, [`Error::IndexOverflow`] if a rank has 2³¹ columns or more, or needs as many of
    /// others; [`Error::OutOfMemory`] and errors of the device's runtime.
    pub fn from_rows<X, B, I>(
        backend: &DistributedBackend<X, B>,
        rows: &Csr<T, Host, I, O>,
        columns: Option<&Ownership>,
    ) -> Result<Self>
    where
        X: Transport,
        B: Backend<Space = S>,
        I: Index,
    {
        Self::build(backend, Ok(rows), columns)
    }

    fn build<X, B, I>(
        backend: &DistributedBackend<X, B>,
        rows: Result<impl Borrow<Csr<T, Host, I, O>>>,
        columns: Option<&Ownership>,
    ) -> Result<Self>
    where
        X: Transport,
        B: Backend<Space = S>,
        I: Index,
    {
        let (transport, rank) = (backend.transport(), backend.rank());
        let (matrix, headers) = all_gather(transport, OP, rows, |rows| header(rows.borrow(), columns))?;
        let (rows, columns, nnz) = layout(&headers)?;
        let own = columns.range(rank);
        let split = SplitRows::new(matrix.borrow(), own.clone());
        let (split, needs) = all_gather(transport, OP, split, |split| split.needs(&columns))?;
        let exchange =
            ExchangePlan::new(transport, &rows, &columns, &needs, split.remote.columns(), size_of::<T>());
        let local = exchange.and_then(|exchange| {
            let [diagonal, off_diagonal] = split.into_blocks(&exchange, &own)?;
            let off_diagonal = RowSpans::new(&off_diagonal)?;
            Ok(LocalRows {
                diagonal: diagonal.to_device(backend.local())?,
                off_diagonal: off_diagonal.to_device(backend.local())?,
                exchange: Arc::new(exchange),
                peers: None,
                nnz,
            })
        });
        Ok(Self { rows, columns, nnz, local: backend.agree(OP, local)? })
    }
}

/// The rows of each rank, divided by their entries.
fn divide<T: Accumulator, I: Index, O: Index>(
    matrix: &Csr<T, Host, I, O>,
    ranks: usize,
    weights: Option<&[f64]>,
) -> Result<Ownership> {
    if !(matrix.order().sorted && matrix.order().unique) {
        return Err(Error::format(
            "csr",
            "column indices must ascend without duplicates; sort the matrix first",
        ));
    }
    match weights {
        None => Ownership::by_nnz(matrix.row_ptr(), ranks),
        Some(weights) if weights.len() == ranks => Ownership::by_weight(matrix.row_ptr(), weights),
        Some(weights) => {
            let reason = format!("{} weights where {ranks} ranks need as many", weights.len());
            Err(Error::shape(OP, reason))
        }
    }
}

/// The number of columns and the number of rows of each rank.
fn announce(division: Option<(Ownership, usize)>, ranks: usize) -> Result<Vec<u64>> {
    let (rows, cols) = division.ok_or_else(no_matrix)?;
    if rows.ranks() != ranks {
        let reason = format!("{} ranges of rows where {ranks} ranks need as many", rows.ranks());
        return Err(Error::shape(OP, reason));
    }
    let lengths = (0..ranks).map(|rank| rows.range(rank).len() as u64);
    Ok(std::iter::once(cols as u64).chain(lengths).collect())
}

#[cold]
fn no_matrix() -> Error {
    Error::operands(OP, "the root has no matrix")
}

/// Sends each rank its rows, and returns those of this one. Rows that cannot be encoded are sent as an empty message,
/// which the receiver refuses.
fn send_rows<X: Transport, B, T: Accumulator, I: Index, O: Index>(
    backend: &DistributedBackend<X, B>,
    rows: impl Fn(Range<usize>) -> Result<Csr<T, Host, I, O>>,
    part: impl Fn(usize) -> Part,
) -> Result<Result<Csr<T, Host, I, O>>> {
    let mut encoded = Ok(());
    for rank in (0..backend.ranks()).filter(|&rank| rank != backend.rank()) {
        let part = part(rank);
        let message = rows(part.rows.clone()).and_then(|rows| ed2::encode(&part, &rows));
        let message = message.unwrap_or_else(|error| {
            encoded = Err(error);
            vec![]
        });
        backend.transport().send(rank, message)?;
    }
    Ok(encoded.and_then(|()| rows(part(backend.rank()).rows)))
}

/// The words of a rank's header before its columns: those that differ, then those that all ranks must agree on.
const DIFFERING: usize = 2;
const AGREED: usize = 4;

/// Rows, entries, columns and types of a rank's matrix, and the division of its columns if there is one.
fn header<T: Accumulator, I: Index, O: Index>(
    rows: &Csr<T, Host, I, O>,
    columns: Option<&Ownership>,
) -> Vec<u64> {
    let types = [T::DTYPE as u64, size_of::<I>() as u64, size_of::<O>() as u64];
    let sizes = [rows.nrows() as u64, rows.nnz() as u64, rows.ncols() as u64];
    let starts = columns.into_iter().flat_map(|columns| columns.starts().iter().map(|&start| start as u64));
    sizes.into_iter().chain(types).chain(starts).collect()
}

/// The rows, the columns and the number of entries of the whole matrix, from the headers of all ranks.
fn layout(headers: &[Vec<u64>]) -> Result<(Ownership, Ownership, usize)> {
    let agreed = |rank: usize| headers[rank].get(DIFFERING..).unwrap_or_default();
    let first = agreed(0);
    if let Some(rank) = (0..headers.len()).find(|&rank| agreed(rank) != first || first.len() < AGREED) {
        let reason = format!("rank {rank} has other columns or types than rank 0");
        return Err(Error::operands(OP, reason));
    }
    let (cols, starts) = (first[0] as usize, &first[AGREED..]);
    let rows = Ownership::from_lengths(headers.iter().map(|header| header[0] as usize))?;
    let columns = match starts {
        [] if rows.len() == cols => rows.clone(),
        [] => Ownership::even(cols, headers.len())?,
        starts => Ownership::from_lengths(starts.windows(2).map(|ends| (ends[1] - ends[0]) as usize))?,
    };
    if (columns.ranks(), columns.len()) != (headers.len(), cols) {
        let (ranks, len) = (columns.ranks(), columns.len());
        let reason = format!(
            "{len} columns are divided among {ranks} ranks where {} ranks have {cols}",
            headers.len()
        );
        return Err(Error::shape(OP, reason));
    }
    Ok((rows, columns, headers.iter().map(|header| header[1] as usize).sum()))
}

/// The rows of a rank: its own columns with local indices, the others with those of the whole matrix.
struct SplitRows<T: Accumulator, O: Index> {
    diagonal: RowBlock<T, Host, O>,
    offsets: Vec<O>,
    columns: Vec<usize>,
    values: Vec<T>,
    /// The columns of others.
    remote: ColumnSet,
}

impl<T: Accumulator, O: Index> SplitRows<T, O> {
    fn new<I: Index>(rows: &Csr<T, Host, I, O>, own: Range<usize>) -> Result<Self> {
        i32::try_new("the number of columns of a rank", own.len())?;
        let (mut offsets, mut columns, mut values) = (vec![O::cast(0)], vec![], vec![]);
        let (mut own_offsets, mut own_columns, mut own_values) = (vec![O::cast(0)], vec![], vec![]);
        for row in 0..rows.nrows() {
            for (column, value) in rows.major_entries(row) {
                if own.contains(&column) {
                    own_columns.push(i32::cast(column - own.start));
                    own_values.push(value);
                } else {
                    columns.push(column);
                    values.push(value);
                }
            }
            offsets.push(O::cast(columns.len()));
            own_offsets.push(O::cast(own_columns.len()));
        }
        let remote = ColumnSet::new(&columns, rows.ncols());
        i32::try_new("the number of columns of others that a rank needs", remote.columns().len())?;
        let diagonal = Csr::new_unsorted(rows.nrows(), own.len(), own_offsets, own_columns, own_values)?;
        Ok(Self { diagonal, offsets, columns, values, remote })
    }

    /// The number of columns of each rank that this one needs.
    fn needs(&self, columns: &Ownership) -> Vec<u64> {
        let remote = self.remote.columns();
        let before = |column: usize| remote.partition_point(|&remote| remote < column);
        let starts = columns.starts().windows(2);
        starts.map(|ends| (before(ends[1]) - before(ends[0])) as u64).collect()
    }

    /// The entries in this rank's columns, and those in columns of others, numbered as the ghosts.
    fn into_blocks(self, exchange: &ExchangePlan, own: &Range<usize>) -> Result<[RowBlock<T, Host, O>; 2]> {
        let Self { diagonal, offsets, columns, values, remote } = self;
        let ghost = |column: usize| i32::cast(exchange.ghost(own, column, || remote.position(column)));
        let columns = columns.into_iter().map(ghost).collect();
        let off_diagonal = Csr::new_unsorted(diagonal.nrows(), exchange.ghosts(), offsets, columns, values)?;
        Ok([diagonal, off_diagonal])
    }
}
