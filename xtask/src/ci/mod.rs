//! `cargo xtask ci`: all tests.

mod compile;
mod programs;
mod steps;
mod tables;

use crate::parallel_steps::{self, PassedStep, Step};
use crate::program::shell;
use anyhow::{Context, Result, bail};
use provision::root;
use std::time::Instant;
use steps::STEPS;

/// Runs all tests.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run this step alone; may be repeated.
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// List the steps.
    #[arg(long)]
    list: bool,
}

/// The seconds that all may take on two cores.
const BUDGET: u64 = 40 * 60;

/// Runs the steps, and prints the time of each.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        for step in STEPS {
            println!("{:<12} {}", step.name, step.about);
        }
        return Ok(());
    }
    if let Some(unknown) = args.only.iter().find(|name| STEPS.iter().all(|step| step.name != name.as_str())) {
        bail!("no step is called `{unknown}`; `cargo xtask ci --list` names them");
    }
    if args.only.is_empty() {
        let start = Instant::now();
        let times = parallel_steps::run(STEPS)?;
        print_times(&times, start.elapsed().as_secs());
        return Ok(());
    }
    let shell = shell()?;
    shell.change_dir(root());
    // Everything is built once: the files of incremental builds would fill 6 GB of disk for nothing.
    shell.set_var("CARGO_INCREMENTAL", "0");
    // A panic says its line without it, and a tenth of the time of compilation is for it.
    shell.set_var("CARGO_PROFILE_DEV_DEBUG", "false");
    for step in STEPS.iter().filter(|step| args.only.iter().any(|name| name == step.name)) {
        (step.run)(&shell).with_context(|| format!("step `{}` failed", step.name))?;
    }
    Ok(())
}

/// Prints the time of each step, and of all, beside its budget.
fn print_times(passed: &[PassedStep], all: u64) {
    let line = |name: &str, seconds, budget, processor: Option<f64>| {
        let processor = processor.map_or("-".into(), |seconds| format!("{seconds:.0}"));
        let over = if seconds > budget { "  over its budget" } else { "" };
        println!("{name:<12} {seconds:>8} {budget:>8} {processor:>10}{over}");
    };
    println!("{:<12} {:>8} {:>8} {:>10}", "step", "seconds", "budget", "processor");
    for PassedStep { step: Step { name, budget, .. }, seconds, processor } in passed {
        line(name, *seconds, *budget, *processor);
    }
    line("all passed", all, BUDGET, passed.iter().map(|step| step.processor).sum());
}
