//! NumPy's `.npy` arrays: `f4`, `f8`, `c8`, `c16`, integers and `bool`, of either byte order, in C or Fortran order, of
//! one to three dimensions. Integers and `bool` are read as `f64` unless another type is requested.

mod element;
mod header;
mod mapped;
mod stream;

pub use mapped::MappedArray;
pub(crate) use stream::{ArrayDecoder, DenseDecoder, Elements};

use crate::any::{AnyIndices, AnyValues, RoundedIntegers};
use crate::output::Output;
use crate::source::open;
use element::Element;
use header::Header;
use sparse_core::error::checked_product;
use sparse_core::{DType, Dense, Error, Index, Order, Result, Scalar};
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;

/// More bytes than the header of an array of a plain type takes.
pub(crate) const HEADER_BYTES: u64 = 4096;

/// NumPy's mark of this machine's byte order.
const NATIVE: char = if cfg!(target_endian = "little") { '<' } else { '>' };

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

/// The shape, the order and the type of an array, as its header gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The extents, as in [`NpyArray::shape`].
    pub shape: Vec<usize>,
    /// The order, as in [`NpyArray::order`].
    pub order: Order,
    /// The type in which the values are read: `f64` for integers.
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
/// [`Error::File`] if the header is not sound, or of an array of another type or number of dimensions than [`read`]
/// takes.
pub fn layout(head: &[u8]) -> Result<Layout> {
    let layout = header::parse(head).and_then(|(header, data)| {
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
    let (header, _) = header::parse(bytes)?;
    Ok(Element::parse(&header.descr)?.dtype())
}

/// True if the values of an array are integers or `bool`, from its header alone.
pub(crate) fn holds_integers(bytes: &[u8]) -> Result<bool, String> {
    let (header, _) = header::parse(bytes)?;
    Ok(Element::parse(&header.descr)?.is_integer())
}

/// The integers of an array that `dtype` does not represent.
pub(crate) fn rounded_integers(bytes: &[u8], dtype: DType) -> Result<Option<RoundedIntegers>, String> {
    if !holds_integers(bytes)? {
        return Ok(None);
    }
    Ok(RawArray::parse(bytes)?.values()?.integers_rounded_by(dtype))
}

/// Rows, columns and elements of a matrix, or of a vector as a column, from the header alone.
pub(crate) fn claim(bytes: &[u8]) -> Result<(usize, usize, usize), String> {
    let (header, _) = header::parse(bytes)?;
    let (rows, cols) = match header.shape[..] {
        [rows] => (rows, 1),
        [rows, cols] => (rows, cols),
        _ => return Err(format!("shape {} is not that of a matrix", show_shape(&header.shape))),
    };
    Ok((rows, cols, length(bytes)?))
}

/// The number of elements of an array, from its header alone.
pub(crate) fn length(bytes: &[u8]) -> Result<usize, String> {
    let (header, _) = header::parse(bytes)?;
    if header.shape.contains(&0) {
        return Ok(0);
    }
    let length = header.shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
    length.ok_or_else(|| format!("shape {} has more elements than can be counted", show_shape(&header.shape)))
}

/// The number of elements of a vector, from its header alone.
pub(crate) fn vector_length(bytes: &[u8]) -> Result<usize, String> {
    let (header, _) = header::parse(bytes)?;
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
/// As for [`read`].
pub fn is_boolean(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    let bytes = open(path)?;
    let element = header::parse(&bytes).and_then(|(header, _)| Element::parse(&header.descr));
    let element = element.map_err(|reason| Error::File { path: path.into(), line: None, reason })?;
    Ok(element.is_boolean())
}

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
    Ok(header::to_bytes(&header))
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
    header::to_bytes(&Header { descr, order: Order::RowMajor, shape })
}

/// A scalar that is a string of bytes.
pub(crate) fn text_to_bytes(text: &str) -> ArrayBytes<'_> {
    let header = Header { descr: format!("|S{}", text.len()), order: Order::RowMajor, shape: vec![] };
    (header::to_bytes(&header), text.as_bytes())
}

/// A scalar that is true.
pub(crate) fn true_to_bytes() -> ArrayBytes<'static> {
    let header = Header { descr: "|b1".into(), order: Order::RowMajor, shape: vec![] };
    (header::to_bytes(&header), &[1])
}

/// Writes header and data.
pub(crate) fn write_array(out: &mut impl Write, (header, data): &ArrayBytes<'_>) -> io::Result<()> {
    out.write_all(header)?;
    out.write_all(data)
}

/// An array whose elements are not yet converted from bytes.
#[derive(Debug)]
pub(crate) struct RawArray<'a> {
    header: Header,
    data: Cow<'a, [u8]>,
}

impl<'a> RawArray<'a> {
    /// Splits a file into header and data.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let (header, data) = header::parse(bytes)?;
        Ok(Self { header, data: data.into() })
    }

    /// Reads an array of at most `limit` bytes of data, and at most one byte more than the header claims.
    pub(crate) fn read(mut packed: impl Read, limit: usize) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let error = |error: io::Error| error.to_string();
        packed.by_ref().take(HEADER_BYTES).read_to_end(&mut bytes).map_err(error)?;
        let (header, data) = header::parse(&bytes)?;
        let claimed = header.data_bytes()?;
        if claimed > limit {
            let shape = show_shape(&header.shape);
            return Err(format!("shape {shape} needs {claimed} bytes, but {limit} are read at most"));
        }
        let mut data = data.to_vec();
        let rest = (claimed + 1).saturating_sub(data.len());
        packed.take(rest as u64).read_to_end(&mut data).map_err(error)?;
        if data.len() > claimed {
            let shape = show_shape(&header.shape);
            return Err(format!("shape {shape} needs {claimed} bytes, but more follow the header"));
        }
        Ok(Self { header, data: data.into() })
    }

    /// The array of a range of the elements of a 1-D array, without its data, and the position of the data in the file
    /// of this `head`.
    pub(crate) fn of_range(
        head: &[u8],
        range: Range<usize>,
        limit: usize,
    ) -> Result<(Self, Range<usize>), String> {
        let (header, data) = header::parse(head)?;
        let (size, claimed) = (Element::parse(&header.descr)?.bytes(), header.data_bytes()?);
        if header.shape.len() != 1 || range.end > header.shape[0] || claimed > limit {
            let shape = show_shape(&header.shape);
            return Err(format!("elements {range:?} of shape {shape} in at most {limit} bytes"));
        }
        let first = head.len() - data.len();
        let bytes = first + range.start * size..first + range.end * size;
        Ok((Self { header: Header { shape: vec![range.len()], ..header }, data: Cow::default() }, bytes))
    }

    /// The same array with these data.
    pub(crate) fn with_data(self, data: Vec<u8>) -> Self {
        Self { data: data.into(), ..self }
    }

    /// The elements, as values.
    pub(crate) fn values(&self) -> Result<AnyValues, String> {
        let element = Element::parse(&self.header.descr)?;
        self.check_length()?;
        Ok(element.values(&self.data))
    }

    /// The elements of a 1-D array, as indices.
    pub(crate) fn indices(&self) -> Result<AnyIndices, String> {
        if self.header.shape.len() != 1 {
            return Err(format!("the array has {} dimensions, not one", self.header.shape.len()));
        }
        let element = Element::parse(&self.header.descr)?;
        self.check_length()?;
        let other = || format!("the type is `{}`, neither int32 nor int64", self.header.descr);
        element.indices(&self.data).ok_or_else(other)
    }

    /// The only string in the array: of bytes, or of characters that are ASCII. Zeros at its end are padding.
    pub(crate) fn text(&self) -> Result<Cow<'_, [u8]>, String> {
        let (descr, data) = (&self.header.descr, &self.data);
        if *descr == format!("|S{}", data.len()) {
            return Ok(Cow::Borrowed(&data[..unpadded_length(data)]));
        }
        let (characters, rest) = data.as_chunks::<4>();
        let [little, big] = ["<", ">"].map(|order| format!("{order}U{}", characters.len()));
        let ascii = |number: u32| u8::try_from(number).ok().filter(u8::is_ascii);
        let text = match descr {
            _ if !rest.is_empty() => None,
            _ if *descr == little => characters.iter().map(|&c| ascii(u32::from_le_bytes(c))).collect(),
            _ if *descr == big => characters.iter().map(|&c| ascii(u32::from_be_bytes(c))).collect(),
            _ => None,
        };
        let unpadded = |mut text: Vec<u8>| {
            text.truncate(unpadded_length(&text));
            Cow::Owned(text)
        };
        text.map(unpadded).ok_or_else(|| format!("{} bytes of type `{descr}` are not one string", data.len()))
    }

    /// An error unless the data are as long as the header claims.
    fn check_length(&self) -> Result<(), String> {
        self.header.check_length(self.data.len())
    }
}

impl Header {
    /// An error unless the array has one to three dimensions.
    fn check_dimensions(&self) -> Result<(), String> {
        match self.shape.len() {
            1..=3 => Ok(()),
            others => Err(format!("the array has {others} dimensions, not one to three")),
        }
    }

    /// An error unless `found` bytes of data are as many as the header claims.
    fn check_length(&self, found: usize) -> Result<(), String> {
        let claimed = self.data_bytes()?;
        if claimed == found {
            return Ok(());
        }
        let shape = show_shape(&self.shape);
        Err(format!("shape {shape} needs {claimed} bytes, but {found} follow the header"))
    }

    /// Bytes of all elements.
    fn data_bytes(&self) -> Result<usize, String> {
        let element = match string_bytes(&self.descr) {
            Some(bytes) => bytes,
            None => Element::parse(&self.descr)?.bytes(),
        };
        if self.shape.contains(&0) {
            return Ok(0);
        }
        let bytes = self.shape.iter().try_fold(element, |bytes, &extent| bytes.checked_mul(extent));
        bytes.ok_or_else(|| {
            format!(
                "shape {} with elements of {element} bytes has more bytes than can be counted",
                show_shape(&self.shape)
            )
        })
    }
}

/// The length of a string without the zeros that pad it to the length of its type.
fn unpadded_length(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)
}

/// Bytes of a string of a `descr` such as `|S3` or `<U3`; none for other types.
fn string_bytes(descr: &str) -> Option<usize> {
    match descr.split_at_checked(2)? {
        ("|S", length) => length.parse().ok(),
        ("<U" | ">U", length) => length.parse::<usize>().ok()?.checked_mul(4),
        _ => None,
    }
}

/// A shape in Python's syntax.
///
/// ```
/// assert_eq!([&[2, 3][..], &[4]].map(sparse_io::npy::show_shape), ["(2, 3)", "(4,)"]);
/// ```
pub fn show_shape(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    if let [extent] = &extents[..] { format!("({extent},)") } else { format!("({})", extents.join(", ")) }
}
