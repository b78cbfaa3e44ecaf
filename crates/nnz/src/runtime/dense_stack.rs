//! Dense matrices in memory of somebody else's, of a type and device that are known at run time.

use super::elements::{BorrowedElements, HostElements};
use crate::Device;
use sparse_core::backend::SpaceOf;
use sparse_core::{DType, DenseBatchView, Error, Result, Scalar, with_dtype};
use sparse_device::Device as Accelerator;
use sparse_device::foreign::{BorrowedStack, ForeignArray, MemoryKind, StackLayout};
use sparse_distrib::{DeviceMatrices, DeviceStack, Source};
use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::ptr::NonNull;

/// Dense matrices of one shape in the memory of a [`Device`] that somebody else has allocated: an array of one to three axes,
/// as DLPack or the CUDA array interface describe it, without a copy.
///
/// [`MatrixSet::compress_stacks`](super::MatrixSet::compress_stacks) compresses them where they lie.
///
/// ```
/// use nnz::foreign::ForeignArray;
/// use nnz::{DenseStack, MatrixSet, MatrixSetOptions, prelude::*};
///
/// // Two 2 x 2 matrices, here of the host; those of a GPU are the pointer and the shape of a tensor.
/// let elements = [1.0, 0.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0];
/// let array = ForeignArray::on_host(elements.as_ptr(), &[2, 2, 2], None);
/// let cpu: Device = "cpu".parse()?;
/// // SAFETY: the elements outlive the stack, and nobody writes them.
/// let stack = unsafe { DenseStack::borrow(&cpu, &array)? };
/// let options = MatrixSetOptions::to(Format::Csr, stack.dtype());
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
    /// The matrices of an array in the memory of `device`.
    ///
    /// What the device's runtime knows of the memory is compared with the description, as
    /// [`borrow_stack`](Accelerator::borrow_stack) says. Work on the array follows what its stream has so far.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) if the array does not lie in the memory of the device, wholly in one allocation
    /// and aligned to its elements; [`Format`](Error::Format) for strides that no leading dimension expresses; an error of the
    /// device's runtime.
    ///
    /// # Safety
    /// The handle of the array is what its [`MemoryKind`] says, and its stream a stream of the same device. The elements are
    /// initialised by the work of that stream, outlive the stack, and nobody writes to them meanwhile; up to the next
    /// multiple of 16 bytes a device's memory can be read.
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
        let StackLayout { count, stride, leading_dimension, order, .. } = self.layout;
        let shape = self.layout.shape();
        Ok(match typed {
            TypedStack::Host(elements) => {
                Box::new(DenseBatchView::<T>::new(elements, count, stride, shape, leading_dimension, order)?)
            }
            TypedStack::Device(backend, stack) => {
                let matrices = DeviceMatrices::new::<SpaceOf<Accelerator>, T>(
                    stack.buffer(),
                    stack.start(),
                    (count, stride),
                    shape,
                    leading_dimension,
                    order,
                )?;
                Box::new(DeviceStack::<_, T>::new(backend.clone(), matrices)?)
            }
        })
    }
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
}
