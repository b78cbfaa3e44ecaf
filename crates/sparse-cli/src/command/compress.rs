//! `nnz compress`: dense arrays to CSR or CSC, one matrix or a batch.

use crate::claim;
use crate::context::Context;
use crate::dispatch::with_type;
use crate::failure::usage;
use crate::file;
use crate::operand;
use crate::product::{check_algorithm, factor, parse_not_negative, tell_choice};
use anyhow::Result;
use clap::{Args, ValueEnum};
use nnz::backend::Buf;
use nnz::error::checked_product;
use nnz::io::npy::NpyArray;
use nnz::io::{FileKind, npz};
use nnz::op::{AllTypes, DenseToCompressedPlan, DenseToCsrKernel, Keep, WithBackend};
use nnz::{
    Accumulator, Axis, Backend, Col, DType, DenseBatchView, DenseView, Error, Index, Order, PlanOptions, Row,
    Space, SpaceOf, SparseFormat,
};
use std::path::PathBuf;

/// Compresses a dense array to CSR or CSC; a 3-D array to a batch
///
/// Every element but zeros of either sign becomes an entry; NaN stays. A 3-D array of shape (count, rows, cols) becomes a
/// batch of matrices with unequal numbers of entries, in one .npz file with the keys format (batch_csr or batch_csc),
/// shape (count, rows, cols), member_ptr (count + 1: where each member's entries start), indptr (count rows of offsets,
/// each of which starts at 0), indices and data.
#[derive(Debug, Args)]
pub(crate) struct Compress {
    /// The dense array, of 2 or 3 dimensions; - is standard input
    #[arg(value_name = "DENSE.npy")]
    dense: PathBuf,
    /// The file to write; - is standard output
    #[arg(value_name = "OUT.npz")]
    out: PathBuf,
    /// The format to compress to
    #[arg(long, value_name = "FORMAT", default_value = "csr", ignore_case = true)]
    to: Target,
    /// Drops elements up to this magnitude, too; NaN stays
    #[arg(long, value_name = "TOL", value_parser = parse_not_negative, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// The algorithm by name; without it the plan chooses
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
}

/// A value of `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    Csr,
    Csc,
}

impl Compress {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        if !file::is_standard(&self.out) && FileKind::of(&self.out).map_err(usage)? != FileKind::Npz {
            return Err(usage(format_args!("{}: a name that ends in .npz is needed", self.out.display())));
        }
        file::output(&self.out).check()?;
        let device = context.device()?;
        let (path, dense) = operand::read_array(&self.dense)?;
        let file_error = |reason| Error::File { path: path.clone(), line: None, reason };
        if let [length] = dense.shape[..] {
            let reason = format!("an array of 2 or 3 dimensions is needed, the shape is ({length},)");
            return Err(file_error(reason).into());
        }
        self.check_offsets(&dense).map_err(|error| file_error(error.to_string()))?;
        let dtype = context.dtype().unwrap_or(dense.values.dtype());
        operand::check_rounding(&path, &dense, dtype, context)?;
        device.with(Typed { dense, dtype, command: &self, context })
    }
}

impl Compress {
    /// Fails if the array has so many rows, or columns, and so few elements that the offsets would fill the memory.
    fn check_offsets(&self, dense: &NpyArray) -> Result<()> {
        let [members @ .., rows, cols] = &dense.shape[..] else { return Ok(()) };
        let lines = match self.to {
            Target::Csr => rows,
            Target::Csc => cols,
        };
        let offsets =
            members.iter().fold(lines.saturating_add(1), |offsets, &count| offsets.saturating_mul(count));
        claim::check(
            &format!("offsets of {lines} {}", if self.to == Target::Csr { "rows" } else { "columns" }),
            offsets.saturating_mul(size_of::<i32>()),
            dense.values.len().saturating_mul(size_of::<f64>()),
        )
    }
}

/// The command on a backend, before its types are known.
struct Typed<'a> {
    dense: NpyArray,
    dtype: DType,
    command: &'a Compress,
    context: &'a Context,
}

impl WithBackend for Typed<'_> {
    type Out = Result<()>;

    fn call<B: AllTypes>(self, backend: &B) -> Result<()> {
        let Self { dense: NpyArray { shape, order, values }, dtype, command, context } = self;
        with_type!(dtype, T => {
            let dense = Upload::<B, T>::new(backend, &shape, order, values.into_typed()?)?;
            let task = Task { backend, dense, command, context };
            match task.compress::<i32>() {
                Err(error) if is_index_overflow(&error) => task.compress::<i64>(),
                done => done,
            }
        })
    }
}

fn is_index_overflow(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::IndexOverflow { .. }))
}

/// A dense matrix or a batch of them on a device.
struct Upload<B: Backend, T: Accumulator> {
    data: Buf<B, T>,
    /// The number of members, if it is a batch.
    count: Option<usize>,
    rows: usize,
    cols: usize,
    order: Order,
}

impl<B: Backend, T: Accumulator> Upload<B, T> {
    /// Uploads an array of two or three dimensions.
    fn new(backend: &B, shape: &[usize], order: Order, values: Vec<T>) -> Result<Self> {
        let (rows, cols) = (shape[shape.len() - 2], shape[shape.len() - 1]);
        let Some(&count) = shape.get(2).map(|_| &shape[0]) else {
            return Ok(Self { data: backend.upload(&values)?, count: None, rows, cols, order });
        };
        // In Fortran order the members of a batch are interleaved.
        let values = if order == Order::ColMajor { to_c_order(&values, [count, rows, cols]) } else { values };
        Ok(Self { data: backend.upload(&values)?, count: Some(count), rows, cols, order: Order::RowMajor })
    }
}

/// The elements of a 3-D array in Fortran order, in C order.
fn to_c_order<T: Copy>(values: &[T], [count, rows, cols]: [usize; 3]) -> Vec<T> {
    let positions = (0..count).flat_map(|k| (0..rows).flat_map(move |i| (0..cols).map(move |j| (k, i, j))));
    positions.map(|(k, i, j)| values[k + count * (i + rows * j)]).collect()
}

/// The command with the type of the values known.
struct Task<'a, B: Backend, T: Accumulator> {
    backend: &'a B,
    dense: Upload<B, T>,
    command: &'a Compress,
    context: &'a Context,
}

impl<B: Backend, T: Accumulator> Task<'_, B, T> {
    /// Compresses with indices and offsets of type `I`.
    fn compress<I: Index>(&self) -> Result<()>
    where
        B: DenseToCsrKernel<T, I, I>,
    {
        match self.command.to {
            Target::Csr => self.along::<Row, I>(),
            Target::Csc => self.along::<Col, I>(),
        }
    }

    fn along<A: Axis, I: Index>(&self) -> Result<()>
    where
        B: DenseToCsrKernel<T, I, I>,
    {
        let Upload { ref data, count, rows, cols, order } = self.dense;
        let (view, out) = (SpaceOf::<B>::view(data), &self.command.out);
        match count {
            None => {
                let ld = if order == Order::RowMajor { cols } else { rows };
                let dense = DenseView::new(view, rows, cols, ld, order)?;
                let matrix = self.plan::<A, I>(dense.into())?.run(dense)?.to_host(self.backend)?;
                Ok(npz::write_compressed(file::output(out), &matrix)?)
            }
            Some(count) => {
                let stride = checked_product("rows x columns", rows, cols)?;
                let dense = DenseBatchView::new(view, count, stride, (rows, cols), cols, order)?;
                let batch = self.plan::<A, I>(dense)?.run_batch(dense)?.to_host(self.backend)?;
                Ok(npz::write_batch(file::output(out), &batch)?)
            }
        }
    }

    fn plan<A: Axis, I: Index>(
        &self,
        dense: DenseBatchView<'_, T, SpaceOf<B>>,
    ) -> Result<DenseToCompressedPlan<B, A, T, I, I>>
    where
        B: DenseToCsrKernel<T, I, I>,
    {
        let keep = match self.command.threshold {
            None => Keep::NonZero,
            Some(threshold) => Keep::Above(factor::<T::Real>("--threshold", threshold.into())?),
        };
        let named = self.command.algorithm.as_deref();
        check_algorithm(named, A::FORMAT, self.backend.dense_to_csr_algorithms())?;
        let options = PlanOptions { algorithm: self.command.algorithm.clone(), ..PlanOptions::once() };
        let plan = DenseToCompressedPlan::new(self.backend, dense, keep, &options)?;
        tell_choice(self.context, "dense_to_csr", A::FORMAT, plan.choice());
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_batches_are_put_in_c_order() {
        let shape = [2, 3, 4];
        let element = |k: usize, i: usize, j: usize| 100 * k + 10 * i + j;
        let mut fortran = vec![];
        let mut c = vec![];
        for j in 0..4 {
            for i in 0..3 {
                fortran.extend((0..2).map(|k| element(k, i, j)));
            }
        }
        for k in 0..2 {
            for i in 0..3 {
                c.extend((0..4).map(|j| element(k, i, j)));
            }
        }
        assert_eq!(to_c_order(&fortran, shape), c);
    }
}
