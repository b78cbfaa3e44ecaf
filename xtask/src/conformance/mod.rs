//! `cargo xtask conformance`: the table, one child process a backend.
//!
//! Exit status: 0 all passed, 1 something failed, 2 usage, 3 a backend that was asked for is not there.

mod backends;
mod child;
mod corpora;
mod summary;
mod support;

pub(crate) use child::{ChildArgs, run as run_child};

use anyhow::{Context, Error, Result, anyhow};
use backends::Known;
use corpora::Corpus;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sparse_conformance::{Case, Ending, Filter, Listener, Record, Run, Status, Suite, Supervisor, Tier};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write, stderr};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread::available_parallelism;
use std::time::Duration;
use summary::Summary;
use support::Support;
use xshell::Shell;

/// The most processes that run a table at once unless their number is given.
const MOST_JOBS: usize = 8;

/// Settings of the GNU C library that retain freed memory in the process. Otherwise page faults take a quarter of the
/// time on large matrices.
const KEEP_MEMORY: [(&str, &str); 3] =
    [("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "4294967296"), ("MALLOC_TOP_PAD_", "67108864")];

/// Runs the conformance table.
///
/// Every algorithm of every operation runs on every case, for every backend that is there. Exit status: 0 all passed,
/// 1 something failed, 2 usage, 3 a backend that was asked for is not there.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run this backend, which must be there; `all` is every backend. Without it: those that are there.
    #[arg(long, value_parser = ["cpu", "reference", "opencl", "sycl", "cuda", "all"])]
    backend: Option<String>,
    /// Backends that must be there, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = ["cpu", "reference", "opencl", "sycl", "cuda"])]
    require: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Write one JSON object a line: op, case, backend, algorithm, types, status, reason.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a hash of every result, to compare runs.
    #[arg(long, value_name = "FILE")]
    digest: Option<PathBuf>,
    /// The file that lists the checks that are refused; of those that run, one more or fewer is a failure. Without it: that
    /// of the device in xtask/support, if it has one.
    #[arg(long, value_name = "FILE")]
    support: Option<PathBuf>,
    /// Bring the file that --support compares with up to date for the checks that run.
    #[arg(long, value_name = "FILE", conflicts_with = "support")]
    pin_support: Option<PathBuf>,
    /// The longest time of one algorithm on one case before its process is ended.
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    limit: u64,
    /// Processes that run a backend's table, each a part of it; without it, one for each core, at most 8, and one for a GPU
    /// by CUDA.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Fetch no OpenCL runtime and no SYCL where there is none; otherwise they come from PyPI into target/.
    #[arg(long)]
    no_provision: bool,
    /// List what would run.
    #[arg(long)]
    list: bool,
}

/// The selected part of the table and its settings: the part of the command line that a child gets too.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Selection {
    /// A folder of Matrix Market files (.mtx, .mtx.gz) that are cases too, beside those of the repository; may be repeated.
    #[arg(long, value_name = "PATH")]
    corpus: Vec<PathBuf>,
    /// An operation, or an operation and a format: spmv, spmv/csr.
    #[arg(long)]
    op: Option<String>,
    /// A part of the names of cases; * stands for anything.
    #[arg(long, value_name = "PATTERN")]
    case: Option<String>,
    /// The first letters of the names of types: f64, or f32,i32,i32.
    #[arg(long)]
    types: Option<String>,
    /// tiny: for simulators; quick: seconds; ci: minutes; nightly: longer.
    #[arg(long, default_value = "ci")]
    tier: Tier,
    /// Threads of the CPU backend.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Write the snapshots instead of comparing with them; for the reference alone.
    #[arg(long)]
    bless: bool,
    /// The folder of the snapshots.
    #[arg(long, value_name = "DIR")]
    snapshots: Option<PathBuf>,
}

impl Selection {
    /// The command line that gives this selection.
    fn arguments(&self) -> Vec<String> {
        let text = |path: &PathBuf| path.display().to_string();
        let mut arguments = vec!["--tier".to_string(), self.tier.to_string()];
        let options = [
            ("--op", self.op.clone()),
            ("--case", self.case.clone()),
            ("--types", self.types.clone()),
            ("--threads", self.threads.map(|n| n.to_string())),
            ("--snapshots", self.snapshots.as_ref().map(text)),
        ];
        let options = options.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let corpus = self.corpus.iter().map(|folder| ("--corpus", text(folder)));
        arguments.extend(options.chain(corpus).flat_map(|(name, value)| [name.to_string(), value]));
        arguments.extend(self.bless.then(|| "--bless".to_string()));
        arguments
    }

    /// Everything selected, by name.
    fn names(&self) -> Result<BTreeSet<String>> {
        let (cases, filter, suite) = (self.cases()?, self.filter(), Suite::reference());
        let run = Run { suite: &suite, reference: &suite, cases: &cases, filter: &filter };
        Ok(run.names().map(|(name, _)| name).collect())
    }

    /// The table with the real matrices.
    fn cases(&self) -> Result<Vec<Case>> {
        let real = self.corpora()?.into_iter().flat_map(|corpus| corpus.cases);
        Ok(sparse_conformance::table().into_iter().chain(real).collect())
    }

    /// The real matrices, each once.
    fn corpora(&self) -> Result<Vec<Corpus>> {
        corpora::read(&self.corpus)
    }

    fn filter(&self) -> Filter {
        let (op, case, types) = (self.op.clone(), self.case.clone(), self.types.clone());
        Filter { tier: self.tier, op, case, types, ..Filter::default() }
    }
}

/// Runs the table on the chosen backends.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.selection.bless && args.backend.as_deref() != Some("reference") {
        eprintln!("error: only the serial reference blesses snapshots: --backend reference --bless");
        return Ok(ExitCode::from(2));
    }
    let names = match args.selection.names() {
        Ok(names) if !names.is_empty() => names,
        nothing => {
            let error =
                nothing.err().unwrap_or_else(|| anyhow!("no case has this name and operation in this tier"));
            eprintln!("error: {error:#}");
            return Ok(ExitCode::from(2));
        }
    };
    if args.list {
        names.iter().for_each(|name| println!("{name}"));
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = Report::new(args)?;
    for known in backends::KNOWN.into_iter().filter(|known| args.takes(known)) {
        if let Ending::Missing(reason) = run_or_provision(known, args, &mut report)? {
            report.missing(known.name, &reason, args.requires(known.name));
        }
    }
    report.finish(args)
}

impl Args {
    fn takes(&self, known: &Known) -> bool {
        let asked = match self.backend.as_deref() {
            None => !known.on_request,
            Some("all") => true,
            Some(name) => name == known.name,
        };
        asked || self.require.iter().any(|name| name == known.name)
    }

    /// The parts of the table that run at once; snapshots are written by one process.
    fn parts(&self, known: Known) -> usize {
        let cores = || available_parallelism().map_or(1, usize::from).min(MOST_JOBS);
        match self.jobs {
            _ if self.selection.bless => 1,
            Some(jobs) => usize::from(jobs),
            None if known.alone => 1,
            None => cores(),
        }
    }

    fn requires(&self, name: &str) -> bool {
        let named = |wanted: &str| wanted == name || wanted == "all";
        self.backend.as_deref().is_some_and(named) || self.require.iter().any(|wanted| wanted == name)
    }
}

/// Runs a backend; if it is missing for want of a runtime that can be fetched, runs it with that.
fn run_or_provision(known: Known, args: &Args, report: &mut Report) -> Result<Ending> {
    let ending = run_backend(known, args, &[], report)?;
    let Ending::Missing(reason) = &ending else { return Ok(ending) };
    let Some(provision) = backends::provision(known.name).filter(|_| !args.no_provision) else {
        return Ok(ending);
    };
    eprintln!("{}: {reason}; taking what PyPI has", known.name);
    match Shell::new().map_err(Error::from).and_then(|shell| provision(&shell)) {
        Ok(variables) => run_backend(known, args, &variables, report),
        Err(error) => Ok(Ending::Missing(format!("{reason}; none could be fetched: {error:#}"))),
    }
}

/// Runs a backend in processes of its own, so that a crash is contained, with these additional environment variables.
fn run_backend(
    known: Known,
    args: &Args,
    variables: &[(&'static str, String)],
    report: &mut Report,
) -> Result<Ending> {
    let program = std::env::current_exe()?;
    let parts = args.parts(known);
    let command = |part, done| {
        let mut command = Command::new(&program);
        command.args(ChildArgs::command(known.name, (part, parts), done, &args.selection));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.envs(KEEP_MEMORY);
        command
    };
    report.begin(known.name);
    let limit = Duration::from_secs(args.limit);
    let supervisor = Supervisor { backend: known.name, parts, command: &command, limit };
    supervisor.run(report).context("the child process")
}

/// Gathers records and shows the progress of the run.
struct Report {
    summary: Summary,
    support: Support,
    json: Option<BufWriter<File>>,
    digests: Vec<String>,
    bar: ProgressBar,
    backend: &'static str,
    /// True once a part of the backend's table has begun.
    begun: bool,
    required_missing: bool,
}

impl Report {
    fn new(args: &Args) -> Result<Self> {
        let create = |path: &PathBuf| File::create(path).with_context(|| path.display().to_string());
        let corpora = args.selection.corpora()?;
        let names = |corpus: &Corpus| corpus.cases.iter().map(|case| case.name.clone()).collect::<Vec<_>>();
        let of_others =
            corpora.iter().filter(|corpus| !corpus.is_of_the_repository).flat_map(names).collect();
        Ok(Self {
            summary: Summary::new(&corpora),
            support: Support::new(args.support.as_ref(), args.pin_support.as_ref(), of_others)?,
            json: args.json.as_ref().map(create).transpose()?.map(BufWriter::new),
            digests: vec![],
            bar: ProgressBar::hidden(),
            backend: "",
            begun: false,
            required_missing: false,
        })
    }

    /// Starts the next backend.
    fn begin(&mut self, backend: &'static str) {
        self.bar.finish_and_clear();
        (self.backend, self.begun) = (backend, false);
    }

    /// Reports a backend that is not there as skipped, or as a failure if it was asked for.
    fn missing(&mut self, backend: &str, reason: &str, required: bool) {
        self.required_missing |= required;
        if required {
            eprintln!("error: the backend {backend} was asked for and is not there: {reason}");
        }
        self.finished(Record::probe(backend, "p2_backend_is_not_there", Status::Skipped, reason));
    }

    fn finish(mut self, args: &Args) -> Result<ExitCode> {
        self.bar.finish_and_clear();
        if let Some(json) = &mut self.json {
            json.flush()?;
        }
        if let Some(path) = &args.digest {
            self.digests.sort_by_cached_key(|line| line.split_once(' ').map(|(_, name)| name.to_owned()));
            self.digests.push(String::new());
            std::fs::write(path, self.digests.join("\n")).with_context(|| path.display().to_string())?;
        }
        print!("{}", self.summary.text(&args.selection));
        self.support.save()?;
        Ok(match () {
            () if self.required_missing => ExitCode::from(3),
            () if self.summary.failed() => ExitCode::FAILURE,
            () => ExitCode::SUCCESS,
        })
    }
}

impl Listener for Report {
    fn opened(&mut self, device: &str) {
        self.support.opened(self.backend, device);
    }

    fn begun(&mut self, cases: usize) {
        if self.begun {
            return self.bar.inc_length(cases as u64);
        }
        self.begun = true;
        let target =
            if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {eta} {wide_msg}");
        self.bar = ProgressBar::with_draw_target(Some(cases as u64), target).with_prefix(self.backend);
        if let Ok(style) = style {
            self.bar.set_style(style);
        }
        self.finished(Record::probe(self.backend, "p1_backend_is_there", Status::Pass, ""));
    }

    fn started(&mut self, name: &str, types: &str) {
        self.bar.inc(1);
        self.bar.set_message(format!("{name} {types}"));
    }

    fn finished(&mut self, record: Record) {
        let record = self.support.hold(record);
        if let Some(digest) = record.digest {
            let Record { backend, algorithm, types, .. } = &record;
            self.digests.push(format!("{digest:016x} {backend} {} {types} {algorithm}", record.name()));
        }
        if let Some(json) = &mut self.json {
            let line = serde_json::to_string(&Record { digest: None, ..record.clone() }).unwrap_or_default();
            let _ = writeln!(json, "{line}");
        }
        self.summary.add(record);
    }
}
