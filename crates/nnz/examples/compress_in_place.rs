//! Dense matrices of another library, taken over by DLPack and compressed in place.
//!
//! `cargo run --release -p nnz --example compress_in_place`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::foreign::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, ManagedArray};
use nnz::prelude::*;
use nnz::{DenseStack, MatrixSet, MatrixSetOptions};
use std::{ptr, slice};

/// The matrices of a tensor of two or three axes in the memory of `device`, as CSR, which stays there.
///
/// # Safety
/// As for [`ManagedArray::from_dlpack`] and [`DenseStack::borrow`], which the tensor's owner promises by handing it
/// over.
pub(crate) unsafe fn compress(device: &Device, tensor: *mut DLManagedTensor) -> Result<MatrixSet> {
    // SAFETY: the caller promises the same.
    let tensor = unsafe { ManagedArray::from_dlpack(tensor)? };
    // SAFETY: as above; the tensor is given back behind the stack, and all work on that is done by then.
    let stack = unsafe { DenseStack::borrow(device, &tensor)? };
    let options = MatrixSetOptions::new(Format::Csr, stack.dtype());
    let (set, report) = MatrixSet::compress_stacks(slice::from_ref(device), &[stack], &options)?;
    println!("{} matrices with {} entries in {:.3} ms", set.len(), report.nnz, 1e3 * report.seconds);
    Ok(set)
}

/// A tensor as another library makes it, here in the memory of the host.
pub(crate) struct Tensor {
    elements: Vec<f32>,
    shape: [i64; 3],
}

impl Tensor {
    /// Hands over `count` row-major matrices of this shape, one after the other.
    pub(crate) fn hand_over(elements: Vec<f32>, [count, rows, cols]: [i64; 3]) -> *mut DLManagedTensor {
        assert_eq!(elements.len() as i64, count * rows * cols, "the elements of the matrices");
        let tensor = Box::leak(Box::new(Self { elements, shape: [count, rows, cols] }));
        let dl_tensor = DLTensor {
            data: tensor.elements.as_mut_ptr().cast(),
            device: DLDevice { device_type: 1, device_id: 0 }, // kDLCPU
            ndim: 3,
            dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
            shape: tensor.shape.as_mut_ptr(),
            strides: ptr::null_mut(), // in C order
            byte_offset: 0,
        };
        let (manager_ctx, deleter) = (ptr::from_mut(tensor).cast(), Some(Self::take_back as _));
        Box::into_raw(Box::new(DLManagedTensor { dl_tensor, manager_ctx, deleter }))
    }

    unsafe extern "C" fn take_back(tensor: *mut DLManagedTensor) {
        // SAFETY: both were made by `hand_over`, and the new owner of the tensor calls this once.
        unsafe {
            let tensor = Box::from_raw(tensor);
            drop(Box::from_raw(tensor.manager_ctx.cast::<Self>()));
        }
    }
}

fn main() -> Result<()> {
    let device: Device = "cpu".parse()?; // the device of the tensor: of CUDA's memory "cuda:0"
    let (count, n) = (1000, 64);
    let elements = (0..count * n * n).map(|k| if k % 10 == 0 { k as f32 } else { 0.0 }).collect();
    let tensor = Tensor::hand_over(elements, [count, n, n]);
    // SAFETY: the tensor is DLPack's, and its memory the host's.
    let set = unsafe { compress(&device, tensor)? };
    println!("the last has {} entries", set.nnz(set.len() - 1).unwrap_or_default());
    Ok(())
}
