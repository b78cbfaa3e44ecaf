//! NumPy's arrays as slices, and matrices as NumPy's arrays.

use crate::error::{exception, wrong_type};
use crate::types::{Position, Value, dtype_of, index_of, with_types};
use nnz::{Coo, Csc, Csr, DType, Format, Host, IndexType, Matrix};
use numpy::{Element, PyArray1, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The shape and the three arrays of a matrix: `indptr`, `indices`, `data` of a compressed one, `row`, `col`, `data` of
/// coordinates.
#[derive(FromPyObject)]
pub(crate) struct Arrays<'py>(
    pub(crate) (usize, usize),
    Bound<'py, PyUntypedArray>,
    Bound<'py, PyUntypedArray>,
    Bound<'py, PyUntypedArray>,
);

/// The slices of [`Arrays`].
pub(crate) type Slices<'a, T, I> = (&'a [I], &'a [I], &'a [T]);

/// As [`Slices`], of which indices and values may be written.
pub(crate) type SlicesMut<'a, T, I> = (&'a [I], &'a mut [I], &'a mut [T]);

impl Arrays<'_> {
    /// The type of the values.
    pub(crate) fn dtype(&self) -> PyResult<DType> {
        dtype_of("data", &self.3)
    }

    /// The type of both arrays of indices.
    pub(crate) fn index(&self) -> PyResult<IndexType> {
        let (first, second) = (index_of("indptr", &self.1)?, index_of("indices", &self.2)?);
        if first != second {
            return Err(wrong_type("indptr", &self.1.dtype(), &format!("the type of indices, {second},")));
        }
        Ok(first)
    }

    /// An error if the types of `other` are not those of this matrix.
    pub(crate) fn require_types_of(&self, other: &Self) -> PyResult<()> {
        if self.dtype()? != other.dtype()? {
            return Err(wrong_type("data of B", &other.3.dtype(), &self.dtype()?.to_string()));
        }
        if self.index()? != other.index()? {
            return Err(wrong_type("indices of B", &other.2.dtype(), &self.index()?.to_string()));
        }
        Ok(())
    }

    /// The elements where they lie, of CSR those in front of the last offset: SciPy allows more, and ignores them.
    ///
    /// # Safety
    /// That of [`slice`].
    pub(crate) unsafe fn slices<T: Value, I: Position>(&self, format: Format) -> PyResult<Slices<'_, T, I>> {
        // SAFETY: the caller promises the same.
        let (offsets, indices, values) = unsafe {
            (slice::<I>("indptr", &self.1)?, slice::<I>("indices", &self.2)?, slice::<T>("data", &self.3)?)
        };
        let end = match offsets.last() {
            Some(end) if format != Format::Coo => end.as_usize(),
            _ => indices.len(),
        };
        // What is too short for its offsets is left to the check of the matrix.
        Ok((offsets, indices.get(..end).unwrap_or(indices), values.get(..end).unwrap_or(values)))
    }

    /// Offsets, and indices and values to be written, of CSR as [`slices`](Self::slices) has them.
    ///
    /// # Safety
    /// That of [`slice`] for the offsets, of [`slice_mut`] for the others.
    pub(crate) unsafe fn slices_mut<T: Value, I: Position>(&self) -> PyResult<SlicesMut<'_, T, I>> {
        // SAFETY: the caller promises the same.
        let (offsets, indices, values) = unsafe {
            (
                slice::<I>("indptr", &self.1)?,
                slice_mut::<I>("indices", &self.2)?,
                slice_mut::<T>("data", &self.3)?,
            )
        };
        let end = offsets.last().map_or(0, |end| end.as_usize());
        let (indices_end, values_end) = (end.min(indices.len()), end.min(values.len()));
        Ok((offsets, &mut indices[..indices_end], &mut values[..values_end]))
    }

    /// A matrix of `format` in the host's memory with copies of the arrays, which are checked.
    pub(crate) fn to_matrix(&self, py: Python<'_>, format: Format) -> PyResult<Matrix> {
        with_types!(self.dtype()?, self.index()?, T, I => self.copied::<T, I>(py, format))
    }

    fn copied<T: Value, I: Position>(&self, py: Python<'_>, format: Format) -> PyResult<Matrix> {
        let ((rows, cols), device) = (self.0, crate::device::host()?);
        // SAFETY: `Arrays` owns references to the arrays. What another thread of Python writes to them while they are
        // copied is in the copies or is not, and only the copies are checked and used.
        let (first, second, values) = unsafe { self.slices::<T, I>(format)? };
        py.detach(|| {
            let (first, second, values) = copies((first, second, values));
            match format {
                Format::Coo => {
                    Matrix::from_typed(device, Coo::<T, Host, I>::new(rows, cols, first, second, values)?)
                }
                Format::Csc => {
                    let csc = Csc::<T, Host, I, I>::new_unsorted(rows, cols, first, second, values)?;
                    Matrix::from_typed(device, csc)
                }
                _ => {
                    let csr = Csr::<T, Host, I, I>::new_unsorted(rows, cols, first, second, values)?;
                    Matrix::from_typed(device, csr)
                }
            }
        })
        .map_err(exception)
    }
}

/// Bytes of values from which on threads of their own copy the arrays.
const COPIED_ALONE: usize = 1 << 20;

/// Copies of arrays: of large ones by a thread each, since most of the time goes into new pages.
fn copies<T: Value, I: Position>((first, second, values): Slices<'_, T, I>) -> (Vec<I>, Vec<I>, Vec<T>) {
    if size_of_val(values) < COPIED_ALONE {
        return (first.to_vec(), second.to_vec(), values.to_vec());
    }
    std::thread::scope(|scope| {
        let copied = scope.spawn(|| values.to_vec());
        let (first, second) = (first.to_vec(), second.to_vec());
        (first, second, copied.join().unwrap_or_else(|_| values.to_vec()))
    })
}

/// The elements of an array without gaps, of any shape, in C or Fortran order.
///
/// # Safety
/// Nobody writes the elements, or takes the array's memory away, as long as the slice is used. NumPy asks the same of
/// programs: an array that one thread computes with must not be written by another, whoever has Python's lock.
pub(crate) unsafe fn slice<'a, T: Element>(
    name: &str,
    array: &'a Bound<'_, PyUntypedArray>,
) -> PyResult<&'a [T]> {
    let (pointer, len) = raw_parts::<T>(name, array)?;
    // SAFETY: `raw_parts` found so many elements of this size, aligned; every pattern of bytes is a number. The caller
    // promises the rest.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// As [`slice`], to be written.
///
/// # Safety
/// Nobody else uses the elements as long as the slice is used.
#[expect(
    clippy::mut_from_ref,
    reason = "the array's owner is Python; the caller promises that nobody else uses it"
)]
pub(crate) unsafe fn slice_mut<'a, T: Element>(
    name: &str,
    array: &'a Bound<'_, PyUntypedArray>,
) -> PyResult<&'a mut [T]> {
    let (pointer, len) = raw_parts::<T>(name, array)?;
    // SAFETY: the array's own pointer is a field of its object.
    let flags = unsafe { (*array.as_array_ptr()).fields.flags };
    if flags & numpy::npyffi::NPY_ARRAY_WRITEABLE == 0 {
        return Err(pyo3::exceptions::PyValueError::new_err(format!("{name} is read-only")));
    }
    // SAFETY: as in `slice`.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, len) })
}

/// First element and number of elements; an error if they have gaps, are not aligned, or have another size.
fn raw_parts<T: Element>(name: &str, array: &Bound<'_, PyUntypedArray>) -> PyResult<(*mut T, usize)> {
    let descr = array.dtype();
    if descr.itemsize() != size_of::<T>() {
        return Err(wrong_type(name, &descr, &format!("a type of {} bytes", size_of::<T>())));
    }
    // SAFETY: the array's own pointer is a field of its object.
    let pointer = unsafe { (*array.as_array_ptr()).fields.data.cast::<T>() };
    let len = array.len();
    if len == 0 {
        return Ok((std::ptr::dangling_mut(), 0));
    }
    if !array.is_aligned() || !array.is_contiguous() {
        let right = "an aligned array without gaps";
        return Err(wrong_type(name, &"a view with gaps or unaligned", right));
    }
    Ok((pointer, len))
}

/// The arrays of a matrix in CSR, CSC or COO, moved to Python: `indptr`, `indices`, `data`, or `row`, `col`, `data`.
pub(crate) fn to_python(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyTuple>> {
    let on_host = matrix.to_device(crate::device::host()?).map_err(exception)?;
    // The arrays of a matrix that exists twice would be copied.
    drop(matrix);
    let matrix = on_host;
    let half = matches!(matrix.dtype(), DType::F16 | DType::Bf16);
    let matrix = if half { matrix.cast(DType::F32).map_err(exception)? } else { matrix };
    with_types!(matrix.dtype(), matrix.index_type(), T, I => moved::<T, I>(py, matrix))
}

fn moved<T: Value, I: Position>(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyTuple>> {
    let (format, said) = (matrix.format(), format!("{matrix:?}"));
    let arrays = match format {
        Format::Csr => matrix.into_typed::<Csr<T, Host, I, I>>().map(Csr::into_parts),
        Format::Csc => matrix.into_typed::<Csc<T, Host, I, I>>().map(Csc::into_parts),
        Format::Coo => matrix.into_typed::<Coo<T, Host, I>>().map(Coo::into_parts),
        _ => None,
    };
    let arrays = arrays.ok_or_else(|| {
        let reason = "csr, csc and coo with indices and offsets of one type have them";
        exception(nnz::Error::unsupported(format_args!("the arrays of {said}"), reason))
    })?;
    parts(py, arrays)
}

/// Arrays of NumPy with these elements.
pub(crate) fn parts<T: Value, I: Position>(
    py: Python<'_>,
    (first, second, values): (Vec<I>, Vec<I>, Vec<T>),
) -> PyResult<Bound<'_, PyTuple>> {
    let (first, second) = (PyArray1::from_vec(py, first), PyArray1::from_vec(py, second));
    (first, second, PyArray1::from_vec(py, values)).into_pyobject(py)
}
