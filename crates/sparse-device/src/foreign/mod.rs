//! Dense arrays of other libraries, which operations read without a copy.
//!
//! A [`ForeignArray`] describes the memory and the strides of an array, as DLPack ([`dlpack`]) and the CUDA array
//! interface do. [`Device::borrow_stack`](crate::Device::borrow_stack) compares the description with the device's
//! runtime, and returns the array as matrices on the device.

mod array;
mod cuda_array_interface;
pub mod dlpack;
mod layout;

use array::misaligned;
pub(crate) use array::refuse;
pub use array::{ForeignArray, MemoryKind};
pub use layout::StackLayout;

use crate::buffer::Buffer;
use crate::device::Device;
use sparse_core::{DenseBatchView, Result, Scalar, Space};

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
    /// [`Error::Unsupported`](sparse_core::Error::Unsupported) unless the array is within one allocation of this
    /// device's memory, has the type `T`, and is aligned to the bytes of an element; those of [`ForeignArray::stack`];
    /// an error of the runtime.
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

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::{DType, Order};

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
        let reported = |array: ForeignArray| {
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
            let reported = reported(wrong);
            assert!(reported.contains(reason), "{reported}");
        }
    }

    #[test]
    fn a_driver_without_foreign_memory_refuses_it() {
        let elements = [0.0_f32; 4];
        let array = ForeignArray::on_host(elements.as_ptr(), &[2, 2], None);
        // SAFETY: nothing is read.
        let reported = unsafe { device().borrow_stack::<f32>(&array) }.unwrap_err().to_string();
        assert!(reported.contains("memory of the host, not of a device of none"), "{reported}");
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
