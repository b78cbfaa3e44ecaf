//! Vectors whose type and device are known at run time.

mod arithmetic;

use super::dispatch::backend::RuntimeBackend;
use super::dispatch::operand_errors::{Operand, mismatch};
use super::dispatch::typed_vector::{AnyVector, TypedVector};
use super::elements::{BorrowedElements, HostElements};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::backend::{Backend as _, Buf, ViewMutOf, ViewOf, zeroed_vec};
use sparse_core::op::VectorKernel;
use sparse_core::space::{Buffer as _, View as _};
use sparse_core::{ContextId, DType, Error, Result, Scalar, with_dtype};
use sparse_device::Device as Accelerator;
use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// A dense vector in the memory of a [`Device`], of a type that is known at run time.
///
/// ```
/// use nnz::prelude::*;
/// let device = Device::host()?;
/// let x = Vector::from_slice(&device, &[3.0, 4.0])?;
/// let mut y = Vector::zeros(&device, x.dtype(), x.len())?;
/// y.axpby(2.0, &x, 0.0)?;
/// assert_eq!((y.nrm2()?, y.to_vec::<f64>()?), (10.0, vec![6.0, 8.0]));
/// # Ok::<(), Error>(())
/// ```
///
/// A clone is independent. In an accelerator's memory the elements are copied on write: clones share them until one is
/// written.
///
/// ```
/// # use nnz::prelude::*;
/// let x = Vector::from_slice(&Device::host()?, &[3.0, 4.0])?;
/// let mut y = x.clone();
/// y.scale(2.0)?;
/// assert_eq!((x.to_vec::<f64>()?, y.to_vec::<f64>()?), (vec![3.0, 4.0], vec![6.0, 8.0]));
/// # Ok::<(), Error>(())
/// ```
pub struct Vector {
    device: Device,
    inner: Box<dyn AnyVector>,
}

impl Vector {
    /// A copy of `values` in the memory of `device`.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let x = Vector::from_slice(&Device::host()?, &[1.0_f32, 2.0])?;
    /// assert_eq!((x.dtype(), x.len()), (DType::F32, 2));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), or an error of the device's runtime.
    pub fn from_slice<T: Scalar>(device: &Device, values: &[T]) -> Result<Self> {
        match device {
            Device::Cpu(_) => Self::from_vec(device, values.to_vec()),
            Device::Accelerator(backend, _) => {
                Self::from_buffer(device, T::DTYPE, Box::new(backend.upload(values)?))
            }
        }
    }

    /// A vector of `values` in the memory of `device`, which on the CPU takes them without a copy.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let x = Vector::from_vec(&Device::host()?, vec![1.0, 2.0])?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice).
    pub fn from_vec<T: Scalar>(device: &Device, values: Vec<T>) -> Result<Self> {
        match device {
            Device::Cpu(_) => Self::from_buffer(device, T::DTYPE, Box::new(HostElements::Owned(values))),
            Device::Accelerator(..) => Self::from_slice(device, &values),
        }
    }

    /// The vector of a buffer of `dtype` in the device's memory.
    ///
    /// It is not generic, so that a vector's operations are compiled in this crate and not in every program.
    fn from_buffer(device: &Device, dtype: DType, buffer: Box<dyn Any>) -> Result<Self> {
        let other = |_| Error::operands("vector", format_args!("the buffer has no {dtype} of {device}"));
        with_dtype!(dtype, T => match device {
            Device::Cpu(backend) => {
                Ok(Self::of::<HostBackend, T>(device, backend, *buffer.downcast().map_err(other)?))
            }
            Device::Accelerator(backend, _) => {
                let buffer = buffer.downcast::<Buf<Accelerator, T>>().map_err(other)?;
                Ok(Self::of::<Accelerator, T>(device, backend, Arc::from(buffer)))
            }
        })
    }

    /// A vector of `len` zeros.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let x = Vector::zeros(&Device::host()?, DType::F32, 2)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory) for more than fit the memory; else as [`from_slice`](Self::from_slice).
    pub fn zeros(device: &Device, dtype: DType, len: usize) -> Result<Self> {
        with_dtype!(dtype, T => match device {
            Device::Cpu(_) => Self::from_vec::<T>(device, zeroed_vec(len)?),
            Device::Accelerator(backend, _) => {
                Ok(Self::of::<Accelerator, T>(device, backend, Arc::new(backend.zeros(len)?)))
            }
        })
    }

    /// A vector of a buffer that is in the device's memory already.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::best()?;
    /// if let Device::Accelerator(backend, _) = &device {
    ///     let x = Vector::wrap(&device, backend.upload(&[1.0_f32, 2.0])?)?;
    ///     assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0]);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongContext`](Error::WrongContext) if it is in other memory.
    pub fn wrap<T: Scalar>(device: &Device, buffer: Buf<Accelerator, T>) -> Result<Self> {
        let (expected, found) = (device.context(), buffer.context());
        match device {
            Device::Accelerator(..) if expected == found => {
                Self::from_buffer(device, T::DTYPE, Box::new(buffer))
            }
            _ => {
                let (expected, found) = (expected.number(), found.number());
                Err(Error::WrongContext { op: "wrap", operand: "the buffer", expected, found })
            }
        }
    }

    /// A vector over borrowed memory of the host, which is not copied.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let mut memory = [1.0, 2.0];
    /// // SAFETY: the memory outlives the vector, and nobody else uses it in that time.
    /// let mut x = unsafe { Vector::borrow(&Device::host()?, &raw mut memory[..])? };
    /// x.scale(3.0)?;
    /// drop(x);
    /// assert_eq!(memory, [3.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for a device other than the CPU, whose buffers [`wrap`](Self::wrap) takes;
    /// [`Operands`](Error::Operands) for a null pointer.
    ///
    /// # Safety
    /// `elements` satisfies [`std::slice::from_raw_parts`] as long as the vector lives. Nobody writes them during a
    /// call that reads the vector. A method that takes `&mut self` may write them, and no other code uses them
    /// meanwhile.
    pub unsafe fn borrow<T: Scalar>(device: &Device, elements: *mut [T]) -> Result<Self> {
        let Device::Cpu(_) = device else {
            return Err(Error::unsupported(
                format_args!("a vector of {device} over memory of the host"),
                "Vector::from_slice copies it",
            ));
        };
        let Some(elements) = NonNull::new(elements) else {
            return Err(Error::operands("borrow", "the pointer to the elements is null"));
        };
        // SAFETY: the caller promises the same.
        let elements = HostElements::Borrowed(unsafe { BorrowedElements::new(elements) });
        Self::from_buffer(device, T::DTYPE, Box::new(elements))
    }

    fn of<B, T>(device: &Device, backend: &B, elements: B::Elements<T>) -> Self
    where
        B: RuntimeBackend + VectorKernel<T>,
        T: Scalar,
    {
        let inner = Box::new(TypedVector::<B, T> { backend: backend.clone(), elements });
        Self { device: device.clone(), inner }
    }

    /// The number of elements.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// assert_eq!(Vector::zeros(&Device::host()?, DType::F32, 3)?.len(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// True if there are no elements.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// assert!(Vector::zeros(&Device::host()?, DType::F32, 0)?.is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the elements.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// assert_eq!(Vector::from_slice(&Device::host()?, &[1.0_f32])?.dtype(), DType::F32);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.inner.dtype()
    }

    /// The device in whose memory the elements are.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// assert_eq!(Vector::from_slice(&Device::host()?, &[1.0])?.device().caps().backend, "cpu");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The elements, copied to the host.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let x = Vector::from_slice(&Device::host()?, &[1.0, 2.0])?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// assert_eq!(x.to_vec::<f32>().unwrap_err().to_string(), "to_vec: x is f64; x as f32 would fit");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if they are not of type `T`; an error of the device's runtime.
    pub fn to_vec<T: Scalar>(&self) -> Result<Vec<T>> {
        if let Some(host) = self.as_slice() {
            return Ok(host.to_vec());
        }
        match self.typed::<Accelerator, T>() {
            Some(typed) => typed.to_host(),
            None => {
                let reason = format_args!("x is {}; x as {} would fit", self.dtype(), T::DTYPE);
                Err(Error::operands("to_vec", reason))
            }
        }
    }

    /// The elements in place: `None` unless they are of type `T` and in the host's memory.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let x = Vector::from_slice(&Device::host()?, &[1.0, 2.0])?;
    /// assert_eq!(x.as_slice(), Some(&[1.0, 2.0][..]));
    /// assert_eq!(x.as_slice::<f32>(), None);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn as_slice<T: Scalar>(&self) -> Option<&[T]> {
        self.typed::<HostBackend, T>().map(TypedVector::view)
    }

    /// The elements, to be changed in place; see [`as_slice`](Self::as_slice).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let mut x = Vector::from_slice(&Device::host()?, &[1.0, 2.0])?;
    /// x.as_mut_slice::<f64>().expect("f64 on the host")[0] = 5.0;
    /// assert_eq!(x.to_vec::<f64>()?, [5.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn as_mut_slice<T: Scalar>(&mut self) -> Option<&mut [T]> {
        self.typed_mut::<HostBackend, T>()?.view_mut().ok()
    }

    /// A copy with the elements as another type, each rounded to nearest; converted on the host.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let x = Vector::from_slice(&Device::host()?, &[0.1])?.cast(DType::F32)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.1]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`cast_slice`](crate::cast_slice): complex to real, and finite numbers that would become infinite.
    pub fn cast(&self, dtype: DType) -> Result<Self> {
        self.inner.cast(&self.device, dtype)
    }

    /// A copy in the memory of `device`.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let x = Vector::from_slice(&device, &[1.0, 2.0])?.to_device(&device)?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`from_slice`](Self::from_slice).
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        self.inner.copy_to(device)
    }

    /// Copies the elements `range` of `x` to this vector, from position `start` on, within the memory of their device.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let mut y = Vector::zeros(&device, DType::F64, 3)?;
    /// y.copy_from(1, &Vector::from_slice(&device, &[1.0, 2.0, 3.0])?, 0..2)?;
    /// assert_eq!(y.to_vec::<f64>()?, [0.0, 1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types or devices differ, [`Shape`](Error::Shape) for a range beyond the end of
    /// a vector; an error of the device's runtime.
    pub fn copy_from(&mut self, start: usize, x: &Self, range: Range<usize>) -> Result<()> {
        self.check("copy_from", ("y", self), ("x", x))?;
        let fits = |start: usize, len: usize, of: usize| start.checked_add(len).is_some_and(|end| end <= of);
        if !fits(range.start, range.len(), x.len()) || !fits(start, range.len(), self.len()) {
            let (of_x, of_y) = (x.len(), self.len());
            let reason = format!("{range:?} of {of_x} elements do not fit from {start} on in {of_y}");
            return Err(Error::shape("copy_from", reason));
        }
        if range.is_empty() { Ok(()) } else { self.inner.copy_from(start, x, range) }
    }

    pub(crate) fn context(&self) -> ContextId {
        self.inner.context()
    }

    /// An error unless two vectors are of one type in one memory.
    fn check(
        &self,
        op: &'static str,
        first: (&'static str, &Self),
        other: (&'static str, &Self),
    ) -> Result<()> {
        let ((first_name, first), (other_name, other)) = (first, other);
        if first.dtype() == other.dtype() && first.inner.context() == other.inner.context() {
            return Ok(());
        }
        Err(mismatch(op, first.as_operand(first_name), &[other.as_operand(other_name)]))
    }

    pub(crate) fn as_operand(&self, name: &'static str) -> Operand<'_> {
        (name, self.dtype(), &self.device)
    }

    /// The elements, if they are `T` in this context.
    pub(crate) fn view_in<B: RuntimeBackend, T: Scalar>(
        &self,
        context: ContextId,
    ) -> Option<ViewOf<'_, B, T>> {
        self.typed::<B, T>().map(TypedVector::view).filter(|view| view.context() == context)
    }

    /// As [`view_in`](Self::view_in), exclusively. Elements that a clone shares are copied first, which may fail.
    pub(crate) fn view_mut_in<B: RuntimeBackend, T: Scalar>(
        &mut self,
        context: ContextId,
    ) -> Option<Result<ViewMutOf<'_, B, T>>> {
        self.typed_mut::<B, T>().filter(|typed| typed.view().context() == context).map(TypedVector::view_mut)
    }

    pub(super) fn typed<B: RuntimeBackend, T: Scalar>(&self) -> Option<&TypedVector<B, T>> {
        let inner: &dyn Any = &*self.inner;
        inner.downcast_ref()
    }

    fn typed_mut<B: RuntimeBackend, T: Scalar>(&mut self) -> Option<&mut TypedVector<B, T>> {
        let inner: &mut dyn Any = &mut *self.inner;
        inner.downcast_mut()
    }
}

impl Clone for Vector {
    fn clone(&self) -> Self {
        Self { device: self.device.clone(), inner: self.inner.boxed_clone() }
    }
}

impl Debug for Vector {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector({} x {} on {})", self.len(), self.dtype(), self.device)
    }
}
