//! The common state of all subcommands: the device, the value type, the form and the amount of output.

use crate::failure::{Unavailable, is_closed_pipe, usage};
use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use nnz::distrib::transport::launched_local_rank;
use nnz::{BackendKind, DType, Device, DeviceId};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::Duration;

/// Options that every subcommand takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalOptions {
    /// Backend: cpu, opencl, sycl or cuda [default: that of the fastest device found]
    #[arg(long, global = true, value_name = "NAME", value_parser = parse_backend)]
    backend: Option<BackendKind>,

    /// Device: an index of `nnz devices`, or backend and index, as in opencl:1
    #[arg(long, global = true, value_name = "DEVICE", value_parser = parse_device)]
    device: Option<DeviceChoice>,

    /// Number of CPU threads [default: one per processor]
    #[arg(long, global = true, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,

    /// Type of the values [default: that of the file; f64 for integers and patterns]
    #[arg(long, global = true, value_name = "TYPE", ignore_case = true)]
    dtype: Option<ValueType>,

    /// Fails if an integer does not fit the type of the values exactly, instead of warning
    #[arg(long, global = true)]
    strict: bool,

    /// Form of what is printed to stdout
    #[arg(long, global = true, value_name = "FORM", default_value = "text", ignore_case = true)]
    output: Output,

    /// Prints only errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Prints more to stderr; -vv also prints the logs of libraries
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// A value of `--dtype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ValueType {
    F32,
    F64,
    C32,
    C64,
}

impl From<ValueType> for DType {
    fn from(value: ValueType) -> Self {
        match value {
            ValueType::F32 => Self::F32,
            ValueType::F64 => Self::F64,
            ValueType::C32 => Self::C32,
            ValueType::C64 => Self::C64,
        }
    }
}

/// A value of `--output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// A value of `--device`.
#[derive(Debug, Clone, Copy)]
enum DeviceChoice {
    Index(usize),
    Id(DeviceId),
}

fn parse_backend(name: &str) -> Result<BackendKind, nnz::Error> {
    name.to_ascii_lowercase().parse()
}

/// Parses a number of threads that `nnz::Cpu` accepts; as many threads read files.
fn parse_threads(number: &str) -> Result<usize, String> {
    let most = thread::available_parallelism().map_or(1, usize::from).max(256);
    match number.parse() {
        Ok(threads) if (1..=most).contains(&threads) => Ok(threads),
        _ => Err(format!("a number from 1 to {most} is needed")),
    }
}

fn parse_device(name: &str) -> Result<DeviceChoice, nnz::Error> {
    match name.parse() {
        Ok(index) => Ok(DeviceChoice::Index(index)),
        Err(_) => name.to_ascii_lowercase().parse().map(DeviceChoice::Id),
    }
}

/// The number of this process on its host: under mpirun and srun, processes take its devices in turn.
fn local_rank() -> usize {
    launched_local_rank().unwrap_or(0)
}

/// Output of a command on stdout: as JSON by serde, as text by `Display`.
pub(crate) trait Report: Serialize + Display {}

impl<R: Serialize + Display> Report for R {}

/// The outcome of writing to stdout, where a closed pipe is no failure: `nnz spy a.mtx | head`.
pub(crate) fn printed(outcome: io::Result<()>) -> Result<()> {
    match outcome {
        Err(error) if !is_closed_pipe(&error) => Err(error).context("<stdout>"),
        _ => Ok(()),
    }
}

/// The common state of all subcommands.
#[derive(Debug)]
pub(crate) struct Context {
    options: GlobalOptions,
}

impl Context {
    /// Checks the options before a command runs, and starts threads and log.
    pub(crate) fn new(options: GlobalOptions, is_server: bool) -> Result<Self> {
        if let Some(threads) = options.threads {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global()
                .with_context(|| format!("--threads {threads}"))?;
        }
        let level = match (options.quiet, options.verbose) {
            (true, _) => tracing::Level::ERROR,
            (false, 0 | 1) if is_server => tracing::Level::INFO,
            (false, 0 | 1) => tracing::Level::WARN,
            (false, 2) => tracing::Level::DEBUG,
            (false, _) => tracing::Level::TRACE,
        };
        let log = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr);
        let log = log.with_ansi(io::stderr().is_terminal());
        // By default a line begins with the time in UTC, as RFC 3339 has it.
        if is_server {
            log.init()
        } else {
            log.without_time().init()
        }
        Ok(Self { options })
    }

    /// Opens the requested device; without a request the best.
    pub(crate) fn device(&self) -> Result<Device> {
        self.open(|| Device::best_for_rank(local_rank()))
    }

    /// True if [`device`](Self::device) would be one of CUDA, which is not opened.
    #[cfg(feature = "server")]
    pub(crate) fn takes_cuda(&self) -> bool {
        match (self.options.backend, self.options.device) {
            (Some(backend), _) => backend == BackendKind::Cuda,
            (None, Some(DeviceChoice::Id(id))) => id.backend == BackendKind::Cuda,
            (None, _) => !BackendKind::Cuda.probe().devices.is_empty(),
        }
    }

    /// Opens the requested device; without a request the host, for what other devices lack.
    pub(crate) fn device_or_host(&self) -> Result<Device> {
        self.open(Device::host)
    }

    /// Opens the requested device; without a request the host, for work that needs each entry of a matrix once: the
    /// host has done it before the entries have crossed the link of a device.
    pub(crate) fn device_for_one_pass(&self) -> Result<Device> {
        if self.options.backend.is_none() && self.options.device.is_none() {
            self.detail(
                "one product with a matrix that no device holds: on the CPU, unless --backend names another",
            );
        }
        self.device_or_host()
    }

    /// Opens the requested device, or `default`.
    fn open(&self, default: fn() -> nnz::Result<Device>) -> Result<Device> {
        let opened = match (self.options.backend, self.options.device) {
            (None, None) => default(),
            (Some(backend), None) => backend.open_for_rank(local_rank()),
            (Some(backend), Some(DeviceChoice::Index(index))) => DeviceId { backend, index }.open(),
            (None, Some(DeviceChoice::Index(index))) => {
                return Err(usage(format_args!(
                    "--device {index} needs --backend; or name both, as in cpu:{index}"
                )));
            }
            (backend, Some(DeviceChoice::Id(id))) => match backend {
                Some(backend) if backend != id.backend => {
                    return Err(usage(format_args!(
                        "--backend {backend} and --device {id} name two backends"
                    )));
                }
                _ => id.open(),
            },
        };
        self.prepare(opened.map_err(Unavailable)?)
    }

    /// The device with the threads of `--threads`.
    pub(crate) fn prepare(&self, device: Device) -> Result<Device> {
        let device = match self.options.threads {
            Some(threads) => device.with_threads(threads).with_context(|| format!("--threads {threads}"))?,
            None => device,
        };
        let caps = device.caps();
        self.detail(format_args!("device: {} {} ({})", caps.backend, caps.device, caps.features.join(", ")));
        Ok(device)
    }

    /// The host, for commands that do not compute: with one thread, since files are read by other threads, which follow
    /// --threads.
    pub(crate) fn host() -> nnz::Result<Device> {
        Device::host_with_threads(1)
    }

    /// The host's device: `device` itself if it is the CPU.
    pub(crate) fn host_of(device: &Device) -> nnz::Result<Device> {
        match device {
            Device::Cpu(_) => Ok(device.clone()),
            _ => Self::host(),
        }
    }

    /// The type of `--dtype`.
    pub(crate) fn dtype(&self) -> Option<DType> {
        self.options.dtype.map(DType::from)
    }

    /// Writes a report to stdout.
    pub(crate) fn report(&self, report: &impl Report) -> Result<()> {
        self.print(self.formatted(report)?)
    }

    /// Writes a report to stderr, since stdout has data, unless `-q` was given.
    pub(crate) fn report_beside_data(&self, report: &impl Report) -> Result<()> {
        self.print_beside_data(self.formatted(report)?);
        Ok(())
    }

    /// Writes a message to stderr, since stdout has data, unless `-q` was given.
    pub(crate) fn print_beside_data(&self, message: impl Display) {
        if !self.options.quiet {
            // A message that cannot be written is no reason to stop.
            let _ = writeln!(io::stderr(), "{message}");
        }
    }

    /// A report in the requested form.
    fn formatted(&self, report: &impl Report) -> Result<String> {
        match self.options.output {
            Output::Text => Ok(report.to_string()),
            Output::Json => Ok(serde_json::to_string_pretty(report)?),
        }
    }

    /// Writes data and a line end to stdout.
    pub(crate) fn print(&self, data: impl Display) -> Result<()> {
        let mut out = io::stdout().lock();
        printed(writeln!(out, "{data}").and_then(|()| out.flush()))
    }

    /// True if integers that would be rounded are an error.
    pub(crate) fn is_strict(&self) -> bool {
        self.options.strict
    }

    /// Writes a warning to stderr unless `-q` was given.
    pub(crate) fn warn(&self, message: impl Display) {
        if !self.options.quiet {
            // A message that cannot be written is no reason to stop.
            let _ = writeln!(io::stderr(), "warning: {message}");
        }
    }

    /// True if `-v` was given.
    pub(crate) fn is_verbose(&self) -> bool {
        self.options.verbose > 0
    }

    /// Writes a message to stderr if `-v` was given.
    pub(crate) fn detail(&self, message: impl Display) {
        if self.is_verbose() {
            // A message that cannot be written is no reason to stop.
            let _ = writeln!(io::stderr(), "{message}");
        }
    }

    /// A progress display for work that is counted in bytes: on a terminal only, and not under `-q`.
    pub(crate) fn progress_in_bytes(&self) -> ProgressBar {
        if self.options.quiet {
            return ProgressBar::hidden();
        }
        const TEMPLATE: &str = "{bar:30} {bytes} of {total_bytes} ({binary_bytes_per_sec}, {eta} left) {msg}";
        let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::no_length().with_style(style).with_finish(ProgressFinish::AndClear)
    }

    /// A progress display for work of unknown length: on a terminal only, and not under `-q`.
    pub(crate) fn spinner(&self, what: impl Display) -> ProgressBar {
        if self.options.quiet {
            return ProgressBar::hidden();
        }
        let spinner = ProgressBar::new_spinner()
            .with_style(ProgressStyle::default_spinner())
            .with_finish(ProgressFinish::AndClear)
            .with_message(what.to_string());
        spinner.enable_steady_tick(Duration::from_millis(200));
        spinner
    }
}
