//! NumPy's `.npy` arrays: `f4`, `f8`, `c8`, `c16`, in C or Fortran order, of one to three dimensions. Arrays of
//! `i4` and `i8` are read as `f64`.

mod header;

use crate::any::{AnyIndices, AnyValues};
use crate::output::Output;
use crate::source::open;
use bytemuck::Pod;
use header::Header;
use sparse_core::error::checked_product;
use sparse_core::{DType, Dense, Error, Index, Order, Result, Scalar};
use std::io::{self, Write};
use std::path::Path;

/// How NumPy marks this machine's byte order.
const NATIVE: char = if cfg!(target_endian = "little") { '<' } else { '>' };

/// An array of a `.npy` file.
#[derive(Debug, Clone, PartialEq)]
pub struct NpyArray {
    /// The extents, the slowest first where the order is row-major.
    pub shape: Vec<usize>,
    /// Row-major is C order, column-major Fortran order.
    pub order: Order,
    /// The elements in the order of the file.
    pub values: AnyValues,
}

impl NpyArray {
    /// The array as a dense matrix of `T`, rounded to nearest (rule T2); a 1-D array is a column.
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
}

/// Reads an array.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::File`] if it is not a sound `.npy` file of a known type and of
/// one to three dimensions.
pub fn read(path: impl AsRef<Path>) -> Result<NpyArray> {
    let path = path.as_ref();
    parse_file(path, &open(path)?)
}

/// As [`read`], from the bytes of a file.
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: &[u8]) -> Result<NpyArray> {
    parse_file(Path::new("<memory>"), bytes)
}

/// As `read`, from the bytes of the file at `path`.
pub(crate) fn parse_file(path: &Path, bytes: &[u8]) -> Result<NpyArray> {
    let array = RawArray::parse(bytes).and_then(|raw| {
        let Header { shape, order, .. } = &raw.header;
        if !(1..=3).contains(&shape.len()) {
            return Err(format!("the array has {} dimensions, not one to three", shape.len()));
        }
        Ok(NpyArray { shape: shape.clone(), order: *order, values: raw.values()? })
    });
    array.map_err(|reason| Error::File { path: path.into(), line: None, reason })
}

/// The type of the values of an array, from its header alone.
pub(crate) fn value_type(bytes: &[u8]) -> Result<DType, String> {
    let (header, _) = header::parse(bytes)?;
    dtype_of(&header.descr)
}

/// Writes an array; `values` stand in the given order.
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

/// The header and the data of an array that is to be written.
pub(crate) type ArrayBytes<'a> = (Vec<u8>, &'a [u8]);

/// An array of values.
pub(crate) fn values_to_bytes<'a, T: Scalar>(
    values: &'a [T],
    shape: &[usize],
    order: Order,
) -> Result<ArrayBytes<'a>> {
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
    Ok((header::to_bytes(&header), bytemuck::cast_slice(values)))
}

/// A 1-D array of indices.
pub(crate) fn indices_to_bytes<I: Index>(indices: &[I]) -> ArrayBytes<'_> {
    let descr = format!("{NATIVE}i{}", size_of::<I>());
    let header = Header { descr, order: Order::RowMajor, shape: vec![indices.len()] };
    (header::to_bytes(&header), bytemuck::cast_slice(indices))
}

/// A scalar that is a string of bytes.
pub(crate) fn text_to_bytes(text: &str) -> ArrayBytes<'_> {
    let header = Header { descr: format!("|S{}", text.len()), order: Order::RowMajor, shape: vec![] };
    (header::to_bytes(&header), text.as_bytes())
}

/// Writes header and data.
pub(crate) fn write_array(out: &mut impl Write, (header, data): &ArrayBytes<'_>) -> io::Result<()> {
    out.write_all(header)?;
    out.write_all(data)
}

/// An array whose elements are still bytes.
#[derive(Debug)]
pub(crate) struct RawArray<'a> {
    header: Header,
    data: &'a [u8],
}

impl<'a> RawArray<'a> {
    /// Splits a file into header and data.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let (header, data) = header::parse(bytes)?;
        Ok(Self { header, data })
    }

    /// The elements, as values.
    pub(crate) fn values(&self) -> Result<AnyValues, String> {
        Ok(match code_of(&self.header.descr)? {
            "f4" => AnyValues::F32(self.elements()?),
            "f8" => AnyValues::F64(self.elements()?),
            "c8" => AnyValues::C32(self.elements()?),
            "c16" => AnyValues::C64(self.elements()?),
            "i4" => AnyValues::F64(self.elements::<i32>()?.into_iter().map(f64::from).collect()),
            "i8" => AnyValues::F64(self.elements::<i64>()?.into_iter().map(|value| value as f64).collect()),
            _ => return Err(unknown_type(&self.header.descr)),
        })
    }

    /// The elements of a 1-D array, as indices.
    pub(crate) fn indices(&self) -> Result<AnyIndices, String> {
        if self.header.shape.len() != 1 {
            return Err(format!("the array has {} dimensions, not one", self.header.shape.len()));
        }
        match code_of(&self.header.descr)? {
            "i4" => Ok(AnyIndices::I32(self.elements()?)),
            "i8" => Ok(AnyIndices::I64(self.elements()?)),
            _ => Err(format!("the type is `{}`, neither i4 nor i8", self.header.descr)),
        }
    }

    /// The one string of bytes in the array.
    pub(crate) fn text(&self) -> Result<&'a [u8], String> {
        let descr = &self.header.descr;
        if *descr == format!("|S{}", self.data.len()) {
            return Ok(self.data);
        }
        Err(format!("{} bytes of type `{descr}` are not one string", self.data.len()))
    }

    /// A copy of the data, whose length must be what the shape claims.
    fn elements<T: Pod>(&self) -> Result<Vec<T>, String> {
        let shape = &self.header.shape;
        let claimed = shape.iter().try_fold(size_of::<T>(), |bytes, &extent| bytes.checked_mul(extent));
        if claimed != Some(self.data.len()) {
            let needed = claimed.map_or("more than can be counted".into(), |bytes| bytes.to_string());
            return Err(format!(
                "shape {shape:?} needs {needed} bytes, but {} follow the header",
                self.data.len()
            ));
        }
        let mut elements = vec![T::zeroed(); self.data.len() / size_of::<T>()];
        bytemuck::cast_slice_mut(&mut elements).copy_from_slice(self.data);
        Ok(elements)
    }
}

/// The code in a type such as `<f8`, which must be in this machine's byte order.
fn code_of(descr: &str) -> Result<&str, String> {
    match descr.split_at_checked(1) {
        Some((order, code)) if order.starts_with([NATIVE, '=']) => Ok(code),
        Some((">" | "<", _)) => {
            Err(format!("the type `{descr}` has not this machine's byte order `{NATIVE}`"))
        }
        _ => Err(unknown_type(descr)),
    }
}

fn dtype_of(descr: &str) -> Result<DType, String> {
    match code_of(descr)? {
        "f4" => Ok(DType::F32),
        "f8" | "i4" | "i8" => Ok(DType::F64),
        "c8" => Ok(DType::C32),
        "c16" => Ok(DType::C64),
        _ => Err(unknown_type(descr)),
    }
}

fn unknown_type(descr: &str) -> String {
    format!("the type is `{descr}`, none of f4, f8, c8, c16, i4, i8")
}
