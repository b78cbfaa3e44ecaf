//! Arrays of `.npy` files that are read in parts.

use super::element::Element;
use super::header::Header;
use crate::any::RoundedIntegers;
use crate::source::{Bytes, open};
use sparse_core::{DType, Error, Order, Result, Scalar};
use std::path::{Path, PathBuf};

/// Elements that are converted at a time where all are scanned.
const PART_ELEMENTS: usize = 1 << 16;

/// A memory-mapped `.npy` file whose elements are converted on demand.
///
/// ```
/// use sparse_core::Order;
/// use sparse_io::npy::{self, MappedArray};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.npy");
/// npy::write(&path, &[1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2], Order::RowMajor)?;
/// let array = MappedArray::open(&path)?;
/// let mut second_column = [0.0_f32; 3];
/// array.read(1, 2, &mut second_column)?;
/// assert_eq!((array.shape(), second_column), (&[3, 2][..], [2.0, 4.0, 6.0]));
/// assert!(array.read(2, 2, &mut second_column).is_err()); // there is no element 6
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MappedArray {
    path: PathBuf,
    bytes: Bytes,
    data_start: usize,
    header: Header,
    element: Element,
}

impl MappedArray {
    /// Maps a file and checks its header and its length.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read; [`Error::File`] if it is not a sound `.npy` file of a known type.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = open(path)?;
        let parsed = Header::parse(&bytes).and_then(|(header, data)| {
            let element = Element::parse(&header.descr)?;
            header.check_length(data.len())?;
            Ok((bytes.len() - data.len(), header, element))
        });
        let (data_start, header, element) =
            parsed.map_err(|reason| Error::File { path: path.into(), line: None, reason })?;
        Ok(Self { path: path.into(), bytes, data_start, header, element })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The extents, the slowest first if the order is row-major.
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// Row-major is C order, column-major Fortran order.
    pub fn order(&self) -> Order {
        self.header.order
    }

    /// The type of the values: `f64` for integers and `bool`, `f32` for halves.
    pub fn dtype(&self) -> DType {
        self.element.dtype()
    }

    /// Reads the elements `start`, `start + stride`, `start + 2 * stride`, …, as the file orders them, rounded to
    /// nearest.
    ///
    /// # Errors
    /// [`Error::Shape`] if the file has fewer elements; [`Error::File`] if its values are complex and `T` is not, or a
    /// finite value becomes infinite.
    pub fn read<T: Scalar>(&self, start: usize, stride: usize, out: &mut [T]) -> Result<()> {
        let size = self.element.bytes();
        let data = &self.bytes[self.data_start..];
        let last = out.len().checked_sub(1).map(|steps| steps.checked_mul(stride)?.checked_add(start));
        match last {
            None => return Ok(()),
            Some(Some(last)) if last < data.len() / size => {}
            Some(_) => {
                let (path, found, len) = (self.path.display(), data.len() / size, out.len());
                let reason = format!(
                    "{path} has {found} elements; {len} from {start} in steps of {stride} are not all there"
                );
                return Err(Error::shape("npy", reason));
            }
        }
        let bytes = &data[start * size..];
        if stride != 1 {
            let chosen = (0..out.len()).map(|k| &bytes[k * stride * size..][..size]);
            return self.convert(&chosen.flatten().copied().collect::<Vec<u8>>(), out);
        }
        self.convert(&bytes[..size * out.len()], out)
    }

    /// The integers that `T` does not represent, and which reading rounds; `None` if there are none, or if the elements
    /// are not integers.
    ///
    /// ```
    /// # use sparse_io::npy::{self, MappedArray};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("x.npy");
    /// npy::write_indices(&path, &[1, 16_777_217])?;
    /// let array = MappedArray::open(&path)?;
    /// assert_eq!(array.rounded_integers::<f32>().and_then(|rounded| rounded.position), Some(1));
    /// assert_eq!(array.rounded_integers::<f64>(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rounded_integers<T: Scalar>(&self) -> Option<RoundedIntegers> {
        self.integers_rounded_by(T::DTYPE)
    }

    fn integers_rounded_by(&self, dtype: DType) -> Option<RoundedIntegers> {
        if !self.element.is_integer() {
            return None;
        }
        let size = self.element.bytes();
        let parts = self.bytes[self.data_start..].chunks(PART_ELEMENTS * size).enumerate();
        let rounded = parts.filter_map(|(part, bytes)| {
            let rounded = self.element.values(bytes).integers_rounded_by(dtype)?;
            let position = rounded.position.map(|position| part * PART_ELEMENTS + position);
            Some(RoundedIntegers { position, ..rounded })
        });
        rounded.reduce(|first, next| RoundedIntegers { count: first.count + next.count, ..first })
    }

    /// Converts the bytes of as many elements as `out` has.
    fn convert<T: Scalar>(&self, bytes: &[u8], out: &mut [T]) -> Result<()> {
        if self.element.is_native::<T>() {
            bytemuck::cast_slice_mut(out).copy_from_slice(bytes);
            return Ok(());
        }
        let values = self.element.values(bytes).into_typed::<T>().map_err(|error| Error::File {
            path: self.path.clone(),
            line: None,
            reason: error.to_string(),
        })?;
        out.copy_from_slice(&values);
        Ok(())
    }
}
