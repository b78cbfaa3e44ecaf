//! `nnz spgemm`: sparse matrix times sparse matrix.

use crate::context::Context;
use crate::file;
use crate::text::parse_bytes;
use anyhow::Result;
use clap::Args;
use nnz::io::{FileKind, MatrixFile};
use nnz::{DType, Device, Format, Matrix, c64};
use std::path::PathBuf;

/// Multiplies two sparse matrices: C = A·B
///
/// Rows of C are sorted. C has an entry wherever a product of two entries falls, even if their sum is zero. Without
/// --dtype C has the type that represents the values of A and B exactly.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nnz spgemm a.mtx a.mtx -o c.npz
  nnz spgemm a.mtx a.mtx -o c.npz --mask a.mtx")]
pub(crate) struct Spgemm {
    /// Sparse matrix A; - is stdin
    a: PathBuf,
    /// Sparse matrix B; - is stdin
    b: PathBuf,
    /// File to write C to: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "C")]
    out: PathBuf,
    /// Computes only the elements at the entries of M; C has the pattern of M, and zeros where no product falls
    #[arg(long, value_name = "M", conflicts_with = "pattern_only")]
    mask: Option<PathBuf>,
    /// Computes only the pattern of C: its values are 1
    #[arg(long)]
    pattern_only: bool,
    /// Memory to use on the device in addition to B, as in 512MiB or 4GiB: rows of C are computed in chunks that fit.
    /// By default C is computed in chunks only if the device runs out of memory. An .npz file is written chunk by
    /// chunk, so that C may be larger than the host's memory
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with = "pattern_only")]
    memory_limit: Option<u64>,
}

impl Spgemm {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let kind = file::check_output(&self.out)?;
        let inputs = [&self.a, &self.b].into_iter().chain(&self.mask);
        file::check_inputs(inputs.map(PathBuf::as_path))?;
        let device = context.device()?;
        let files = [file::open(&self.a)?, file::open(&self.b)?];
        let mask = self.mask.as_deref().map(file::open).transpose()?;
        let dtype = match context.dtype() {
            Some(dtype) => dtype,
            None => DType::common([files[0].value_type()?, files[1].value_type()?]),
        };
        files.iter().try_for_each(|file| file::check_rounding(file, dtype, context))?;
        let cut = if self.pattern_only { device.clone() } else { host(&device)? };
        let a = file::read(&files[0], dtype, &cut)?;
        let b = file::read(&files[1], dtype, &device)?;
        let product = match mask {
            Some(mask) => {
                a.matmul_masked_in_chunks(&b, &read_mask(&mask, dtype, &cut)?, self.memory_limit)?
            }
            None if self.pattern_only => a.matmul_pattern(&b)?,
            None if kind == FileKind::Npz => {
                return Ok(a.matmul_to_npz(&b, self.memory_limit, file::output(&self.out))?);
            }
            None => a.matmul_in_chunks(&b, self.memory_limit)?,
        };
        file::write(&self.out, &product)
    }
}

/// The mask in a file, with ones of the type of the product where its own values may not fit that type.
fn read_mask(file: &MatrixFile, dtype: DType, device: &Device) -> Result<Matrix> {
    let own = file.value_type()?;
    if DType::common([own, dtype]) == dtype {
        return file::read(file, dtype, device);
    }
    let mask = file::read(file, own, device)?;
    let mut entries = Vec::with_capacity(mask.nnz());
    mask.for_each_entry(&mut |row, col, _| entries.push((row, col, c64::ONE)))?;
    let ones = Matrix::from_triplets(device, dtype, mask.index_type(), mask.shape(), &entries)?;
    Ok(ones.to_format(Format::Csr)?)
}

/// The host, which is the device itself if that computes in the host's memory.
fn host(device: &Device) -> Result<Device> {
    Ok(if matches!(device, Device::Cpu(_)) { device.clone() } else { Device::host()? })
}
