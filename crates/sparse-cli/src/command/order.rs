//! `nnz order`: a permutation with a small bandwidth.

use crate::claim;
use crate::context::Context;
use crate::file;
use anyhow::Result;
use clap::{Args, ValueEnum};
use nnz::graph::Graph;
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;

/// Finds a permutation of a square matrix, such as one with a small bandwidth
///
/// Writes the permutation p, for `nnz permute A --rows p.npy --cols p.npy`: row k of the permuted matrix is row p[k] of
/// A. Prints bandwidth and profile before and after. The permutation, the bandwidth and the profile are those of the
/// pattern of A + Aᵀ.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nnz order a.mtx -o p.npy")]
pub(crate) struct PrintOrder {
    /// Square matrix A; - is stdin
    matrix: PathBuf,
    /// Order: rcm (reverse Cuthill-McKee, for a small bandwidth) or degree (rows with few neighbours first)
    #[arg(long, value_name = "NAME", value_enum, default_value_t = By::Rcm)]
    by: By,
    /// The .npy file to write p to; - is stdout, and the report goes to stderr
    #[arg(short = 'o', long = "out", value_name = "P.npy")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Rcm,
    Degree,
}

impl PrintOrder {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_npy_output(&self.out)?;
        let input = file::open(&self.matrix)?;
        let a = file::read(&input, file::dtype_of(&input, context)?, &Context::host()?)?;
        claim::check_lines(&a)?;
        drop(input);
        let graph = a.graph()?.symmetrized();
        let order = match self.by {
            By::Rcm => graph.reverse_cuthill_mckee(),
            By::Degree => graph.degree_order(),
        };
        let report = Report { before: Shape::of(&graph), after: Shape::of(&graph.permuted(&order)?) };
        file::write_indices(&self.out, &order)?;
        if file::is_stdout(&self.out) { context.report_beside_data(&report) } else { context.report(&report) }
    }
}

/// Bandwidth and profile of A + Aᵀ before and after the permutation.
#[derive(Debug, Serialize)]
struct Report {
    before: Shape,
    after: Shape,
}

#[derive(Debug, Serialize)]
struct Shape {
    bandwidth: usize,
    profile: usize,
}

impl Shape {
    fn of(graph: &Graph) -> Self {
        Self { bandwidth: graph.bandwidth().0, profile: graph.profile() }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { before, after } = self;
        writeln!(f, "bandwidth: {}, after the permutation {}", before.bandwidth, after.bandwidth)?;
        write!(f, "profile: {}, after the permutation {}", before.profile, after.profile)
    }
}
