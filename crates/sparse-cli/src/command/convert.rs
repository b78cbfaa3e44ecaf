//! `nnz convert`: from one kind of file to another.

use crate::context::Context;
use crate::dispatch::{Inspect, inspect, with_type};
use crate::failure::usage;
use crate::file;
use crate::format::StoredFormat;
use anyhow::Result;
use clap::Args;
use nnz::io::{FileKind, MatrixFile, matrix_market, npz};
use nnz::{Accumulator, Coo, Csr, Error, Host, Index};
use std::path::{Path, PathBuf};

/// Converts a matrix between .mtx, .mtx.gz, .npz and .npy, by the names of the files
///
/// Rows come out sorted and duplicates added; stored zeros stay. Indices have 32 bits where they fit. Of a dense .npy
/// array all elements but zeros become entries; NaN stays. With --format coo entries come out as they are in the file.
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The matrix to read; - is standard input
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
        match self.format {
            StoredFormat::Csr => inspect(input, dtype, Write { out: &self.out }),
            StoredFormat::Coo => with_type!(dtype, T => write_coordinates::<T>(&input, &self.out, kind)),
        }
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

/// Writes the entries as they are in the file, with 32-bit indices where they fit.
fn write_coordinates<T: Accumulator>(input: &MatrixFile, out: &Path, kind: FileKind) -> Result<()> {
    fn write<T: Accumulator, I: Index>(a: &Coo<T, Host, I>, out: &Path, kind: FileKind) -> Result<()> {
        match kind {
            FileKind::Npz => npz::write_coo(file::output(out), a)?,
            FileKind::MatrixMarket | FileKind::Npy => matrix_market::write_coo(file::output(out), a)?,
        }
        Ok(())
    }
    match input.read_coo::<T, i32>() {
        Err(Error::IndexOverflow { .. }) => write(&input.read_coo::<T, i64>()?, out, kind),
        narrow => write(&narrow?, out, kind),
    }
}
