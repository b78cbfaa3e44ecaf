//! Subjects: one operation of one backend for one format and one triple of types, with all of these erased.

use crate::array_dump::ArrayDump;
use crate::build::{Build, On};
use crate::check::Check;
use crate::device_matrix::TrialMatrix;
use crate::guarded_operand::{Cell, DeviceOperand, GuardedOperand};
use crate::triplets::Triplets;
use sparse_core::op::{Duplicates, Keep, Op, ScanKind, ScanOrder};
use sparse_core::{
    Algorithm, Backend, DType, EllLayout, HybWidth, Order, PlanOptions, Result, Scalar, SellLayout, c64,
    catalog,
};
use std::fmt::{self, Display};

/// The name of a subject: operation, format, types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The operation: `spmv`.
    pub op: &'static str,
    /// The format, or the pair of formats: `csr`, `csr_to_ell`.
    pub format: String,
    /// Value, index and offset type: `f64,i32,i32`; only the value's if the operation has no other.
    pub types: String,
    /// The type of the values.
    pub dtype: DType,
}

impl Key {
    /// The key of `op` in `format` for these types, the first of which is `T`.
    pub(crate) fn new<T: Scalar>(op: catalog::Operation, format: impl Into<String>, types: String) -> Self {
        Self { op: op.name(), format: format.into(), types, dtype: T::DTYPE }
    }

    /// The key of `op` in the format `H`.
    pub(crate) fn of<H: Build>(op: catalog::Operation) -> Self {
        Self::new::<H::Scalar>(op, H::FORMAT, H::types())
    }

    /// True if the format has several members.
    pub(crate) fn is_batch(&self) -> bool {
        self.format.starts_with("batch")
    }

    /// True if all indices have 32 bits.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.types.contains("i64")
    }

    /// `spmv/csr`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.op, self.format)
    }
}

/// One operation of one backend for one format and one triple of types.
pub trait Subject: Send + Sync {
    /// Its name.
    fn key(&self) -> &Key;

    /// The expected results of the operation.
    fn check(&self) -> &'static dyn Check;

    /// The backend's table of algorithms.
    fn algorithms(&self, setting: &Setting) -> &'static [Algorithm];

    /// Builds the matrix in the subject's format, once for all settings and algorithms.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) if the format refuses; any other error is a failure of the
    /// case.
    fn given<'a>(&'a self, matrix: &'a Triplets) -> Result<Box<dyn Given + 'a>>;
}

/// A subject with the matrix of a case.
pub trait Given {
    /// Moves the matrix to the backend and makes a plan.
    ///
    /// # Errors
    /// [`Unsupported`](sparse_core::Error::Unsupported) if the backend refuses; any other error is a failure of the
    /// case.
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn Trial + '_>>;
}

/// A subject without a matrix is its own [`Given`].
impl<S: Given + ?Sized> Given for &S {
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn Trial + '_>> {
        (**self).prepare(setting, options)
    }
}

/// A plan and its matrix in a backend's memory, ready to run.
pub trait Trial {
    /// Uploads the operands, runs once, and downloads everything: `y` is the output's memory afterwards, also if the
    /// run was refused.
    ///
    /// # Errors
    /// Those of the operation.
    fn run(&mut self, call: &Call, y: &mut GuardedOperand) -> Result<Outcome>;

    /// The matrix, if there is one.
    fn matrix(&mut self) -> Option<&mut dyn TrialMatrix> {
        None
    }
}

/// The results of a run besides the output operand.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The matrix that the operation made.
    pub made: ArrayDump,
    /// The number that was computed; then the output operand was only read.
    pub number: Option<c64>,
    /// The order that a made matrix claims: (sorted, unique).
    pub claims: Option<(bool, bool)>,
    /// The memory of the input operand after the run.
    pub x: Option<GuardedOperand>,
}

impl Outcome {
    /// The outcome of making a matrix.
    pub(crate) fn of<B: Backend, H: Build>(made: &On<B, H>, backend: &B) -> Result<Self> {
        let host = H::fetch(made, backend)?;
        Ok(Self::matrix(host.dump(), host.claims()))
    }

    fn matrix(made: ArrayDump, claims: (bool, bool)) -> Self {
        Self { made, claims: Some(claims), ..Self::default() }
    }
}

/// The parameters of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// Only the matrix.
    Plain,
    /// A rule with a test of its own.
    Rule(&'static str),
    /// op(A) times a vector.
    Vector(Op),
    /// op(A) times a matrix with this number of columns.
    Columns(Op, usize),
    /// COO to a compressed format.
    Duplicates(Duplicates),
    /// CSR to ELL.
    Ell(EllLayout),
    /// CSR to HYB.
    Hyb(HybWidth),
    /// CSR to SELL.
    Sell(SellLayout),
    /// Pruning of zeros, or of entries up to a tolerance.
    Keep(Option<f64>),
    /// A dense matrix or a batch of three, in an order with padding, whose elements above the tolerance become entries;
    /// without one all but zeros.
    Dense {
        /// The memory order.
        order: Order,
        /// Elements between lines.
        padding: usize,
        /// Keeps `!(|v| <= tolerance)`.
        tolerance: Option<f64>,
    },
    /// One of the results of an operation that has several.
    Result(&'static str),
    /// A prefix sum of a rows × cols array.
    Scan {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        cols: usize,
        /// The order of the scan.
        order: ScanOrder,
        /// Inclusive or exclusive.
        kind: ScanKind,
    },
}

impl Setting {
    /// The elements that become entries.
    pub(crate) fn keep<T: Scalar>(&self) -> Keep<T> {
        let (Self::Keep(tolerance) | Self::Dense { tolerance, .. }) = *self else { return Keep::NonZero };
        tolerance.map_or(Keep::NonZero, |tolerance| Keep::Above(Scalar::from_c64(c64::new(tolerance, 0.0))))
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain | Self::Rule(_) => Ok(()),
            Self::Vector(op) => write!(f, "op={op}"),
            Self::Columns(op, columns) => write!(f, "op={op} columns={columns}"),
            Self::Duplicates(duplicates) => write!(f, "{duplicates:?}"),
            Self::Ell(layout) => write!(f, "width={:?} cap={:?}", layout.width, layout.max_bytes),
            Self::Hyb(width) => write!(f, "{width:?}"),
            Self::Sell(layout) => write!(f, "C={} sigma={}", layout.slice_height, layout.sort_window),
            Self::Keep(tolerance) => tolerance.map_or(Ok(()), |tolerance| write!(f, "tolerance={tolerance}")),
            Self::Dense { order, padding, tolerance } => {
                write!(f, "{order:?} padding={padding}")?;
                tolerance.map_or(Ok(()), |tolerance| write!(f, " tolerance={tolerance}"))
            }
            Self::Result(name) => write!(f, "result={name}"),
            Self::Scan { rows, cols, order, kind } => write!(f, "{rows}x{cols} {order:?} {kind:?}"),
        }
    }
}

/// A function of the input and the output of a call; it may return a number.
pub(crate) type Operation<'a, B, E> =
    dyn FnMut(&DeviceOperand<B, E>, &mut DeviceOperand<B, E>) -> Result<Option<c64>> + 'a;

/// The operands of one run.
#[derive(Debug, Clone)]
pub struct Call {
    /// Distinguishes calls of one setting: `alpha=2 beta=-1`.
    pub label: String,
    /// The factor of the product.
    pub alpha: c64,
    /// The factor of the output.
    pub beta: c64,
    /// The input operand.
    pub x: GuardedOperand,
    /// The output's memory before the run.
    pub y: GuardedOperand,
}

impl Call {
    /// A call without factors and input operand.
    pub(crate) fn plain(y: GuardedOperand) -> Self {
        Self { label: String::new(), alpha: c64::ZERO, beta: c64::ZERO, x: GuardedOperand::none(), y }
    }

    /// alpha and beta in the type of an accumulator.
    pub(crate) fn factors<A: Scalar>(&self) -> (A, A) {
        (A::from_c64(self.alpha), A::from_c64(self.beta))
    }

    /// Uploads the operands, runs, and downloads them; the run may return a number.
    pub(crate) fn on<B: Backend, E: Cell>(
        &self,
        backend: &B,
        y: &mut GuardedOperand,
        run: &mut Operation<'_, B, E>,
    ) -> Result<Outcome> {
        let x = DeviceOperand::new(backend, &self.x)?;
        let mut output = DeviceOperand::new(backend, y)?;
        let number = run(&x, &mut output);
        *y = output.read(backend)?;
        Ok(Outcome { number: number?, x: Some(x.read(backend)?), ..Outcome::default() })
    }
}
