//! The steps of `nnz spmv` and `nnz spmm`: read the factors, upload, multiply in one format, write.

use super::ProductOptions;
use crate::algorithm::{check_algorithm, print_choice};
use crate::claim;
use crate::context::Context;
use crate::divided_rows;
use crate::failure::usage;
use crate::file;
use crate::format::Format;
use crate::named_device::{self, NamedDevice, NamedDevices};
use crate::operand::{self, Dimensions, Operand};
use crate::option_values::check_factor;
use crate::ranks::Ranks;
use anyhow::{Result, bail};
use nnz::distrib::SharedTransport;
use nnz::io::MatrixFile;
use nnz::{DType, DenseMatrix, Device, ExchangePath, Matrix, MatrixOnRanks, Order, Vector};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The right-hand factor of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Factor {
    /// A vector, which may be stored as a matrix of one column.
    Vector,
    /// A matrix.
    Matrix,
}

/// The files of a product: the matrix, the right-hand factor and the result.
type Files<'a> = [&'a Path; 3];

/// Multiplies the matrix in one file with the operand in another, and writes the product. The ranks of a job of MPI
/// divide the rows, or for a vector `devices`; without them one device computes.
pub(crate) fn multiply(
    factor: Factor,
    context: &Context,
    options: &ProductOptions,
    devices: NamedDevices<'_>,
    files: Files<'_>,
) -> Result<()> {
    let ranks = Ranks::join()?;
    if let Some(transport) = ranks.shared() {
        return multiply_on_ranks(factor, (&ranks, transport), context, options, devices, files);
    }
    check(options, files)?;
    divided_rows::check_exchange(devices)?;
    let (exchange, devices) = (devices.exchange, named_device::open(devices.list, context)?);
    let device = match (devices.is_empty(), factor) {
        (false, _) => Context::host()?,
        (true, Factor::Vector) => context.device_for_one_pass()?,
        (true, Factor::Matrix) => context.device()?,
    };
    let Factors { a, operands, dimensions } = Factors::read(factor, context, options, &device, files)?;
    let y = match devices.is_empty() {
        true => operands.multiply(factor, &a, options, context)?,
        false => operands.multiply_on((&devices, exchange), &a, options, context)?,
    };
    operand::write(files[2], &y, dimensions)
}

/// Multiplies with rows of the matrix at every rank. The root reads the operands, and writes.
fn multiply_on_ranks(
    factor: Factor,
    (ranks, transport): (&Ranks, &Arc<dyn SharedTransport>),
    context: &Context,
    options: &ProductOptions,
    devices: NamedDevices<'_>,
    files: Files<'_>,
) -> Result<()> {
    let prepared = check_on_ranks(options, devices.list).and_then(|()| context.device());
    let device = ranks.agree(prepared)?;
    let inputs = ranks.at_root(|| {
        check(options, files)?;
        Inputs::read(context, options, files)
    })?;
    let (opened, dense) = inputs.map(|inputs| ((inputs.matrix, inputs.dtype), inputs.dense)).unzip();
    let (mut a, _) = divided_rows::read_on_ranks(
        ranks,
        transport,
        (&device, devices.exchange),
        (files[0], opened),
        context,
    )?;
    let operands = ranks.at_root(|| dense.map(|dense| dense.prepare(factor, &a, options)).transpose())?;
    let (operands, dimensions) = operands.flatten().unzip();
    let y = match factor {
        Factor::Vector => {
            let (x, mut y) = operands.map(Operands::into_vectors).unzip();
            let product = a.spmv(options.op, options.alpha, x.as_ref(), options.beta, y.as_mut());
            product.map_err(|error| ranks.report(error.into()))?;
            ranks.agree(y.map(column).transpose())?
        }
        Factor::Matrix => {
            let (x, mut y) = operands.map(|Operands { x, y }| (x, y)).unzip();
            let product = a.spmm(options.op, options.alpha, x.as_ref(), options.beta, y.as_mut());
            product.map_err(|error| ranks.report(error.into()))?;
            y
        }
    };
    let written = y.zip(dimensions).map(|(y, dimensions)| operand::write(files[2], &y, dimensions));
    ranks.agree(written.unwrap_or(Ok(())))
}

/// Checks the options and the names of the files.
fn check(options: &ProductOptions, [matrix, x, out]: Files<'_>) -> Result<()> {
    options.check()?;
    file::check_inputs([matrix, x].into_iter().chain(options.added().map(PathBuf::as_path)))?;
    file::check_npy_output(out)
}

/// Fails if ranks lack an option.
fn check_on_ranks(options: &ProductOptions, devices: &[NamedDevice]) -> Result<()> {
    divided_rows::check_ranks_devices(devices)?;
    if options.algorithm.is_some() || options.format != Format::Csr {
        return Err(usage("each rank has its rows as csr: leave out --as and --algorithm"));
    }
    Ok(())
}

/// The inputs of a product: the opened file of the matrix, and the operands.
struct Inputs {
    matrix: MatrixFile,
    dtype: DType,
    dense: DenseInputs,
}

/// X and, if there is one, the added term, as they were read.
struct DenseInputs {
    x: Operand,
    added: Option<Operand>,
}

impl DenseInputs {
    /// The operands of a product with `a`, in the memory of the host.
    fn prepare(
        self,
        factor: Factor,
        a: &MatrixOnRanks,
        options: &ProductOptions,
    ) -> Result<(Operands, Dimensions)> {
        let (host, (rows, columns), dimensions) = (Context::host()?, a.shape(), self.x.dimensions());
        let shape = options.op.orient(rows, columns);
        let sizes = Sizes { dtype: a.dtype(), device: &host, shape, nnz: a.nnz() };
        Ok((Operands::new(factor, &sizes, self, options)?, dimensions))
    }
}

impl Inputs {
    fn read(context: &Context, options: &ProductOptions, [matrix, x, _]: Files<'_>) -> Result<Self> {
        let x = Operand::read(x)?;
        let added = options.added().map(|path| Operand::read(path)).transpose()?;
        let matrix = file::open(matrix)?;
        let dtype = operand::common_dtype(context, &matrix, [&x].into_iter().chain(&added))?;
        Ok(Self { matrix, dtype, dense: DenseInputs { x, added } })
    }
}

/// The operands of a product.
struct Factors {
    a: Matrix,
    operands: Operands,
    dimensions: Dimensions,
}

impl Factors {
    /// Reads the files to the memory of `device`.
    fn read(
        factor: Factor,
        context: &Context,
        options: &ProductOptions,
        device: &Device,
        files: Files<'_>,
    ) -> Result<Self> {
        let Inputs { matrix, dtype, dense } = Inputs::read(context, options, files)?;
        let a = read(&matrix, dtype, device, options.format)?;
        drop(matrix);
        let dimensions = dense.x.dimensions();
        let sizes = Sizes { dtype, device: a.device(), shape: a.shape_of(options.op), nnz: a.nnz() };
        let operands = Operands::new(factor, &sizes, dense, options)?;
        let a = if a.members().is_some() { a } else { a.to_format(options.format.into())? };
        Ok(Self { a, operands, dimensions })
    }
}

/// The matrix of a file: a batch as it is, and any other in CSR, or in COO where it has too many rows for CSR.
fn read(file: &MatrixFile, dtype: DType, device: &Device, format: Format) -> Result<Matrix> {
    if file.batch_format()?.is_some() {
        if format != Format::Csr {
            let (path, format) = (file.path().display(), format.name());
            bail!("{path}: a batch is multiplied in its own format, not as {format}: leave out --as");
        }
        return Ok(Matrix::read_batch(device, file, dtype)?);
    }
    if format == Format::Coo && file.has_too_many_rows()? {
        // On the host, where sorting takes memory proportional to the entries.
        let sorted = Matrix::read_coo(&Context::host_of(device)?, file, dtype)?.sort()?;
        return Ok(sorted.to_device(device)?);
    }
    file::read(file, dtype, device)
}

/// The matrix of a product, by which its operands are made.
struct Sizes<'a> {
    dtype: DType,
    /// The device of the operands.
    device: &'a Device,
    /// (rows, columns) of op(A).
    shape: (usize, usize),
    nnz: usize,
}

/// X and Y of a product, in the memory of one device.
struct Operands {
    x: DenseMatrix,
    y: DenseMatrix,
}

impl Operands {
    /// Uploads the operands of a product.
    fn new(
        factor: Factor,
        &Sizes { dtype, device, shape, nnz }: &Sizes<'_>,
        DenseInputs { x, added }: DenseInputs,
        options: &ProductOptions,
    ) -> Result<Self> {
        check_factor("--alpha", options.alpha, dtype)?;
        check_factor("--beta", options.beta, dtype)?;
        let upload = |operand: Operand| {
            if factor == Factor::Vector {
                operand.check_vector()?;
            }
            operand.into_dense(dtype, device)
        };
        let x = upload(x)?;
        check_size(shape, nnz, &x)?;
        let y = match added {
            Some(added) => in_order(upload(added)?, x.order())?,
            None => DenseMatrix::zeros(device, dtype, shape.0, x.ncols(), x.order())?,
        };
        Ok(Self { x, y })
    }

    /// x and y of one column.
    fn into_vectors(self) -> (Vector, Vector) {
        (self.x.into_values(), self.y.into_values())
    }

    /// `alpha·op(A)·x + beta·y`
    fn multiply(
        self,
        factor: Factor,
        a: &Matrix,
        options: &ProductOptions,
        context: &Context,
    ) -> Result<DenseMatrix> {
        match factor {
            Factor::Vector => self.multiply_vector(a, options, context),
            Factor::Matrix => self.multiply_matrix(a, options, context),
        }
    }

    fn multiply_vector(self, a: &Matrix, options: &ProductOptions, context: &Context) -> Result<DenseMatrix> {
        let &ProductOptions { alpha, beta, op, ref algorithm, .. } = options;
        let format = a.format().name();
        check_algorithm(algorithm.as_deref(), format, a.spmv_algorithms(op))?;
        let mut plan = a.plan_spmv(op, &options.plan())?;
        print_choice(context, "spmv", format, plan.choice());
        let (x, mut y) = self.into_vectors();
        plan.run(alpha, a, &x, beta, &mut y)?;
        column(y)
    }

    /// `alpha·op(A)·x + beta·y` for a vector, with the rows of A divided among `devices`.
    fn multiply_on(
        self,
        (devices, exchange): (&[Device], ExchangePath),
        a: &Matrix,
        options: &ProductOptions,
        context: &Context,
    ) -> Result<DenseMatrix> {
        let mut a = divided_rows::distribute(a, devices, exchange, context)?;
        let (x, mut y) = self.into_vectors();
        a.spmv(options.op, options.alpha, &x, options.beta, &mut y)?;
        column(y)
    }

    fn multiply_matrix(
        mut self,
        a: &Matrix,
        options: &ProductOptions,
        context: &Context,
    ) -> Result<DenseMatrix> {
        let &ProductOptions { alpha, beta, op, ref algorithm, .. } = options;
        let format = a.format().name();
        check_algorithm(algorithm.as_deref(), format, a.spmm_algorithms(op))?;
        let mut plan = a.plan_spmm(op, self.x.ncols(), &options.plan())?;
        print_choice(context, "spmm", format, plan.choice());
        plan.run(alpha, a, &self.x, beta, &mut self.y)?;
        Ok(self.y)
    }
}

/// A vector as a matrix of one column.
fn column(y: Vector) -> Result<DenseMatrix> {
    let rows = y.len();
    Ok(DenseMatrix::new(y, rows, 1, 1, Order::RowMajor)?)
}

fn in_order(dense: DenseMatrix, order: Order) -> Result<DenseMatrix> {
    if dense.order() == order { Ok(dense) } else { Ok(dense.to_order(order)?) }
}

/// Fails if the product of a matrix of this shape with `x` would be far larger than both.
pub(crate) fn check_size((rows, inner): (usize, usize), nnz: usize, x: &DenseMatrix) -> Result<()> {
    let element_bytes = x.dtype().bytes();
    let row_bytes = x.ncols().saturating_mul(element_bytes);
    claim::check("a row of the product", row_bytes, x.values().len().saturating_mul(element_bytes))?;
    // Shapes that do not fit are reported later; until then x justifies no memory.
    let entries = if x.nrows() == inner { nnz.saturating_add(inner) } else { 0 };
    claim::check("the product", rows.saturating_mul(row_bytes), entries.saturating_mul(row_bytes))
}
