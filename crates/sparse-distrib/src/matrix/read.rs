//! The rows of each rank, read from a file by the rank itself.

use super::Ownership;
use crate::collective::{agree, all_gather, combine};
use crate::transport::Transport;
use sparse_core::{Csr, Error, Host, Index, Result, Scalar};
use sparse_io::matrix_market::{self, EntryPartition};
use sparse_io::{FileKind, RowRanges, csr_from_triplets};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

const OP: &str = "read";
/// The rank that reads all row offsets.
const ROOT: usize = 0;

/// This rank's rows of the matrix in a file that all ranks can open: a collective call, with the same `path` and types
/// on all ranks. No rank has the entries of other ranks' rows.
///
/// The rows are those that [`DistributedMatrix::from_root`](super::DistributedMatrix::from_root) would send:
/// [`from_rows`](super::DistributedMatrix::from_rows) makes the same matrix of them, to the bit. Rank 0 reads the row
/// offsets, and divides the rows by their entries; then each rank reads its own ([`RowRanges`]), and compares a part of
/// the checksums.
///
/// ```
/// use sparse_core::{Csr, Host, reference::Reference};
/// use sparse_distrib::{DistributedBackend, DistributedMatrix, Local, Transport, read_rows};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npz");
/// sparse_io::npz::write_csr(&path, &Csr::<f64>::identity(4)?)?;
/// let entries = Local::run(2, |rank| {
///     let rows: Csr<f64, Host, i64, i32> = read_rows(&rank, &path)?;
///     let a = DistributedMatrix::from_rows(&DistributedBackend::new(rank, Reference), &rows, None)?;
///     Ok::<_, sparse_core::Error>((a.nnz(), a.local_nnz()))
/// });
/// let entries: Vec<_> = entries.into_iter().map(Result::unwrap).collect();
/// assert_eq!(entries, [(4, 2), (4, 2)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Of an uncompressed Matrix Market file of coordinates each rank parses a partition of the lines, and ranks send each
/// other the entries of their rows.
///
/// # Errors
/// On all ranks, with the first rank that failed: [`Error::Unsupported`] if the file cannot be read by rows, or has
/// duplicates, for then the rows would be divided otherwise; those of [`RowRanges`], of
/// [`read_partition`](matrix_market::read_partition) and of the transport.
pub fn read_rows<T: Scalar, I: Index, O: Index>(
    transport: &(impl Transport + ?Sized),
    path: impl AsRef<Path>,
) -> Result<Csr<T, Host, I, O>> {
    let path = path.as_ref();
    match FileKind::of(path) {
        Ok(FileKind::MatrixMarket) => read_entries(transport, path),
        Ok(FileKind::Npz | FileKind::Npy) | Err(_) => read_ranges(transport, path),
    }
}

/// Reads the rows of this rank from a file that allows it.
fn read_ranges<T: Scalar, I: Index, O: Index>(
    transport: &(impl Transport + ?Sized),
    path: &Path,
) -> Result<Csr<T, Host, I, O>> {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    let file = agree(transport, ROOT, OP, RowRanges::open(path))?;
    let words = if rank == ROOT { file.row_ptr().and_then(|all| divide(&all, ranks)) } else { Ok(vec![]) };
    let division = Division::of_root(transport, words)?;
    let read = file.read_rows(division.rows(rank)).and_then(|rows: Csr<T, Host, I, O>| {
        file.check(rank, ranks)?;
        division.check(rank, rows)
    });
    agree(transport, ROOT, OP, read)
}

/// Reads a partition of the entries, and sends them to the ranks of their rows.
fn read_entries<T: Scalar, I: Index, O: Index>(
    transport: &(impl Transport + ?Sized),
    path: &Path,
) -> Result<Csr<T, Host, I, O>> {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    let partition = matrix_market::read_partition::<T>(path, rank, ranks);
    let (partition, claims) = all_gather(transport, OP, partition, claims)?;
    check_claims(&claims)?;
    let (rows, cols) = (partition.info.rows, partition.info.cols);
    let row_ptr = row_ptr_at_root(transport, &partition.rows, rows)?;
    let words = if rank == ROOT { divide(&row_ptr, ranks) } else { Ok(vec![]) };
    drop(row_ptr);
    let division = Division::of_root(transport, words)?;
    let own = division.rows(rank);
    let received = exchange(transport, partition, &division)?;
    let read = received.iter().try_for_each(|entries| entries.check(&own)).and_then(|()| {
        let entries = || received.iter().flat_map(|entries| entries.triplets(own.start));
        division.check(
            rank,
            csr_from_triplets(own.len(), cols, received.iter().map(Entries::len).sum(), entries)?,
        )
    });
    agree(transport, ROOT, OP, read)
}

/// The words by which ranks check that their partitions are a whole file: the file's sizes, then the counts of this
/// partition.
fn claims<T>(partition: &EntryPartition<T>) -> Vec<u64> {
    let EntryPartition { info, lines, is_below, is_above, .. } = partition;
    let sizes = [info.rows as u64, info.cols as u64, info.stored as u64];
    sizes.into_iter().chain([*lines as u64, u64::from(*is_below), u64::from(*is_above)]).collect()
}

/// Fails on all ranks unless the partitions of all make a valid file.
fn check_claims(claims: &[Vec<u64>]) -> Result<()> {
    let sum = |word: usize| claims.iter().map(|words| words[word]).sum::<u64>();
    let same = claims.iter().all(|words| words[..3] == claims[0][..3]);
    if same && sum(3) == claims[0][2] && (sum(4) == 0 || sum(5) == 0) {
        return Ok(());
    }
    Err(Error::unsupported(
        "reading partitions of a file",
        "they do not make the file that its header claims",
    ))
}

/// The row offsets of the whole matrix at the root; `None` elsewhere. The root receives one rank's counts at a time.
fn row_ptr_at_root(transport: &(impl Transport + ?Sized), own: &[i64], rows: usize) -> Result<Vec<i64>> {
    let mut row_ptr = vec![0_i64; rows + 1];
    own.iter().for_each(|&row| row_ptr[row as usize + 1] += 1);
    if transport.rank() != ROOT {
        transport.send(ROOT, bytemuck::cast_slice(&row_ptr).to_vec())?;
        return Ok(vec![]);
    }
    for rank in (0..transport.ranks()).filter(|&rank| rank != ROOT) {
        let counts = transport.receive(rank)?;
        let counts = counts.chunks_exact(size_of::<i64>()).map(bytemuck::pod_read_unaligned::<i64>);
        row_ptr.iter_mut().zip(counts).for_each(|(count, more)| *count += more);
    }
    (0..rows).for_each(|row| row_ptr[row + 1] += row_ptr[row]);
    Ok(row_ptr)
}

/// Entries for one rank as a message: all row indices, then all column indices, then all values.
struct Entries<T> {
    bytes: Vec<u8>,
    element: PhantomData<T>,
}

impl<T: Scalar> Entries<T> {
    /// Bytes of an entry.
    const SIZE: usize = 2 * size_of::<i64>() + size_of::<T>();

    /// The entries of `partition` at these positions.
    fn new(partition: &EntryPartition<T>, chosen: &[usize]) -> Self {
        let mut bytes = Vec::with_capacity(chosen.len() * Self::SIZE);
        chosen.iter().for_each(|&k| bytes.extend(partition.rows[k].to_ne_bytes()));
        chosen.iter().for_each(|&k| bytes.extend(partition.cols[k].to_ne_bytes()));
        chosen.iter().for_each(|&k| bytes.extend(bytemuck::bytes_of(&partition.values[k])));
        Self { bytes, element: PhantomData }
    }

    fn len(&self) -> usize {
        self.bytes.len() / Self::SIZE
    }

    fn check(&self, own: &Range<usize>) -> Result<()> {
        match (0..self.len()).all(|k| own.contains(&self.number(k))) {
            true => Ok(()),
            false => Err(Error::operands(OP, "a rank sent entries of rows of another")),
        }
    }

    /// Rows from `first` on, columns and values.
    fn triplets(&self, first: usize) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        let values = 2 * size_of::<i64>() * self.len();
        let value = move |k: usize| {
            let start = values + k * size_of::<T>();
            bytemuck::pod_read_unaligned(&self.bytes[start..start + size_of::<T>()])
        };
        (0..self.len()).map(move |k| (self.number(k) - first, self.number(self.len() + k), value(k)))
    }

    /// Number `k` of the row indices and the column indices after them.
    fn number(&self, k: usize) -> usize {
        let start = k * size_of::<i64>();
        bytemuck::pod_read_unaligned::<i64>(&self.bytes[start..start + size_of::<i64>()]) as usize
    }
}

/// Sends entries to the ranks of their rows, and returns those of this rank, one sender's after the other's, as the
/// file has them: a collective call.
fn exchange<T: Scalar>(
    transport: &(impl Transport + ?Sized),
    partition: EntryPartition<T>,
    division: &Division,
) -> Result<Vec<Entries<T>>> {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    let mut chosen = vec![vec![]; ranks];
    partition.rows.iter().enumerate().for_each(|(k, &row)| chosen[division.owner(row as u64)].push(k));
    let (_, counts) =
        all_gather(transport, OP, Ok(()), |()| chosen.iter().map(|all| all.len() as u64).collect())?;
    let mut parts: Vec<_> = chosen.into_iter().map(|chosen| Entries::new(&partition, &chosen)).collect();
    drop(partition);
    let own = std::mem::replace(&mut parts[rank], Entries { bytes: vec![], element: PhantomData });
    let messages =
        parts.into_iter().map(|part| part.bytes).enumerate().filter(|(_, bytes)| !bytes.is_empty());
    let bytes = |sender: usize| counts[sender][rank] as usize * Entries::<T>::SIZE;
    let senders = (0..ranks).filter(|&sender| sender != rank && bytes(sender) > 0);
    let senders: Vec<_> = senders.map(|sender| (sender, bytes(sender))).collect();
    let received = transport.exchange(messages.collect(), &senders, &mut || ())?;
    let mut all: Vec<_> = senders.iter().map(|&(sender, _)| sender).zip(received).collect();
    all.push((rank, own.bytes));
    all.sort_by_key(|&(sender, _)| sender);
    Ok(all.into_iter().map(|(_, bytes)| Entries { bytes, element: PhantomData }).collect())
}

/// The rows of each rank, and the entries that they have in the file.
struct Division {
    /// The first row of each rank, and the end.
    starts: Vec<u64>,
    /// The entries before each of these.
    entries: Vec<u64>,
}

impl Division {
    /// The division of the root: a collective call.
    fn of_root(transport: &(impl Transport + ?Sized), words: Result<Vec<u64>>) -> Result<Self> {
        let bytes = |words: &Vec<u64>| bytemuck::cast_slice(words).to_vec();
        let (_, words) = combine(transport, ROOT, OP, words, bytes, |messages| Ok(messages[ROOT].clone()))?;
        let mut starts: Vec<u64> = bytemuck::pod_collect_to_vec(&words);
        let entries = starts.split_off(starts.len() / 2);
        Ok(Self { starts, entries })
    }

    fn rows(&self, rank: usize) -> Range<usize> {
        self.starts[rank] as usize..self.starts[rank + 1] as usize
    }

    /// The rank of a row.
    fn owner(&self, row: u64) -> usize {
        self.starts.partition_point(|&start| start <= row) - 1
    }

    /// The rows of a rank, unless duplicates were added.
    fn check<T: Scalar, I: Index, O: Index>(
        &self,
        rank: usize,
        rows: Csr<T, Host, I, O>,
    ) -> Result<Csr<T, Host, I, O>> {
        match rows.nnz() as u64 == self.entries[rank + 1] - self.entries[rank] {
            true => Ok(rows),
            false => Err(Error::unsupported("reading rows apart", "some have duplicates")),
        }
    }
}

/// The first row of each rank and the end, then the entries before each of these.
fn divide(row_ptr: &[i64], ranks: usize) -> Result<Vec<u64>> {
    let rows = Ownership::by_nnz(row_ptr, ranks)?;
    let entries = rows.starts().iter().map(|&row| row_ptr[row] as u64);
    Ok(rows.starts().iter().map(|&row| row as u64).chain(entries).collect())
}
