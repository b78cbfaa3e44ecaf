//! Arrays in the memory of a CUDA GPU.

use crate::device::{open, open_on_stream};
use crate::dlpack::{self, Element, Imported};
use crate::error::exception;
use crate::types::with_elements;
use nnz::foreign::{ForeignArray, MemoryKind};
use nnz::{Accelerator, Backend as _, BackendKind, DType, Device, Error, Result, Space, cuda};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// DLPack's names of streams that are not addresses: none given, the legacy one, and no order asked for.
const LEGACY_STREAM: isize = 1;
const NO_ORDER: isize = -1;

/// An array in the memory of a CUDA GPU, in C order.
#[pyclass(frozen, module = "nnz._native")]
pub(crate) struct DeviceArray(pub(crate) Arc<Shared>);

/// The memory of a [`DeviceArray`], which others may hold too.
pub(crate) struct Shared {
    address: u64,
    pub(crate) shape: Vec<usize>,
    pub(crate) element: Element,
    device: Device,
    exported: AtomicBool,
    /// Dropped last.
    _owner: Option<Box<dyn Any + Send + Sync>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Whoever had it may have enqueued work in any stream, behind which its memory can be used again. An error of
        // that work is reported where it was enqueued.
        if let (true, Ok((device, _))) = (*self.exported.get_mut(), accelerator(&self.device)) {
            drop(cuda::synchronize_all(device));
        }
    }
}

/// The GPU of CUDA and its number.
pub(crate) fn accelerator(device: &Device) -> Result<(&Accelerator, usize)> {
    match device {
        Device::Accelerator(accelerator, id) if id.backend == BackendKind::Cuda => {
            Ok((accelerator, id.index))
        }
        _ => {
            let reason = "GPUs of CUDA have it; `get` copies to the host";
            Err(Error::unsupported(format_args!("handing over memory of {device}"), reason))
        }
    }
}

/// The array of a buffer, which `owner` keeps alive.
pub(crate) fn of_buffer<T: nnz::Element>(
    device: &Device,
    buffer: &<Accelerator as Space>::Buffer<T>,
    (shape, element): (Vec<usize>, Element),
    owner: Box<dyn Any + Send + Sync>,
) -> Result<DeviceArray> {
    accelerator(device)?;
    let address = cuda::address(&Accelerator::view(buffer));
    let exported = AtomicBool::new(false);
    let device = device.clone();
    Ok(DeviceArray(Arc::new(Shared { address, shape, element, device, exported, _owner: Some(owner) })))
}

impl Shared {
    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The address behind the last element.
    fn end(&self) -> u64 {
        self.address + (self.len() * self.element.bytes()) as u64
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The array as elements of `dtype`, its own type, for those who look at the memory themselves.
    pub(crate) fn described(&self, dtype: DType) -> Result<ForeignArray> {
        let (_, device) = accelerator(&self.device)?;
        Ok(ForeignArray {
            memory: MemoryKind::Cuda,
            device,
            handle: self.address as usize,
            byte_offset: 0,
            dtype,
            shape: self.shape.clone(),
            strides: None,
            is_read_only: true,
            stream: None,
        })
    }

    /// The elements as a buffer of the same device, which keeps them; of an array without an owner the caller does.
    ///
    /// # Safety
    /// That of [`cuda::borrow`].
    pub(crate) unsafe fn lend<T: nnz::Element>(
        self: &Arc<Self>,
        device: &Device,
    ) -> Result<<Accelerator as Space>::Buffer<T>> {
        let owner = self._owner.is_some().then(|| Box::new(self.clone()) as Box<dyn Any + Send + Sync>);
        // SAFETY: the caller promises the same.
        unsafe { self.borrow(device, owner) }
    }

    /// The elements as a buffer of `device`, which keeps `owner`.
    ///
    /// # Safety
    /// That of [`cuda::borrow`].
    pub(crate) unsafe fn borrow<T: nnz::Element>(
        &self,
        device: &Device,
        owner: Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<<Accelerator as Space>::Buffer<T>> {
        let ((own, _), (target, _)) = (accelerator(&self.device)?, accelerator(device)?);
        if cuda::stream(own)? != cuda::stream(target)? {
            let reason =
                "the array is in order with another stream than the matrix: hand it over by __dlpack__";
            return Err(Error::operands("borrow", reason));
        }
        // SAFETY: the caller promises the same; `T` has the size of the elements.
        unsafe { cuda::borrow(target, self.address, self.len(), owner) }
    }

    fn download<T: nnz::Element>(&self) -> Result<Vec<T>> {
        let (device, _) = accelerator(&self.device)?;
        // SAFETY: the memory outlives the copy, which is waited for.
        device.download(&unsafe { self.borrow::<T>(&self.device, None)? })
    }
}

#[pymethods]
impl DeviceArray {
    /// The array of a capsule that `__dlpack__` made, on the GPU of `device` and in order with its stream.
    #[staticmethod]
    fn from_dlpack(py: Python<'_>, device: &str, capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let device = py.detach(|| open(device))?;
        let imported = Imported::take(capsule)?;
        let (_, index) = accelerator(&device).map_err(exception)?;
        let found = imported.device();
        if found != (dlpack::CUDA, index as i32) {
            let (kind, number) = found;
            let reason = format!(
                "the array is on device ({kind}, {number}) of DLPack, not on {device}, ({}, {index})",
                dlpack::CUDA
            );
            return Err(PyValueError::new_err(reason));
        }
        let (address, shape, element) = (imported.address(), imported.shape(), imported.element()?);
        let exported = AtomicBool::new(false);
        let _owner: Option<Box<dyn Any + Send + Sync>> = Some(Box::new(imported));
        Ok(Self(Arc::new(Shared { address, shape, element, device, exported, _owner })))
    }

    /// The array at an address of GPU `index`, in order with a stream of another library. The caller keeps the memory
    /// alive until the work that uses it was enqueued, and frees it in order with the stream.
    #[staticmethod]
    fn at(
        py: Python<'_>,
        index: usize,
        stream: usize,
        address: u64,
        shape: Vec<usize>,
        dtype: char,
    ) -> PyResult<Self> {
        let device = py.detach(|| open_on_stream(index, stream))?;
        let (element, exported) = (Element::of(dtype)?, AtomicBool::new(false));
        Ok(Self(Arc::new(Shared { address, shape, element, device, exported, _owner: None })))
    }

    /// An array of zeros.
    #[staticmethod]
    fn zeros(py: Python<'_>, device: &str, shape: Vec<usize>, dtype: char) -> PyResult<Self> {
        let element = Element::of(dtype)?;
        let len = shape.iter().try_fold(1, |len: usize, &extent| len.checked_mul(extent));
        let len = len.ok_or_else(|| PyMemoryError::new_err(format!("an array of the shape {shape:?}")))?;
        py.detach(|| {
            let device = open(device)?;
            with_elements!(element.char, T => (|| {
                let buffer = Arc::new(accelerator(&device)?.0.zeros::<T>(len)?);
                of_buffer::<T>(&device, &buffer, (shape, element), Box::new(buffer.clone()))
            })())
            .map_err(exception)
        })
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.shape)
    }

    /// NumPy's character of the type of the elements.
    #[getter]
    fn dtype(&self) -> char {
        self.0.element.char
    }

    #[getter]
    fn device(&self) -> String {
        self.0.device.to_string()
    }

    /// True if bytes of this array are bytes of `other`.
    fn shares_memory(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|array| array.0.address..array.0.end());
        own.start < others.end && others.start < own.end
    }

    /// A copy as an array of NumPy.
    fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.0.shape.clone();
        with_elements!(self.0.element.char, T => {
            let elements = py.detach(|| self.0.download::<T>()).map_err(exception)?;
            Ok(PyArray1::from_vec(py, elements).reshape(shape)?.into_any())
        })
    }

    /// DLPack's number of the library, and the number of the GPU.
    fn __dlpack_device__(&self) -> PyResult<(i32, usize)> {
        let (_, index) = accelerator(&self.0.device).map_err(exception)?;
        Ok((dlpack::CUDA, index))
    }

    /// A capsule with the array for another library, whose stream waits for the work up to here.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<isize>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, usize)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = max_version; // A consumer of later versions takes the structure of the first one, too.
        let here = self.__dlpack_device__()?;
        if copy == Some(true) || dl_device.is_some_and(|device| device != here) {
            return Err(PyBufferError::new_err(
                "arrays are handed over where they lie: `get` copies to the host",
            ));
        }
        py.detach(|| self.before(stream.unwrap_or(LEGACY_STREAM))).map_err(exception)?;
        let Shared { address, ref shape, element, .. } = *self.0;
        self.0.exported.store(true, Ordering::Release);
        dlpack::export(py, (address, shape, element), here.1, Box::new(self.0.clone()))
    }

    /// The array for libraries that know no DLPack: they keep this object alive, and wait for its stream.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (device, _) = accelerator(&self.0.device).map_err(exception)?;
        let stream = cuda::stream(device).map_err(exception)?.addr().max(LEGACY_STREAM as usize);
        self.0.exported.store(true, Ordering::Release);
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", self.0.element.typestr())?;
        interface.set_item("data", (self.0.address, false))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", stream)?;
        Ok(interface)
    }
}

impl DeviceArray {
    /// Makes later work of a stream wait for the work that was enqueued here.
    fn before(&self, stream: isize) -> Result<()> {
        if stream == NO_ORDER {
            return Ok(());
        }
        delay(&self.0.device, if stream == LEGACY_STREAM { 0 } else { stream as usize })
    }
}

/// Makes later work of a stream of the same GPU wait for the work that was enqueued on `device`.
pub(crate) fn delay(device: &Device, stream: usize) -> Result<()> {
    let (accelerator, _) = accelerator(device)?;
    let event = cuda::Event::record(accelerator)?;
    // SAFETY: Python's programs name streams that are alive, as DLPack asks.
    unsafe { event.delay(std::ptr::without_provenance_mut(stream)) }
}
