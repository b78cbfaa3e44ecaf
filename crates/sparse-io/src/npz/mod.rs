//! SciPy's `.npz` files of sparse matrices: CSR, CSC and COO, with the keys of `scipy.sparse.save_npz`; and batches,
//! with keys of this workspace's own.

mod batch;
mod chunks;
mod deferred_error_writer;
mod rows;
mod stream;
mod write;

pub use batch::{AnyBatch, read_batch, write_batch};
pub(crate) use batch::{batch_format, parse_batch_file};
pub use chunks::ChunkWriter;
pub(crate) use rows::{CsrFile, check_array};
pub(crate) use stream::NpzDecoder;
pub use write::{write_compressed, write_coo, write_csc, write_csr};

use crate::any::{AnyIndices, AnyValues, RoundedIntegers};
use crate::coo_to_csr::coo_to_csr;
use crate::csr_from_entries::{ENTRY_BYTES, check_row_claim, csr_from_triplets};
use crate::npy::{self, ArrayDecoder, Elements, RawArray};
use crate::parallel::join;
use crate::signature::what_it_is;
use crate::source::{expansion_limit, open};
use crate::stream::wrong;
use serde::{Deserialize, Serialize};
use sparse_core::{Axis, Col, Compressed, Coo, Csc, Csr, DType, Error, Host, Index, Result, Row, Scalar};
use std::io::{Cursor, Read, Seek};
use std::path::Path;
use zip::ZipArchive;
use zip::read::ZipFile;

/// The formats of sparse matrices in `.npz` files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NpzFormat {
    /// Compressed by rows.
    Csr,
    /// Compressed by columns.
    Csc,
    /// Coordinates.
    Coo,
}

impl NpzFormat {
    fn from_name(name: &[u8]) -> Result<Self, String> {
        match name {
            b"csr" => Ok(Self::Csr),
            b"csc" => Ok(Self::Csc),
            b"coo" => Ok(Self::Coo),
            name if batch::format_of(name).is_some() => {
                Err(format!("`{}` is a batch of matrices, not one matrix", name.escape_ascii()))
            }
            other => {
                let name = other.escape_ascii();
                Err(format!(
                    "`{name}` is none of csr, csc, coo; SciPy converts it: save_npz(file, load_npz(file).tocsr())"
                ))
            }
        }
    }

    /// `csr`, `csc` or `coo`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Csc => "csc",
            Self::Coo => "coo",
        }
    }

    /// The names of the two arrays of indices in a file.
    fn index_keys(self) -> (&'static str, &'static str) {
        match self {
            Self::Csr | Self::Csc => ("indptr", "indices"),
            Self::Coo => ("row", "col"),
        }
    }
}

/// A sparse matrix from a file: its types are known only at run time, its arrays not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct AnySparse {
    /// The format, which gives the arrays their meaning.
    pub format: NpzFormat,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// Offsets of the rows (CSR) or columns (CSC); rows (COO).
    pub major: AnyIndices,
    /// Columns (CSR, COO); rows (CSC).
    pub minor: AnyIndices,
    /// One value per entry.
    pub values: AnyValues,
}

impl AnySparse {
    /// The type of the values.
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }

    /// The matrix as CSR. Of CSR, order and duplicates stay as they are; of CSC and COO, rows are sorted and duplicates
    /// added.
    ///
    /// ```
    /// use sparse_core::{Csc, Csr};
    /// use sparse_io::npz;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// let csc = Csc::<f32>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![3.0, 1.0])?;
    /// npz::write_csc(&path, &csc)?;
    /// let csr: Csr<f64> = npz::read(&path)?.into_csr()?; // another format, another type
    /// assert!(csr.triplets().eq([(0, 1, 1.0), (1, 0, 3.0)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the checked constructors and of [`AnyValues::into_typed`] and [`AnyIndices::into_typed`].
    pub fn into_csr<T: Scalar, I: Index, O: Index>(self) -> Result<Csr<T, Host, I, O>> {
        match self.format {
            NpzFormat::Csr => self.into_compressed(),
            NpzFormat::Csc => {
                let csc: Csc<T, Host, I, O> = self.into_compressed()?;
                csr_from_triplets(csc.nrows(), csc.ncols(), csc.nnz(), || csc.triplets())
            }
            NpzFormat::Coo => {
                let shape = (self.rows, self.cols);
                O::try_new("rows", self.rows)?;
                check_row_claim(self.rows, size_of::<usize>(), self.values.len().saturating_mul(ENTRY_BYTES))
                    .map_err(|reason| Error::format("csr", reason))?;
                let (rows, cols) = (self.major.into_typed("row")?, self.minor.into_typed("col")?);
                coo_to_csr(shape, (rows, cols, self.values.into_typed()?), false)
            }
        }
    }

    /// The matrix as COO, with entries in the order of the file; duplicates are kept.
    ///
    /// ```
    /// use sparse_core::Coo;
    /// use sparse_io::npz;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// let a = Coo::<f64>::from_triplets(2, 2, [(1, 0, 4.0), (0, 1, 1.0)])?;
    /// npz::write_coo(&path, &a)?;
    /// let read: Coo<f64> = npz::read(&path)?.into_coo()?;
    /// assert!(read.triplets().eq(a.triplets()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`into_csr`](Self::into_csr).
    pub fn into_coo<T: Scalar, I: Index>(self) -> Result<Coo<T, Host, I>> {
        fn coordinates<A: Axis, T: Scalar, I: Index>(sparse: AnySparse) -> Result<Coo<T, Host, I>> {
            let matrix: Compressed<A, T, Host, I, i64> = sparse.into_compressed()?;
            Coo::<T, Host, I>::from_triplets(matrix.nrows(), matrix.ncols(), matrix.triplets())
        }
        match self.format {
            NpzFormat::Csr => coordinates::<Row, T, I>(self),
            NpzFormat::Csc => coordinates::<Col, T, I>(self),
            NpzFormat::Coo => self.into_coordinates(),
        }
    }

    fn into_compressed<A: Axis, T: Scalar, I: Index, O: Index>(self) -> Result<Compressed<A, T, Host, I, O>> {
        let (offsets, indices) = (self.major.into_typed("indptr")?, self.minor.into_typed("indices")?);
        Compressed::<A, T, Host, I, O>::new_unsorted(
            self.rows,
            self.cols,
            offsets,
            indices,
            self.values.into_typed()?,
        )
    }

    fn into_coordinates<T: Scalar, I: Index>(self) -> Result<Coo<T, Host, I>> {
        let (row_idx, col_idx) = (self.major.into_typed("row")?, self.minor.into_typed("col")?);
        Coo::<T, Host, I>::new(self.rows, self.cols, row_idx, col_idx, self.values.into_typed()?)
    }
}

/// Reads a file written by `scipy.sparse.save_npz` or this module.
///
/// ```
/// use sparse_core::{Csr, DType};
/// use sparse_io::npz::{self, NpzFormat};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.npz");
/// npz::write_csr(&path, &Csr::<f32>::identity(3)?)?;
/// let any = npz::read(&path)?;
/// assert_eq!((any.format, any.dtype(), any.rows), (NpzFormat::Csr, DType::F32, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::File`] if it is not a sound archive of the arrays of a CSR, CSC
/// or COO matrix.
pub fn read(path: impl AsRef<Path>) -> Result<AnySparse> {
    let path = path.as_ref();
    parse_file(path, &open(path)?)
}

/// Reads a matrix from the bytes of a file.
///
/// # Errors
/// As for [`read`].
pub fn parse(bytes: &[u8]) -> Result<AnySparse> {
    parse_file(Path::new("<memory>"), bytes)
}

/// Reads a matrix from the bytes of the file at `path`: of a batch the block-diagonal one.
pub(crate) fn parse_matrix(path: &Path, bytes: &[u8]) -> Result<AnySparse> {
    let format =
        batch_format(bytes).map_err(|reason| Error::File { path: path.into(), line: None, reason })?;
    match format {
        Some(_) => parse_batch_file(path, bytes)?.into_block_diagonal(),
        None => parse_file(path, bytes),
    }
}

/// Reads a matrix from the bytes of the file at `path`.
pub(crate) fn parse_file(path: &Path, bytes: &[u8]) -> Result<AnySparse> {
    parse_archive(bytes).map_err(|reason| Error::File { path: path.into(), line: None, reason })
}

fn parse_archive(bytes: &[u8]) -> Result<AnySparse, String> {
    let (format, [rows, cols]) = described(&mut Archive::open(bytes)?)?;
    let (major, minor) = format.index_keys();
    let (indices, values) = join(
        || {
            let mut archive = Archive::open(bytes)?;
            Ok::<_, String>((archive.indices(major)?, archive.indices(minor)?))
        },
        || Archive::open(bytes)?.values(),
    );
    let (major, minor) = indices?;
    Ok(AnySparse { format, rows, cols, major, minor, values: values? })
}

/// The format and the shape of the matrix in an archive, whose arrays claim the lengths that these need.
fn described(archive: &mut Archive<impl Read + Seek>) -> Result<(NpzFormat, [usize; 2]), String> {
    let format = archive.describe("format", |array| NpzFormat::from_name(&array.text()?))?;
    let shape @ [rows, cols] = archive.shape()?;
    let (major, minor) = format.index_keys();
    let entries = archive.length("data")?;
    let offsets = match format {
        NpzFormat::Csr => rows.saturating_add(1),
        NpzFormat::Csc => cols.saturating_add(1),
        NpzFormat::Coo => entries,
    };
    let matrix = format!("a {} matrix of shape {shape:?} with {entries} entries", format.name());
    archive.check_lengths(&matrix, &[(minor, entries), (major, offsets)])?;
    Ok((format, shape))
}

/// The type of the values of a file.
pub(crate) fn value_type(bytes: &[u8]) -> Result<DType, String> {
    npy::value_type(&Archive::open(bytes)?.head("data")?)
}

/// The integers of a file, of one matrix or of a batch, that `dtype` does not represent.
pub(crate) fn rounded_integers(bytes: &[u8], dtype: DType) -> Result<Option<RoundedIntegers>, String> {
    let mut archive = Archive::open(bytes)?;
    if !npy::holds_integers(&archive.head("data")?)? {
        return Ok(None);
    }
    match batch::format_in(&mut archive)? {
        Some(_) => batch::described(&mut archive).map(drop)?,
        None => described(&mut archive).map(drop)?,
    }
    Ok(archive.values()?.integers_rounded_by(dtype))
}

/// Rows, columns and entries of the matrix in a file, of a batch those of the block-diagonal one.
pub(crate) fn claim(bytes: &[u8]) -> Result<(usize, usize, usize), String> {
    let mut archive = Archive::open(bytes)?;
    if batch::format_in(&mut archive)?.is_some() {
        let shape @ [count, rows, cols] = archive.shape()?;
        let all = |extent: usize| {
            extent
                .checked_mul(count)
                .ok_or_else(|| format!("a batch of shape {shape:?} is too large to count"))
        };
        return Ok((all(rows)?, all(cols)?, archive.length("data")?));
    }
    archive.describe("format", |array| NpzFormat::from_name(&array.text()?))?;
    let [rows, cols] = archive.shape()?;
    Ok((rows, cols, archive.length("data")?))
}

/// Entries and offsets of the matrix or the batch in a file.
pub(crate) fn claimed_lengths(bytes: &[u8]) -> Result<(usize, usize), String> {
    let mut archive = Archive::open(bytes)?;
    let mut offsets = 0_usize;
    for key in ["indptr", "member_ptr"] {
        if archive.zip.index_for_name(&format!("{key}.npy")).is_some() {
            offsets = offsets.saturating_add(archive.length(key)?);
        }
    }
    Ok((archive.length("data")?, offsets))
}

/// More bytes than a format's name or a shape takes.
const DESCRIPTION_BYTES: usize = 1 << 10;

/// Bytes that are read at once, few enough to stay in the cache.
const BLOCK_BYTES: usize = 64 << 10;

/// A zip file of `.npy` files.
struct Archive<R> {
    zip: ZipArchive<R>,
    limit: usize,
}

impl<'a> Archive<Cursor<&'a [u8]>> {
    fn open(bytes: &'a [u8]) -> Result<Self, String> {
        Self::new(Cursor::new(bytes), bytes.len()).map_err(|reason| reason + &what_it_is(bytes, b"PK"))
    }
}

impl<R: Read + Seek> Archive<R> {
    /// The archive in a file of `length` bytes.
    fn new(file: R, length: usize) -> Result<Self, String> {
        let zip = ZipArchive::new(file).map_err(|error| format!("not a sound zip file: {error}"))?;
        Ok(Self { zip, limit: expansion_limit(length) })
    }

    /// The array `key`, which says what the others are, interpreted by `interpret`.
    fn describe<A>(
        &mut self,
        key: &str,
        interpret: impl Fn(&RawArray<'_>) -> Result<A, String>,
    ) -> Result<A, String> {
        let array = RawArray::read(self.member(key)?, DESCRIPTION_BYTES).and_then(|array| interpret(&array));
        array.map_err(|reason| format!("`{key}`: {reason}"))
    }

    /// The array `key` of indices.
    fn indices(&mut self, key: &str) -> Result<AnyIndices, String> {
        match self.elements(key, true)? {
            Elements::Indices(indices) => Ok(indices),
            Elements::Values(_) => Err(format!("`{key}` has values where indices are needed")),
        }
    }

    /// The array `data`.
    fn values(&mut self) -> Result<AnyValues, String> {
        match self.elements("data", false)? {
            Elements::Values(values) => Ok(values),
            Elements::Indices(_) => Err("`data` has indices where values are needed".into()),
        }
    }

    fn elements(&mut self, key: &str, are_indices: bool) -> Result<Elements, String> {
        let limit = self.limit;
        decoded(self.member(key)?, are_indices, limit).map_err(|error| match error {
            Error::File { reason, .. } => format!("`{key}`: {reason}"),
            other => format!("`{key}`: {other}"),
        })
    }

    /// The number of elements that the array `key` claims.
    fn length(&mut self, key: &str) -> Result<usize, String> {
        npy::vector_length(&self.head(key)?).map_err(|reason| format!("`{key}`: {reason}"))
    }

    /// Fails unless these arrays claim so many elements, which `matrix` needs.
    fn check_lengths(&mut self, matrix: &str, lengths: &[(&str, usize)]) -> Result<(), String> {
        for &(key, needed) in lengths {
            let found = self.length(key)?;
            if found != needed {
                return Err(format!("`{key}` has {found} elements where {matrix} needs {needed}"));
            }
        }
        Ok(())
    }

    /// The start of the array `key`, at least its header.
    fn head(&mut self, key: &str) -> Result<Vec<u8>, String> {
        let mut head = Vec::new();
        let read = self.member(key)?.take(npy::HEADER_BYTES).read_to_end(&mut head);
        read.map_err(|error| format!("`{key}`: {error}"))?;
        Ok(head)
    }

    /// The array `shape`, of `N` sizes.
    fn shape<const N: usize>(&mut self) -> Result<[usize; N], String> {
        extents(self.describe("shape", |array| array.indices())?)
    }

    /// The file `key.npy`, still compressed.
    fn member(&mut self, key: &str) -> Result<ZipFile<'_, R>, String> {
        self.zip.by_name(&format!("{key}.npy")).map_err(|error| format!("`{key}`: {error}"))
    }
}

/// The elements of a 1-D array in a file, converted block by block as they are read, in at most `limit` bytes.
fn decoded(mut file: impl Read, are_indices: bool, limit: usize) -> Result<Elements> {
    let mut left = limit;
    let mut reserve = |bytes| {
        let too_many =
            || wrong(format!("its elements take more than the {limit} bytes that are read at most"));
        left = left.checked_sub(bytes).ok_or_else(too_many)?;
        Ok(())
    };
    let (mut decoder, mut block) = (ArrayDecoder::new(are_indices), vec![0; BLOCK_BYTES]);
    loop {
        match file.read(&mut block).map_err(|error| wrong(error.to_string()))? {
            0 => return decoder.finish(&mut reserve),
            length => decoder.push(&block[..length], &mut reserve)?,
        }
    }
}

/// The sizes of a shape.
fn extents<const N: usize>(shape: AnyIndices) -> Result<[usize; N], String> {
    let shape = shape.into_typed::<i64>("shape").map_err(|error| error.to_string())?;
    let extents: Result<Vec<usize>, _> = shape.iter().map(|&extent| extent.try_into()).collect();
    let extents = extents.ok().and_then(|extents| extents.try_into().ok());
    extents.ok_or_else(|| format!("the shape is {shape:?}, not {N} sizes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_in_blocks_of_any_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        for nnz in [0, 1, BLOCK_BYTES / 8 - 8, BLOCK_BYTES / 8, 3 * BLOCK_BYTES / 8 + 5] {
            let triplets = (0..nnz).map(|k| (k, k % 7, k as f64 + 0.5));
            let a = Coo::<f64>::from_triplets(nnz + 1, 7, triplets).unwrap();
            write_coo(&path, &a).unwrap();
            let found: Coo<f64> = read(&path).unwrap().into_coo().unwrap();
            assert!(found.triplets().eq(a.triplets()), "{nnz} entries");
        }
    }

    #[test]
    fn no_more_memory_is_taken_than_the_limit() {
        let (header, elements) = npy::indices_to_bytes(&[7_i32; 100]);
        let file = [&header, elements].concat();
        let Elements::Indices(AnyIndices::I32(indices)) = decoded(&file[..], true, 400).unwrap() else {
            panic!("other elements than indices")
        };
        assert_eq!(indices, [7; 100]);
        let error = decoded(&file[..], true, 399).unwrap_err().to_string();
        assert!(error.contains("more than the 399 bytes that are read at most"), "{error}");
    }
}
