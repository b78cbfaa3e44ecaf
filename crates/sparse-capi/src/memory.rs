//! Memory of the caller, as operands of the run-time layer.

use crate::failure::Failure;
use crate::matrix::arrays_with_bytes;
use crate::sycl;
use nnz::space::Element;
use nnz::{DType, Device, Error, Matrix, Order, Scalar, Vector, with_dtype};
use std::ffi::c_void;
use std::ptr::{NonNull, slice_from_raw_parts_mut};

/// An array of the caller's: its name in messages, its first element and its length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Array<'a> {
    pub(crate) name: &'a str,
    pub(crate) pointer: *const c_void,
    pub(crate) len: usize,
}

impl Array<'_> {
    /// The address of the first element; an error if there are elements at a null pointer, or more than fit memory.
    pub(crate) fn checked<T>(self) -> Result<*mut T, Failure> {
        let Self { name, pointer, len } = self;
        if len > 0 && pointer.is_null() {
            return Err(Failure::null(name));
        }
        if len > isize::MAX as usize / size_of::<T>() {
            let what = format!("the number of elements of {name}");
            return Err(Error::IndexOverflow { what, value: len as u128, target: "memory" }.into());
        }
        Ok(pointer.cast_mut().cast())
    }

    /// The elements on the host; of an empty array the pointer may be anything.
    pub(crate) fn on_host<T>(self) -> Result<*mut [T], Failure> {
        let pointer = self.checked::<T>()?;
        let pointer = if self.len == 0 { NonNull::dangling().as_ptr() } else { pointer };
        if !pointer.is_aligned() {
            let reason = format!("{pointer:p} is not aligned to {} bytes", align_of::<T>());
            return Err(Failure::memory(self.name, &Error::unsupported("the caller's memory", reason)));
        }
        Ok(slice_from_raw_parts_mut(pointer, self.len))
    }

    /// A copy of the elements.
    ///
    /// # Safety
    /// The array is in memory of `device` as `nnz.h` asks for it, and is not written meanwhile.
    pub(crate) unsafe fn to_vec<T: Element>(self, device: &Device) -> Result<Vec<T>, Failure> {
        match device {
            // SAFETY: the caller promises what is asked.
            Device::Accelerator(backend, _) => unsafe { sycl::to_vec(backend, self) },
            // SAFETY: the caller promises that the elements exist, and no code writes them.
            _ => Ok(unsafe { &*self.on_host::<T>()? }.to_vec()),
        }
    }

    /// A vector over the elements, which are not copied.
    ///
    /// # Safety
    /// The array is in memory of `device` as `nnz.h` asks for it, as long as the vector is used. If the vector is
    /// written, no other code uses the array meanwhile.
    pub(crate) unsafe fn as_vector(self, device: &Device, dtype: DType) -> Result<Vector, Failure> {
        // SAFETY: the caller promises what is asked.
        unsafe { with_dtype!(dtype, T => self.as_vector_of::<T>(device)) }
    }

    /// # Safety
    /// As for [`as_vector`](Self::as_vector).
    unsafe fn as_vector_of<T: Scalar>(self, device: &Device) -> Result<Vector, Failure> {
        // SAFETY: the caller promises what is asked. If beta is 0 nothing need have written the elements of a result
        // yet; memory from another language has some bytes, and every pattern of bytes is an `Element`.
        unsafe {
            match device {
                Device::Accelerator(backend, _) => {
                    Ok(Vector::wrap(device, sycl::buffer::<T>(backend, self)?)?)
                }
                _ => Ok(Vector::borrow(device, self.on_host::<T>()?)?),
            }
        }
    }
}

/// A list of the caller's, on the host.
///
/// # Safety
/// There are `len` elements at `pointer`, or it is null, and no code writes them.
pub(crate) unsafe fn list<'a>(name: &str, pointer: *const usize, len: usize) -> Result<&'a [usize], Failure> {
    let list = Array { name, pointer: pointer.cast(), len }.on_host::<usize>()?;
    // SAFETY: the caller promises what is asked.
    Ok(unsafe { &*list })
}

/// An error if the result of an operation, of elements of `bytes` bytes, shares memory with an operand of the same type
/// or with an array of the matrix, which may be the caller's.
pub(crate) fn check_apart(
    matrix: &Matrix,
    operands: &[Array<'_>],
    result: Array<'_>,
    bytes: usize,
) -> Result<(), Failure> {
    let of_matrix = arrays_with_bytes(matrix).into_iter().flatten();
    let of_operands = operands.iter().map(|&operand| (operand, bytes));
    for (read, bytes_read) in of_operands.chain(of_matrix) {
        let end =
            |array: Array<'_>, bytes| array.pointer.addr().saturating_add(array.len.saturating_mul(bytes));
        let is_empty = read.len == 0 || result.len == 0;
        if !is_empty
            && read.pointer.addr() < end(result, bytes)
            && result.pointer.addr() < end(read, bytes_read)
        {
            return Err(Failure::memory(result.name, &format_args!("it shares memory with {}", read.name)));
        }
    }
    Ok(())
}

/// A row-major dense matrix of the caller's: its name in messages, its first element, and the elements from a row to
/// the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dense<'a> {
    pub(crate) name: &'a str,
    pub(crate) pointer: *const c_void,
    pub(crate) step: usize,
}

impl<'a> Dense<'a> {
    /// The elements from the first to the last.
    pub(crate) fn elements(self, rows: usize, cols: usize) -> Result<Array<'a>, Failure> {
        let Self { name, pointer, step } = self;
        let Some(last) = rows.checked_sub(1).filter(|_| cols > 0) else {
            return Ok(Array { name, pointer, len: 0 });
        };
        let len = last.checked_mul(step).and_then(|start| start.checked_add(cols));
        let error = || Error::shape("dense", format!("{rows} rows, {step} apart, fit no memory"));
        Ok(Array { name, pointer, len: len.ok_or_else(error)? })
    }

    /// A matrix over the elements, which are not copied.
    ///
    /// # Safety
    /// As for [`Array::as_vector`].
    pub(crate) unsafe fn as_matrix(
        self,
        (device, dtype): (&Device, DType),
        (rows, cols): (usize, usize),
    ) -> Result<nnz::DenseMatrix, Failure> {
        let elements = self.elements(rows, cols)?;
        // SAFETY: the caller promises what is asked.
        let elements = unsafe { elements.as_vector(device, dtype)? };
        Ok(nnz::DenseMatrix::new(elements, rows, cols, self.step, Order::RowMajor)?)
    }
}
