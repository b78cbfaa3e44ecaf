//! The real matrices of a run: those of the repository, and those of the folders that `--corpus` names.

use anyhow::{Context, Result, bail};
use sparse_conformance::{Case, corpus, repository_corpus};
use std::path::PathBuf;

/// Real matrices of one origin.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// `the repository`, or a folder.
    pub(crate) origin: String,
    pub(crate) is_of_the_repository: bool,
    pub(crate) cases: Vec<Case>,
}

/// The matrices of the repository, then those of each folder without the ones that came before and those with more than
/// `largest` stored entries.
///
/// # Errors
/// Those of reading a folder; two matrices of one name that are not the same.
pub(crate) fn read(folders: &[PathBuf], largest: Option<usize>) -> Result<Vec<Corpus>> {
    let cases = repository_corpus().context("the corpus of the repository")?;
    let mut corpora = vec![Corpus { origin: "the repository".into(), is_of_the_repository: true, cases }];
    for folder in folders {
        let origin = folder.display().to_string();
        let mut cases = vec![];
        for case in
            corpus(folder, largest.unwrap_or(usize::MAX)).with_context(|| format!("the corpus {origin}"))?
        {
            if !is_among(&corpora, &case, &origin)? {
                cases.push(case);
            }
        }
        corpora.push(Corpus { origin, is_of_the_repository: false, cases });
    }
    Ok(corpora)
}

/// True if the matrix is among those that were read before.
fn is_among(corpora: &[Corpus], case: &Case, origin: &str) -> Result<bool> {
    for corpus in corpora {
        let Some(known) = corpus.cases.iter().find(|known| known.name == case.name) else { continue };
        if known.matrix()? != case.matrix()? {
            bail!("the corpus {origin}: `{}` is another matrix in {}: rename it", case.name, corpus.origin);
        }
        return Ok(true);
    }
    Ok(false)
}
