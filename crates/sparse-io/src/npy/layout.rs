//! The type and the shape of an array, from its header alone.

use super::element::Element;
use super::header::{Header, show_shape};
use crate::source::open;
use sparse_core::{DType, Error, Order, Result};
use std::path::Path;

/// The shape, the order and the type of an array, as its header gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The extents, as in [`NpyArray::shape`](super::NpyArray::shape).
    pub shape: Vec<usize>,
    /// The order, as in [`NpyArray::order`](super::NpyArray::order).
    pub order: Order,
    /// The type in which the values are read: `f64` for integers and `bool`, `f32` for halves.
    pub dtype: DType,
    /// Bytes of the whole file.
    pub file_bytes: u64,
}

/// Reads the header of an array from the first bytes of a file; 4096 suffice for those that NumPy writes.
///
/// ```
/// use sparse_core::{DType, Order};
/// use sparse_io::npy;
///
/// let head = npy::header::<f32>(&[2, 3], Order::RowMajor)?;
/// let layout = npy::layout(&head)?;
/// assert_eq!((layout.shape, layout.dtype), (vec![2, 3], DType::F32));
/// assert_eq!(layout.file_bytes, head.len() as u64 + 24);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::File`] if the header is not sound, or of an array of another type or number of dimensions than
/// [`read`](super::read) takes.
pub fn layout(head: &[u8]) -> Result<Layout> {
    let layout = Header::parse(head).and_then(|(header, data)| {
        header.check_dimensions()?;
        let dtype = Element::parse(&header.descr)?.dtype();
        let header_bytes = head.len() - data.len();
        let file_bytes = (header_bytes as u64).saturating_add(header.data_bytes()? as u64);
        Ok(Layout { shape: header.shape, order: header.order, dtype, file_bytes })
    });
    layout.map_err(|reason| Error::File { path: "<memory>".into(), line: None, reason })
}

/// The type of the values of an array, from its header alone.
pub(crate) fn value_type(bytes: &[u8]) -> Result<DType, String> {
    let (header, _) = Header::parse(bytes)?;
    Ok(Element::parse(&header.descr)?.dtype())
}

/// True if the values of an array are integers or `bool`, from its header alone.
pub(crate) fn holds_integers(bytes: &[u8]) -> Result<bool, String> {
    let (header, _) = Header::parse(bytes)?;
    Ok(Element::parse(&header.descr)?.is_integer())
}

/// Rows, columns and elements of a matrix, or of a vector as a column, from the header alone.
pub(crate) fn matrix_size(bytes: &[u8]) -> Result<(usize, usize, usize), String> {
    let (header, _) = Header::parse(bytes)?;
    let (rows, cols) = match header.shape[..] {
        [rows] => (rows, 1),
        [rows, cols] => (rows, cols),
        _ => return Err(format!("shape {} is not that of a matrix", show_shape(&header.shape))),
    };
    Ok((rows, cols, header.elements()?))
}

/// The extents of an array, from its header alone.
pub(crate) fn extents(bytes: &[u8]) -> Result<Vec<usize>, String> {
    Ok(Header::parse(bytes)?.0.shape)
}

/// The number of elements of an array, from its header alone.
pub(crate) fn element_count(bytes: &[u8]) -> Result<usize, String> {
    Header::parse(bytes)?.0.elements()
}

/// The number of elements of a vector, from its header alone.
pub(crate) fn vector_length(bytes: &[u8]) -> Result<usize, String> {
    let (header, _) = Header::parse(bytes)?;
    match header.shape[..] {
        [length] => Ok(length),
        _ => Err(format!("shape {} is not that of a vector", show_shape(&header.shape))),
    }
}

/// True if a file has elements of `bool`, as a mask has.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.npy");
/// sparse_io::npy::write_indices(&path, &[1_i32, 0])?;
/// assert!(!sparse_io::npy::is_boolean(&path)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`read`](super::read).
pub fn is_boolean(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    let bytes = open(path)?;
    let element = Header::parse(&bytes).and_then(|(header, _)| Element::parse(&header.descr));
    let element = element.map_err(|reason| Error::File { path: path.into(), line: None, reason })?;
    Ok(element.is_boolean())
}
