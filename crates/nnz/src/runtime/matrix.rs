//! Sparse matrices whose format, types and device are known at run time.

use super::dispatch::any_matrix::{AnyMatrix, Properties};
use super::dispatch::backend::{RuntimeBackend, borrowing_constructors};
use super::dispatch::operand_errors::Operand;
use super::operation::plan::ProductPlans;
use super::{Format, IndexType};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::op::Op;
use sparse_core::{ContextId, DType, Error, Host, PatternId, PlanOptions, Result, Scalar, SparseFormat};
use sparse_device::Device as Accelerator;
use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

/// A sparse matrix of any format and type in the memory of a [`Device`]; see the page of [this module](super).
///
/// ```
/// use nnz::prelude::*;
///
/// let device = Device::host()?;
/// let a = Matrix::from_typed(&device, Csr::<f64>::identity(3)?)?;
/// assert_eq!((a.shape(), a.nnz(), a.format(), a.dtype()), ((3, 3), 3, Format::Csr, DType::F64));
/// # Ok::<(), Error>(())
/// ```
///
/// A clone shares the arrays and the plans.
#[derive(Clone)]
pub struct Matrix {
    pub(super) device: Device,
    pub(super) properties: Properties,
    pub(super) inner: Arc<dyn AnyMatrix>,
    pub(crate) plans: Arc<ProductPlans>,
}

/// Construction, and conversion back to typed matrices.
impl Matrix {
    /// A matrix of the host with its type hidden, uploaded where the device has memory of its own.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(3)?)?;
    /// assert_eq!((a.format(), a.dtype(), a.shape(), a.nnz()), (Format::Csr, DType::F64, (3, 3), 3));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for a format or types that no device has; those of
    /// [`SparseFormat::to_device`].
    pub fn from_typed<M: SparseFormat<Space = Host>>(device: &Device, matrix: M) -> Result<Self> {
        match device {
            Device::Cpu(_) => Self::wrap(device, matrix),
            Device::Accelerator(backend, _) => Self::wrap(device, matrix.to_device(backend)?),
        }
    }

    /// A matrix that is in the device's memory already, with its type hidden.
    ///
    /// A [`HostCsr`](crate::HostCsr) is CSR over borrowed arrays. Products and clones use the arrays in place; every
    /// other operation copies them first.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::wrap(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.format(), Format::Csc);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`WrongContext`](Error::WrongContext) if it is in other memory; [`Unsupported`](Error::Unsupported) for a format
    /// or types that no device has.
    pub fn wrap<M: SparseFormat>(device: &Device, matrix: M) -> Result<Self> {
        let (expected, found) = (device.context(), matrix.context());
        if expected != found {
            let (expected, found) = (expected.number(), found.number());
            return Err(Error::WrongContext { op: "wrap", operand: "the matrix", expected, found });
        }
        let inner = construct(Box::new(matrix), device);
        Ok(Self::new(device, inner.ok_or_else(|| unsupported_type(M::FORMAT, M::Scalar::DTYPE))?))
    }

    fn new(device: &Device, inner: Arc<dyn AnyMatrix>) -> Self {
        let (device, properties) = (device.clone(), inner.properties());
        Self { device, properties, inner, plans: Arc::default() }
    }

    /// The typed matrix, if it is an `M`.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(3)?)?;
    /// assert_eq!(a.downcast_ref::<Csr<f64>>().map(|a| a.values().len()), Some(3));
    /// assert!(a.downcast_ref::<Csr<f32>>().is_none());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn downcast_ref<M: SparseFormat>(&self) -> Option<&M> {
        self.inner.as_any().downcast_ref()
    }

    /// The typed matrix, if it is an `M`: moved out, or copied if another clone shares it.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(3)?)?;
    /// assert_eq!(a.clone().into_typed::<Csc<f64>>(), None);
    /// assert_eq!(a.into_typed::<Csr<f64>>(), Some(Csr::identity(3)?));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn into_typed<M: SparseFormat + Clone>(self) -> Option<M> {
        if Arc::strong_count(&self.inner) > 1 {
            return self.downcast_ref().cloned();
        }
        self.inner.into_any()?.downcast().ok().map(|matrix| *matrix)
    }

    pub(crate) fn any(&self) -> &dyn AnyMatrix {
        &*self.inner
    }

    pub(crate) fn operator_plan(&self, op: Op, options: &PlanOptions) -> Result<Box<dyn Any>> {
        self.inner.operator_plan(op, options)
    }

    /// The typed matrix in the host's memory.
    pub(crate) fn host_copy(&self) -> Result<Box<dyn Any>> {
        self.inner.host_copy()
    }

    pub(crate) fn pattern_id(&self) -> PatternId {
        self.properties.pattern
    }

    pub(crate) fn context(&self) -> ContextId {
        self.properties.context
    }

    pub(crate) fn as_operand(&self) -> Operand<'_> {
        ("the matrix", self.dtype(), &self.device)
    }

    /// The typed matrix, for a plan for matrices of type `M`.
    pub(crate) fn planned<M: SparseFormat>(&self, op: &'static str) -> Result<&M> {
        self.downcast_ref::<M>().ok_or_else(|| self.other_plan::<M>(op))
    }

    /// The error of a plan for matrices of type `M` that is given this one.
    #[cold]
    fn other_plan<M: SparseFormat>(&self, op: &'static str) -> Error {
        self.plan_mismatch(op, (M::FORMAT, M::Scalar::DTYPE))
    }

    #[cold]
    fn plan_mismatch(&self, op: &'static str, planned: (&str, DType)) -> Error {
        let found = (self.format(), self.dtype());
        let reason = format!(
            "the plan was made for {} of {}, the matrix is {} of {} with {} indices on {}",
            planned.0,
            planned.1,
            found.0,
            found.1,
            self.index_type(),
            self.device
        );
        Error::PlanMismatch { op, reason }
    }
}

/// Hides the type of a matrix; `None` if no constructor takes its type.
///
/// It is not generic, so that the tables of constructors, and with them all operations of all types, are compiled in
/// this crate and not in every program.
fn construct(mut matrix: Box<dyn Any>, device: &Device) -> Option<Arc<dyn AnyMatrix>> {
    let (constructors, borrowing) = match device {
        Device::Cpu(_) => (HostBackend::CONSTRUCTORS, borrowing_constructors()),
        Device::Accelerator(..) => (Accelerator::CONSTRUCTORS, &[][..]),
    };
    for constructor in constructors.iter().chain(borrowing) {
        match constructor(matrix, device) {
            Ok(inner) => return Some(inner),
            Err(other) => matrix = other,
        }
    }
    None
}

fn unsupported_type(format: &str, dtype: DType) -> Error {
    let types = "csr, csc, coo, ell, hyb, sell, batch_csr and batch_csc; f32, f64, c32 and c64 with indices and \
                 offsets of i32 and i32, i32 and i64 or i64 and i64, f16 and bf16 with i32 and i32";
    Error::unsupported(format_args!("a matrix of {format} and {dtype} with these index types"), types)
}

/// Format, types, shape and device.
impl Matrix {
    /// The format.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.format(), Format::Csc);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn format(&self) -> Format {
        self.properties.format
    }

    /// The type of the values.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.dtype(), DType::F32);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.properties.dtype
    }

    /// The type of row and column indices.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.index_type(), nnz::IndexType::I32);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn index_type(&self) -> IndexType {
        self.properties.index_type
    }

    /// The type of offsets; `None` for formats that have none.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.offset_type(), Some(nnz::IndexType::I32));
    /// assert_eq!(a.to_format(Format::Coo)?.offset_type(), None);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn offset_type(&self) -> Option<IndexType> {
        self.properties.offset_type
    }

    /// The device in whose memory the arrays are.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.device().caps().backend, "cpu");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The number of rows.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.nrows(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn nrows(&self) -> usize {
        self.properties.rows
    }

    /// The number of columns.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.ncols(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn ncols(&self) -> usize {
        self.properties.cols
    }

    /// (rows, columns).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.shape(), (2, 3));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// (rows, columns) of op(A).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::zeros(2, 3)?)?;
    /// assert_eq!(a.shape_of(Op::Transpose), (3, 2));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shape_of(&self, op: Op) -> (usize, usize) {
        op.orient(self.nrows(), self.ncols())
    }

    /// The number of members of a batch; `None` for one matrix.
    ///
    /// [`shape`](Self::shape) is that of the block-diagonal matrix of the members, with which products are computed.
    ///
    /// ```
    /// use nnz::{BatchCsr, prelude::*};
    /// let two = BatchCsr::<f64>::new((1, 2), vec![0, 1, 3], vec![0, 1, 0, 2], vec![1, 0, 1], vec![1.0, 2.0, 3.0])?;
    /// let two = Matrix::from_typed(&Device::host()?, two)?;
    /// assert_eq!((two.members(), two.member_shape(), two.shape()), (Some(2), (1, 2), (2, 4)));
    /// assert_eq!(two.member(1)?.to_dense()?.values().to_vec::<f64>()?, [2.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn members(&self) -> Option<usize> {
        self.properties.batch.map(|batch| batch.count)
    }

    /// (rows, columns) of each member of a batch; of another matrix, its shape.
    pub fn member_shape(&self) -> (usize, usize) {
        self.properties.batch.map_or(self.shape(), |batch| batch.member)
    }

    /// The number of stored entries; explicit zeros count, padding does not.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.nnz(), 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn nnz(&self) -> usize {
        self.properties.nnz
    }

    /// Bytes of all arrays, padding and a batch's `member_ptr` included.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(3)?)?;
    /// assert_eq!(a.bytes(), 4 * 4 + 3 * 4 + 3 * 8);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.properties.bytes
    }
}

impl Debug for Matrix {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Properties { format, dtype, index_type, rows, cols, nnz, .. } = self.properties;
        write!(
            f,
            "Matrix({format}, {rows} x {cols}, {nnz} entries of {dtype}, {index_type} indices, on {})",
            self.device
        )
    }
}
