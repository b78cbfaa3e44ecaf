//! Dense matrices to CSR and CSC, one or a stack of them.

use crate::Device;
use crate::runtime::dispatch::backend::RuntimeBackend;
use crate::runtime::dispatch::operand_errors::{keep, mismatch};
use crate::runtime::dispatch::runtime_format::DeviceBackend;
use crate::runtime::{DenseMatrix, Format, IndexType, Layout, Matrix};
use sparse_core::backend::SpaceOf;
use sparse_core::error::checked_product;
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel};
use sparse_core::{
    Algorithm, Choice, DenseBatchView, Error, Index, Order, PlanOptions, Result, Row, Scalar, with_dtype,
};
use std::fmt::{Debug, Formatter};

/// Target and rule of [`DenseMatrix::plan_compress`].
#[derive(Debug, Clone, PartialEq)]
pub struct CompressOptions {
    /// CSR, CSC, or a batch of either.
    pub format: Format,
    /// The number of members of a batch and the rows of each, which are stacked one above the other; without it there
    /// is one member.
    pub stack: Option<(usize, usize)>,
    /// The largest magnitude that is dropped; `None` drops zeros of either sign. NaN is never dropped.
    pub tolerance: Option<f64>,
    /// The type of indices and offsets.
    pub index_type: IndexType,
    /// The algorithm, and how often the plan will run.
    pub plan: PlanOptions,
}

impl CompressOptions {
    /// Options that store all elements except zeros, with 32-bit indices, and a plan for one run.
    pub fn new(format: Format) -> Self {
        Self { format, stack: None, tolerance: None, index_type: IndexType::I32, plan: PlanOptions::once() }
    }
}

/// Compression.
impl DenseMatrix {
    /// The elements that are not zero, or whose magnitude is above `tolerance`, as a sparse matrix. NaN is an entry.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let b = DenseMatrix::from_vec(&device, vec![1.0, 1e-9, 0.0, 2.0], 2, 2, Order::ColMajor)?;
    /// assert_eq!(b.to_sparse(Format::Csr, None)?.nnz(), 3);
    /// assert_eq!(b.to_sparse(Format::Ell, Some(1e-6))?.nnz(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`IndexOverflow`](Error::IndexOverflow) from 2³¹ rows, columns or entries on; [`Operands`](Error::Operands) for
    /// a tolerance that is negative or not a number; a format of batches is refused; an error of the device's runtime.
    pub fn to_sparse(&self, format: Format, tolerance: Option<f64>) -> Result<Matrix> {
        let layout = Layout::try_from(format)?;
        let target = if format == Format::Csc { Format::Csc } else { Format::Csr };
        let options = CompressOptions { tolerance, ..CompressOptions::new(target) };
        self.plan_compress(&options)?.run(self)?.to_layout(&layout)
    }

    /// A plan that compresses dense matrices of this shape, order, type and device.
    ///
    /// ```
    /// use nnz::{CompressOptions, prelude::*};
    /// let device = Device::host()?;
    /// let two = vec![1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0]; // two 2 x 2 matrices
    /// let two = DenseMatrix::from_vec(&device, two, 4, 2, Order::RowMajor)?;
    /// let options = CompressOptions { stack: Some((2, 2)), ..CompressOptions::new(Format::BatchCsr) };
    /// let batch = two.plan_compress(&options)?.run(&two)?;
    /// assert_eq!((batch.members(), batch.nnz()), (Some(2), 3));
    /// assert_eq!(batch.member(1)?.to_dense()?.values().to_vec::<f64>()?, [0.0, 0.0, 3.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for formats other than CSR, CSC and batches of them, and for an unknown
    /// algorithm; [`Shape`](Error::Shape) unless the members of a stack have as many rows in all as this matrix;
    /// [`IndexOverflow`](Error::IndexOverflow) if an extent does not fit the type of indices;
    /// [`Operands`](Error::Operands) for a tolerance that is negative or not a number.
    pub fn plan_compress(&self, options: &CompressOptions) -> Result<CompressPlan> {
        let target = Target::of(self, options)?;
        let plan = with_dtype!(self.dtype(), T => match self.device() {
            Device::Cpu(backend) => {
                plan_indexed::<_, T>(DeviceBackend { backend, device: self.device() }, self, target, options)
            }
            Device::Accelerator(backend, _) => {
                plan_indexed::<_, T>(DeviceBackend { backend, device: self.device() }, self, target, options)
            }
        });
        plan.map(CompressPlan)
    }

    /// The algorithms of [`plan_compress`](Self::plan_compress), the default first.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F64, 2, 2, Order::RowMajor)?;
    /// assert!(!b.compress_algorithms().is_empty());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn compress_algorithms(&self) -> &'static [Algorithm] {
        with_dtype!(self.dtype(), T => match self.device() {
            Device::Cpu(backend) => DenseToCsrKernel::<T, i32, i32>::dense_to_csr_algorithms(backend),
            Device::Accelerator(backend, _) => {
                DenseToCsrKernel::<T, i32, i32>::dense_to_csr_algorithms(backend)
            }
        })
    }
}

/// A plan that compresses dense matrices of one shape, as [`DenseMatrix::plan_compress`] makes it.
///
/// ```
/// use nnz::{CompressOptions, prelude::*};
/// let device = Device::host()?;
/// let dense = |values: [f64; 4]| DenseMatrix::from_vec(&device, values.to_vec(), 2, 2, Order::RowMajor);
/// let mut plan = dense([0.0; 4])?.plan_compress(&CompressOptions::new(Format::Csc))?;
/// assert_eq!(plan.run(&dense([1.0, 0.0, 0.0, 2.0])?)?.nnz(), 2);
/// assert_eq!(plan.run(&dense([0.0, 3.0, 0.0, 0.0])?)?.nnz(), 1); // one shape, other zeros
/// # Ok::<(), Error>(())
/// ```
pub struct CompressPlan(Box<dyn AnyCompressPlan>);

impl CompressPlan {
    /// The elements that the plan selects, as a sparse matrix or a batch.
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) for a matrix of another type or device than the plan was made for,
    /// [`PlanMismatch`](Error::PlanMismatch) for another shape or order; [`IndexOverflow`](Error::IndexOverflow) if the
    /// entries are more than the type of offsets counts.
    pub fn run(&mut self, dense: &DenseMatrix) -> Result<Matrix> {
        self.0.run(dense)
    }

    /// The algorithm that runs, and why.
    pub fn choice(&self) -> &Choice {
        self.0.choice()
    }
}

impl Debug for CompressPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CompressPlan").field(self.choice()).finish()
    }
}

/// The members of a dense matrix, and the format that they get.
#[derive(Debug, Clone, Copy)]
struct Target {
    count: usize,
    /// (rows, columns) of a member.
    shape: (usize, usize),
    is_batch: bool,
    /// True for CSC, which is CSR of the transpose.
    is_transposed: bool,
}

impl Target {
    fn of(dense: &DenseMatrix, options: &CompressOptions) -> Result<Self> {
        let format = options.format;
        let (is_batch, is_transposed) = match format {
            Format::Csr => (false, false),
            Format::Csc => (false, true),
            Format::BatchCsr => (true, false),
            Format::BatchCsc => (true, true),
            Format::Coo | Format::Ell | Format::Hyb | Format::Sell => {
                let others = "csr, csc, batch_csr and batch_csc have them: convert the csr matrix";
                return Err(Error::unsupported(format_args!("a plan that compresses to {format}"), others));
            }
        };
        let (count, rows) = options.stack.unwrap_or((1, dense.nrows()));
        if !is_batch && options.stack.is_some() {
            return Err(Error::unsupported(format_args!("a stack as {format}"), "it becomes a batch"));
        }
        let found = checked_product("members x rows", count, rows)?;
        if found != dense.nrows() {
            let reason =
                format!("{count} members of {rows} rows are not the {} rows there are", dense.nrows());
            return Err(Error::shape("compress", reason));
        }
        if count != 1 && dense.order() == Order::ColMajor {
            return Err(Error::unsupported(
                "a stack in column-major order",
                "its members are interleaved; row-major order would fit",
            ));
        }
        Ok(Self { count, shape: (rows, dense.ncols()), is_batch, is_transposed })
    }
}

/// A plan of compression behind one object-safe trait.
trait AnyCompressPlan: Send {
    fn run(&mut self, dense: &DenseMatrix) -> Result<Matrix>;
    fn choice(&self) -> &Choice;
}

struct TypedCompressPlan<B, T, I>
where
    B: DenseToCsrKernel<T, I, I>,
    T: Scalar,
    I: Index,
{
    backend: B,
    device: Device,
    target: Target,
    plan: DenseToCompressedPlan<B, Row, T, I, I>,
}

fn plan_indexed<B, T>(
    on: DeviceBackend<'_, B>,
    dense: &DenseMatrix,
    target: Target,
    options: &CompressOptions,
) -> Result<Box<dyn AnyCompressPlan>>
where
    B: RuntimeBackend + DenseToCsrKernel<T, i32, i32> + DenseToCsrKernel<T, i64, i64>,
    T: Scalar,
{
    Ok(match options.index_type {
        IndexType::I32 => Box::new(TypedCompressPlan::<B, T, i32>::new(on, dense, target, options)?),
        IndexType::I64 => Box::new(TypedCompressPlan::<B, T, i64>::new(on, dense, target, options)?),
    })
}

impl<B, T, I> TypedCompressPlan<B, T, I>
where
    B: RuntimeBackend + DenseToCsrKernel<T, I, I>,
    T: Scalar,
    I: Index,
{
    fn new(
        on: DeviceBackend<'_, B>,
        dense: &DenseMatrix,
        target: Target,
        options: &CompressOptions,
    ) -> Result<Self> {
        // Checked here, since the plan's error would name the extents of the transpose.
        I::try_new("rows", target.shape.0)?;
        I::try_new("columns", target.shape.1)?;
        let keep = keep::<T>("compress", options.tolerance)?;
        let (backend, device) = (on.backend.clone(), on.device.clone());
        let plan =
            DenseToCompressedPlan::new(on.backend, view::<B, T>(on, dense, target)?, keep, &options.plan)?;
        Ok(Self { backend, device, target, plan })
    }
}

/// The members of a dense matrix, transposed where columns are compressed.
fn view<'a, B: RuntimeBackend, T: Scalar>(
    on: DeviceBackend<'_, B>,
    dense: &'a DenseMatrix,
    target: Target,
) -> Result<DenseBatchView<'a, T, SpaceOf<B>>> {
    let Some(view) = dense.view_in::<B, T>(on.device.context()) else {
        let expected = ("the plan", T::DTYPE, on.device);
        return Err(mismatch("compress", expected, &[dense.as_operand("dense")]));
    };
    let (view, Target { count, shape, .. }) = (view?, target);
    let view = match count {
        1 => view.into(),
        _ => {
            let ld = dense.leading_dimension();
            let stride = checked_product("rows x leading dimension", shape.0, ld)?;
            DenseBatchView::new(view.data(), count, stride, shape, ld, dense.order())?
        }
    };
    Ok(if target.is_transposed { view.transposed() } else { view })
}

impl<B, T, I> AnyCompressPlan for TypedCompressPlan<B, T, I>
where
    B: RuntimeBackend + DenseToCsrKernel<T, I, I>,
    T: Scalar,
    I: Index,
{
    fn run(&mut self, dense: &DenseMatrix) -> Result<Matrix> {
        let on = DeviceBackend { backend: &self.backend, device: &self.device };
        let view = view::<B, T>(on, dense, self.target)?;
        match (self.target.is_batch, self.target.is_transposed) {
            (false, false) => on.erase(self.plan.run(view.member(0))?),
            (false, true) => on.erase(self.plan.run(view.member(0))?.into_transpose()),
            (true, false) => on.erase(self.plan.run_batch(view)?),
            (true, true) => on.erase(self.plan.run_batch(view)?.into_transpose()),
        }
    }

    fn choice(&self) -> &Choice {
        self.plan.choice()
    }
}
