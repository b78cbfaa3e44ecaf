//! `nnz components`: connected components.

use crate::claim;
use crate::context::Context;
use crate::file;
use anyhow::Result;
use clap::Args;
use nnz::graph::Connection;
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;

/// Counts the connected components of the graph of a square matrix
///
/// An entry in row i and column j is an edge from i to j. Components are numbered in the order of their first rows.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz components a.mtx -o labels.npy")]
pub(crate) struct PrintComponents {
    /// Square matrix; - is stdin
    matrix: PathBuf,
    /// Counts strongly connected components; without it the direction of edges is ignored
    #[arg(long)]
    strong: bool,
    /// The .npy file to write the component of each row to; - is stdout, and the report goes to stderr
    #[arg(short = 'o', long = "out", value_name = "LABELS.npy")]
    out: Option<PathBuf>,
}

impl PrintComponents {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        if let Some(out) = &self.out {
            file::check_npy_output(out)?;
        }
        let input = file::open(&self.matrix)?;
        let a = file::read(&input, file::dtype_of(&input, context)?, &Context::host()?)?;
        claim::check_lines(&a)?;
        let connection = if self.strong { Connection::Strong } else { Connection::Weak };
        let found = a.connected_components(connection)?;
        let largest = found.sizes().into_iter().max().unwrap_or(0);
        let report = Report { components: found.count, largest };
        let Some(out) = self.out else { return context.report(&report) };
        file::write_indices(&out, &found.labels)?;
        if file::is_stdout(&out) { context.report_beside_data(&report) } else { context.report(&report) }
    }
}

/// The number of components, and of the rows of the largest.
#[derive(Debug, Serialize)]
struct Report {
    components: usize,
    largest: usize,
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "components: {}, rows of the largest: {}", self.components, self.largest)
    }
}
