//! The command line of a run of the table.

use crate::backends::Known;
use crate::corpora::{self, Corpus};
use anyhow::Result;
use sparse_conformance::{Case, Filter, Run, Suite, Tier};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread::available_parallelism;

/// The most processes that run a table at once unless their number is given.
const MAX_JOBS: usize = 8;

/// The backends that run, the selected part of the table, and the files that are written.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run this backend, which must be available; `all` is every backend. Default: those that are available.
    #[arg(long, value_parser = ["cpu", "reference", "opencl", "sycl", "cuda", "all"])]
    pub(crate) backend: Option<String>,
    /// Backends that must be available, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = ["cpu", "reference", "opencl", "sycl", "cuda"])]
    pub(crate) require: Vec<String>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Write one JSON object a line: op, case, backend, algorithm, types, status, reason.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a hash of every result, to compare runs.
    #[arg(long, value_name = "FILE")]
    pub(crate) digest: Option<PathBuf>,
    /// The file that lists the checks that are refused; of those that run, one more or fewer is a failure. Without it:
    /// that of the device, if it has one.
    #[arg(long, value_name = "FILE")]
    pub(crate) support: Option<PathBuf>,
    /// Bring the file that --support compares with up to date for the checks that run.
    #[arg(long, value_name = "FILE", conflicts_with = "support")]
    pub(crate) pin_support: Option<PathBuf>,
    /// The longest time of one algorithm on one case before its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub(crate) limit: u64,
    /// Processes that run a backend's table, each a part of it; without it, one for each core, at most 8, and one for a
    /// GPU by CUDA.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Fetch no OpenCL runtime and no SYCL where there is none; otherwise they come from PyPI into target/.
    #[arg(long)]
    pub(crate) no_provision: bool,
    /// List what would run.
    #[arg(long)]
    pub(crate) list: bool,
}

impl Options {
    /// True if the backend runs.
    pub(crate) fn takes(&self, known: &Known) -> bool {
        let asked = match self.backend.as_deref() {
            None => !known.on_request,
            Some("all") => true,
            Some(name) => name == known.name,
        };
        asked || self.require.iter().any(|name| name == known.name)
    }

    /// The parts of the table that run at once; snapshots are written by one process.
    pub(crate) fn parts(&self, known: Known) -> usize {
        let cores = || available_parallelism().map_or(1, usize::from).min(MAX_JOBS);
        match self.jobs {
            _ if self.selection.bless => 1,
            Some(jobs) => usize::from(jobs),
            None if known.alone => 1,
            None => cores(),
        }
    }

    /// True if the backend must be available.
    pub(crate) fn requires(&self, name: &str) -> bool {
        let named = |wanted: &str| wanted == name || wanted == "all";
        self.backend.as_deref().is_some_and(named) || self.require.iter().any(|wanted| wanted == name)
    }
}

/// The selected part of the table and its settings: the part of the command line that a child gets too.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Selection {
    /// A folder of Matrix Market files (.mtx, .mtx.gz) that are cases too, beside those of the repository; may be
    /// repeated.
    #[arg(long, value_name = "PATH")]
    pub(crate) corpus: Vec<PathBuf>,
    /// Leave out the matrices of --corpus with more stored entries.
    #[arg(long, value_name = "ENTRIES", requires = "corpus")]
    pub(crate) largest: Option<usize>,
    /// An operation, or an operation and a format: spmv, spmv/csr.
    #[arg(long)]
    pub(crate) op: Option<String>,
    /// A part of the names of cases; * stands for anything.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) case: Option<String>,
    /// The first letters of the names of types: f64, or f32,i32,i32; may be repeated.
    #[arg(long)]
    pub(crate) types: Vec<String>,
    /// tiny: for simulators; quick: seconds, or minutes where kernels are compiled for a CPU; ci: minutes, or hours
    /// there; nightly: longer. Without it: ci, but quick where kernels are compiled for a CPU.
    #[arg(long)]
    pub(crate) tier: Option<Tier>,
    /// Threads of the CPU backend; with several numbers, separated by commas, each check runs with each of them, which
    /// must give the same bits.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) threads: Vec<usize>,
    /// Write the snapshots instead of comparing with them; for the reference alone.
    #[arg(long)]
    pub(crate) bless: bool,
    /// The folder of the snapshots.
    #[arg(long, value_name = "DIR")]
    pub(crate) snapshots: Option<PathBuf>,
}

impl Selection {
    /// The command line that gives this selection.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let text = |path: &PathBuf| path.display().to_string();
        let mut arguments = vec![];
        let options = [
            ("--tier", self.tier.map(|tier| tier.to_string())),
            ("--largest", self.largest.map(|entries| entries.to_string())),
            ("--op", self.op.clone()),
            ("--case", self.case.clone()),
            ("--threads", (!self.threads.is_empty()).then(|| self.threads_text(","))),
            ("--snapshots", self.snapshots.as_ref().map(text)),
        ];
        let options = options.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let types = self.types.iter().map(|types| ("--types", types.clone()));
        let corpus = self.corpus.iter().map(|folder| ("--corpus", text(folder)));
        arguments
            .extend(options.chain(types).chain(corpus).flat_map(|(name, value)| [name.to_string(), value]));
        arguments.extend(self.bless.then(|| "--bless".to_string()));
        arguments
    }

    /// The numbers of threads, joined.
    pub(crate) fn threads_text(&self, separator: &str) -> String {
        self.threads.iter().map(usize::to_string).collect::<Vec<_>>().join(separator)
    }

    /// Everything selected, by name.
    pub(crate) fn names(&self) -> Result<BTreeSet<String>> {
        let (cases, suite) = (self.cases()?, Suite::reference());
        let filter = self.filter(Tier::Ci);
        let run = Run { suite: &suite, reference: &suite, cases: &cases, filter: &filter };
        Ok(run.names().map(|(name, _)| name).collect())
    }

    /// The table with the real matrices.
    pub(crate) fn cases(&self) -> Result<Vec<Case>> {
        let real = self.corpora()?.into_iter().flat_map(|corpus| corpus.cases);
        Ok(sparse_conformance::table().into_iter().chain(real).collect())
    }

    /// The real matrices, each once.
    pub(crate) fn corpora(&self) -> Result<Vec<Corpus>> {
        corpora::read(&self.corpus, self.largest)
    }

    /// The part of the table, for its runner; of this tier unless one is chosen.
    pub(crate) fn filter(&self, tier: Tier) -> Filter {
        let (op, case, types) = (self.op.clone(), self.case.clone(), self.types.clone());
        Filter { tier: self.tier.unwrap_or(tier), op, case, types, ..Filter::default() }
    }
}
