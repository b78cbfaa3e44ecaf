//! A folder of real matrices.

use super::{Case, Operands, Tier};
use crate::triplets::Triplets;
use sparse_core::{Error, Result, SparseFormat, c64};
use sparse_io::matrix_market::{Field, read_coo, read_header};
use std::path::{Path, PathBuf};

/// The operations that real matrices run through.
const OPS: [&str; 3] = ["spmv", "spmm", "convert"];

/// One case for every `.mtx` and `.mtx.gz` file of a folder, in the order of their names: real matrices in f32 and
/// f64, complex ones in c32 and c64, with 32-bit indices.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read; those of reading a file's header.
pub fn corpus(folder: impl AsRef<Path>) -> Result<Vec<Case>> {
    let folder = folder.as_ref();
    let at = |source| Error::Io { path: folder.into(), source };
    let entries = std::fs::read_dir(folder).map_err(at)?;
    let mut files =
        entries.map(|entry| entry.map(|entry| entry.path()).map_err(at)).collect::<Result<Vec<_>>>()?;
    files.sort();
    files
        .into_iter()
        .filter_map(|file| Some((stem(&file)?, file)))
        .map(|(name, file)| case(name, file))
        .collect()
}

/// The file's name without `.mtx` or `.mtx.gz`; `None` for other files.
fn stem(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    Some(name.strip_suffix(".mtx")?.to_string())
}

fn case(name: String, file: PathBuf) -> Result<Case> {
    let complex = read_header(&file)?.field == Field::Complex;
    let case = Case::new(name, move || read(&file)).operands(Operands::Reals).tier(Tier::Quick).large();
    Ok(case.only(move |key| {
        let wanted = if complex { ["c32", "c64"] } else { ["f32", "f64"] };
        OPS.contains(&key.op) && !key.is_batch() && key.is_narrow() && wanted.contains(&key.dtype.name())
    }))
}

fn read(file: &Path) -> Result<Triplets> {
    let matrix = read_coo::<c64, i32>(file)?;
    Ok(Triplets::new(matrix.rows(), matrix.cols(), matrix.triplets().collect()))
}
