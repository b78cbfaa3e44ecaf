//! `nnz compress`: dense arrays to CSR or CSC, one matrix or a batch.

use crate::algorithm::{check_algorithm, print_choice};
use crate::claim;
use crate::context::Context;
use crate::file;
use crate::operand;
use crate::option_values::{check_factor, parse_not_negative};
use anyhow::Result;
use clap::{Args, ValueEnum};
use nnz::io::FileKind;
use nnz::io::npy::{NpyArray, show_shape};
use nnz::{CompressOptions, DType, DenseMatrix, Error, Format, IndexType, Matrix, PlanOptions};
use std::path::PathBuf;

/// Compresses a dense array to CSR or CSC, or a 3-D array to a batch
///
/// Every element except 0 and -0 becomes an entry, NaN too. A 3-D array of shape (count, rows, cols) becomes a batch of
/// `count` matrices in one .npz file with the keys format (batch_csr or batch_csc), shape (count, rows, cols),
/// member_ptr (count + 1 numbers: the first entry of each member), indptr (count rows, each of which starts at 0),
/// indices and data.
#[derive(Debug, Args)]
#[command(
    override_usage = "nnz compress [OPTIONS] --out <OUT.npz> <DENSE.npy>\n       nnz compress [OPTIONS] <DENSE.npy> <OUT.npz>"
)]
#[command(after_help = "Examples:
  nnz compress dense.npy -o c.npz
  nnz compress dense.npy -o c.npz --to csc --threshold 1e-6")]
pub(crate) struct Compress {
    /// Dense array with 2 or 3 dimensions; - is stdin
    #[arg(value_name = "DENSE.npy")]
    dense: PathBuf,
    /// File to write; - is stdout
    #[arg(short = 'o', long = "out", value_name = "OUT.npz", required_unless_present = "last")]
    out: Option<PathBuf>,
    /// The file to write, without `-o`
    #[arg(value_name = "OUT.npz", hide = true, conflicts_with = "out")]
    last: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "csr", ignore_case = true)]
    to: Target,
    /// Also drops elements of magnitude at most TOL; NaN is never dropped
    #[arg(long, value_name = "TOL", value_parser = parse_not_negative, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Algorithm [default: chosen by the plan]
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
}

/// A value of `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    Csr,
    Csc,
}

impl Compress {
    pub(crate) fn run(mut self, context: &Context) -> Result<()> {
        let out = file::named_output(self.out.take(), self.last.take())?;
        file::check_npz_output(&out)?;
        let device = context.device()?;
        let (path, dense) = operand::read_array(&self.dense)?;
        let file_error = |reason| Error::File { path: path.clone(), line: None, reason };
        if dense.shape.len() == 1 {
            let shape = show_shape(&dense.shape);
            let reason = format!("an array of 2 or 3 dimensions is needed, the shape is {shape}");
            return Err(file_error(reason).into());
        }
        self.check_offsets(&dense).map_err(|error| file_error(error.to_string()))?;
        let dtype = context.dtype().unwrap_or(dense.values.dtype());
        operand::check_rounding(&path, &dense, dtype, context)?;
        if let Some(threshold) = self.threshold {
            check_factor("--threshold", threshold.into(), real(dtype))?;
        }
        let stack = match dense.shape[..] {
            [count, rows, _] => Some((count, rows)),
            _ => None,
        };
        let dense = operand::dense_of(&path, dense, dtype, &device)?;
        let compressed = match self.compress(&dense, stack, IndexType::I32, context) {
            Err(error) if is_index_overflow(&error) => self.compress(&dense, stack, IndexType::I64, context),
            narrow => narrow,
        }?;
        Ok(compressed.write_as(file::output(&out), FileKind::Npz)?)
    }
}

impl Compress {
    /// Fails if the offsets would take far more memory than the elements: an array without elements may have any number
    /// of rows or columns.
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

    /// Compresses one matrix, or a `stack` of (members, rows of each).
    fn compress(
        &self,
        dense: &DenseMatrix,
        stack: Option<(usize, usize)>,
        index_type: IndexType,
        context: &Context,
    ) -> Result<Matrix> {
        let named = self.algorithm.as_deref();
        check_algorithm(named, self.to.name(), dense.compress_algorithms())?;
        let mut plan = dense.plan_compress(&CompressOptions {
            format: self.to.format(stack.is_some()),
            stack,
            tolerance: self.threshold,
            index_type,
            plan: PlanOptions { algorithm: self.algorithm.clone(), ..PlanOptions::once() },
        })?;
        print_choice(context, "dense_to_csr", self.to.name(), plan.choice());
        Ok(plan.run(dense)?)
    }
}

impl Target {
    /// The format of one matrix, and of the members of a batch.
    pub(crate) fn name(self) -> &'static str {
        self.format(false).name()
    }

    pub(crate) fn format(self, is_batch: bool) -> Format {
        match (self, is_batch) {
            (Self::Csr, false) => Format::Csr,
            (Self::Csc, false) => Format::Csc,
            (Self::Csr, true) => Format::BatchCsr,
            (Self::Csc, true) => Format::BatchCsc,
        }
    }
}

/// The type of the magnitudes of a type.
pub(crate) fn real(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::Bf16 | DType::F32 | DType::C32 => DType::F32,
        DType::F64 | DType::C64 => DType::F64,
    }
}

fn is_index_overflow(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::IndexOverflow { .. }))
}
