//! The matrices of the suite.

use crate::arguments::Arguments;
use crate::value::Value;
use crate::workload::{draw, in_type, read};
use anyhow::{Context as _, Result};
use sparse_core::{Csr, Index};
use sparse_generate::families::{Half, in_turn, members, transposed};
use sparse_generate::stand_in;
use sparse_io::FileKind;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The divisor of small matrices.
const SMALL: usize = 256;

/// A matrix that is generated at its turn.
pub(super) struct Source<T: Value> {
    pub(super) name: String,
    pub(super) half: Half,
    pub(super) make: Box<dyn Fn() -> Result<Csr<T>> + Send + Sync>,
}

/// The matrices of all families, those of the corpus, and the 13 stand-ins, which choices were first fitted to; or a
/// small matrix of each family, and those of the corpus. Only the selected ones, if any are. The first of each family
/// come first, then the second of each, so that a run that is cut short has all families.
pub(super) fn sources<T: Value>(arguments: &Arguments) -> Result<Vec<Source<T>>> {
    let mut seen = BTreeSet::new();
    let divisor = if arguments.smoke { SMALL } else { 1 };
    let members = members().filter(|member| !arguments.smoke || seen.insert(member.family));
    let generated = members.map(|member| Source {
        name: member.name(),
        half: member.half,
        make: Box::new(move || Ok(in_type::<f32, _>(&member.generate(divisor)?))),
    });
    let graphs = stand_in::ALL.iter().filter(|_| !arguments.smoke).map(|graph| Source {
        name: format!("graph/{}", graph.name),
        half: Half::Fit,
        make: Box::new(|| Ok(in_type::<f32, _>(&draw(graph, 1)?))),
    });
    let corpus = arguments.corpus.as_deref().map(|folder| of_corpus(folder, arguments)).transpose()?;
    let (generates, corpus) = (arguments.runs_generated::<T>(), corpus.unwrap_or_default());
    let (generated, graphs) = (generated.filter(|_| generates), graphs.filter(|_| generates));
    let wanted = generated.chain(corpus).chain(graphs).filter(|source| arguments.wants(&source.name));
    Ok(in_turn(wanted, |source| source.name.split('/').next().unwrap_or_default().into()))
}

/// The matrices of a folder, their transposes and their leading quarters. Files are for fitting and for judging in
/// turn, by their names.
fn of_corpus<T: Value>(folder: &Path, arguments: &Arguments) -> Result<Vec<Source<T>>> {
    let entries = folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))?;
    let paths: std::io::Result<BTreeSet<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let matrices = paths?.into_iter().filter(|path| FileKind::of(path).is_ok());
    let halves = [Half::Fit, Half::Judge].into_iter().cycle();
    let mut sources = vec![];
    for (path, half) in matrices.zip(halves) {
        if arguments.type_of(&path)? == T::TYPE {
            sources.extend(of_file(&path, half));
        }
    }
    Ok(sources)
}

/// A change of a matrix that makes another one.
type Change<T> = fn(Csr<T>) -> Result<Csr<T>>;

fn of_file<T: Value>(path: &Path, half: Half) -> [Source<T>; 3] {
    let stem = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let stem = stem.split('.').next().unwrap_or_default();
    let changes: [(&str, Change<T>); 3] =
        [("", Ok), ("_t", |a| Ok(transposed(&a)?)), ("_quarter", |a| quarter(&a))];
    changes.map(|(suffix, change)| {
        let path = path.to_owned();
        Source { name: format!("corpus/{stem}{suffix}"), half, make: Box::new(move || change(read(&path)?)) }
    })
}

/// The entries in the first half of the rows and of the columns.
fn quarter<T: Value>(a: &Csr<T>) -> Result<Csr<T>> {
    let (rows, cols) = (a.nrows().div_ceil(2), a.ncols().div_ceil(2));
    let (mut offsets, mut indices, mut values) = (vec![0], vec![], vec![]);
    for row in 0..rows {
        for (col, value) in a.major_entries(row).filter(|entry| entry.0 < cols) {
            indices.push(i32::cast(col));
            values.push(value);
        }
        offsets.push(i32::cast(indices.len()));
    }
    Ok(Csr::new_unsorted(rows, cols, offsets, indices, values)?)
}
