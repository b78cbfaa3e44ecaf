//! The rows of each rank, read from a file by the rank itself.

use super::Ownership;
use crate::collective::{agree, combine};
use crate::transport::Transport;
use sparse_core::{Csr, Error, Host, Index, Result, Scalar};
use sparse_io::RowRanges;
use std::path::Path;

const OP: &str = "read";
/// The rank that reads all row offsets.
const ROOT: usize = 0;

/// This rank's rows of the matrix in a file that all ranks reach, of which no rank has the entries of others: a collective
/// call, with the same `path` and types on all ranks.
///
/// The rows are those that [`DistributedMatrix::from_root`](super::DistributedMatrix::from_root) would send:
/// [`from_rows`](super::DistributedMatrix::from_rows) makes the same matrix of them, to the bit. Rank 0 reads the row
/// offsets, and divides the rows by their entries; then each rank reads its own ([`RowRanges`]), and a share of the
/// checksums is compared by each.
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
/// # Errors
/// On all ranks, with the first rank that failed: [`Error::Unsupported`] if the file cannot be read by rows, or has
/// duplicates, for then the rows would be divided otherwise; those of [`RowRanges`] and of the transport.
pub fn read_rows<T: Scalar, I: Index, O: Index>(
    transport: &(impl Transport + ?Sized),
    path: impl AsRef<Path>,
) -> Result<Csr<T, Host, I, O>> {
    let (rank, ranks) = (transport.rank(), transport.ranks());
    let file = agree(transport, ROOT, OP, RowRanges::open(path))?;
    let division = if rank == ROOT { divide(&file, ranks) } else { Ok(vec![]) };
    let bytes = |words: &Vec<u64>| bytemuck::cast_slice(words).to_vec();
    let (_, words) = combine(transport, ROOT, OP, division, bytes, |messages| Ok(messages[ROOT].clone()))?;
    let words: Vec<u64> = bytemuck::pod_collect_to_vec(&words);
    let (starts, entries) = words.split_at(words.len() / 2);
    let rows = starts[rank] as usize..starts[rank + 1] as usize;
    let read = file.read_rows(rows).and_then(|rows: Csr<T, Host, I, O>| {
        file.check(rank, ranks)?;
        match rows.nnz() as u64 == entries[rank + 1] - entries[rank] {
            true => Ok(rows),
            false => Err(Error::unsupported("reading rows apart", "some have duplicates")),
        }
    });
    agree(transport, ROOT, OP, read)
}

/// The first row of each rank and the end, then the entries before each of these.
fn divide(file: &RowRanges, ranks: usize) -> Result<Vec<u64>> {
    let row_ptr = file.row_ptr()?;
    let rows = Ownership::by_nnz(&row_ptr, ranks)?;
    let entries = rows.starts().iter().map(|&row| row_ptr[row] as u64);
    Ok(rows.starts().iter().map(|&row| row as u64).chain(entries).collect())
}
