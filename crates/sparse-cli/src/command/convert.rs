//! `nnz convert`: from one kind of file to another.

use crate::context::Context;
use crate::dispatch::{Inspect, inspect};
use crate::file;
use anyhow::Result;
use clap::Args;
use nnz::io::MatrixFile;
use nnz::{Accumulator, Csr, Host, Index};
use std::path::{Path, PathBuf};

/// Converts a matrix between .mtx, .mtx.gz, .npz and .npy, by the names of the files
///
/// Rows come out sorted and duplicates added; stored zeros stay. Indices have 32 bits where they fit. Of a dense .npy
/// array all elements but zeros become entries; NaN stays.
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The matrix to read
    input: PathBuf,
    /// The file to write: .mtx, .mtx.gz, .npz (CSR) or .npy (dense)
    out: PathBuf,
}

impl Convert {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_output(&self.out)?;
        let _spinner = context.spinner(format_args!("{} → {}", self.input.display(), self.out.display()));
        let input = MatrixFile::open(&self.input)?;
        let dtype = file::dtype_of(&input, context.dtype())?;
        inspect(input, dtype, Write { out: &self.out })
    }
}

struct Write<'a> {
    out: &'a Path,
}

impl Inspect for Write<'_> {
    fn call<T: Accumulator, I: Index, O: Index>(
        self,
        input: MatrixFile,
        a: Csr<T, Host, I, O>,
    ) -> Result<()> {
        drop(input);
        file::write(self.out, &a)
    }
}
