//! Dense arrays of other libraries, which operations read without a copy.
//!
//! A [`ForeignArray`] describes the memory and the strides of an array, as DLPack ([`dlpack`]) and the CUDA array
//! interface do. [`Device::borrow_stack`](crate::Device::borrow_stack) compares the description with the device's
//! runtime, and returns the array as matrices on the device.

mod cuda_array_interface;
pub mod dlpack;
mod layout;

pub use layout::StackLayout;

use crate::buffer::Buffer;
use crate::device::Device;
use sparse_core::{DType, DenseBatchView, Error, Result, Scalar, Space};
use std::fmt::{Display, Formatter};

/// The subject of errors.
const WHAT: &str = "a foreign array";

/// The kind of memory of an array, which gives its [handle](ForeignArray::handle) its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Memory that the host reads, pinned or not: an address.
    Host,
    /// Memory of a CUDA device, or managed by CUDA: an address.
    Cuda,
    /// An OpenCL buffer: a `cl_mem`.
    OpenCl,
    /// Unified shared memory of SYCL: an address.
    Sycl,
}

impl Display for MemoryKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Host => "the host",
            Self::Cuda => "CUDA",
            Self::OpenCl => "OpenCL",
            Self::Sycl => "SYCL",
        })
    }
}

/// A dense, strided array in memory that another library owns: a description, which is checked before the memory is
/// used.
///
/// ```
/// use sparse_core::{DType, Order};
/// use sparse_device::foreign::ForeignArray;
///
/// // Two 2 x 3 matrices, whose rows are four elements apart.
/// let elements = [0.0_f32; 16];
/// let array = ForeignArray::on_host(elements.as_ptr(), &[2, 2, 3], Some(&[8, 4, 1]));
/// let layout = array.stack()?;
/// assert_eq!((layout.count, layout.shape(), layout.leading_dimension), (2, (2, 3), 4));
/// assert_eq!((layout.stride, layout.order, array.dtype), (8, Order::RowMajor, DType::F32));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignArray {
    /// The kind of memory.
    pub memory: MemoryKind,
    /// The number of the device, as the owner counts them; 0 on the host.
    pub device: usize,
    /// An address, or the handle of a buffer.
    pub handle: usize,
    /// Bytes from there to the first element.
    pub byte_offset: usize,
    /// The type of the elements.
    pub dtype: DType,
    /// The extent of each axis.
    pub shape: Vec<usize>,
    /// The elements between neighbours along each axis; without them the last axis is contiguous, and each axis
    /// encloses the next.
    pub strides: Option<Vec<isize>>,
    /// True if the memory must not be written. Compression only reads.
    pub is_read_only: bool,
    /// The CUDA stream whose enqueued work writes the elements, if that work may not have ended yet.
    pub stream: Option<usize>,
}

impl ForeignArray {
    /// An array in the host's memory, whose first element `elements` points to.
    pub fn on_host<T: Scalar>(elements: *const T, shape: &[usize], strides: Option<&[isize]>) -> Self {
        Self {
            memory: MemoryKind::Host,
            device: 0,
            handle: elements.expose_provenance(),
            byte_offset: 0,
            dtype: T::DTYPE,
            shape: shape.to_vec(),
            strides: strides.map(<[isize]>::to_vec),
            is_read_only: true,
            stream: None,
        }
    }

    /// The layout of the array as matrices: one of an array with two axes, `count` of one with the axes (count, rows,
    /// columns), a column of one with one axis.
    ///
    /// # Errors
    /// [`Error::Format`] for another number of axes, and for strides that no leading dimension expresses: negative
    /// ones, and those by which rows or matrices overlap or interleave; [`Error::IndexOverflow`] for an array that fits
    /// no memory.
    pub fn stack(&self) -> Result<StackLayout> {
        StackLayout::new(&self.shape, self.strides.as_deref())
    }

    /// The elements of an array on the host, up to the last, padding included.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the array is not in the host's memory, has another type or is not aligned; those of
    /// [`stack`](Self::stack).
    ///
    /// # Safety
    /// The handle is the address of initialized elements of the described array, which live for `'a`, and no code
    /// writes to them meanwhile.
    pub unsafe fn host_elements<'a, T: Scalar>(&self) -> Result<&'a [T]> {
        if self.memory != MemoryKind::Host {
            return Err(self.lies_elsewhere("the host"));
        }
        let (len, _) = self.extent::<T>()?;
        if len == 0 {
            return Ok(&[]);
        }
        let address = self.handle + self.byte_offset;
        if !address.is_multiple_of(align_of::<T>()) {
            return Err(misaligned(address, align_of::<T>()));
        }
        let elements = std::ptr::with_exposed_provenance(address);
        // SAFETY: the elements are `len`, aligned and not at 0, as checked; the caller vouches for the rest.
        Ok(unsafe { std::slice::from_raw_parts(elements, len) })
    }

    /// The elements up to the last, padding included, and their bytes, after all checks that need no runtime.
    fn extent<T: Scalar>(&self) -> Result<(usize, usize)> {
        if self.dtype != T::DTYPE {
            let reason = format!("its elements are {}, not {}", self.dtype, T::DTYPE);
            return Err(Error::unsupported(WHAT, reason));
        }
        let len = self.stack()?.len();
        if len > 0 && self.handle == 0 {
            return Err(Error::unsupported(WHAT, "its pointer is null"));
        }
        let bytes = len.checked_mul(size_of::<T>());
        let end = bytes.and_then(|bytes| bytes.checked_add(self.byte_offset)?.checked_add(self.handle));
        match (bytes, end) {
            (Some(bytes), Some(_)) => Ok((len, bytes)),
            _ => Err(Error::unsupported(WHAT, format!("{len} elements fit no memory"))),
        }
    }

    fn lies_elsewhere(&self, device: impl Display) -> Error {
        Error::unsupported(WHAT, format!("it lies in memory of {}, not of {device}", self.memory))
    }
}

fn misaligned(address: usize, alignment: usize) -> Error {
    Error::unsupported(
        WHAT,
        format!("byte {address:#x} is not aligned to {alignment}, the bytes of an element"),
    )
}

/// Matrices in a device's memory that another library owns.
#[derive(Debug)]
pub struct BorrowedStack<T> {
    buffer: Buffer<T>,
    start: usize,
    layout: StackLayout,
}

impl<T: Scalar> BorrowedStack<T> {
    /// The memory from a word's boundary on, up to the last element.
    pub fn buffer(&self) -> &Buffer<T> {
        &self.buffer
    }

    /// The position of the first element in the [buffer](Self::buffer).
    pub fn start(&self) -> usize {
        self.start
    }

    /// Number, shape and strides of the matrices.
    pub fn layout(&self) -> StackLayout {
        self.layout
    }

    /// The matrices as an operand.
    ///
    /// # Errors
    /// None that the layout does not have: it was checked.
    pub fn view(&self) -> Result<DenseBatchView<'_, T, Device>> {
        let elements = Device::slice(self.buffer.view(), self.start..self.buffer.len);
        let StackLayout { count, stride, leading_dimension, order, .. } = self.layout;
        DenseBatchView::new(elements, count, stride, self.layout.shape(), leading_dimension, order)
    }
}

impl Device {
    /// The matrices of an array in this device's memory, without a copy.
    ///
    /// The driver compares the description with its runtime: CUDA knows device, context and allocation of the memory,
    /// OpenCL its context and size, SYCL its context. Work on the array follows the work that the
    /// [stream](ForeignArray::stream) has so far.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless the array is within one allocation of this device's memory, has the type `T`, and
    /// is aligned to the bytes of an element; those of [`ForeignArray::stack`]; an error of the runtime.
    ///
    /// # Safety
    /// The handle is what [`MemoryKind`] says, and its stream a stream of the same device. The elements are initialized
    /// by the work of that stream, outlive the stack and all work with it, and no code writes to them meanwhile; up to
    /// the next multiple of 16 bytes the memory can be read.
    pub unsafe fn borrow_stack<T: Scalar>(&self, array: &ForeignArray) -> Result<BorrowedStack<T>> {
        let (len, bytes) = array.extent::<T>()?;
        let layout = array.stack()?;
        if len == 0 {
            return Ok(BorrowedStack { buffer: self.allocate(0)?, start: 0, layout });
        }
        // SAFETY: the caller makes the same promise, and the bytes were counted above.
        let (memory, first_byte) = unsafe { self.usable_driver()?.borrow(array, bytes) }?;
        if !first_byte.is_multiple_of(size_of::<T>()) {
            return Err(misaligned(array.handle.wrapping_add(array.byte_offset), size_of::<T>()));
        }
        let start = first_byte / size_of::<T>();
        // SAFETY: the driver has found the memory in this context, and the caller vouches for the elements; those
        // before the first are in the same word or buffer, and no view names them.
        let buffer = unsafe { self.adopt::<T>(memory, start + len) };
        Ok(BorrowedStack { buffer, start, layout })
    }
}

/// The refusal of a driver whose devices have no such memory.
pub(crate) fn refuse<R>(array: &ForeignArray, backend: &str) -> Result<R> {
    Err(array.lies_elsewhere(format_args!("a device of {backend}")))
}

impl ForeignArray {
    /// An error unless the array is in memory of this kind, for a driver of `backend`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with both.
    pub fn check_memory(&self, kind: MemoryKind, backend: &str) -> Result<()> {
        if self.memory == kind { Ok(()) } else { refuse(self, backend) }
    }

    /// An error if the array names a stream, for drivers that cannot wait for one.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    pub fn check_without_stream(&self) -> Result<()> {
        match self.stream {
            None => Ok(()),
            Some(_) => Err(Error::unsupported(
                "the stream of a foreign array",
                "only CUDA's are waited for: let the array be complete before",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::Order;

    fn device() -> Device {
        Device::without_hardware("none", &[], 32).unwrap()
    }

    #[test]
    fn arrays_of_the_host_are_read_where_they_lie() {
        let elements: Vec<f64> = (0..24).map(f64::from).collect();
        let array = ForeignArray::on_host(elements[1..].as_ptr(), &[2, 2, 3], Some(&[11, 4, 1]));
        // SAFETY: the elements are alive.
        let found = unsafe { array.host_elements::<f64>() }.unwrap();
        assert!(found == &elements[1..19] && std::ptr::eq(found.as_ptr(), &raw const elements[1]));
        let of_offset = ForeignArray { byte_offset: 8, ..array.clone() };
        // SAFETY: as above.
        assert_eq!(unsafe { of_offset.host_elements::<f64>() }.unwrap()[0], 2.0);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_reason() {
        let elements = [0.0_f32; 8];
        let array = ForeignArray::on_host(elements.as_ptr(), &[2, 2], None);
        let told = |array: ForeignArray| {
            // SAFETY: what is not refused lies in `elements`.
            unsafe { array.host_elements::<f32>() }.unwrap_err().to_string()
        };
        for (wrong, reason) in [
            (ForeignArray { handle: 0, ..array.clone() }, "its pointer is null"),
            (ForeignArray { dtype: DType::F64, ..array.clone() }, "its elements are f64, not f32"),
            (ForeignArray { byte_offset: 2, ..array.clone() }, "is not aligned to 4"),
            (ForeignArray { byte_offset: usize::MAX, ..array.clone() }, "4 elements fit no memory"),
            (ForeignArray { memory: MemoryKind::Cuda, ..array.clone() }, "memory of CUDA, not of the host"),
            (ForeignArray { shape: vec![2; 4], ..array.clone() }, "4 axes"),
        ] {
            let told = told(wrong);
            assert!(told.contains(reason), "{told}");
        }
    }

    #[test]
    fn a_driver_without_foreign_memory_refuses_it() {
        let elements = [0.0_f32; 4];
        let array = ForeignArray::on_host(elements.as_ptr(), &[2, 2], None);
        // SAFETY: nothing is read.
        let told = unsafe { device().borrow_stack::<f32>(&array) }.unwrap_err().to_string();
        assert!(told.contains("memory of the host, not of a device of none"), "{told}");
    }

    #[test]
    fn an_array_without_elements_needs_no_memory() {
        let array =
            ForeignArray { handle: 0, ..ForeignArray::on_host::<f32>(std::ptr::null(), &[3, 0], None) };
        // SAFETY: there are no elements.
        let stack = unsafe { device().borrow_stack::<f32>(&array) }.unwrap();
        let view = stack.view().unwrap();
        assert_eq!((view.count(), view.shape(), view.order()), (1, (3, 0), Order::RowMajor));
    }
}
