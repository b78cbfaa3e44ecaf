//! `nnz info`: the description of a matrix.

use crate::analysis::{RowLengths, Structure, Symmetry};
use crate::batch;
use crate::context::Context;
use crate::dispatch::{Inspect, inspect, with_type};
use crate::file;
use crate::format::StoredFormat;
use crate::hypersparse::Compacted;
use crate::storage::Storage;
use anyhow::Result;
use clap::Args;
use indicatif::ProgressBar;
use nnz::estimate::Sizes;
use nnz::io::MatrixFile;
use nnz::op::RowStatistics;
use nnz::{Accumulator, Csr, Host, Index, SparseFormat};
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::time::Instant;

/// Describes a matrix: shape, entries, rows, symmetry, bandwidth, and its bytes in every format
///
/// Of a batch that `nnz compress` wrote: shape, entries of the members, rows of all members. With -v, the seconds from the
/// file to CSR go to stderr.
#[derive(Debug, Args)]
pub(crate) struct Info {
    /// The matrix; - is standard input
    matrix: PathBuf,
    /// The format to read; without it csr, and coo where the rows are too many for csr
    #[arg(long, value_name = "FORMAT", ignore_case = true)]
    format: Option<StoredFormat>,
}

impl Info {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let spinner = context.spinner(format_args!("reading {}", self.matrix.display()));
        let started = Instant::now();
        let matrix = file::open(&self.matrix)?;
        let dtype = file::dtype_of(&matrix, context)?;
        let reading = Reading { started, spinner, context };
        if let Some(format) = matrix.batch_format()? {
            let description = batch::describe(&matrix, format, dtype)?;
            reading.finish();
            return context.report(&description);
        }
        let in_coordinates = match self.format {
            Some(format) => format == StoredFormat::Coo,
            None => matrix.has_too_many_rows()?,
        };
        if in_coordinates {
            return with_type!(dtype, T => reading.describe_coordinates::<T>(&matrix));
        }
        inspect(matrix, dtype, reading)
    }
}

/// A file that is being read.
struct Reading<'a> {
    /// The start of reading.
    started: Instant,
    spinner: ProgressBar,
    context: &'a Context,
}

impl Reading<'_> {
    /// Prints the time of reading, if -v was given.
    fn finish(&self) {
        let seconds = self.started.elapsed().as_secs_f64();
        self.spinner.finish_and_clear();
        self.context.detail(format_args!("read: {seconds:.6} s"));
    }
}

impl Inspect for Reading<'_> {
    fn call<T: Accumulator, I: Index, O: Index>(self, file: MatrixFile, a: Csr<T, Host, I, O>) -> Result<()> {
        self.finish();
        self.context.report(&Description {
            path: file.path().display().to_string(),
            rows: a.rows(),
            cols: a.cols(),
            nnz: a.nnz(),
            density: density((a.rows(), a.cols()), a.nnz()),
            dtype: T::DTYPE.name(),
            index_type: I::NAME,
            row_lengths: RowStatistics::from_lengths(a.row_lengths()).into(),
            structure: Structure::of(a.triplets()),
            symmetry: Symmetry::of(&a),
            duplicates: file.duplicates(&a)?,
            storage: Storage::of(&a),
        })
    }
}

impl Reading<'_> {
    /// Describes a matrix with too many rows for CSR, with the formats whose bytes do not depend on each row's length.
    fn describe_coordinates<T: Accumulator>(self, file: &MatrixFile) -> Result<()> {
        let a = Compacted::<T>::new(&file.read_coo()?)?;
        self.finish();
        let ((rows, cols), nnz, lengths) = (a.shape(), a.matrix.nnz(), a.row_statistics());
        let sizes = Sizes::of::<T, i64, i64>();
        self.context.report(&Description {
            path: file.path().display().to_string(),
            rows,
            cols,
            nnz,
            density: density((rows, cols), nnz),
            dtype: T::DTYPE.name(),
            index_type: i64::NAME,
            storage: Storage::without_row_lengths((rows, cols), nnz, lengths.longest, sizes),
            row_lengths: lengths.into(),
            structure: Structure::of(a.triplets()),
            symmetry: Symmetry::of(&a.matrix).filter(|_| rows == cols),
            duplicates: file.duplicates(&a.matrix)?,
        })
    }
}

/// The fraction of elements that are stored; none for an empty matrix.
fn density((rows, cols): (usize, usize), nnz: usize) -> Option<f64> {
    let cells = rows as f64 * cols as f64;
    (cells > 0.0).then(|| nnz as f64 / cells)
}

#[derive(Debug, Serialize)]
struct Description {
    path: String,
    rows: usize,
    cols: usize,
    nnz: usize,
    density: Option<f64>,
    dtype: &'static str,
    index_type: &'static str,
    row_lengths: RowLengths,
    #[serde(flatten)]
    structure: Structure,
    /// None if the matrix is not square.
    symmetry: Option<Symmetry>,
    /// Entries of the file that were added to another one of the same coordinate.
    duplicates: usize,
    storage: Storage,
}

impl Display for Description {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Structure { lower_bandwidth, upper_bandwidth, diagonal, explicit_zeros } = self.structure;
        let density = self.density.map(|density| format!(", density {density:.3e}")).unwrap_or_default();
        writeln!(f, "{}", self.path)?;
        writeln!(f, "shape           {} x {}", self.rows, self.cols)?;
        writeln!(f, "entries         {}{density}", self.nnz)?;
        writeln!(f, "types           values {}, indices {}", self.dtype, self.index_type)?;
        writeln!(f, "row lengths     {}", self.row_lengths)?;
        writeln!(f, "bandwidth       lower {lower_bandwidth}, upper {upper_bandwidth}")?;
        writeln!(f, "diagonal        {diagonal} entries")?;
        writeln!(f, "symmetry        {}", symmetry_words(self.symmetry.as_ref()))?;
        writeln!(f, "duplicates      {}", self.duplicates)?;
        writeln!(f, "explicit zeros  {explicit_zeros}")?;
        write!(f, "\n{}", self.storage)
    }
}

fn symmetry_words(symmetry: Option<&Symmetry>) -> String {
    let Some(symmetry) = symmetry else {
        return "none: not square".into();
    };
    let kinds = [
        ("pattern", symmetry.pattern),
        ("numeric", symmetry.numeric),
        ("skew", symmetry.skew),
        ("hermitian", symmetry.hermitian),
    ];
    let found: Vec<&str> = kinds.iter().filter(|(_, holds)| *holds).map(|(name, _)| *name).collect();
    match symmetry.mirrored_share {
        _ if !found.is_empty() => found.join(", "),
        Some(share) => format!("none: {:.1} % of the entries have a mirror image", share * 100.0),
        None => "none".into(),
    }
}
