//! Products of matrices with vectors and dense matrices.

use crate::runtime::{DenseMatrix, Matrix, MatrixSpmmPlan, MatrixSpmvPlan, Vector};
use sparse_core::op::Op;
use sparse_core::{Algorithm, PlanOptions, Result, c64};

/// Products.
impl Matrix {
    /// `A·x`.
    ///
    /// The plan of the first call is cached for the next ones; [`plan_spmv`](Self::plan_spmv) makes a plan with other
    /// options.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&device, a)?;
    /// let x = Vector::from_slice(&device, &[1.0, 1.0])?;
    /// assert_eq!(a.matvec(&x)?.to_vec::<f64>()?, [3.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](crate::Error::Operands) if types or devices differ, [`Shape`](crate::Error::Shape) if x is not as
    /// long as A has columns; an error of the device's runtime.
    pub fn matvec(&self, x: &Vector) -> Result<Vector> {
        let mut y = Vector::zeros(self.device(), self.dtype(), self.nrows())?;
        self.spmv(Op::None, 1.0, x, 0.0, &mut y)?;
        Ok(y)
    }

    /// `y ← alpha·op(A)·x + beta·y`; a `beta` of zero does not read `y`.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f32>::identity(2)?)?;
    /// let x = Vector::from_slice(&device, &[1.0_f32, 2.0])?;
    /// let mut y = Vector::from_slice(&device, &[1.0_f32, 1.0])?;
    /// a.spmv(Op::Transpose, 3.0, &x, -1.0, &mut y)?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.0, 5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matvec`](Self::matvec), and [`Operands`](crate::Error::Operands) for a factor that the type does not hold.
    pub fn spmv(
        &self,
        op: Op,
        alpha: impl Into<c64>,
        x: &Vector,
        beta: impl Into<c64>,
        y: &mut Vector,
    ) -> Result<()> {
        let plans = &self.plans.spmv;
        let mut plan = match plans.take(&op) {
            Some(plan) => plan,
            None => self.plan_spmv(op, &PlanOptions::default())?,
        };
        let done = plan.run(alpha, self, x, beta, y);
        plans.put(op, plan);
        done
    }

    /// A plan of `y ← alpha·op(A)·x + beta·y` with the given options.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// let plan = a.plan_spmv(Op::None, &PlanOptions::forced("sequential"))?;
    /// assert_eq!(plan.choice().algorithm, "sequential");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SpmvPlan::new`](crate::op::SpmvPlan::new).
    pub fn plan_spmv(&self, op: Op, options: &PlanOptions) -> Result<MatrixSpmvPlan> {
        self.any().plan_spmv(op, options).map(MatrixSpmvPlan)
    }

    /// The algorithms of [`plan_spmv`](Self::plan_spmv), the default first.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// assert!(a.spmv_algorithms(Op::None).iter().any(|algorithm| algorithm.name == "sequential"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.any().spmv_algorithms(op)
    }

    /// `A·B`, in the order of B.
    ///
    /// The plan of the first call is cached for the next ones with as many columns; [`plan_spmm`](Self::plan_spmm)
    /// makes a plan with other options.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::ColMajor)?;
    /// assert_eq!(a.matmul(&b)?.values().to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](crate::Error::Operands) if types or devices differ, [`Shape`](crate::Error::Shape) unless B has as
    /// many rows as A has columns; an error of the device's runtime.
    pub fn matmul(&self, b: &DenseMatrix) -> Result<DenseMatrix> {
        let mut c = DenseMatrix::zeros(self.device(), self.dtype(), self.nrows(), b.ncols(), b.order())?;
        self.spmm(Op::None, 1.0, b, 0.0, &mut c)?;
        Ok(c)
    }

    /// `C ← alpha·op(A)·B + beta·C`; a `beta` of zero does not read C.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(1)?)?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 2.0], 1, 2, Order::RowMajor)?;
    /// let mut c = DenseMatrix::from_vec(&device, vec![10.0, 10.0], 1, 2, Order::RowMajor)?;
    /// a.spmm(Op::None, 1.0, &b, 2.0, &mut c)?;
    /// assert_eq!(c.values().to_vec::<f64>()?, [21.0, 22.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul), and [`Operands`](crate::Error::Operands) for a factor that the type does not hold.
    pub fn spmm(
        &self,
        op: Op,
        alpha: impl Into<c64>,
        b: &DenseMatrix,
        beta: impl Into<c64>,
        c: &mut DenseMatrix,
    ) -> Result<()> {
        let (plans, key) = (&self.plans.spmm, (op, b.ncols()));
        let mut plan = match plans.take(&key) {
            Some(plan) => plan,
            None => self.plan_spmm(op, b.ncols(), &PlanOptions::default())?,
        };
        let done = plan.run(alpha, self, b, beta, c);
        plans.put(key, plan);
        done
    }

    /// A plan of `C ← alpha·op(A)·B + beta·C` for `columns` columns of B and C, with the given options.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// let plan = a.plan_spmm(Op::None, 4, &PlanOptions::forced("sequential"))?;
    /// assert_eq!(plan.choice().algorithm, "sequential");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SpmmPlan::new`](crate::op::SpmmPlan::new).
    pub fn plan_spmm(&self, op: Op, columns: usize, options: &PlanOptions) -> Result<MatrixSpmmPlan> {
        self.any().plan_spmm(op, columns, options).map(MatrixSpmmPlan)
    }

    /// The algorithms of [`plan_spmm`](Self::plan_spmm), the default first.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// assert!(a.spmm_algorithms(Op::None).iter().any(|algorithm| algorithm.name == "sequential"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.any().spmm_algorithms(op)
    }
}
