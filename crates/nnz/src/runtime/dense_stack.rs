//! Stacks of dense matrices in a device's memory, owned or borrowed, of a type that is known at run time.

use super::DenseMatrix;
use super::dispatch::backend::RuntimeBackend;
use super::elements::{BorrowedElements, HostElements};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::backend::{Buf, SpaceOf};
use sparse_core::error::checked_product;
use sparse_core::{DType, DenseBatchView, Error, Order, Result, Scalar, with_dtype};
use sparse_device::Device as Accelerator;
use sparse_device::foreign::{BorrowedStack, ForeignArray, MemoryKind, StackLayout};
use sparse_distrib::{DeviceMatrices, DeviceStack, Source};
use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::ptr::NonNull;

/// Dense matrices of one shape in the memory of a [`Device`]: a [`DenseMatrix`], or, without a copy, another library's
/// array of one to three axes, as DLPack or the CUDA array interface describe it.
///
/// [`MatrixSet::compress_stacks`](super::MatrixSet::compress_stacks) compresses them in place.
///
/// ```
/// use nnz::foreign::ForeignArray;
/// use nnz::{DenseStack, MatrixSet, MatrixSetOptions, prelude::*};
///
/// // Two 2 x 2 matrices, here of the host; those of a GPU are the pointer and the shape of a tensor.
/// let elements = [1.0, 0.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0];
/// let array = ForeignArray::on_host(elements.as_ptr(), &[2, 2, 2], None);
/// let cpu = Device::host()?;
/// // SAFETY: the elements outlive the stack, and nobody writes them.
/// let stack = unsafe { DenseStack::borrow(&cpu, &array)? };
/// let options = MatrixSetOptions::new(Format::Csr, stack.dtype());
/// let (set, report) = MatrixSet::compress_stacks(&[cpu.clone()], &[stack], &options)?;
/// assert_eq!((set.len(), report.nnz, set.get(1, &cpu)?.nnz()), (2, 3, 1));
/// # Ok::<(), Error>(())
/// ```
pub struct DenseStack {
    device: Device,
    dtype: DType,
    layout: StackLayout,
    /// A `TypedStack` of elements of `dtype`.
    typed: Box<dyn Any + Send + Sync>,
}

impl DenseStack {
    /// The `count` matrices that are stacked vertically in `matrix`, which stays where it is.
    ///
    /// ```
    /// use nnz::{DenseStack, MatrixSet, MatrixSetOptions, prelude::*};
    ///
    /// let device = Device::best()?;
    /// let two = vec![1.0_f32, 0.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0]; // two 2 x 2 matrices
    /// let two = DenseMatrix::from_vec(&device, two, 4, 2, Order::RowMajor)?;
    /// let options = MatrixSetOptions::new(Format::Csc, two.dtype());
    /// let stack = DenseStack::new(two, 2)?;
    /// let (set, _) = MatrixSet::compress_stacks(&[device], &[stack], &options)?;
    /// assert_eq!((set.shape(1), set.nnz(0), set.nnz(1)), (Some((2, 2)), Some(2), Some(1)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if the rows are no multiple of `count`; [`Unsupported`](Error::Unsupported) for several
    /// matrices in column-major order, which interleave.
    pub fn new(matrix: DenseMatrix, count: usize) -> Result<Self> {
        let (rows, cols) = (matrix.nrows(), matrix.ncols());
        let (leading_dimension, order) = (matrix.leading_dimension(), matrix.order());
        let rows_of_each = rows.checked_div(count).unwrap_or_default();
        if rows_of_each * count != rows {
            return Err(Error::shape("stack", format!("{rows} rows are no {count} matrices of equal shape")));
        }
        if count > 1 && order == Order::ColMajor {
            return Err(Error::unsupported(
                "a stack in column-major order",
                "its members are interleaved; row-major order would fit",
            ));
        }
        let stride = checked_product("rows x leading dimension", rows_of_each, leading_dimension)?;
        let layout = StackLayout { count, stride, rows: rows_of_each, cols, leading_dimension, order };
        let (device, dtype) = (matrix.device().clone(), matrix.dtype());
        let typed: Box<dyn Any + Send + Sync> =
            with_dtype!(dtype, T => Box::new(TypedStack::<T>::Owned(matrix)));
        Ok(Self { device, dtype, layout, typed })
    }

    /// The matrices of an array in the memory of `device`.
    ///
    /// What the device's runtime knows of the memory is compared with the description, as
    /// [`borrow_stack`](Accelerator::borrow_stack) says. Work on the array follows what its stream has so far.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) unless the array is in the memory of the device, wholly in one allocation
    /// and aligned to its elements; [`Format`](Error::Format) for strides that no leading dimension expresses; an error
    /// of the device's runtime.
    ///
    /// # Safety
    /// The handle of the array is what its [`MemoryKind`] says, and its stream a stream of the same device. The
    /// elements are initialized by the work of that stream, outlive the stack, and no code writes to them meanwhile; up
    /// to the next multiple of 16 bytes a device's memory can be read.
    pub unsafe fn borrow(device: &Device, array: &ForeignArray) -> Result<Self> {
        let typed: Box<dyn Any + Send + Sync> = with_dtype!(array.dtype, T => match device {
            Device::Cpu(_) => {
                // SAFETY: the caller makes the same promise.
                let elements = NonNull::from(unsafe { array.host_elements::<T>() }?);
                // SAFETY: as above; a stack is never written.
                let elements = unsafe { BorrowedElements::new(elements) };
                Box::new(TypedStack::Host(HostElements::Borrowed(elements)))
            }
            Device::Accelerator(_, _) if array.memory == MemoryKind::Host => {
                return Err(Error::unsupported(
                    format_args!("a stack of {device} over memory of the host"),
                    "borrow it on the CPU: other devices read it from there",
                ));
            }
            Device::Accelerator(backend, _) => {
                // SAFETY: the caller makes the same promise.
                let stack = unsafe { backend.borrow_stack::<T>(array) }?;
                Box::new(TypedStack::Device(backend.clone(), stack))
            }
        });
        Ok(Self { device: device.clone(), dtype: array.dtype, layout: array.stack()?, typed })
    }

    /// The device in whose memory the matrices are.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number, shape and strides of the matrices.
    pub fn layout(&self) -> StackLayout {
        self.layout
    }

    /// The matrices as a source of the engine.
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if the elements are not `T`.
    pub fn source<T: Scalar>(&self) -> Result<Box<dyn Source<T> + '_>> {
        let typed = self.typed.downcast_ref::<TypedStack<T>>().ok_or_else(|| {
            let reason =
                format!("a stack has elements of {}, the result is to have {}", self.dtype, T::DTYPE);
            Error::operands("compress", reason)
        })?;
        match typed {
            TypedStack::Host(elements) => self.on_host(elements),
            TypedStack::Device(backend, stack) => self.on_device(backend, stack.buffer(), stack.start()),
            TypedStack::Owned(matrix) => match &self.device {
                Device::Cpu(_) => self.on_host(owned::<HostBackend, T>(matrix)?),
                Device::Accelerator(backend, _) => {
                    self.on_device(backend, owned::<Accelerator, T>(matrix)?, 0)
                }
            },
        }
    }

    fn on_host<'a, T: Scalar>(&self, elements: &'a [T]) -> Result<Box<dyn Source<T> + 'a>> {
        let StackLayout { count, stride, leading_dimension, order, .. } = self.layout;
        let shape = self.layout.shape();
        Ok(Box::new(DenseBatchView::<T>::new(elements, count, stride, shape, leading_dimension, order)?))
    }

    fn on_device<'a, T: Scalar>(
        &self,
        backend: &Accelerator,
        buffer: &'a Buf<Accelerator, T>,
        start: usize,
    ) -> Result<Box<dyn Source<T> + 'a>> {
        let StackLayout { count, stride, leading_dimension, order, .. } = self.layout;
        let (distance, shape) = ((count, stride), self.layout.shape());
        let matrices = DeviceMatrices::new::<SpaceOf<Accelerator>, T>(
            buffer,
            start,
            distance,
            shape,
            leading_dimension,
            order,
        )?;
        Ok(Box::new(DeviceStack::<_, T>::new(backend.clone(), matrices)?))
    }
}

/// The elements of a matrix in the memory of a backend.
fn owned<B: RuntimeBackend, T: Scalar>(matrix: &DenseMatrix) -> Result<&B::Elements<T>> {
    let typed = matrix.values().typed::<B, T>();
    let other =
        || Error::operands("compress", format_args!("the elements of {matrix:?} are of another type"));
    typed.map(|vector| &vector.elements).ok_or_else(other)
}

impl Debug for DenseStack {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let StackLayout { count, rows, cols, order, .. } = self.layout;
        write!(f, "DenseStack({count} of {rows} x {cols} of {}, {order:?}, on {})", self.dtype, self.device)
    }
}

/// The elements of a stack.
enum TypedStack<T> {
    Host(HostElements<T>),
    Device(Accelerator, BorrowedStack<T>),
    Owned(DenseMatrix),
}
