//! `nnz convert`: from one kind of file to another.

use crate::context::Context;
use crate::failure::usage;
use crate::file;
use crate::format::StoredFormat;
use anyhow::Result;
use clap::Args;
use nnz::io::FileKind;
use std::path::PathBuf;

/// Converts a matrix between .mtx, .mtx.gz, .npz and .npy
///
/// The endings of the file names select the formats. INPUT may be a folder of parts. Rows are sorted and duplicates
/// summed; stored zeros are preserved. Indices have 32 bits where possible. In a dense .npy array every element except
/// 0 becomes an entry, NaN too. --format coo preserves the order of the file and its duplicates.
#[derive(Debug, Args)]
#[command(
    override_usage = "nnz convert [OPTIONS] --out <OUT> <INPUT>\n       nnz convert [OPTIONS] <INPUT> <OUT>"
)]
#[command(after_help = "Examples:\n  nnz convert a.mtx -o a.npz\n  nnz convert a.npz -o a.mtx.gz")]
pub(crate) struct Convert {
    /// Matrix to read: a file or a folder of parts; - is stdin
    input: PathBuf,
    /// File to write: .mtx, .mtx.gz, .npz or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "OUT", required_unless_present = "last")]
    out: Option<PathBuf>,
    /// The file to write, without `-o`
    #[arg(value_name = "OUT", hide = true, conflicts_with = "out")]
    last: Option<PathBuf>,
    /// Format to read and write the matrix in
    #[arg(long, value_name = "FORMAT", default_value = "csr", ignore_case = true)]
    format: StoredFormat,
}

impl Convert {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let out = file::named_output(self.out, self.last)?;
        let kind = file::check_output(&out)?;
        if kind == FileKind::Npy && self.format == StoredFormat::Coo {
            return Err(usage("--format coo: a .npy file is dense; choose .mtx, .mtx.gz or .npz"));
        }
        let _spinner = context.spinner(format_args!("{} → {}", self.input.display(), out.display()));
        let input = file::open(&self.input)?;
        let dtype = file::dtype_of(&input, context)?;
        let a = self.format.read(&input, dtype, &Context::host()?)?;
        drop(input);
        file::write(&out, &a)
    }
}
