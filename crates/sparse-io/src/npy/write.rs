//! Writing arrays, and their bytes for writers of archives.

use super::header::Header;
use crate::output::Output;
use sparse_core::error::checked_product;
use sparse_core::{DType, Error, Index, Order, Result, Scalar};
use std::io::{self, Write};

/// NumPy's mark of this machine's byte order.
const NATIVE: char = if cfg!(target_endian = "little") { '<' } else { '>' };

/// Writes an array; `values` are in the given order.
///
/// ```
/// use sparse_core::Order;
/// use sparse_io::npy;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("x.npy");
/// npy::write(&path, &[1.0_f32, 2.0, 3.0, 4.0], &[2, 2], Order::ColMajor)?;
/// assert!(npy::write(&path, &[1.0_f32], &[2, 2], Order::ColMajor).is_err()); // one value for four
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be written; [`Error::Format`] if the number of values is not the product of the
/// extents; [`Error::Unsupported`] for `f16` and `bf16`.
pub fn write<'a, T: Scalar>(
    output: impl Into<Output<'a>>,
    values: &[T],
    shape: &[usize],
    order: Order,
) -> Result<()> {
    let needed = shape.iter().try_fold(1, |product, &extent| checked_product("elements", product, extent))?;
    if values.len() != needed {
        let reason = format!("{} values where shape {shape:?} needs {needed}", values.len());
        return Err(Error::format("npy", reason));
    }
    let bytes = values_to_bytes(values, shape, order)?;
    output.into().write(|file| write_array(file, &bytes))
}

/// Writes a 1-D array of integers: a permutation, say, or labels.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("p.npy");
/// sparse_io::npy::write_indices(&path, &[2_i64, 0, 1])?;
/// assert_eq!(sparse_io::npy::read(&path)?.shape, [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be written.
pub fn write_indices<'a, I: Index>(output: impl Into<Output<'a>>, indices: &[I]) -> Result<()> {
    output.into().write(|file| write_array(file, &indices_to_bytes(indices)))
}

/// Writes a 2-D array of integers, which are given row by row.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("arg.npy");
/// sparse_io::npy::write_index_rows(&path, &[2_i64, 0, 1, 1], (2, 2))?;
/// assert_eq!(sparse_io::npy::read(&path)?.shape, [2, 2]);
/// assert!(sparse_io::npy::write_index_rows(&path, &[2_i64, 0, 1], (2, 2)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Format`] if the indices are not `rows` rows of `cols`; [`Error::Io`] if the file cannot be written.
pub fn write_index_rows<'a, I: Index>(
    output: impl Into<Output<'a>>,
    indices: &[I],
    (rows, cols): (usize, usize),
) -> Result<()> {
    if rows.checked_mul(cols) != Some(indices.len()) {
        let reason = format!("{} indices are not {rows} rows of {cols}", indices.len());
        return Err(Error::format("npy", reason));
    }
    output.into().write(|file| write_array(file, &index_array(indices, vec![rows, cols])))
}

/// The header and the data of an array to write.
pub(crate) type ArrayBytes<'a> = (Vec<u8>, &'a [u8]);

/// An array of values.
pub(crate) fn values_to_bytes<'a, T: Scalar>(
    values: &'a [T],
    shape: &[usize],
    order: Order,
) -> Result<ArrayBytes<'a>> {
    Ok((header::<T>(shape, order)?, bytemuck::cast_slice(values)))
}

/// The bytes of an array in front of its values, for programs that send the two apart.
///
/// ```
/// use sparse_core::Order;
/// use sparse_io::npy;
///
/// let mut array = npy::header::<f64>(&[1], Order::RowMajor)?;
/// array.extend(7_f64.to_ne_bytes());
/// assert_eq!(npy::parse(&array)?.shape, [1]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`] for `f16` and `bf16`.
pub fn header<T: Scalar>(shape: &[usize], order: Order) -> Result<Vec<u8>> {
    let code = match T::DTYPE {
        DType::F32 => "f4",
        DType::F64 => "f8",
        DType::C32 => "c8",
        DType::C64 => "c16",
        DType::F16 | DType::Bf16 => {
            return Err(Error::unsupported(
                format_args!("writing {} to .npy", T::DTYPE),
                "convert to f32 first",
            ));
        }
    };
    let header = Header { descr: format!("{NATIVE}{code}"), order, shape: shape.to_vec() };
    Ok(header.to_bytes())
}

/// A 1-D array of indices.
pub(crate) fn indices_to_bytes<I: Index>(indices: &[I]) -> ArrayBytes<'_> {
    index_array(indices, vec![indices.len()])
}

fn index_array<I: Index>(indices: &[I], shape: Vec<usize>) -> ArrayBytes<'_> {
    (index_header::<I>(shape), bytemuck::cast_slice(indices))
}

/// The bytes of an array of indices in front of them.
pub(crate) fn index_header<I: Index>(shape: Vec<usize>) -> Vec<u8> {
    let descr = format!("{NATIVE}i{}", size_of::<I>());
    Header { descr, order: Order::RowMajor, shape }.to_bytes()
}

/// A scalar that is a string of bytes.
pub(crate) fn text_to_bytes(text: &str) -> ArrayBytes<'_> {
    let header = Header { descr: format!("|S{}", text.len()), order: Order::RowMajor, shape: vec![] };
    (header.to_bytes(), text.as_bytes())
}

/// A scalar that is true.
pub(crate) fn true_to_bytes() -> ArrayBytes<'static> {
    let header = Header { descr: "|b1".into(), order: Order::RowMajor, shape: vec![] };
    (header.to_bytes(), &[1])
}

/// Writes header and data.
fn write_array(out: &mut impl Write, (header, data): &ArrayBytes<'_>) -> io::Result<()> {
    out.write_all(header)?;
    out.write_all(data)
}
