//! Triangular systems.

use crate::Device;
use crate::device::HostBackend;
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::dispatch::operand_errors::mismatch;
use crate::runtime::{DenseMatrix, Format, Matrix, Vector};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::{Csc, Csr, Error, Order, PlanOptions, Result, SparseFormat};
use sparse_device::Device as Accelerator;
use std::any::Any;

const OP: &str = "trisolve";

/// Triangular systems.
impl Matrix {
    /// x of op(A)·x = b for a triangle of A in CSR or CSC; entries in the other triangle are ignored.
    ///
    /// For several systems with the same pattern make a [`TrisolvePlan`](crate::op::TrisolvePlan).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, 7.0, 1.0, 4.0])?;
    /// let a = Matrix::from_typed(&device, a)?;
    /// let b = Vector::from_slice(&device, &[2.0, 9.0])?;
    /// let x = a.solve_triangular(Triangular::lower(), &b)?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Singular`](Error::Singular) with the first row whose diagonal is zero or not stored;
    /// [`Operands`](Error::Operands) if types or devices differ; [`Shape`](Error::Shape) if A is not square or b not as
    /// long as A has rows; [`Unsupported`](Error::Unsupported) for other formats; an error of the device's runtime.
    pub fn solve_triangular(&self, system: Triangular, b: &Vector) -> Result<Vector> {
        let n = b.len();
        let b = DenseMatrix::new(b.clone(), n, 1, n, Order::ColMajor)?;
        Ok(self.solve_triangular_many(system, &b)?.into_values())
    }

    /// X of op(A)·X = B, in the order of B; see [`solve_triangular`](Self::solve_triangular).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// let x = a.solve_triangular_many(Triangular::upper(), &b)?;
    /// assert_eq!(x.values().to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`solve_triangular`](Self::solve_triangular).
    pub fn solve_triangular_many(&self, system: Triangular, b: &DenseMatrix) -> Result<DenseMatrix> {
        let mut x = DenseMatrix::zeros(b.device(), b.dtype(), b.nrows(), b.ncols(), b.order())?;
        self.solve_triangular_into(system, b, &mut x)?;
        Ok(x)
    }

    /// Writes X of op(A)·X = B to `x`, which is not read; see [`solve_triangular`](Self::solve_triangular).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// let mut x = DenseMatrix::zeros(&device, DType::F64, 2, 2, Order::ColMajor)?;
    /// a.solve_triangular_into(Triangular::upper(), &b, &mut x)?;
    /// assert_eq!(x.values().to_vec::<f64>()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`solve_triangular`](Self::solve_triangular); after [`Singular`](Error::Singular) for a zero on the
    /// diagonal `x` has any values.
    pub fn solve_triangular_into(
        &self,
        system: Triangular,
        b: &DenseMatrix,
        x: &mut DenseMatrix,
    ) -> Result<()> {
        if !matches!(self.format(), Format::Csr | Format::Csc) {
            let instead = "csr and csc have it";
            return Err(Error::unsupported(format_args!("{OP} of {}", self.format()), instead));
        }
        match self.device() {
            Device::Cpu(backend) => solve_any(backend, self.on_host()?.typed(), system, self, (b, x)),
            Device::Accelerator(backend, _) => solve_any(backend, self.any().as_any(), system, self, (b, x)),
        }
    }
}

macro_rules! trisolve_kernels {
    ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
        /// A backend with triangular solves for every type.
        trait TrisolveKernels:
            RuntimeBackend
            $(+ TrisolveKernel<Csr<$t, SpaceOf<Self>, $i, $o>> + TrisolveKernel<Csc<$t, SpaceOf<Self>, $i, $o>>)*
        {
        }

        impl TrisolveKernels for HostBackend {}

        impl TrisolveKernels for Accelerator {}

        /// Solves with `typed`, the matrix that `matrix` holds in CSR or CSC.
        fn solve_any<B: TrisolveKernels>(
            backend: &B,
            typed: &dyn Any,
            system: Triangular,
            matrix: &Matrix,
            (b, x): (&DenseMatrix, &mut DenseMatrix),
        ) -> Result<()> {
            $(
                if let Some(a) = typed.downcast_ref::<Csr<$t, SpaceOf<B>, $i, $o>>() {
                    return solve(backend, a, system, matrix, (b, x));
                }
                if let Some(a) = typed.downcast_ref::<Csc<$t, SpaceOf<B>, $i, $o>>() {
                    return solve(backend, a, system, matrix, (b, x));
                }
            )*
            Err(matrix.unknown_types(OP))
        }
    };
}

sparse_core::for_all_types!(trisolve_kernels);

/// Solves with the typed matrix of `matrix`.
fn solve<B, M>(
    backend: &B,
    a: &M,
    system: Triangular,
    matrix: &Matrix,
    (b, x): (&DenseMatrix, &mut DenseMatrix),
) -> Result<()>
where
    B: RuntimeBackend + TrisolveKernel<M>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    let context = matrix.context();
    let Some(columns) = b.view_in::<B, M::Scalar>(context) else {
        return Err(mismatch(OP, matrix.as_operand(), &[b.as_operand("b")]));
    };
    let Some(solutions) = x.view_mut_in::<B, M::Scalar>(context) else {
        return Err(mismatch(OP, matrix.as_operand(), &[x.as_operand("x")]));
    };
    TrisolvePlan::new(backend, a, system, &PlanOptions::once())?.run_many(a, columns?, solutions?)
}
