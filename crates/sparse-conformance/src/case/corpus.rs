//! A folder of real matrices.

use super::definition::{Case, Operands};
use super::tier::Tier;
use crate::triplets::Triplets;
use sparse_core::{Error, Result, c64};
use sparse_io::matrix_market::{Field, MatrixInfo, read_coo, read_header};
use std::path::{Path, PathBuf};

/// The operations that real matrices run through.
const OPS: [&str; 3] = ["spmv", "spmm", "convert"];

/// Matrices of the repository with more stored entries run from the tier `ci` on.
const QUICK_ENTRIES: usize = 5000;

/// The folder of the repository's real matrices: `corpus` beside the program where there is one, or else that of this
/// crate, where it was built. `None` where neither is there.
pub fn corpus_folder() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().map(|program| program.with_file_name("corpus"));
    let built = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));
    beside.into_iter().chain([built]).find(|folder| folder.is_dir())
}

/// One case for every real matrix of the repository, as [`corpus`] makes them; none where the folder is not there.
/// Large ones run from [`Tier::Ci`] on.
///
/// # Errors
/// As [`corpus`].
pub fn repository_corpus() -> Result<Vec<Case>> {
    let tier = |info: &MatrixInfo| Some(if info.stored <= QUICK_ENTRIES { Tier::Quick } else { Tier::Ci });
    corpus_folder().map_or(Ok(vec![]), |folder| cases(&folder, tier))
}

/// One case for every `.mtx` and `.mtx.gz` file of a folder with at most `largest` stored entries, in the order of
/// their names: real matrices in f32 and f64, complex ones in c32 and c64, with 32-bit indices.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be read; those of reading a file's header.
pub fn corpus(folder: impl AsRef<Path>, largest: usize) -> Result<Vec<Case>> {
    cases(folder.as_ref(), |info| (info.stored <= largest).then_some(Tier::Quick))
}

/// The cases of the files of a folder, in their tiers; those without a tier are left out.
fn cases(folder: &Path, tier: impl Fn(&MatrixInfo) -> Option<Tier>) -> Result<Vec<Case>> {
    let at = |source| Error::Io { path: folder.into(), source };
    let entries = std::fs::read_dir(folder).map_err(at)?;
    let mut files =
        entries.map(|entry| entry.map(|entry| entry.path()).map_err(at)).collect::<Result<Vec<_>>>()?;
    files.sort();
    files
        .into_iter()
        .filter_map(|file| Some((stem(&file)?, file)))
        .filter_map(|(name, file)| case(name, file, &tier).transpose())
        .collect()
}

/// The file's name without `.mtx` or `.mtx.gz`; `None` for other files.
fn stem(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    Some(name.strip_suffix(".mtx")?.to_string())
}

fn case(name: String, file: PathBuf, tier: impl Fn(&MatrixInfo) -> Option<Tier>) -> Result<Option<Case>> {
    let info = read_header(&file)?;
    let Some(tier) = tier(&info) else { return Ok(None) };
    let complex = info.field == Field::Complex;
    let case = Case::new(name, move || read(&file)).operands(Operands::Reals).tier(tier).large();
    Ok(Some(case.only(move |key| {
        let wanted = if complex { ["c32", "c64"] } else { ["f32", "f64"] };
        OPS.contains(&key.op) && !key.is_batch() && key.is_narrow() && wanted.contains(&key.dtype.name())
    })))
}

fn read(file: &Path) -> Result<Triplets> {
    let matrix = read_coo::<c64, i32>(file)?;
    Ok(Triplets::new(matrix.nrows(), matrix.ncols(), matrix.triplets().collect()))
}
