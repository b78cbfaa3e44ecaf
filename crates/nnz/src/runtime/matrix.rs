//! Sparse matrices whose format, types and device are known at run time.

use super::backend::{BORROWING_CONSTRUCTORS, RuntimeBackend};
use super::erased::{AnyMatrix, Properties};
use super::fit::Operand;
use super::plan::ProductPlans;
use super::{DenseMatrix, Format, IndexType, Layout};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::op::{Op, RowStatistics};
use sparse_core::{
    ContextId, DType, Error, Host, Order, PatternId, PlanOptions, Result, Scalar, SparseFormat, c64,
};
use sparse_device::Device as Accelerator;
use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;

/// A sparse matrix of any format and type in the memory of a [`Device`]; see the page of [this module](super).
///
/// A clone shares the arrays and the plans.
#[derive(Clone)]
pub struct Matrix {
    device: Device,
    properties: Properties,
    inner: Arc<dyn AnyMatrix>,
    pub(crate) plans: Arc<ProductPlans>,
}

/// Construction, and the way back.
impl Matrix {
    /// A matrix of the host with its type hidden, uploaded where the device has memory of its own.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for a format or types that no device has; those of
    /// [`SparseFormat::to_device`].
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csr::<f64>::identity(3)?)?;
    /// assert_eq!((a.format(), a.dtype(), a.shape(), a.nnz()), (Format::Csr, DType::F64, (3, 3), 3));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_typed<M: SparseFormat<Space = Host>>(device: &Device, matrix: M) -> Result<Self> {
        match device {
            Device::Cpu(_) => Self::wrap(device, matrix),
            Device::Accelerator(backend, _) => Self::wrap(device, matrix.to_device(backend)?),
        }
    }

    /// A matrix that is in the device's memory already, with its type hidden.
    ///
    /// A [`HostCsr`](crate::HostCsr) is CSR over arrays of somebody else's. Products run on them where they lie, and a
    /// clone shares them; every other operation makes a matrix with arrays of its own.
    ///
    /// # Errors
    /// [`WrongContext`](Error::WrongContext) if it is in other memory; [`Unsupported`](Error::Unsupported) for a format or
    /// types that no device has.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::wrap(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.format(), Format::Csc);
    /// # Ok::<(), Error>(())
    /// ```
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
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csr::<f64>::identity(3)?)?;
    /// assert_eq!(a.downcast_ref::<Csr<f64>>().map(|a| a.values().len()), Some(3));
    /// assert!(a.downcast_ref::<Csr<f32>>().is_none());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn downcast_ref<M: SparseFormat>(&self) -> Option<&M> {
        self.inner.as_any().downcast_ref()
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

    /// The error of a plan for matrices of type `M` that is given this one.
    #[cold]
    pub(crate) fn other_plan<M: SparseFormat>(&self, op: &'static str) -> Error {
        let (planned, found) = ((M::FORMAT, M::Scalar::DTYPE), (self.format(), self.dtype()));
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

/// Hides the type of a matrix; `None` if it is none of the constructors'.
///
/// It is not generic, so that the tables of constructors, and with them all operations of all types, are compiled in this
/// crate and not in every program.
fn construct(mut matrix: Box<dyn Any>, device: &Device) -> Option<Arc<dyn AnyMatrix>> {
    let (constructors, borrowing) = match device {
        Device::Cpu(_) => (HostBackend::CONSTRUCTORS, BORROWING_CONSTRUCTORS),
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
    let types = "csr, csc, coo, ell, hyb, sell, batch_csr and batch_csc; f32, f64, c32 and c64 with indices and offsets of i32 and i32, i32 and \
                 i64 or i64 and i64, f16 and bf16 with i32 and i32";
    Error::unsupported(format_args!("a matrix of {format} and {dtype} with these index types"), types)
}

/// Format, types, shape and device.
impl Matrix {
    /// The format.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
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
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
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
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
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
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
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
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
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
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.rows(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.properties.rows
    }

    /// The number of columns.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.cols(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn cols(&self) -> usize {
        self.properties.cols
    }

    /// (rows, columns).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.shape(), (2, 3));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shape(&self) -> (usize, usize) {
        (self.rows(), self.cols())
    }

    /// (rows, columns) of op(A).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csr::<f64>::zeros(2, 3)?)?;
    /// assert_eq!(a.shape_of(Op::Transpose), (3, 2));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn shape_of(&self, op: Op) -> (usize, usize) {
        if op.transposes() { (self.cols(), self.rows()) } else { self.shape() }
    }

    /// The number of members of a batch; `None` for one matrix.
    ///
    /// [`shape`](Self::shape) is that of the block-diagonal matrix of the members, with which products are computed.
    ///
    /// ```
    /// use nnz::{BatchCsr, prelude::*};
    /// let two = BatchCsr::<f64>::new((1, 2), vec![0, 1, 3], vec![0, 1, 0, 2], vec![1, 0, 1], vec![1.0, 2.0, 3.0])?;
    /// let two = Matrix::from_typed(&"cpu".parse()?, two)?;
    /// assert_eq!((two.members(), two.member_shape(), two.shape()), (Some(2), (1, 2), (2, 4)));
    /// assert_eq!(two.member(1)?.to_dense()?.values().to_vec::<f64>()?, [2.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn members(&self) -> Option<usize> {
        self.properties.batch.map(|batch| batch.count)
    }

    /// (rows, columns) of each member of a batch, and of a matrix that is none.
    pub fn member_shape(&self) -> (usize, usize) {
        self.properties.batch.map_or(self.shape(), |batch| batch.member)
    }

    /// The number of stored entries; explicit zeros count, padding does not.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csc::<f32>::zeros(2, 3)?)?;
    /// assert_eq!(a.nnz(), 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn nnz(&self) -> usize {
        self.properties.nnz
    }

    /// Bytes of all arrays: padding is included, and of a batch where each member's entries start.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csr::<f64>::identity(3)?)?;
    /// assert_eq!(a.bytes(), 4 * 4 + 3 * 4 + 3 * 8);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.properties.bytes
    }
}

/// Other formats, types and devices.
impl Matrix {
    /// The matrix in another format, in its default layout; where it has the format already, a clone that shares all.
    ///
    /// From COO, duplicates are added. A format without offsets gets offsets of the type of its indices.
    ///
    /// # Errors
    /// Those of [`ConvertPlan`](crate::op::ConvertPlan); padding that takes far more memory than the entries is
    /// refused, and so is a format of batches, whose [`member`](Self::member)s can be converted.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csr::<f64>::identity(3)?)?;
    /// for format in [Format::Csc, Format::Coo, Format::Ell, Format::Sell] {
    ///     assert_eq!(a.to_format(format)?.to_format(Format::Csr)?.downcast_ref(), a.downcast_ref::<Csr<f64>>());
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_format(&self, format: Format) -> Result<Self> {
        if format == self.format() {
            return Ok(self.clone());
        }
        self.inner.to_layout(&format.try_into()?)
    }

    /// The matrix in a format with this layout. A padded format is built anew; one that is not padded, and that the
    /// matrix has already, is a clone that shares all.
    ///
    /// # Errors
    /// As [`to_format`](Self::to_format).
    ///
    /// ```
    /// use nnz::{Ell, EllLayout, Layout, prelude::*};
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csr::<f64>::identity(3)?)?;
    /// let padded = a.to_layout(&Layout::Ell(EllLayout { width: Some(4), ..EllLayout::default() }))?;
    /// assert_eq!(padded.downcast_ref::<Ell<f64>>().map(Ell::width), Some(4));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_layout(&self, layout: &Layout) -> Result<Self> {
        match layout {
            Layout::Csr | Layout::Csc | Layout::Coo => self.to_format(layout.format()),
            Layout::Ell(_) | Layout::Hyb(_) | Layout::Sell(_) => self.inner.to_layout(layout),
        }
    }

    /// The transpose.
    ///
    /// CSR becomes CSC and CSC becomes CSR, batches too, which copies the values alone; the other formats keep theirs. Without a copy,
    /// [`spmv`](Self::spmv) takes [`Op::Transpose`].
    ///
    /// # Errors
    /// As [`to_format`](Self::to_format).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(1, 2, vec![0, 1], vec![1], vec![5.0])?;
    /// let at = Matrix::from_typed(&"cpu".parse()?, a)?.transpose()?;
    /// assert_eq!((at.format(), at.shape()), (Format::Csc, (2, 1)));
    /// assert_eq!(at.to_dense()?.values().to_vec::<f64>()?, [0.0, 5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn transpose(&self) -> Result<Self> {
        self.inner.transpose()
    }

    /// Member `k` of a batch, in CSR or CSC.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if there are not so many; [`Unsupported`](Error::Unsupported) for one matrix; what the
    /// device's runtime reports.
    ///
    /// ```
    /// use nnz::{BatchCsc, prelude::*};
    /// let two = BatchCsc::<f64>::new((2, 1), vec![0, 1, 2], vec![0, 1, 0, 1], vec![1, 0], vec![1.0, 2.0])?;
    /// let two = Matrix::from_typed(&"cpu".parse()?, two)?;
    /// assert_eq!(two.member(0)?.downcast_ref(), Some(&Csc::<f64>::new(2, 1, vec![0, 1], vec![1], vec![1.0])?));
    /// assert_eq!(two.member(2).unwrap_err().to_string(), "member: 2 is not below 2, the number of members");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn member(&self, k: usize) -> Result<Self> {
        match self.members() {
            Some(count) if k >= count => {
                Err(Error::shape("member", format_args!("{k} is not below {count}, the number of members")))
            }
            _ => self.inner.member(k),
        }
    }

    /// The matrix in the memory of `device`; where it is there already, a clone that shares all. On the CPU with another
    /// number of threads it is a copy, which computes with these.
    ///
    /// # Errors
    /// Those of [`SparseFormat::to_device`] and [`SparseFormat::to_host`].
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device: Device = "cpu".parse()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(3)?)?;
    /// assert_eq!(a.to_device(&device)?.nnz(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        if device.context() == self.properties.context && device.caps() == self.device.caps() {
            return Ok(self.clone());
        }
        self.inner.to_device(device)
    }

    /// The matrix with its values as another type, each rounded to nearest; by way of the host.
    ///
    /// # Errors
    /// Those of [`cast_slice`](crate::cast_slice): complex to real, and finite values that would become infinite;
    /// [`Unsupported`](Error::Unsupported) for `f16` and `bf16` with 64-bit indices or offsets.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csr::<f64>::identity(3)?)?.cast(DType::C32)?;
    /// assert_eq!(a.downcast_ref(), Some(&Csr::<c32>::identity(3)?));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn cast(&self, dtype: DType) -> Result<Self> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        self.inner.cast(dtype)
    }

    /// `factor·A`, with the pattern of A, so that plans for A take it.
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) for a factor that the type does not hold; what the device's runtime reports.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csr::<f64>::identity(1)?)?;
    /// assert_eq!((&a * 3.0)?.to_dense()?.values().to_vec::<f64>()?, [3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn scaled(&self, factor: impl Into<c64>) -> Result<Self> {
        self.inner.scaled(factor.into())
    }

    /// All elements, zeros included, row-major; duplicates are added.
    ///
    /// # Errors
    /// [`IndexOverflow`](Error::IndexOverflow) if there are more than fit the host's memory,
    /// [`OutOfMemory`](Error::OutOfMemory) for that of another device.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&"cpu".parse()?, Csr::<f64>::identity(2)?)?;
    /// assert_eq!(a.to_dense()?.values().to_vec::<f64>()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_dense(&self) -> Result<DenseMatrix> {
        let (rows, cols) = self.shape();
        let mut dense = DenseMatrix::zeros(&self.device, self.dtype(), rows, cols, Order::RowMajor)?;
        self.inner.write_dense(&mut dense)?;
        Ok(dense)
    }

    /// As [`to_dense`](Self::to_dense), written over the elements of a dense matrix; its padding stays.
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types or devices differ, [`Shape`](Error::Shape) if the shapes do; what the
    /// device's runtime reports.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device: Device = "cpu".parse()?;
    /// let a = Matrix::from_typed(&device, Csr::<f64>::identity(2)?)?;
    /// let mut dense = DenseMatrix::from_vec(&device, vec![7.0; 4], 2, 2, Order::ColMajor)?;
    /// a.to_dense_into(&mut dense)?;
    /// assert_eq!(dense.values().to_vec::<f64>()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_dense_into(&self, dense: &mut DenseMatrix) -> Result<()> {
        self.inner.write_dense(dense)
    }
}

/// Entries.
impl Matrix {
    /// A copy whose entries stand in order: by rows, then columns, of CSR and COO; by columns, then rows, of CSC.
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for formats that pad rows; what the device's runtime reports.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Coo::<f64>::from_triplets(2, 2, [(1, 0, 1.0), (0, 1, 2.0)])?;
    /// let a = Matrix::from_typed(&"cpu".parse()?, a)?.sort()?;
    /// assert_eq!(a.downcast_ref::<Coo<f64>>().map(|a| a.values().clone()), Some(vec![2.0, 1.0]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn sort(&self) -> Result<Self> {
        self.inner.sort()
    }

    /// A copy without the entries that are zero, or whose magnitude is at most `tolerance`; NaN stays.
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Coo::<f64>::from_triplets(1, 3, [(0, 0, 0.0), (0, 1, 1e-9), (0, 2, 1.0)])?;
    /// let a = Matrix::from_typed(&"cpu".parse()?, a)?;
    /// assert_eq!((a.prune(None)?.nnz(), a.prune(Some(1e-6))?.nnz()), (2, 1));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn prune(&self, tolerance: Option<f64>) -> Result<Self> {
        self.inner.prune(tolerance)
    }

    /// Statistics of the row lengths; of formats other than CSR by way of it.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&"cpu".parse()?, a)?;
    /// assert_eq!(a.row_statistics()?.longest, 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn row_statistics(&self) -> Result<RowStatistics> {
        self.inner.row_statistics()
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
