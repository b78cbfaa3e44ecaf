//! Preconditioners that are made once, for many solvers.

use super::preconditioner_kind::{AnyPreconditioner, PreconditionerKernels, Updatable};
use super::same_pattern::{check_type, has_shape_of, other_pattern};
use crate::Device;
use crate::device::HostBackend;
use crate::runtime::dispatch::any_matrix::Properties;
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::dispatch::operand_errors::mismatch;
use crate::runtime::{Matrix, PreconditionerKind, Vector};
use sparse_core::backend::{Buf, SpaceOf, ViewOf};
use sparse_core::{Accumulator, DType, Error, Result, Scalar, Space, c32, c64};
use sparse_device::Device as Accelerator;
use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An approximation K of a matrix whose inverse is cheap to apply; [`Matrix::preconditioner`] makes one.
///
/// It is on the device of the matrix. Clones and solvers share it, and apply it one after another.
///
/// ```
/// use nnz::{Method, PreconditionerKind, SolveOptions, prelude::*};
/// use std::ops::ControlFlow;
///
/// let device = Device::host()?;
/// let a = Matrix::from_typed(&device, nnz::generate::stencil_5::<f64>(8, 8)?)?;
/// let ic0 = a.preconditioner(PreconditionerKind::Ic0)?; // factorized once, for both solvers
/// let (b, mut x) = (Vector::from_vec(&device, vec![1.0; 64])?, Vector::zeros(&device, DType::F64, 64)?);
/// for method in [Method::Cg, Method::BiCgStab] {
///     let mut solver = a.solver_with(&SolveOptions::new(method), &ic0)?;
///     x.scale(0.0)?;
///     assert!(solver.solve_from(&b, &mut x, |_| ControlFlow::Continue(()))?.converged());
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Preconditioner {
    by: PreconditionerKind,
    /// The properties of the matrix.
    properties: Properties,
    device: Device,
    inner: Arc<dyn AnyShared>,
}

/// Preconditioners.
impl Matrix {
    /// A preconditioner of this matrix, for [`solver_with`](Self::solver_with) or to apply to vectors.
    ///
    /// ```
    /// use nnz::{PreconditionerKind, prelude::*};
    /// let device = Device::host()?;
    /// let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 2.0), (0, 1, 1.0), (1, 1, 4.0)])?;
    /// let jacobi = Matrix::from_typed(&device, a)?.preconditioner(PreconditionerKind::Jacobi)?;
    /// let x = jacobi.apply(&Vector::from_slice(&device, &[8.0, 8.0])?)?;
    /// assert_eq!(x.to_vec::<f64>()?, [4.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if A is not square; [`Singular`](Error::Singular) with the first row whose diagonal
    /// Jacobi's preconditioner cannot take, or that an incomplete factorization cannot eliminate;
    /// [`Unsupported`](Error::Unsupported) for values of 16 bits; an error of the device's runtime.
    pub fn preconditioner(&self, by: PreconditionerKind) -> Result<Preconditioner> {
        let inner = match self.dtype() {
            DType::F32 => shared::<f32>(self, by),
            DType::F64 => shared::<f64>(self, by),
            DType::C32 => shared::<c32>(self, by),
            DType::C64 => shared::<c64>(self, by),
            half @ (DType::F16 | DType::Bf16) => Err(Error::unsupported(
                format_args!("a preconditioner of {half} values"),
                "f32, f64, c32 and c64 have them",
            )),
        }?;
        let (properties, device) = (self.properties, self.device().clone());
        Ok(Preconditioner { by, properties, device, inner })
    }
}

impl Preconditioner {
    /// The kind of preconditioner.
    pub fn kind(&self) -> PreconditionerKind {
        self.by
    }

    /// The number of rows, and of columns.
    pub fn nrows(&self) -> usize {
        self.properties.rows
    }

    /// The type of the values.
    pub fn dtype(&self) -> DType {
        self.properties.dtype
    }

    /// The device in whose memory it is.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Takes the values of another matrix with an equal pattern, in all clones and for all solvers.
    ///
    /// Incomplete factors are computed without another analysis; the diagonal and its blocks are read from any matrix
    /// of the same format, shape and number of entries. After an error the old values remain. A solver that
    /// was made with it takes the values of the matrix itself by [`Solver::update`](crate::Solver::update).
    ///
    /// ```
    /// use nnz::{PreconditionerKind, prelude::*};
    /// let device = Device::host()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let mut ilu0 = a.preconditioner(PreconditionerKind::Ilu0)?;
    /// ilu0.update(&a.scaled(4.0)?)?;
    /// let x = ilu0.apply(&Vector::from_slice(&device, &[8.0, 4.0])?)?;
    /// assert_eq!(x.to_vec::<f64>()?, [2.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types or devices differ; [`PlanMismatch`](Error::PlanMismatch) for another
    /// format, shape or number of entries, and of incomplete factors for another pattern; [`Singular`](Error::Singular)
    /// as [`Matrix::preconditioner`]; an error of the device's runtime.
    pub fn update(&mut self, a: &Matrix) -> Result<()> {
        const MADE: &str = "the preconditioner";
        check_type(MADE, (&self.device, &self.properties), a)?;
        if !has_shape_of(&self.properties, a) {
            return Err(other_pattern(MADE, &self.properties, a));
        }
        self.inner.update(a).map_err(|error| match error {
            Error::PlanMismatch { .. } => other_pattern(MADE, &self.properties, a),
            error => error,
        })
    }

    /// K⁻¹·r.
    ///
    /// # Errors
    /// As [`apply_into`](Self::apply_into).
    pub fn apply(&self, r: &Vector) -> Result<Vector> {
        let mut x = Vector::zeros(r.device(), r.dtype(), r.len())?;
        self.apply_into(r, &mut x)?;
        Ok(x)
    }

    /// Writes K⁻¹·r to `x`, which is not read.
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types or devices differ; [`Shape`](Error::Shape) if lengths do; what the
    /// device's runtime reports.
    pub fn apply_into(&self, r: &Vector, x: &mut Vector) -> Result<()> {
        if let Some(len) = [r.len(), x.len()].into_iter().find(|&len| len != self.nrows()) {
            return Err(self.wrong_size(format_args!("a vector of {len}")));
        }
        self.inner.apply(r, x).unwrap_or_else(|| {
            let own = ("the preconditioner", self.dtype(), &self.device);
            Err(mismatch(OP, own, &[r.as_operand("r"), x.as_operand("x")]))
        })
    }

    /// The preconditioner for a solver of `a`.
    pub(in crate::runtime) fn for_solver_of<B, T>(&self, a: &Matrix) -> Result<AnyPreconditioner<B, T>>
    where
        B: RuntimeBackend,
        T: Accumulator,
    {
        if a.nrows() != self.nrows() {
            return Err(self.wrong_size(format_args!("a matrix of {} rows", a.nrows())));
        }
        match self.inner.as_any().downcast_ref::<Shared<B, T>>() {
            Some(shared) if shared.backend.context() == a.context() => {
                Ok(Box::new(SolverPreconditioner::of(shared)?))
            }
            _ => {
                let reason = format!(
                    "the matrix is {} on {}, the preconditioner {} on {}: make it of a matrix like this one",
                    a.dtype(),
                    a.device(),
                    self.dtype(),
                    self.device
                );
                Err(Error::operands(OP, reason))
            }
        }
    }

    fn wrong_size(&self, found: std::fmt::Arguments<'_>) -> Error {
        Error::shape(OP, format_args!("the preconditioner has {} rows, for {found}", self.nrows()))
    }
}

impl Debug for Preconditioner {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { by, properties: Properties { rows, dtype, .. }, device, .. } = self;
        write!(f, "Preconditioner({by} of {rows} rows of {dtype} on {device})")
    }
}

/// The operation that errors name.
const OP: &str = "precondition";

/// A [`Shared`] with its type hidden.
trait AnyShared: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    /// Writes K⁻¹·r to `x`; `None` if types or devices differ.
    fn apply(&self, r: &Vector, x: &mut Vector) -> Option<Result<()>>;
    fn update(&self, a: &Matrix) -> Result<()>;
}

/// A preconditioner behind a lock: one application at a time.
struct Shared<B: RuntimeBackend, T: Scalar> {
    backend: B,
    rows: usize,
    inner: Arc<Mutex<Option<AnyPreconditioner<B, T>>>>,
}

fn shared<T: Accumulator>(a: &Matrix, by: PreconditionerKind) -> Result<Arc<dyn AnyShared>>
where
    HostBackend: PreconditionerKernels<T>,
    Accelerator: PreconditionerKernels<T>,
{
    Ok(match a.device() {
        Device::Cpu(backend) => Arc::new(Shared::<HostBackend, T>::new(backend, a, by)?),
        Device::Accelerator(backend, _) => Arc::new(Shared::<Accelerator, T>::new(backend, a, by)?),
    })
}

impl<B: PreconditionerKernels<T>, T: Accumulator> Shared<B, T> {
    fn new(backend: &B, a: &Matrix, by: PreconditionerKind) -> Result<Self> {
        let inner = Arc::new(Mutex::new(by.of::<B, T>(backend, a)?));
        Ok(Self { backend: backend.clone(), rows: a.nrows(), inner })
    }
}

impl<B: RuntimeBackend, T: Accumulator> AnyShared for Shared<B, T> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn apply(&self, r: &Vector, x: &mut Vector) -> Option<Result<()>> {
        let mut inner = lock(&self.inner);
        let context = self.backend.context();
        let (r, x) = (r.view_in::<B, T>(context)?, x.view_mut_in::<B, T>(context)?);
        let found = sparse_solvers::Preconditioner::apply(&mut *inner, r);
        Some(x.and_then(|x| self.backend.copy::<T>(found?, x)))
    }

    fn update(&self, a: &Matrix) -> Result<()> {
        match lock(&self.inner).as_mut() {
            Some(preconditioner) => preconditioner.update_from(a),
            None => Ok(()),
        }
    }
}

fn lock<P>(inner: &Mutex<P>) -> MutexGuard<'_, P> {
    // After a panic the values that are applied are unchanged, and the next application overwrites the vectors.
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A [`Shared`] preconditioner of one solver, with the vectors whose views outlive the lock of an application.
struct SolverPreconditioner<B: RuntimeBackend, T: Scalar> {
    backend: B,
    inner: Arc<Mutex<Option<AnyPreconditioner<B, T>>>>,
    residual: Buf<B, T>,
    result: Buf<B, T>,
}

impl<B: RuntimeBackend, T: Scalar> SolverPreconditioner<B, T> {
    fn of(shared: &Shared<B, T>) -> Result<Self> {
        let Shared { backend, rows, inner } = shared;
        let (residual, result) = (backend.zeros(*rows)?, backend.zeros(*rows)?);
        Ok(Self { backend: backend.clone(), inner: inner.clone(), residual, result })
    }
}

impl<B: RuntimeBackend, T: Scalar> Updatable<B, T> for SolverPreconditioner<B, T> {
    /// Changes nothing: solvers share it, and its owner updates it.
    fn update_from(&mut self, _: &Matrix) -> Result<()> {
        Ok(())
    }
}

impl<B: RuntimeBackend, T: Scalar> Debug for SolverPreconditioner<B, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SolverPreconditioner").finish_non_exhaustive()
    }
}

impl<B: RuntimeBackend, T: Scalar> sparse_solvers::Preconditioner<B, T> for SolverPreconditioner<B, T> {
    fn apply<'a>(&'a mut self, r: ViewOf<'a, B, T>) -> Result<ViewOf<'a, B, T>> {
        let Self { backend, inner, residual, result } = self;
        backend.copy::<T>(r, SpaceOf::<B>::view_mut(residual))?;
        let mut inner = lock(inner);
        let found = sparse_solvers::Preconditioner::apply(&mut *inner, SpaceOf::<B>::view(residual))?;
        backend.copy::<T>(found, SpaceOf::<B>::view_mut(result))?;
        drop(inner);
        Ok(SpaceOf::<B>::view(result))
    }
}
