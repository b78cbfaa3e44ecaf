//! SpMV and SpMM by each algorithm for CSR, preprocessed.

use super::descriptor::{DenseMatrix, SparseMatrix, Vector, data_type, pointer, start};
use super::{Cusparse, check};
use crate::device::product::{Product, available, planned};
use backend_cuda::Device;
pub(super) use cudarc::cusparse::sys::cusparseSpMVAlg_t as SpmvAlgorithm;
use cudarc::cusparse::sys::{self, cusparseSpMMAlg_t as SpmmAlgorithm};
use sparse_core::{Backend, Csr, DenseView, Order, Result, Scalar, Space, SparseFormat, c64};
use sparse_device::{Buffer, View, ViewMut};
use std::ffi::c_void;

pub(super) const SPMV: [(&str, SpmvAlgorithm); 2] = [
    ("cusparse:csr_alg1", SpmvAlgorithm::CUSPARSE_SPMV_CSR_ALG1),
    ("cusparse:csr_alg2", SpmvAlgorithm::CUSPARSE_SPMV_CSR_ALG2),
];

const SPMM: [(&str, SpmmAlgorithm); 3] = [
    ("cusparse:default", SpmmAlgorithm::CUSPARSE_SPMM_ALG_DEFAULT),
    ("cusparse:csr_alg2", SpmmAlgorithm::CUSPARSE_SPMM_CSR_ALG2),
    ("cusparse:csr_alg3", SpmmAlgorithm::CUSPARSE_SPMM_CSR_ALG3),
];

const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;

pub(super) fn spmv<'a, T: Scalar>(
    library: &'a Cusparse,
    a: &'a Csr<T, Device>,
    x: View<'a, T>,
) -> Result<Vec<Product<'a, T>>> {
    let product = |(name, algorithm)| {
        let (plan, seconds) = planned(&library.device, || Spmv::new(library, a, algorithm))?;
        Ok(Product::new(name, seconds, move |y| plan.run(x, y)))
    };
    Ok(SPMV.into_iter().filter_map(|wanted| available(wanted.0, product(wanted))).collect())
}

pub(super) fn spmm<'a, T: Scalar>(
    library: &'a Cusparse,
    a: &'a Csr<T, Device>,
    b: DenseView<'a, T, Device>,
) -> Result<Vec<Product<'a, T>>> {
    let product = |(name, algorithm)| {
        let (plan, seconds) = planned(&library.device, || Spmm::new(library, a, &b, algorithm))?;
        Ok(Product::new(name, seconds, move |c| plan.run(c)))
    };
    Ok(SPMM.into_iter().filter_map(|wanted| available(wanted.0, product(wanted))).collect())
}

/// One and zero in the type of the product, for alpha and beta.
struct Scalars<T> {
    one: T,
    zero: T,
}

impl<T: Scalar> Scalars<T> {
    fn new() -> Self {
        Self { one: T::from_c64(c64::ONE), zero: T::ZERO }
    }

    fn alpha(&self) -> *const c_void {
        (&raw const self.one).cast()
    }

    fn beta(&self) -> *const c_void {
        (&raw const self.zero).cast()
    }
}

/// `y = A·x`.
pub(super) struct Spmv<'a, T: Scalar> {
    library: &'a Cusparse,
    scalars: Scalars<T>,
    a: SparseMatrix,
    x: Vector,
    y: Vector,
    algorithm: SpmvAlgorithm,
    workspace: Buffer<u8>,
}

impl<'a, T: Scalar> Spmv<'a, T> {
    /// A prepared product; the vectors of the preparation are freed.
    pub(super) fn new(
        library: &'a Cusparse,
        matrix: &'a Csr<T, Device>,
        algorithm: SpmvAlgorithm,
    ) -> Result<Self> {
        let device = &library.device;
        let (input, output) = (device.zeros::<T>(matrix.cols())?, device.zeros::<T>(matrix.rows())?);
        let (x, y) = (Vector::new(&Device::view(&input))?, Vector::new(&Device::view(&output))?);
        let a = SparseMatrix::new(matrix)?;
        let scalars = Scalars::new();
        let mut bytes = 0;
        // SAFETY: handle and descriptors are alive; the operands are of one type, with lengths that fit.
        let status = unsafe {
            sys::cusparseSpMV_bufferSize(
                library.handle,
                PLAIN,
                scalars.alpha(),
                a.0,
                x.0,
                scalars.beta(),
                y.0,
                data_type::<T>()?,
                algorithm,
                &raw mut bytes,
            )
        };
        check("cusparseSpMV_bufferSize", status)?;
        let plan = Self { library, scalars, a, x, y, algorithm, workspace: device.zeros(bytes)? };
        // SAFETY: as above; the workspace has the size that was asked for, and the vectors are freed behind this work.
        let status = unsafe {
            sys::cusparseSpMV_preprocess(
                library.handle,
                PLAIN,
                plan.scalars.alpha(),
                plan.a.0,
                plan.x.0,
                plan.scalars.beta(),
                plan.y.0,
                data_type::<T>()?,
                algorithm,
                start(&plan.workspace),
            )
        };
        check("cusparseSpMV_preprocess", status)?;
        Ok(plan)
    }

    /// Multiplies: `x` has an element for each column, `y` for each row.
    pub(super) fn run(&self, x: View<'_, T>, y: ViewMut<'_, T>) -> Result<()> {
        self.x.set(&x)?;
        self.y.set(&Device::as_shared(&y))?;
        // SAFETY: as in `new`; the matrix is borrowed, and the vectors have the lengths that were prepared for.
        let status = unsafe {
            sys::cusparseSpMV(
                self.library.handle,
                PLAIN,
                self.scalars.alpha(),
                self.a.0,
                self.x.0,
                self.scalars.beta(),
                self.y.0,
                data_type::<T>()?,
                self.algorithm,
                start(&self.workspace),
            )
        };
        check("cusparseSpMV", status)
    }
}

/// `C = A·B`, both by rows.
struct Spmm<'a, T: Scalar> {
    library: &'a Cusparse,
    scalars: Scalars<T>,
    a: SparseMatrix,
    b: DenseMatrix,
    c: DenseMatrix,
    algorithm: SpmmAlgorithm,
    workspace: Buffer<u8>,
}

impl<'a, T: Scalar> Spmm<'a, T> {
    fn new(
        library: &'a Cusparse,
        matrix: &'a Csr<T, Device>,
        b: &DenseView<'a, T, Device>,
        algorithm: SpmmAlgorithm,
    ) -> Result<Self> {
        let (device, rows, columns) = (&library.device, matrix.rows(), b.cols());
        let output = device.zeros::<T>(rows * columns)?;
        let output = DenseView::new(Device::view(&output), rows, columns, columns, Order::RowMajor)?;
        let (a, b, c) = (SparseMatrix::new(matrix)?, DenseMatrix::new(b)?, DenseMatrix::new(&output)?);
        let scalars = Scalars::new();
        let mut bytes = 0;
        // SAFETY: handle and descriptors are alive; the operands are of one type, with shapes that fit.
        let status = unsafe {
            sys::cusparseSpMM_bufferSize(
                library.handle,
                PLAIN,
                PLAIN,
                scalars.alpha(),
                a.0,
                b.0,
                scalars.beta(),
                c.0,
                data_type::<T>()?,
                algorithm,
                &raw mut bytes,
            )
        };
        check("cusparseSpMM_bufferSize", status)?;
        let plan = Self { library, scalars, a, b, c, algorithm, workspace: device.zeros(bytes)? };
        // SAFETY: as above; the workspace has the size that was asked for, and the output is freed behind this work.
        let status = unsafe {
            sys::cusparseSpMM_preprocess(
                library.handle,
                PLAIN,
                PLAIN,
                plan.scalars.alpha(),
                plan.a.0,
                plan.b.0,
                plan.scalars.beta(),
                plan.c.0,
                data_type::<T>()?,
                algorithm,
                start(&plan.workspace),
            )
        };
        check("cusparseSpMM_preprocess", status)?;
        Ok(plan)
    }

    fn run(&self, c: ViewMut<'_, T>) -> Result<()> {
        // SAFETY: the descriptor is alive.
        let status = unsafe { sys::cusparseDnMatSetValues(self.c.0, pointer(&Device::as_shared(&c))) };
        check("cusparseDnMatSetValues", status)?;
        // SAFETY: as in `new`; A and B are borrowed, C has the shape of the output there.
        let status = unsafe {
            sys::cusparseSpMM(
                self.library.handle,
                PLAIN,
                PLAIN,
                self.scalars.alpha(),
                self.a.0,
                self.b.0,
                self.scalars.beta(),
                self.c.0,
                data_type::<T>()?,
                self.algorithm,
                start(&self.workspace),
            )
        };
        check("cusparseSpMM", status)
    }
}
