//! The description of an array that another library owns.

use super::layout::StackLayout;
use sparse_core::{DType, Error, Result, Scalar};
use std::fmt::{Display, Formatter};

/// The subject of errors.
pub(super) const WHAT: &str = "a foreign array";

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
    pub(super) fn extent<T: Scalar>(&self) -> Result<(usize, usize)> {
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

/// The refusal of an address that is no multiple of the bytes of an element.
pub(super) fn misaligned(address: usize, alignment: usize) -> Error {
    Error::unsupported(
        WHAT,
        format!("byte {address:#x} is not aligned to {alignment}, the bytes of an element"),
    )
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
