//! `nnz spy`: a picture of the pattern.

use crate::context::Context;
use crate::failure::usage;
use crate::file;
use crate::format::ReadOptions;
use crate::picture::{Raster, draw_text, write_png, write_svg};
use anyhow::Result;
use clap::Args;
use nnz::Format;
use nnz::io::Output;
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Draws the pattern of a matrix: as text, or to a .png or .svg file
///
/// Entries are counted in bins: the more entries, the darker. In text a dot marks a bin with entries.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  nnz spy a.mtx --size 40\n  nnz spy a.mtx -o a.png")]
pub(crate) struct Spy {
    /// Matrix; - is stdin
    matrix: PathBuf,
    /// Picture to write, .png or .svg [default: text on stdout, as with -]
    #[arg(short = 'o', long = "out", value_name = "OUT")]
    out: Option<PathBuf>,
    /// Bins along the longer side [default: 128 in text, 1024 in .png, 180 in .svg]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8192))]
    size: Option<u32>,
    #[command(flatten)]
    read: ReadOptions,
}

/// The output of the picture.
#[derive(Debug, Clone, Copy)]
enum Target<'a> {
    Stdout,
    Png(&'a Path),
    Svg(&'a Path),
}

impl<'a> Target<'a> {
    fn of(out: Option<&'a Path>) -> Result<Self> {
        let Some(path) = out.filter(|path| !file::is_stdout(path)) else { return Ok(Self::Stdout) };
        match path.extension().map(|extension| extension.to_ascii_lowercase()) {
            Some(extension) if extension == "png" => Ok(Self::Png(path)),
            Some(extension) if extension == "svg" => Ok(Self::Svg(path)),
            _ => Err(usage(format_args!("{}: a name that ends in .png or .svg is needed", path.display()))),
        }
    }

    fn check(self) -> Result<()> {
        match self {
            Self::Stdout => Ok(()),
            Self::Png(path) | Self::Svg(path) => Ok(Output::from(path).check()?),
        }
    }

    fn default_size(self) -> u32 {
        match self {
            Self::Stdout => 128,
            Self::Png(_) => 1024,
            Self::Svg(_) => 180,
        }
    }
}

impl Spy {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let target = Target::of(self.out.as_deref())?;
        target.check()?;
        let matrix = file::open(&self.matrix)?;
        let dtype = file::dtype_of(&matrix, context)?;
        let limit = self.size.unwrap_or(target.default_size()) as usize;
        let a = self.read.read(&matrix, dtype, &Context::host()?)?;
        // Entries of one coordinate become one, as in CSR.
        let a = if a.format() == Format::Coo { a.add(&a, 1.0, 0.0)? } else { a };
        let raster = Raster::of(&a, limit)?;
        let caption =
            format!("{}: {} x {}, {} entries", matrix.path().display(), a.nrows(), a.ncols(), a.nnz());
        match target {
            Target::Stdout => context.report(&Picture { caption, raster }),
            Target::Png(out) => Ok(Output::from(out).write(|file| write_png(file, &raster))?),
            Target::Svg(out) => {
                let svg = write_svg(&raster, a.shape(), &caption)?;
                Ok(Output::from(out).write(|file| file.write_all(svg.as_bytes()))?)
            }
        }
    }
}

/// The picture on stdout: drawn as text, the counts as JSON.
#[derive(Debug, Serialize)]
struct Picture {
    caption: String,
    raster: Raster,
}

impl Display for Picture {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}", draw_text(&self.raster), self.caption)
    }
}
