//! Runs the table on the chosen backends, each in processes of its own.

use crate::backends::{self, Known};
use crate::child::ChildArgs;
use crate::options::Options;
use crate::report::Report;
use anyhow::{Context, Error, Result, anyhow};
use sparse_conformance::{Ending, Supervisor};
use std::process::{Command, ExitCode};
use std::time::Duration;
use xshell::Shell;

/// Settings of the GNU C library that retain freed memory in the process. Otherwise page faults take a quarter of the
/// time on large matrices.
const KEEP_MEMORY: [(&str, &str); 3] =
    [("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "4294967296"), ("MALLOC_TOP_PAD_", "67108864")];

/// PoCL's device that computes on the thread which waits, by its names in older and in newer versions: small launches
/// take longer to wake threads than to compute, so that the table takes 0.4 of the time.
const POCL_DEVICES: (&str, &str) = ("POCL_DEVICES", "basic cpu-minimal");

/// Runs the table on the chosen backends.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if options.selection.bless && options.backend.as_deref() != Some("reference") {
        eprintln!("error: only the serial reference blesses snapshots: --backend reference --bless");
        return Ok(ExitCode::from(2));
    }
    let names = match options.selection.names() {
        Ok(names) if !names.is_empty() => names,
        nothing => {
            let error =
                nothing.err().unwrap_or_else(|| anyhow!("no case has this name and operation in this tier"));
            eprintln!("error: {error:#}");
            return Ok(ExitCode::from(2));
        }
    };
    if options.list {
        names.iter().for_each(|name| println!("{name}"));
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = Report::new(options)?;
    for known in backends::known().into_iter().filter(|known| options.takes(known)) {
        if let Ending::Missing(reason) = run_or_provision(known, options, &mut report)? {
            report.missing(known.name, &reason, options.requires(known.name));
        }
    }
    report.finish(options)
}

/// Runs a backend; if its runtime is missing and can be fetched, fetches it first.
fn run_or_provision(known: Known, options: &Options, report: &mut Report) -> Result<Ending> {
    let ending = run_backend(known, options, &[], report)?;
    let Ending::Missing(reason) = &ending else { return Ok(ending) };
    let Some(provision) = backends::provision(known.name).filter(|_| !options.no_provision) else {
        return Ok(ending);
    };
    eprintln!("{}: {reason}; taking what PyPI has", known.name);
    match Shell::new().map_err(Error::from).and_then(|shell| provision(&shell)) {
        Ok(variables) => run_backend(known, options, &variables, report),
        Err(error) => Ok(Ending::Missing(format!("{reason}; none could be fetched: {error:#}"))),
    }
}

/// Runs a backend in processes of its own, so that a crash is contained, with these additional environment variables.
fn run_backend(
    known: Known,
    options: &Options,
    variables: &[(&'static str, String)],
    report: &mut Report,
) -> Result<Ending> {
    let program = std::env::current_exe()?;
    let parts = options.parts(known);
    let command = |part, done| {
        let mut command = Command::new(&program);
        command.args(ChildArgs::command(known.name, (part, parts), done, &options.selection));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.envs(KEEP_MEMORY);
        let (devices, waiting) = POCL_DEVICES;
        if std::env::var_os(devices).is_none() {
            command.env(devices, waiting);
        }
        command
    };
    report.begin(known.name);
    let limit = Duration::from_secs(options.limit);
    let supervisor = Supervisor { backend: known.name, parts, command: &command, limit };
    supervisor.run(report).context("the child process")
}
