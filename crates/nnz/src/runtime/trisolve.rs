//! Triangular systems.

use super::fit::mismatch;
use super::{DenseMatrix, Format, Matrix, Vector};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::op::{Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::{Csc, Csr, Error, Host, Order, PlanOptions, Result, SparseFormat};

const OP: &str = "trisolve";

/// Triangular systems.
impl Matrix {
    /// x of op(A)·x = b for a triangle of A in CSR or CSC; entries in the other triangle are ignored.
    ///
    /// For several systems with the same pattern make a [`TrisolvePlan`](crate::op::TrisolvePlan).
    ///
    /// # Errors
    /// [`Singular`](Error::Singular) with the first row whose diagonal is zero or not stored;
    /// [`Operands`](Error::Operands) if types or devices differ; [`Shape`](Error::Shape) if A is not square or b not as long
    /// as A has rows; [`Unsupported`](Error::Unsupported) for other formats, and on devices other than the CPU.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device: Device = "cpu".parse()?;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, 7.0, 1.0, 4.0])?;
    /// let a = Matrix::from_typed(&device, a)?;
    /// let b = Vector::from_slice(&device, &[2.0, 9.0])?;
    /// let x = a.solve_triangular(Triangular::lower(), &b)?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn solve_triangular(&self, system: Triangular, b: &Vector) -> Result<Vector> {
        let n = b.len();
        let b = DenseMatrix::new(b.clone(), n, 1, n, Order::ColMajor)?;
        Ok(self.solve_triangular_many(system, &b)?.into_values())
    }

    /// X of op(A)·X = B, in the order of B; see [`solve_triangular`](Self::solve_triangular).
    ///
    /// # Errors
    /// As there.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device: Device = "cpu".parse()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// let x = a.solve_triangular_many(Triangular::upper(), &b)?;
    /// assert_eq!(x.values().to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn solve_triangular_many(&self, system: Triangular, b: &DenseMatrix) -> Result<DenseMatrix> {
        let mut x = DenseMatrix::zeros(b.device(), b.dtype(), b.nrows(), b.ncols(), b.order())?;
        self.solve_triangular_into(system, b, &mut x)?;
        Ok(x)
    }

    /// Writes X of op(A)·X = B to `x`, which is not read; see [`solve_triangular`](Self::solve_triangular).
    ///
    /// # Errors
    /// As there; after [`Singular`](Error::Singular) for a zero on the diagonal `x` has any values.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device: Device = "cpu".parse()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::RowMajor)?;
    /// let mut x = DenseMatrix::zeros(&device, DType::F64, 2, 2, Order::ColMajor)?;
    /// a.solve_triangular_into(Triangular::upper(), &b, &mut x)?;
    /// assert_eq!(x.values().to_vec::<f64>()?, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn solve_triangular_into(
        &self,
        system: Triangular,
        b: &DenseMatrix,
        x: &mut DenseMatrix,
    ) -> Result<()> {
        let Device::Cpu(backend) = self.device() else {
            let instead = "the CPU has it: a.to_device(&Device::host()?)?";
            return Err(Error::unsupported(format_args!("{OP} on {}", self.device()), instead));
        };
        let host = self.on_host()?;
        macro_rules! solve_each {
            ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
                $(
                    if let Some(a) = host.typed().downcast_ref::<Csr<$t, Host, $i, $o>>() {
                        return solve(backend, a, system, self, (b, x));
                    }
                    if let Some(a) = host.typed().downcast_ref::<Csc<$t, Host, $i, $o>>() {
                        return solve(backend, a, system, self, (b, x));
                    }
                )*
            };
        }
        if matches!(self.format(), Format::Csr | Format::Csc) {
            sparse_core::for_all_types!(solve_each);
        }
        let instead = "csr and csc have it: a.to_format(Format::Csr)?";
        Err(Error::unsupported(format_args!("{OP} of {}", self.format()), instead))
    }
}

/// Solves with the typed matrix of `matrix` in the host's memory.
fn solve<M>(
    backend: &HostBackend,
    a: &M,
    system: Triangular,
    matrix: &Matrix,
    (b, x): (&DenseMatrix, &mut DenseMatrix),
) -> Result<()>
where
    M: SparseFormat<Space = Host>,
    HostBackend: TrisolveKernel<M>,
{
    let context = matrix.context();
    let Some(columns) = b.view_in::<HostBackend, M::Scalar>(context) else {
        return Err(mismatch(OP, matrix.as_operand(), &[b.as_operand("b")]));
    };
    let Some(solutions) = x.view_mut_in::<HostBackend, M::Scalar>(context) else {
        return Err(mismatch(OP, matrix.as_operand(), &[x.as_operand("x")]));
    };
    TrisolvePlan::new(backend, a, system, &PlanOptions::once())?.run_many(a, columns?, solutions?)
}
