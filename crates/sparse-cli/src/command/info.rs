//! `nnz info`: the description of a matrix.

use crate::analysis::{RowLengths, Structure, Symmetry};
use crate::batch;
use crate::context::Context;
use crate::file;
use crate::format::StoredFormat;
use crate::hypersparse::Compacted;
use crate::parts::Parts;
use crate::storage::{Storage, sizes_of};
use anyhow::Result;
use clap::Args;
use indicatif::ProgressBar;
use nnz::Matrix;
use nnz::io::MatrixFile;
use nnz::op::RowStatistics;
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::time::Instant;

/// Describes a matrix: shape, entries, rows, symmetry, bandwidth, and its bytes in every format
///
/// For a batch written by `nnz compress`: the shape, the entries of each member and the row lengths of all members. For
/// a folder of parts (with manifest.json): also the number of parts. -v prints the time to read the file to stderr.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz info a.mtx")]
pub(crate) struct Info {
    /// Matrix: a file or a folder of parts; - is stdin
    matrix: PathBuf,
    /// Format to read the matrix in [default: csr, or coo if there are too many rows for csr]
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
        let host = Context::host()?;
        if matrix.batch_format()?.is_some() {
            return reading.describe_batch(&matrix, &Matrix::read_batch(&host, &matrix, dtype)?);
        }
        let in_coordinates = match self.format {
            Some(format) => format == StoredFormat::Coo,
            None => matrix.has_too_many_rows()?,
        };
        if in_coordinates {
            let a = Compacted::new(&Matrix::read_coo(&host, &matrix, dtype)?)?;
            return reading.describe_coordinates(&matrix, &a);
        }
        reading.describe(&matrix, &file::read(&matrix, dtype, &host)?)
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

    fn describe_batch(self, file: &MatrixFile, batch: &Matrix) -> Result<()> {
        self.finish();
        let count = batch.members().unwrap_or(1);
        self.context.report(&batch::Description::new(file, count, batch)?)
    }

    fn describe(self, file: &MatrixFile, a: &Matrix) -> Result<()> {
        self.finish();
        let (lengths, structure) = (a.row_lengths()?, Structure::of(a)?);
        self.context.report(&Description {
            path: file.path().display().to_string(),
            parts: Parts::of(file),
            rows: a.nrows(),
            cols: a.ncols(),
            nnz: a.nnz(),
            density: density(a.shape(), a.nnz()),
            dtype: a.dtype().name(),
            index_type: a.index_type().name(),
            duplicates: file.duplicates_among(a.nnz(), structure.diagonal)?,
            structure,
            symmetry: Symmetry::of(a)?,
            storage: Storage::of(a, &lengths),
            row_lengths: RowStatistics::from_lengths(lengths).into(),
        })
    }

    /// Describes a matrix with too many rows for CSR, with the formats whose bytes do not depend on each row's length.
    fn describe_coordinates(self, file: &MatrixFile, a: &Compacted) -> Result<()> {
        self.finish();
        let (shape @ (rows, cols), nnz) = (a.shape(), a.matrix.nnz());
        let (lengths, structure) = (a.row_statistics()?, a.structure()?);
        self.context.report(&Description {
            path: file.path().display().to_string(),
            parts: Parts::of(file),
            rows,
            cols,
            nnz,
            density: density(shape, nnz),
            dtype: a.matrix.dtype().name(),
            index_type: a.matrix.index_type().name(),
            storage: Storage::without_row_lengths(shape, nnz, lengths.longest, sizes_of(&a.matrix)),
            row_lengths: lengths.into(),
            duplicates: file.duplicates_among(nnz, structure.diagonal)?,
            structure,
            symmetry: Symmetry::of(&a.matrix)?.filter(|_| rows == cols),
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
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Parts>,
    rows: usize,
    cols: usize,
    nnz: usize,
    density: Option<f64>,
    dtype: &'static str,
    index_type: &'static str,
    row_lengths: RowLengths,
    #[serde(flatten)]
    structure: Structure,
    /// `None` if the matrix is not square.
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
        if let Some(parts) = &self.parts {
            writeln!(f, "parts           {parts}")?;
        }
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
