//! Partitions of the lines of a coordinate file, of which each of several processes reads one.

use super::entries::Body;
use super::triplets::Triplets;
use super::{Layout, MatrixInfo, header_for, parts};
use crate::FileKind;
use crate::csr_from_entries::check_row_claim;
use crate::source::{Text, has_extension, open};
use sparse_core::{Error, Result, Scalar};
use std::fs::metadata;
use std::path::Path;

/// The entries of one partition of a coordinate file, in the order of the file. The mirror image of an entry of a
/// symmetric file follows it.
#[derive(Debug, Clone)]
pub struct EntryPartition<T> {
    /// The header of the whole file.
    pub info: MatrixInfo,
    /// The row of each entry, from 0.
    pub rows: Vec<i64>,
    /// The column of each entry, from 0.
    pub cols: Vec<i64>,
    /// The values.
    pub values: Vec<T>,
    /// The lines with entries, before mirroring: those of all partitions are `info.stored`, or the file is not valid.
    pub lines: usize,
    /// True if an entry of a symmetric file is below the diagonal.
    pub is_below: bool,
    /// True if an entry is above the diagonal. All entries of all partitions are on one side, or the file is not
    /// valid.
    pub is_above: bool,
}

/// Checks that [`read_partition`] reads files of this name: coordinates in an uncompressed file.
///
/// # Errors
/// [`Error::Unsupported`] with the reason.
pub fn check_partitionable(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let refused =
        |reason| Err(Error::unsupported(format_args!("reading partitions of {}", path.display()), reason));
    match FileKind::of(path)? {
        FileKind::MatrixMarket if has_extension(path, "gz") => refused("it is compressed"),
        FileKind::MatrixMarket if metadata(path).is_ok_and(|found| !found.is_file()) => {
            refused("it is no file")
        }
        FileKind::MatrixMarket => Ok(()),
        FileKind::Npz | FileKind::Npy => refused("it is no text"),
    }
}

/// Reads one of `partitions` partitions of the lines of a coordinate file, which have similar numbers of bytes and are
/// numbered from 0. Outside of the partition only the header is read.
///
/// ```
/// use sparse_io::matrix_market;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.mtx");
/// std::fs::write(&path, "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 5\n2 1 6\n3 3 7\n")?;
/// let second = matrix_market::read_partition::<f64>(&path, 1, 2)?;
/// assert_eq!((second.rows, second.cols, second.values), (vec![2], vec![2], vec![7.0]));
/// let first = matrix_market::read_partition::<f64>(&path, 0, 2)?;
/// assert_eq!((first.values, first.lines, first.is_below), (vec![5.0, 6.0, 6.0], 2, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`check_partitionable`]; [`Error::Unsupported`] for an array; [`Error::Shape`] if there is no such
/// partition; those of [`read_csr`](super::read_csr), except those about the number of entries, which the header claims
/// for all partitions.
pub fn read_partition<T: Scalar>(
    path: impl AsRef<Path>,
    partition: usize,
    partitions: usize,
) -> Result<EntryPartition<T>> {
    let path = path.as_ref();
    check_partitionable(path)?;
    if partition >= partitions {
        return Err(Error::shape("read", format_args!("partition {partition} of {partitions}")));
    }
    let contents = open(path)?.into();
    partition_of(crate::source::Contents::text(&contents, path), partition, partitions)
}

fn partition_of<T: Scalar>(text: Text<'_>, partition: usize, partitions: usize) -> Result<EntryPartition<T>> {
    let header = header_for::<T>(&text)?;
    let info = header.info;
    if info.layout == Layout::Array {
        return Err(Error::unsupported("reading partitions of an array", "its elements are in no rows"));
    }
    check_row_claim(info.rows, size_of::<usize>(), text.bytes.len())
        .map_err(|reason| text.error(header.size_at, reason))?;
    let body = Body::of_partition(text, header, (partition, partitions), parts(&text));
    let (Triplets { rows, cols, values }, tally) = body.read_partition::<T, i64, i64>()?;
    let (is_below, is_above) = (tally.below.is_some(), tally.above.is_some());
    Ok(EntryPartition { info, rows, cols, values, lines: tally.lines, is_below, is_above })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_have_all_entries_in_order() {
        let lines: String = (1..40).map(|k| format!("{} {} {k}.5\n", k % 7 + 7, k % 5 + 1)).collect();
        for (kind, images) in [("general", 1), ("symmetric", 2)] {
            let text = format!("%%MatrixMarket matrix coordinate real {kind}\n13 13 39\n{lines}");
            let text = Text::in_memory(text.as_bytes());
            let whole = partition_of::<f64>(text, 0, 1).unwrap();
            assert_eq!((whole.lines, whole.values.len()), (39, images * 39));
            for partitions in [2, 3, 8, 100] {
                let read: Vec<_> =
                    (0..partitions).map(|k| partition_of::<f64>(text, k, partitions).unwrap()).collect();
                let all = |part: fn(&EntryPartition<f64>) -> &Vec<i64>| {
                    read.iter().flat_map(part).copied().collect::<Vec<_>>()
                };
                assert!(
                    all(|partition| &partition.rows) == whole.rows
                        && all(|partition| &partition.cols) == whole.cols
                );
                assert!(read.iter().flat_map(|partition| &partition.values).eq(&whole.values));
                assert_eq!(read.iter().map(|partition| partition.lines).sum::<usize>(), 39);
                assert!(read.iter().all(|partition| !partition.is_above));
            }
        }
    }
}
