//! Matrices decoded from the bytes of a file as they come, with neither the file nor a dense array in memory.

use crate::FileKind;
use crate::any::{AnyIndices, AnyValues, RoundedIntegers};
use crate::csr_from_entries::canonical;
use crate::matrix_market::TextDecoder;
use crate::npy::DenseDecoder;
use crate::npz::{AnyBatch, AnySparse, NpzDecoder, NpzFormat};
use sparse_core::{Csr, DType, Error, Host, Index, Result, Scalar, advise_huge_pages};

/// Called with a number of bytes before they are allocated; an error ends the decoding.
pub type Reserve<'a> = dyn FnMut(usize) -> Result<()> + 'a;

/// Bytes of a file's start that a [`Decoder`] is chosen by.
pub const HEAD_BYTES: usize = 4096;

/// Decodes an `.npz` file, an `.npy` file of one or two dimensions, or a text, from front to back.
///
/// Memory has the arrays of an archive, the entries of a text, or the non-zeros of a dense array. Arrays grow as their
/// elements come, never by the claims of a header, and the caller's [`Reserve`] is called before each allocation.
///
/// ```
/// use sparse_core::{Csr, Order};
/// use sparse_io::stream::{Decoded, Decoder};
/// use sparse_io::{FileKind, npy};
///
/// let mut file = npy::header::<f64>(&[2, 3], Order::RowMajor)?;
/// for value in [0.0, 5.0, 0.0, 0.0, 0.0, 7.0] {
///     file.extend(f64::to_ne_bytes(value));
/// }
/// let (mut decoder, mut bytes) = (Decoder::new(FileKind::Npy, &file)?.unwrap(), 0);
/// let reserve = &mut |more| { bytes += more; Ok(()) };
/// file.chunks(7).try_for_each(|part| decoder.push(part, reserve))?;
/// let Decoded::Sparse(a) = decoder.finish(reserve)? else { unreachable!("it is one matrix") };
/// let a: Csr<f64> = a.into_csr()?;
/// assert!(a.triplets().eq([(0, 1, 5.0), (1, 2, 7.0)]));
/// assert!(bytes >= 2 * 12);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder(Kind);

#[derive(Debug)]
enum Kind {
    Npz(NpzDecoder),
    Dense(Box<DenseDecoder>),
    Text(Box<TextDecoder>),
}

impl Decoder {
    /// The decoder of a file that starts with `head`, [`HEAD_BYTES`] or all of it; none for files that are not decoded
    /// from front to back: arrays of three dimensions, archives that were written to a pipe.
    ///
    /// # Errors
    /// [`Error::File`] if the header is not sound.
    pub fn new(kind: FileKind, head: &[u8]) -> Result<Option<Self>> {
        let kind = match kind {
            FileKind::MatrixMarket => Some(Kind::Text(Box::new(TextDecoder::new()))),
            FileKind::Npz => NpzDecoder::new(head).map(Kind::Npz),
            FileKind::Npy => DenseDecoder::new(head)?.map(|dense| Kind::Dense(Box::new(dense))),
        };
        Ok(kind.map(Self))
    }

    /// Decodes the next bytes, the first ones of `head` included.
    ///
    /// # Errors
    /// [`Error::File`] if they are not sound; those of `reserve`.
    pub fn push(&mut self, bytes: &[u8], reserve: &mut Reserve<'_>) -> Result<()> {
        match &mut self.0 {
            Kind::Npz(archive) => archive.push(bytes, reserve),
            Kind::Dense(array) => array.push(bytes, reserve),
            Kind::Text(text) => text.push(bytes, reserve),
        }
    }

    /// True if [`copy`](Self::copy) takes most bytes: those of an archive that is not deflated.
    pub fn copies(&self) -> bool {
        match &self.0 {
            Kind::Npz(archive) => archive.copies(),
            Kind::Dense(_) | Kind::Text(_) => false,
        }
    }

    /// Decodes as many of the next bytes as are only copied to the array that they belong to, and returns their number:
    /// nothing is inflated, parsed or allocated. The bytes after them are for [`push`](Self::push).
    pub fn copy(&mut self, bytes: &[u8]) -> usize {
        match &mut self.0 {
            Kind::Npz(archive) => archive.copy(bytes),
            Kind::Dense(_) | Kind::Text(_) => 0,
        }
    }

    /// The matrix or the batch, once all bytes were decoded.
    ///
    /// # Errors
    /// [`Error::File`] if some are missing, or the last ones are not sound; those of `reserve`.
    pub fn finish(self, reserve: &mut Reserve<'_>) -> Result<Decoded> {
        match self.0 {
            Kind::Npz(archive) => archive.finish(reserve),
            Kind::Dense(array) => array.finish().map(Decoded::Sparse),
            Kind::Text(text) => text.finish(reserve).map(|(matrix, rounded)| Decoded::Text(matrix, rounded)),
        }
    }
}

/// A matrix or a batch from a file, its arrays not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// One matrix.
    Sparse(AnySparse),
    /// Many matrices.
    Batch(AnyBatch),
    /// The entries of a text, and the integers in it that `f64` does not represent.
    Text(AnySparse, Option<RoundedIntegers>),
}

impl Decoded {
    /// The type of the values.
    pub fn dtype(&self) -> DType {
        self.values().dtype()
    }

    fn values(&self) -> &AnyValues {
        match self {
            Self::Sparse(matrix) | Self::Text(matrix, _) => &matrix.values,
            Self::Batch(batch) => &batch.values,
        }
    }

    /// The integers that `T` does not represent, of a text those that `f64` does not; see
    /// [`AnyValues::rounded_integers`].
    pub fn rounded_integers<T: Scalar>(&self) -> Option<RoundedIntegers> {
        match self {
            Self::Text(_, rounded) => rounded.clone(),
            arrays => arrays.values().rounded_integers::<T>(),
        }
    }

    /// True if 32 bits suffice for each index and offset.
    pub fn is_narrow(&self) -> bool {
        let fits = |size: usize| i32::try_from(size).is_ok();
        match self {
            Self::Sparse(matrix) | Self::Text(matrix, _) => {
                fits(matrix.rows) && fits(matrix.cols) && fits(matrix.values.len())
            }
            Self::Batch(batch) => {
                let offsets_fit = match &batch.offsets {
                    AnyIndices::I32(_) => true,
                    AnyIndices::I64(offsets) => offsets.iter().all(|&offset| i32::try_from(offset).is_ok()),
                };
                fits(batch.rows) && fits(batch.cols) && offsets_fit
            }
        }
    }

    /// An upper bound of the bytes that the conversion to a matrix allocates: arrays of other types or in another
    /// order.
    pub fn conversion_bytes(&self) -> usize {
        let entry = |indices: &AnyIndices| match (self.values(), indices) {
            (AnyValues::I64(_) | AnyValues::U64(_), _) => size_of::<f64>() + size_of::<i64>(),
            (_, AnyIndices::I32(_)) => 0,
            (_, AnyIndices::I64(_)) => size_of::<i64>(),
        };
        let (entries, offsets) = match self {
            Self::Sparse(matrix) if matrix.format == NpzFormat::Csr => {
                (entry(&matrix.minor), matrix.major.len())
            }
            // Sorted by rows, with the places of the rows.
            Self::Sparse(matrix) | Self::Text(matrix, _) => {
                let copy = 2 * (matrix.values.dtype().bytes() + size_of::<i64>());
                (entry(&matrix.minor) + copy, matrix.rows.saturating_mul(2))
            }
            Self::Batch(batch) => (entry(&batch.indices), batch.offsets.len() + 2 * batch.member_ptr.len()),
        };
        let offset_bytes = offsets.saturating_mul(size_of::<i64>());
        self.values().len().saturating_mul(entries).saturating_add(offset_bytes)
    }
}

impl AnySparse {
    /// The matrix as CSR, with sorted rows and without duplicates, which are added.
    ///
    /// # Errors
    /// Those of [`into_csr`](Self::into_csr).
    pub fn into_sorted_csr<T: Scalar, I: Index, O: Index>(self) -> Result<Csr<T, Host, I, O>> {
        self.into_csr().and_then(canonical)
    }
}

/// The error of a file that is not sound.
pub(crate) fn wrong(reason: impl Into<String>) -> Error {
    Error::File { path: "<stream>".into(), line: None, reason: reason.into() }
}

/// Bytes from which on memory is allocated in huge pages.
const HUGE: usize = 8 << 20;

/// Makes a vector long enough for `more` elements, of `most` in all. Capacities are powers of two up to `most`,
/// independently of the sizes of the parts, so that the allocator can reuse the blocks of earlier vectors.
pub(crate) fn grow<T>(
    elements: &mut Vec<T>,
    more: usize,
    most: usize,
    reserve: &mut Reserve<'_>,
) -> Result<()> {
    let (needed, capacity) = (elements.len() + more, elements.capacity());
    if needed <= capacity {
        return Ok(());
    }
    let aim = needed.max(needed.checked_next_power_of_two().unwrap_or(most).min(most));
    reserve((aim - capacity).saturating_mul(size_of::<T>()))?;
    let failed = |_| Error::out_of_memory::<T>(aim);
    elements.try_reserve_exact(aim - elements.len()).map_err(failed)?;
    advise_huge_pages(elements.spare_capacity_mut(), HUGE);
    Ok(())
}
