//! Matrices of either type of values, with the plans of their products.

use crate::failure::Failure;
use backend_opencl::Device as Accelerator;
use backend_opencl::sycl::{address, borrow};
use sparse_core::op::{DenseToCompressedPlan, Keep, Op, SpmmPlan, SpmvPlan};
use sparse_core::{
    Backend, Csr, DenseView, DenseViewMut, Element, Error, Matrix, Order, PlanOptions, Row, Scalar, Space,
    c64,
};
use sparse_device::Buffer;
use std::ffi::c_void;

/// `nnz_type` of `nnz.h`.
pub type Type = u32;

/// `float`.
const F32: Type = 0;

/// `double`.
const F64: Type = 1;

/// `nnz_csr` of `nnz.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Arrays {
    scalar: Type,
    rows: usize,
    cols: usize,
    nnz: usize,
    offsets: *const i32,
    indices: *const i32,
    values: *const c_void,
}

/// A dense matrix by rows: its first element, and the elements from a row to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dense {
    pub(crate) pointer: *const c_void,
    pub(crate) step: usize,
}

/// A matrix, whatever its values are.
pub(crate) trait Products {
    /// Its arrays.
    fn arrays(&self) -> Arrays;

    /// `y ← alpha·A·x + beta·y`.
    ///
    /// # Safety
    /// The pointers are what `nnz.h` asks for.
    unsafe fn spmv(&mut self, alpha: f64, x: *const c_void, beta: f64, y: *mut c_void)
    -> Result<(), Failure>;

    /// `C ← alpha·A·B + beta·C`.
    ///
    /// # Safety
    /// The pointers are what `nnz.h` asks for, and C may be written.
    unsafe fn spmm(
        &mut self,
        columns: usize,
        alpha: f64,
        b: Dense,
        beta: f64,
        c: Dense,
    ) -> Result<(), Failure>;
}

/// A matrix over the caller's arrays.
///
/// # Safety
/// The pointers are what `nnz.h` asks for.
pub(crate) unsafe fn over(device: &Accelerator, arrays: &Arrays) -> Result<Box<dyn Products>, Failure> {
    // SAFETY: the caller promises what is asked.
    unsafe {
        match arrays.scalar {
            F32 => Ok(Box::new(Planned::<f32>::over(device, arrays)?)),
            F64 => Ok(Box::new(Planned::<f64>::over(device, arrays)?)),
            other => Err(unknown(other)),
        }
    }
}

/// The entries of a dense matrix that are not zero.
///
/// # Safety
/// The pointer is what `nnz.h` asks for.
pub(crate) unsafe fn compressed(
    device: &Accelerator,
    scalar: Type,
    shape: (usize, usize),
    dense: Dense,
) -> Result<Box<dyn Products>, Failure> {
    // SAFETY: the caller promises what is asked.
    unsafe {
        match scalar {
            F32 => Ok(Box::new(Planned::<f32>::of_dense(device, scalar, shape, dense)?)),
            F64 => Ok(Box::new(Planned::<f64>::of_dense(device, scalar, shape, dense)?)),
            other => Err(unknown(other)),
        }
    }
}

fn unknown(scalar: Type) -> Failure {
    Error::unsupported(format!("nnz_type {scalar}"), "the types are NNZ_F32 and NNZ_F64").into()
}

type Matrix32<T> = Csr<T, Accelerator, i32, i32>;

/// A matrix of values of type `T`.
struct Planned<T: Scalar> {
    device: Accelerator,
    scalar: Type,
    matrix: Matrix32<T>,
    /// Made with the first product, since it looks at the pattern.
    spmv: Option<SpmvPlan<Accelerator, Matrix32<T>>>,
    /// The same, for so many columns.
    spmm: Option<(usize, SpmmPlan<Accelerator, Matrix32<T>>)>,
}

impl<T: Scalar> Planned<T> {
    fn new(device: &Accelerator, scalar: Type, matrix: Matrix32<T>) -> Self {
        Self { device: device.clone(), scalar, matrix, spmv: None, spmm: None }
    }

    /// # Safety
    /// As [`over`].
    unsafe fn over(device: &Accelerator, arrays: &Arrays) -> Result<Self, Failure> {
        let &Arrays { scalar, rows, cols, nnz, offsets, indices, values } = arrays;
        // SAFETY: the caller promises what is asked.
        let (offsets, indices, values) = unsafe {
            (
                borrowed(device, "offsets", offsets, rows.saturating_add(1))?,
                borrowed(device, "indices", indices, nnz)?,
                borrowed(device, "values", values.cast::<T>(), nnz)?,
            )
        };
        Ok(Self::new(device, scalar, device.compressed((rows, cols), offsets, indices, values)?))
    }

    /// # Safety
    /// As [`compressed`].
    unsafe fn of_dense(
        device: &Accelerator,
        scalar: Type,
        (rows, cols): (usize, usize),
        Dense { pointer, step }: Dense,
    ) -> Result<Self, Failure> {
        // SAFETY: the caller promises what is asked.
        let elements = unsafe { borrowed(device, "dense", pointer.cast::<T>(), extent(rows, cols, step)?)? };
        let view = DenseView::new(Accelerator::view(&elements), rows, cols, step, Order::RowMajor)?;
        let mut plan = DenseToCompressedPlan::<_, Row, T, i32, i32>::new(
            device,
            view,
            Keep::NonZero,
            &PlanOptions::once(),
        )?;
        let matrix = plan.run(view)?;
        device.synchronize()?;
        Ok(Self::new(device, scalar, matrix))
    }
}

impl<T: Scalar<Acc = T>> Products for Planned<T> {
    fn arrays(&self) -> Arrays {
        Arrays {
            scalar: self.scalar,
            rows: self.matrix.rows(),
            cols: self.matrix.cols(),
            nnz: self.matrix.nnz(),
            offsets: address(&Accelerator::view(self.matrix.offsets())),
            indices: address(&Accelerator::view(self.matrix.indices())),
            values: address(&Accelerator::view(self.matrix.values())).cast(),
        }
    }

    unsafe fn spmv(
        &mut self,
        alpha: f64,
        x: *const c_void,
        beta: f64,
        y: *mut c_void,
    ) -> Result<(), Failure> {
        let Self { device, matrix, .. } = self;
        // SAFETY: the caller promises what is asked.
        let (x, mut y) = unsafe {
            (
                borrowed(device, "x", x.cast::<T>(), matrix.cols())?,
                borrowed(device, "y", y.cast_const().cast::<T>(), matrix.rows())?,
            )
        };
        let plan = match &mut self.spmv {
            Some(plan) => plan,
            none => none.insert(SpmvPlan::new(device, matrix, Op::None, &PlanOptions::default())?),
        };
        Ok(plan.run(
            factor(alpha),
            matrix,
            Accelerator::view(&x),
            factor(beta),
            Accelerator::view_mut(&mut y),
        )?)
    }

    unsafe fn spmm(
        &mut self,
        columns: usize,
        alpha: f64,
        b: Dense,
        beta: f64,
        c: Dense,
    ) -> Result<(), Failure> {
        let Self { device, matrix, .. } = self;
        let (rows, cols) = (matrix.rows(), matrix.cols());
        // SAFETY: the caller promises what is asked.
        let (from, mut to) = unsafe {
            (
                borrowed(device, "B", b.pointer.cast::<T>(), extent(cols, columns, b.step)?)?,
                borrowed(device, "C", c.pointer.cast::<T>(), extent(rows, columns, c.step)?)?,
            )
        };
        let from = DenseView::new(Accelerator::view(&from), cols, columns, b.step, Order::RowMajor)?;
        let to = DenseViewMut::new(Accelerator::view_mut(&mut to), rows, columns, c.step, Order::RowMajor)?;
        let plan = match &mut self.spmm {
            Some((planned, plan)) if *planned == columns => plan,
            other => {
                let plan = SpmmPlan::new(device, matrix, Op::None, columns, &PlanOptions::default())?;
                &mut other.insert((columns, plan)).1
            }
        };
        Ok(plan.run(factor(alpha), matrix, from, factor(beta), to)?)
    }
}

fn factor<T: Scalar>(number: f64) -> T {
    T::from_c64(c64::new(number, 0.0))
}

/// The elements from the first to the last of a dense matrix by rows.
fn extent(rows: usize, cols: usize, step: usize) -> Result<usize, Failure> {
    let Some(last) = rows.checked_sub(1).filter(|_| cols > 0) else { return Ok(0) };
    let extent = last.checked_mul(step).and_then(|start| start.checked_add(cols));
    Ok(extent.ok_or_else(|| Error::shape("dense", format!("{rows} rows, {step} apart, fit no memory")))?)
}

/// The caller's elements as a buffer; where there are none the pointer may be anything.
///
/// # Safety
/// As [`borrow`].
unsafe fn borrowed<T: Element>(
    device: &Accelerator,
    what: &str,
    pointer: *const T,
    len: usize,
) -> Result<Buffer<T>, Failure> {
    if len == 0 {
        return Ok(device.upload(&[])?);
    }
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: the caller promises what is asked.
    unsafe { borrow(device, pointer.cast_mut(), len) }.map_err(|error| Failure::memory(what, &error))
}
