//! DLPack: arrays of other libraries, and arrays for them, without a copy.
//!
//! The capsules are those before version 1.0 (`DLManagedTensor`), which every library exchanges that has `__dlpack__`.
//! Unlike [`ForeignArray`](nnz::foreign::ForeignArray), an array here may have indices as its elements.

use nnz::foreign::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::any::Any;
use std::ffi::CStr;
use std::ptr::{self, NonNull};

/// `kDLCUDA`.
pub(crate) const CUDA: i32 = 2;

/// The name of a capsule that nobody has taken.
const NEW: &CStr = c"dltensor";
/// The name of a capsule whose contents have another owner.
const USED: &CStr = c"used_dltensor";

/// The most axes: arrays with more are refused before their extents are read.
const MAX_AXES: i32 = 64;

/// A type of elements that arrays on devices have.
#[derive(Clone, Copy)]
pub(crate) struct Element {
    /// NumPy's character.
    pub(crate) char: char,
    dtype: DLDataType,
}

const fn element(char: char, code: u8, bits: u8) -> Element {
    Element { char, dtype: DLDataType { code, bits, lanes: 1 } }
}

const ELEMENTS: [Element; 7] = [
    element('i', 0, 32),
    element('l', 0, 64),
    element('e', 2, 16),
    element('f', 2, 32),
    element('d', 2, 64),
    element('F', 5, 64),
    element('D', 5, 128),
];

impl Element {
    /// The type of NumPy's character.
    pub(crate) fn of(char: char) -> PyResult<Self> {
        let found = ELEMENTS.into_iter().find(|element| element.char == char);
        found.ok_or_else(|| unknown_type(format_args!("'{char}'")))
    }

    /// The type of one of NumPy's characters 'i', 'l', 'e', 'f', 'd', 'F' and 'D'.
    pub(crate) const fn of_known(char: char) -> Self {
        let mut k = 0;
        while ELEMENTS[k].char != char {
            k += 1;
        }
        ELEMENTS[k]
    }

    /// Bytes of an element.
    pub(crate) fn bytes(self) -> usize {
        usize::from(self.dtype.bits) / 8
    }

    /// The type as the array interface writes it.
    pub(crate) fn typestr(self) -> String {
        let kind = match self.dtype.code {
            0 => 'i',
            2 => 'f',
            _ => 'c',
        };
        format!("<{kind}{}", self.bytes())
    }
}

fn unknown_type(found: std::fmt::Arguments<'_>) -> PyErr {
    let right = "int32, int64, float16, float32, float64, complex64 or complex128";
    PyTypeError::new_err(format!("the array has elements of {found} where {right} is needed"))
}

/// An array that another library has handed over, in C order; it is given back when this is dropped.
pub(crate) struct Imported(NonNull<DLManagedTensor>);

// SAFETY: DLPack's deleter may be called by any thread, and nothing else is changed.
unsafe impl Send for Imported {}
// SAFETY: as above.
unsafe impl Sync for Imported {}

impl Drop for Imported {
    fn drop(&mut self) {
        // SAFETY: the tensor came with its deleter, which is called once.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter {
                deleter(self.0.as_ptr());
            }
        }
    }
}

impl Imported {
    /// Takes the array of a capsule.
    ///
    /// # Errors
    /// `TypeError` for a capsule of something else or that somebody has taken, and for elements of other types;
    /// `ValueError` for extents that no array has, and for an array with gaps or in another order.
    pub(crate) fn take(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        if !capsule.is_valid_checked(Some(NEW)) {
            let reason = "a capsule named 'dltensor' is needed, which nobody has taken yet";
            return Err(PyTypeError::new_err(reason));
        }
        let pointer = capsule.pointer_checked(Some(NEW))?.cast::<DLManagedTensor>();
        // SAFETY: the capsule is alive, and its new name is a constant.
        if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), USED.as_ptr()) } != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        let imported = Self(pointer);
        imported.check_extents(imported.element()?)?;
        imported.check_order()?;
        Ok(imported)
    }

    fn tensor(&self) -> &DLTensor {
        // SAFETY: the producer keeps the tensor until its deleter is called.
        unsafe { &self.0.as_ref().dl_tensor }
    }

    /// The type of the elements.
    pub(crate) fn element(&self) -> PyResult<Element> {
        let DLDataType { code, bits, lanes } = self.tensor().dtype;
        let is_of = |dtype: DLDataType| (dtype.code, dtype.bits, dtype.lanes) == (code, bits, lanes);
        let found = ELEMENTS.into_iter().find(|element| is_of(element.dtype));
        found.ok_or_else(|| {
            unknown_type(format_args!("DLPack's type {code} with {bits} bits, {lanes} at a time"))
        })
    }

    /// The extents.
    pub(crate) fn shape(&self) -> Vec<usize> {
        self.extents(self.tensor().shape).iter().map(|&extent| extent as usize).collect()
    }

    /// The library and the number of the device.
    pub(crate) fn device(&self) -> (i32, i32) {
        (self.tensor().device.device_type, self.tensor().device.device_id)
    }

    /// The address of the first element.
    pub(crate) fn address(&self) -> u64 {
        self.tensor().data.addr() as u64 + self.tensor().byte_offset
    }

    fn extents(&self, numbers: *const i64) -> &[i64] {
        match self.tensor().ndim {
            0 => &[],
            // SAFETY: DLPack has a number for each dimension, which live as long as the tensor.
            ndim => unsafe { std::slice::from_raw_parts(numbers, ndim as usize) },
        }
    }

    /// Fails for extents that are not there, negative, or of more elements than fit memory.
    fn check_extents(&self, element: Element) -> PyResult<()> {
        let DLTensor { ndim, shape, .. } = *self.tensor();
        let are_there = (0..=MAX_AXES).contains(&ndim) && (ndim == 0 || !shape.is_null());
        let bytes = |bytes: isize, &extent: &i64| {
            isize::try_from(extent)
                .ok()
                .filter(|extent| *extent >= 0)
                .and_then(|extent| bytes.checked_mul(extent))
        };
        let fits =
            are_there && self.extents(shape).iter().try_fold(element.bytes() as isize, bytes).is_some();
        fits.then_some(())
            .ok_or_else(|| PyValueError::new_err("the array has extents that no array in memory has"))
    }

    fn check_order(&self) -> PyResult<()> {
        let (shape, strides) = (self.extents(self.tensor().shape), self.tensor().strides);
        if strides.is_null() || shape.contains(&0) {
            return Ok(());
        }
        let mut expected = 1;
        for (&extent, &stride) in shape.iter().zip(self.extents(strides)).rev() {
            if extent != 1 && stride != expected {
                let reason = "the array has gaps or is not in C order: its library's ascontiguousarray or contiguous makes \
                              a copy that is";
                return Err(PyValueError::new_err(reason));
            }
            expected *= extent;
        }
        Ok(())
    }
}

/// The contents of a capsule: the tensor, the extents that it points to, and the memory's owner.
struct Exported {
    tensor: DLManagedTensor,
    shape: Vec<i64>,
    _owner: Box<dyn Any + Send + Sync>,
}

/// A capsule with an array in C order on the GPU `index`, whose memory `owner` keeps alive.
pub(crate) fn export<'py>(
    py: Python<'py>,
    (address, shape, element): (u64, &[usize], Element),
    index: usize,
    owner: Box<dyn Any + Send + Sync>,
) -> PyResult<Bound<'py, PyAny>> {
    let too_large = |_| PyBufferError::new_err("the array has extents that DLPack cannot say");
    let shape: Vec<i64> =
        shape.iter().map(|&extent| i64::try_from(extent)).collect::<Result<_, _>>().map_err(too_large)?;
    let tensor = DLTensor {
        data: ptr::without_provenance_mut(address as usize),
        device: DLDevice { device_type: CUDA, device_id: i32::try_from(index).map_err(too_large)? },
        ndim: i32::try_from(shape.len()).map_err(too_large)?,
        dtype: element.dtype,
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let tensor = DLManagedTensor { dl_tensor: tensor, manager_ctx: ptr::null_mut(), deleter: Some(delete) };
    let exported = Box::into_raw(Box::new(Exported { tensor, shape, _owner: owner }));
    // SAFETY: the allocation is new, and has no other pointer to it.
    let managed = unsafe {
        let exported = &mut *exported;
        exported.tensor.manager_ctx = (&raw mut *exported).cast();
        exported.tensor.dl_tensor.shape = exported.shape.as_mut_ptr();
        &raw mut exported.tensor
    };
    // SAFETY: the name is a constant, and the destructor takes what the pointer is.
    let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), NEW.as_ptr(), Some(destroy)) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// Frees an array that [`export`] made.
unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
    // SAFETY: the caller has it from `export`, and calls this once.
    drop(unsafe { Box::from_raw((*managed).manager_ctx.cast::<Exported>()) });
}

/// Frees the array of a capsule that nobody has taken.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with a capsule of `export`; one that was taken has another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NEW.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, NEW.as_ptr()).cast());
        }
    }
}
