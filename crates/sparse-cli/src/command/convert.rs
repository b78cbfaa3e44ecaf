//! `nnz convert`: from one kind of file to another.

use crate::context::Context;
use crate::failure::usage;
use crate::file;
use crate::format::StoredFormat;
use anyhow::Result;
use clap::Args;
use nnz::io::FileKind;
use std::path::PathBuf;

/// Converts a matrix between .mtx, .mtx.gz, .npz and .npy, by the names of the files
///
/// A matrix in parts is read by the name of its folder. Rows come out sorted and duplicates added; stored zeros stay.
/// Indices have 32 bits where they fit. Of a dense .npy array all elements but zeros become entries; NaN stays. With
/// --format coo entries come out as they are in the file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nnz convert a.mtx a.npz\n  nnz convert a.npz a.mtx.gz")]
pub(crate) struct Convert {
    /// The matrix to read, a file or a folder of parts; - is standard input
    input: PathBuf,
    /// The file to write: .mtx, .mtx.gz, .npz or .npy (dense); - is standard output, which gets .mtx
    out: PathBuf,
    /// The format to read and to write: coo keeps order and duplicates, and may have any number of rows
    #[arg(long, value_name = "FORMAT", default_value = "csr", ignore_case = true)]
    format: StoredFormat,
}

impl Convert {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let kind = file::check_output(&self.out)?;
        if kind == FileKind::Npy && self.format == StoredFormat::Coo {
            return Err(usage("--format coo: a .npy file is dense; choose .mtx, .mtx.gz or .npz"));
        }
        let _spinner = context.spinner(format_args!("{} → {}", self.input.display(), self.out.display()));
        let input = file::open(&self.input)?;
        let dtype = file::dtype_of(&input, context)?;
        let a = self.format.read(&input, dtype, &Context::host()?)?;
        drop(input);
        file::write(&self.out, &a)
    }
}
