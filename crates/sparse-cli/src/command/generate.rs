//! `nnz generate`: seeded test matrices.

use crate::context::Context;
use crate::failure::usage;
use crate::file;
use anyhow::Result;
use clap::Args;
use nnz::generate::{by_name, catalogue};
use nnz::{DType, Matrix};
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;

/// Generates a matrix: stencils, bands, random and power-law patterns, stand-ins of well-known graphs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nnz generate --list
  nnz generate stencil_5 100 100 -o grid.mtx
  nnz generate power_law 1000 8 2.2 100 -o graph.npz")]
pub(crate) struct Generate {
    /// Generator, one of `nnz generate --list`
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// Arguments of the generator, in order
    arguments: Vec<String>,
    /// File to write: .mtx, .mtx.gz, .npz (CSR) or .npy (dense); - is stdout, as .mtx
    #[arg(short = 'o', long = "out", value_name = "OUT", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// Lists all generators with their arguments
    #[arg(long, conflicts_with_all = ["name", "arguments", "out"])]
    list: bool,
}

impl Generate {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let (Some(name), Some(out)) = (&self.name, &self.out) else {
            return context.report(&Catalogue::new());
        };
        file::check_output(out)?;
        let _spinner = context.spinner(format_args!("generating {name}"));
        let a = by_name(&name.replace('-', "_"), &self.arguments).map_err(|error| match error {
            nnz::Error::Unsupported { .. } | nnz::Error::Shape { .. } => usage(error),
            other => other.into(),
        })?;
        let a = Matrix::from_typed(&Context::host()?, a)?;
        file::write(out, &a.cast(context.dtype().unwrap_or(DType::F64))?)
    }
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Catalogue(Vec<Entry>);

#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    usage: String,
    about: &'static str,
}

impl Catalogue {
    fn new() -> Self {
        let entry =
            |g: &nnz::generate::Generator| Entry { name: g.name, usage: g.to_string(), about: g.about };
        Self(catalogue().iter().map(entry).collect())
    }
}

impl Display for Catalogue {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let width = self.0.iter().map(|entry| entry.usage.len()).max().unwrap_or(0);
        let lines = self.0.iter().map(|entry| format!("{:<width$}  {}", entry.usage, entry.about));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}
