//! NumPy's `.npy` arrays: `f2`, `f4`, `f8`, `c8`, `c16`, integers and `bool`, of either byte order, in C or Fortran
//! order, of one to three dimensions. Unless another type is requested, integers and `bool` are read as `f64`, and `f2`
//! as `f32`.

mod element;
mod header;
mod layout;
mod mapped;
mod raw;
mod stream;
mod write;

pub use header::show_shape;
pub use layout::{Layout, is_boolean, layout};
pub use mapped::MappedArray;
pub use write::{header, write, write_index_rows, write_indices};

pub(crate) use header::HEADER_BYTES;
pub(crate) use layout::{element_count, extents, holds_integers, matrix_size, value_type, vector_length};
pub(crate) use raw::RawArray;
pub(crate) use stream::{ArrayDecoder, DenseDecoder, Elements};
pub(crate) use write::{
    ArrayBytes, index_header, indices_to_bytes, text_to_bytes, true_to_bytes, values_to_bytes,
};

use crate::any::{AnyValues, RoundedIntegers};
use crate::source::open;
use header::{Header, check_one_dimension};
use sparse_core::{DType, Dense, Error, Order, Result, Scalar};
use std::io::Read;
use std::path::Path;

/// An array of a `.npy` file.
#[derive(Debug, Clone, PartialEq)]
pub struct NpyArray {
    /// The extents, the slowest first if the order is row-major.
    pub shape: Vec<usize>,
    /// Row-major is C order, column-major Fortran order.
    pub order: Order,
    /// The elements in the order of the file.
    pub values: AnyValues,
}

impl NpyArray {
    /// The array as a dense matrix of `T`, rounded to nearest; a 1-D array is a column.
    ///
    /// ```
    /// use sparse_core::{Dense, Order};
    /// use sparse_io::{any::AnyValues, npy::NpyArray};
    ///
    /// let values = AnyValues::F32(vec![1.0, 2.0, 3.0]);
    /// let vector = NpyArray { shape: vec![3], order: Order::RowMajor, values };
    /// let column: Dense<f64> = vector.into_dense()?;
    /// assert_eq!((column.nrows(), column.ncols()), (3, 1));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are three dimensions; those of [`AnyValues::into_typed`].
    pub fn into_dense<T: Scalar>(self) -> Result<Dense<T>> {
        let (rows, cols) = match self.shape[..] {
            [rows] => (rows, 1),
            [rows, cols] => (rows, cols),
            _ => {
                return Err(Error::shape(
                    "npy",
                    format_args!("shape {:?} is not that of a matrix", self.shape),
                ));
            }
        };
        Dense::new(self.values.into_typed()?, rows, cols, self.order)
    }

    /// The elements of a 1-D array.
    pub(crate) fn into_vector(self) -> Result<AnyValues, String> {
        check_one_dimension(&self.shape)?;
        Ok(self.values)
    }
}

/// Reads an array.
///
/// ```
/// use sparse_core::Order;
/// use sparse_io::{any::AnyValues, npy};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.npy");
/// npy::write(&path, &[1.0_f64, 2.0, 3.0], &[3], Order::RowMajor)?;
/// let array = npy::read(&path)?;
/// assert_eq!((array.shape, array.values), (vec![3], AnyValues::F64(vec![1.0, 2.0, 3.0])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::File`] if it is not a sound `.npy` file of a known type and of
/// one to three dimensions.
pub fn read(path: impl AsRef<Path>) -> Result<NpyArray> {
    let path = path.as_ref();
    parse_file(path, &open(path)?)
}

/// Reads an array from a stream, to its end; errors call it `name`.
///
/// # Errors
/// As for [`read`].
pub fn read_from(name: impl AsRef<Path>, mut reader: impl Read) -> Result<NpyArray> {
    let (path, mut bytes) = (name.as_ref(), Vec::new());
    reader.read_to_end(&mut bytes).map_err(|source| Error::Io { path: path.into(), source })?;
    parse_file(path, &bytes)
}

/// Reads an array from the bytes of a file.
///
/// # Errors
/// As for [`read`].
pub fn parse(bytes: &[u8]) -> Result<NpyArray> {
    parse_file(Path::new("<memory>"), bytes)
}

/// Reads an array from the bytes of the file at `path`.
pub(crate) fn parse_file(path: &Path, bytes: &[u8]) -> Result<NpyArray> {
    let array = RawArray::parse(bytes).and_then(|raw| {
        raw.header.check_dimensions()?;
        let Header { shape, order, .. } = &raw.header;
        Ok(NpyArray { shape: shape.clone(), order: *order, values: raw.values()? })
    });
    array.map_err(|reason| Error::File { path: path.into(), line: None, reason })
}

/// The integers of an array that `dtype` does not represent.
pub(crate) fn rounded_integers(bytes: &[u8], dtype: DType) -> Result<Option<RoundedIntegers>, String> {
    if !holds_integers(bytes)? {
        return Ok(None);
    }
    Ok(RawArray::parse(bytes)?.values()?.integers_rounded_by(dtype))
}
