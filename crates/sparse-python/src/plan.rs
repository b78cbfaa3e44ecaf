//! Plans that Python keeps: the work that depends on the pattern alone is done once.

use crate::count;
use crate::device::open;
use crate::error::exception;
use crate::matrix::Matrix;
use crate::operand::{Input, Operand, Output, lendable};
use crate::types::{Value, factor, op_of, with_values};
use nnz::op::Sampling;
use nnz::{
    DType, DenseMatrix, Error, MatrixSddmmPlan, MatrixSpmmPlan, MatrixSpmvPlan, Order, PlanOptions, Result,
    c64,
};
use pyo3::prelude::*;
use pyo3::types::PyComplex;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A plan and its matrix, whose values can change.
#[pyclass(frozen, module = "nnz._native")]
pub(crate) struct Plan {
    dtype: DType,
    state: Mutex<State>,
}

struct State {
    /// The matrix that the plan multiplies. CSR of the host borrows the arrays of `owner`, as it does in a run with
    /// other values.
    matrix: nnz::Matrix,
    owner: nnz::Matrix,
    product: Product,
}

enum Product {
    Spmv(MatrixSpmvPlan),
    Spmm(MatrixSpmmPlan),
    Sddmm(MatrixSddmmPlan),
}

fn options(algorithm: Option<&str>) -> PlanOptions {
    algorithm.map_or_else(PlanOptions::default, PlanOptions::forced)
}

impl Plan {
    fn new(
        py: Python<'_>,
        matrix: &Matrix,
        plan: impl FnOnce(&nnz::Matrix) -> Result<Product> + Send,
    ) -> PyResult<Self> {
        count();
        let (dtype, owner) = (matrix.0.dtype(), matrix.0.clone());
        let state = with_values!(dtype, T => py.detach(|| {
            // SAFETY: the state keeps both, and replaces both.
            let matrix = unsafe { lendable::<T>(&owner)? };
            let product = plan(&matrix)?;
            Ok(State { matrix, owner, product })
        }));
        Ok(Self { dtype, state: Mutex::new(state.map_err(exception)?) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A call that panicked has left the matrix and the plan as they were.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Plan {
    /// A plan of `y ← alpha·op(A)·x + beta·y`.
    #[staticmethod]
    #[pyo3(signature = (matrix, op, algorithm=None))]
    fn spmv(py: Python<'_>, matrix: &Matrix, op: &str, algorithm: Option<&str>) -> PyResult<Self> {
        let (op, options) = (op_of(op)?, options(algorithm));
        Self::new(py, matrix, |a| a.plan_spmv(op, &options).map(Product::Spmv))
    }

    /// A plan of `C ← alpha·op(A)·B + beta·C` for `columns` columns.
    #[staticmethod]
    #[pyo3(signature = (matrix, op, columns, algorithm=None))]
    fn spmm(
        py: Python<'_>,
        matrix: &Matrix,
        op: &str,
        columns: usize,
        algorithm: Option<&str>,
    ) -> PyResult<Self> {
        let (op, options) = (op_of(op)?, options(algorithm));
        Self::new(py, matrix, |a| a.plan_spmm(op, columns, &options).map(Product::Spmm))
    }

    /// A plan of `c ← alpha·(U·Vᵀ) + beta·c` at the entries of A, for `columns` columns of U and V.
    #[staticmethod]
    #[pyo3(signature = (matrix, columns, algorithm=None))]
    fn sddmm(py: Python<'_>, matrix: &Matrix, columns: usize, algorithm: Option<&str>) -> PyResult<Self> {
        let options = options(algorithm);
        Self::new(py, matrix, |a| a.plan_sddmm(Sampling::Pattern, columns, &options).map(Product::Sddmm))
    }

    /// The algorithm that runs, the reason, and bytes of workspace.
    fn choice(&self) -> (String, String, usize) {
        let state = self.state();
        let (choice, bytes) = match &state.product {
            Product::Spmv(plan) => (plan.choice(), plan.workspace_bytes()),
            Product::Spmm(plan) => (plan.choice(), plan.workspace_bytes()),
            Product::Sddmm(plan) => (plan.choice(), plan.workspace_bytes()),
        };
        (choice.algorithm.into(), choice.reason.clone(), bytes)
    }

    /// Copies new values for the entries of A.
    fn update_values(&self, py: Python<'_>, values: Operand<'_>) -> PyResult<()> {
        count();
        with_values!(self.dtype, T => {
            // SAFETY: the argument owns a reference to the array; that no other thread writes it meanwhile is asked of
            // programs, as NumPy does.
            let values = unsafe { values.input::<T>("values")? };
            py.detach(|| {
                let mut state = self.state();
                let owner = values.as_values_of(&state.owner)?;
                // SAFETY: as in `new`.
                state.matrix = unsafe { lendable::<T>(&owner)? };
                state.owner = owner;
                Ok(())
            })
        })
        .map_err(exception)
    }

    /// Runs with (x), (B) or (U, V), into `out`; with `values` for those of A in this run, which CSR and GPUs read
    /// where they lie.
    #[pyo3(signature = (inputs, out, alpha, beta, values=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Operand<'py>>,
        out: Operand<'py>,
        alpha: &Bound<'py, PyComplex>,
        beta: &Bound<'py, PyComplex>,
        values: Option<Operand<'py>>,
    ) -> PyResult<()> {
        count();
        let factors = (factor(alpha), factor(beta));
        with_values!(self.dtype, T => {
            // SAFETY: the arguments own references to the arrays, and the caller of Python gave `out` to be written;
            // that no other thread uses it meanwhile, or writes the others, is asked of programs, as NumPy does.
            let (inputs, out, values) = unsafe {
                let inputs = inputs.iter().map(|operand| operand.input::<T>("the operand"));
                let values = values.as_ref().map(|values| values.input::<T>("values")).transpose()?;
                (inputs.collect::<PyResult<Vec<_>>>()?, out.output::<T>("out")?, values)
            };
            py.detach(|| self.state().run(factors, &inputs, out, values))
        })
        .map_err(exception)
    }
}

impl State {
    fn run<T: Value>(
        &mut self,
        (alpha, beta): (c64, c64),
        inputs: &[Input<'_, T>],
        mut out: Output<'_, T>,
        values: Option<Input<'_, T>>,
    ) -> Result<()> {
        let device = self.matrix.device();
        // SAFETY: the arrays outlive the vectors and matrices over them; memory of a GPU is freed in order with the
        // stream that the work is enqueued in, which `Shared::borrow` compares.
        let (changed, inputs, mut result) = unsafe {
            (
                values.map(|values| values.lent_to(&self.owner)).transpose()?,
                inputs.iter().map(|input| input.matrix(device)).collect::<Result<Vec<_>>>()?,
                out.vector(device, beta)?,
            )
        };
        let a = changed.as_ref().unwrap_or(&self.matrix);
        match (&mut self.product, &inputs[..]) {
            (Product::Spmv(plan), [x]) => plan.run(alpha, a, x.values(), beta, &mut result)?,
            (Product::Spmm(plan), [b]) => {
                let (rows, columns) = out.extents();
                let mut c = DenseMatrix::new(result, rows, columns, columns, Order::RowMajor)?;
                plan.run(alpha, a, b, beta, &mut c)?;
                result = c.into_values();
            }
            (Product::Sddmm(plan), [u, v]) => plan.run(alpha, a, (u, v), beta, &mut result)?,
            (_, inputs) => {
                let reason = format!("{} operands where a sampled product has two, others one", inputs.len());
                return Err(Error::operands("run", reason));
            }
        }
        out.store(&result)
    }
}

/// Makes later work of a stream of another library wait for the work that was enqueued on a device.
#[pyfunction]
pub(crate) fn delay(py: Python<'_>, device: &str, stream: usize) -> PyResult<()> {
    py.detach(|| crate::device_array::delay(&open(device)?, stream).map_err(exception))
}

/// The stream of a device, as DLPack names it.
#[pyfunction]
pub(crate) fn stream(py: Python<'_>, device: &str) -> PyResult<usize> {
    py.detach(|| {
        let device = open(device)?;
        let (accelerator, _) = crate::device_array::accelerator(&device).map_err(exception)?;
        Ok(nnz::cuda::stream(accelerator).map_err(exception)?.addr())
    })
}

/// Waits for all work of a device.
#[pyfunction]
pub(crate) fn synchronize(py: Python<'_>, device: &str) -> PyResult<()> {
    py.detach(|| open(device)?.synchronize().map_err(exception))
}
