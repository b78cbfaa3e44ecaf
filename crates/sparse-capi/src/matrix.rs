//! Matrices of either type of values on any device, with the plans of their products.

use crate::failure::Failure;
use crate::memory::CallerMemory;
use sparse_core::op::{
    DenseToCompressedPlan, DenseToCsrKernel, Keep, Op, SpmmKernel, SpmmPlan, SpmvKernel, SpmvPlan,
    VectorKernel,
};
use sparse_core::{
    DenseView, DenseViewMut, Element, Error, Index, Order, PlanOptions, Row, Scalar, SparseFormat, c64,
};
use std::ffi::c_void;
use std::fmt::Debug;

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
    /// The type of the values.
    pub scalar: Type,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The number of entries.
    pub nnz: usize,
    /// `rows + 1` positions.
    pub offsets: *const i32,
    /// `nnz` columns.
    pub indices: *const i32,
    /// `nnz` values.
    pub values: *const c_void,
}

/// A row-major dense matrix: its first element, and the stride between rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dense {
    pub(crate) pointer: *const c_void,
    pub(crate) step: usize,
}

/// A device that makes matrices, over any memory.
pub(crate) trait Matrices: Debug {
    /// A matrix over the caller's arrays.
    ///
    /// # Safety
    /// The pointers are what `nnz.h` asks for.
    unsafe fn borrow_csr(&self, arrays: &Arrays) -> Result<Box<dyn Products>, Failure>;

    /// The entries of a dense matrix that are not zero.
    ///
    /// # Safety
    /// The pointer is what `nnz.h` asks for.
    unsafe fn dense_to_csr(
        &self,
        scalar: Type,
        shape: (usize, usize),
        dense: Dense,
    ) -> Result<Box<dyn Products>, Failure>;
}

/// A matrix with any type of values.
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

/// A backend with the operations of `nnz.h` on values of type `T`.
pub(crate) trait Computes<T: Scalar>:
    CallerMemory
    + DenseToCsrKernel<T, i32, i32>
    + SpmmKernel<CsrOf<Self, T>>
    + SpmvKernel<CsrOf<Self, T>>
    + VectorKernel<T>
{
}

impl<T: Scalar, B> Computes<T> for B where
    B: CallerMemory
        + DenseToCsrKernel<T, i32, i32>
        + SpmmKernel<CsrOf<B, T>>
        + SpmvKernel<CsrOf<B, T>>
        + VectorKernel<T>
{
}

type CsrOf<B, T> = <B as CallerMemory>::Csr<T>;
type SpmvOf<B, T> = SpmvPlan<B, CsrOf<B, T>>;
type SpmmOf<B, T> = SpmmPlan<B, CsrOf<B, T>>;

impl<B: Computes<f32> + Computes<f64>> Matrices for B {
    unsafe fn borrow_csr(&self, arrays: &Arrays) -> Result<Box<dyn Products>, Failure> {
        // SAFETY: the caller promises what is asked.
        unsafe {
            match arrays.scalar {
                F32 => Ok(Box::new(Planned::<f32, B>::over(self, arrays)?)),
                F64 => Ok(Box::new(Planned::<f64, B>::over(self, arrays)?)),
                other => Err(unknown(other)),
            }
        }
    }

    unsafe fn dense_to_csr(
        &self,
        scalar: Type,
        shape: (usize, usize),
        dense: Dense,
    ) -> Result<Box<dyn Products>, Failure> {
        // SAFETY: the caller promises what is asked.
        unsafe {
            match scalar {
                F32 => Ok(Box::new(Planned::<f32, B>::of_dense(self, scalar, shape, dense)?)),
                F64 => Ok(Box::new(Planned::<f64, B>::of_dense(self, scalar, shape, dense)?)),
                other => Err(unknown(other)),
            }
        }
    }
}

fn unknown(scalar: Type) -> Failure {
    Error::unsupported(format!("nnz_type {scalar}"), "the types are NNZ_F32 and NNZ_F64").into()
}

/// A matrix of values of type `T` on a backend.
struct Planned<T: Scalar, B: Computes<T>> {
    backend: B,
    scalar: Type,
    matrix: CsrOf<B, T>,
    /// Made at the first product, since it reads the pattern.
    spmv: Option<SpmvOf<B, T>>,
    /// The number of columns, and the plan for it.
    spmm: Option<(usize, SpmmOf<B, T>)>,
}

impl<T: Scalar, B: Computes<T>> Planned<T, B> {
    fn new(backend: &B, scalar: Type, matrix: CsrOf<B, T>) -> Self {
        Self { backend: backend.clone(), scalar, matrix, spmv: None, spmm: None }
    }

    /// # Safety
    /// As for [`Matrices::borrow_csr`].
    unsafe fn over(backend: &B, arrays: &Arrays) -> Result<Self, Failure> {
        let &Arrays { scalar, rows, cols, nnz, offsets, indices, values } = arrays;
        for (what, size) in [("rows", rows), ("cols", cols), ("nnz", nnz)] {
            i32::try_new(what, size)?;
        }
        // SAFETY: the caller promises what is asked.
        let (offsets, indices, values) = unsafe {
            (
                borrowed(backend, ("offsets", offsets, rows + 1))?,
                borrowed(backend, ("indices", indices, nnz))?,
                borrowed(backend, ("values", values.cast::<T>(), nnz))?,
            )
        };
        Ok(Self::new(backend, scalar, backend.csr((rows, cols), offsets, indices, values)?))
    }

    /// # Safety
    /// As for [`Matrices::dense_to_csr`].
    unsafe fn of_dense(
        backend: &B,
        scalar: Type,
        (rows, cols): (usize, usize),
        Dense { pointer, step }: Dense,
    ) -> Result<Self, Failure> {
        let dense = ("dense", pointer.cast::<T>(), extent(rows, cols, step)?);
        // SAFETY: the caller promises what is asked.
        let elements = unsafe { borrowed(backend, dense)? };
        let view = DenseView::new(B::view(&elements), rows, cols, step, Order::RowMajor)?;
        let mut plan = DenseToCompressedPlan::<_, Row, T, i32, i32>::new(
            backend,
            view,
            Keep::NonZero,
            &PlanOptions::once(),
        )?;
        let matrix = plan.run(view)?;
        backend.synchronize()?;
        Ok(Self::new(backend, scalar, B::owned(matrix)))
    }
}

impl<T: Scalar<Acc = T>, B: Computes<T>> Products for Planned<T, B> {
    fn arrays(&self) -> Arrays {
        let (offsets, indices, values) = B::addresses(&self.matrix);
        Arrays {
            scalar: self.scalar,
            rows: self.matrix.rows(),
            cols: self.matrix.cols(),
            nnz: self.matrix.nnz(),
            offsets,
            indices,
            values: values.cast(),
        }
    }

    unsafe fn spmv(
        &mut self,
        alpha: f64,
        x: *const c_void,
        beta: f64,
        y: *mut c_void,
    ) -> Result<(), Failure> {
        let Self { backend, matrix, .. } = self;
        let operand = ("x", x.cast::<T>(), matrix.cols());
        let result = ("y", y.cast_const().cast::<T>(), matrix.rows());
        // SAFETY: the caller promises what is asked.
        let (x, mut y) = unsafe { (borrowed(backend, operand)?, borrowed(backend, result)?) };
        check_apart(operand, result)?;
        let plan = match &mut self.spmv {
            Some(plan) => plan,
            none => none.insert(SpmvPlan::new(backend, matrix, Op::None, &PlanOptions::default())?),
        };
        Ok(plan.run(factor(alpha), matrix, B::view(&x), factor(beta), B::view_mut(&mut y))?)
    }

    unsafe fn spmm(
        &mut self,
        columns: usize,
        alpha: f64,
        b: Dense,
        beta: f64,
        c: Dense,
    ) -> Result<(), Failure> {
        let Self { backend, matrix, .. } = self;
        let (rows, cols) = (matrix.rows(), matrix.cols());
        let operand = ("B", b.pointer.cast::<T>(), extent(cols, columns, b.step)?);
        let result = ("C", c.pointer.cast::<T>(), extent(rows, columns, c.step)?);
        // SAFETY: the caller promises what is asked.
        let (from, mut to) = unsafe { (borrowed(backend, operand)?, borrowed(backend, result)?) };
        check_apart(operand, result)?;
        let from = DenseView::new(B::view(&from), cols, columns, b.step, Order::RowMajor)?;
        let to = DenseViewMut::new(B::view_mut(&mut to), rows, columns, c.step, Order::RowMajor)?;
        let plan = match &mut self.spmm {
            Some((planned, plan)) if *planned == columns => plan,
            other => {
                let plan = SpmmPlan::new(backend, matrix, Op::None, columns, &PlanOptions::default())?;
                &mut other.insert((columns, plan)).1
            }
        };
        Ok(plan.run(factor(alpha), matrix, from, factor(beta), to)?)
    }
}

fn factor<T: Scalar>(number: f64) -> T {
    T::from_c64(c64::new(number, 0.0))
}

/// The number of elements from the first to the last of a row-major dense matrix.
fn extent(rows: usize, cols: usize, step: usize) -> Result<usize, Failure> {
    let Some(last) = rows.checked_sub(1).filter(|_| cols > 0) else { return Ok(0) };
    let extent = last.checked_mul(step).and_then(|start| start.checked_add(cols));
    Ok(extent.ok_or_else(|| Error::shape("dense", format!("{rows} rows, {step} apart, fit no memory")))?)
}

/// A caller's array: its name in messages, its first element and its length.
type Array<'a, T> = (&'a str, *const T, usize);

/// The elements of an array; for length 0 the pointer may be anything.
///
/// # Safety
/// As for [`CallerMemory::borrow`].
unsafe fn borrowed<B: CallerMemory, T: Element>(
    backend: &B,
    (name, pointer, len): Array<'_, T>,
) -> Result<B::Elements<T>, Failure> {
    if len > 0 && pointer.is_null() {
        return Err(Failure::null(name));
    }
    if len > isize::MAX as usize / size_of::<T>() {
        let what = format!("the number of elements of {name}");
        return Err(Error::IndexOverflow { what, value: len as u128, target: "memory" }.into());
    }
    // SAFETY: the caller promises what is asked.
    unsafe { backend.borrow(pointer.cast_mut(), len) }.map_err(|error| Failure::memory(name, &error))
}

/// An error if the result of an operation shares memory with an operand.
fn check_apart<T>(operand: Array<'_, T>, result: Array<'_, T>) -> Result<(), Failure> {
    let end = |(_, pointer, len): Array<'_, T>| pointer.addr().saturating_add(len * size_of::<T>());
    let empty = operand.2 == 0 || result.2 == 0;
    if !empty && operand.1.addr() < end(result) && result.1.addr() < end(operand) {
        return Err(Failure::memory(result.0, &format_args!("it shares memory with {}", operand.0)));
    }
    Ok(())
}
