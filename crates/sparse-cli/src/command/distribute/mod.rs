//! `nnz distribute`: any amount of dense arrays to CSR or CSC, on several devices at once.

use crate::command::compress::{Target, real};
use crate::context::Context;
use crate::failure::{Unavailable, usage};
use crate::file;
use crate::operand::common_type;
use crate::product::{check_factor, parse_not_negative};
use crate::text::bytes;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use nnz::distrib::schedule::Policy;
use nnz::distrib::{NpySource, Report, Source};
use nnz::io::FileKind;
use nnz::{BackendKind, DType, Device, DeviceId, MatrixSet, MatrixSetOptions};
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

/// Compresses any amount of dense arrays to CSR or CSC, on several devices at once
///
/// Every 2-D array is a matrix, and every 3-D array of shape (count, rows, cols) is `count` of them. They are read
/// one by one, so that they may be larger than any memory; each device compresses some and keeps them. Where a device
/// fails, others do its work. The matrices, in the order of the input, become one batch, in a file as `nnz compress` writes it.
#[derive(Debug, Args)]
pub(crate) struct Distribute {
    /// Dense arrays (.npy), or one folder, of which all .npy files are read in the order of their names
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// The file to write (.npz); - is standard output, and the report goes to stderr
    #[arg(short = 'o', long = "out", value_name = "OUT")]
    out: PathBuf,
    /// The devices, as in cpu,cuda:0,cuda:1; without it that of --backend and --device, or the best that is there
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_device,
          conflicts_with_all = ["backend", "device"])]
    devices: Vec<NamedDevice>,
    /// Which device gets which matrices: auto, pull, lpt, type1, type2_by_count or type2_by_bytes
    #[arg(long, value_name = "POLICY", default_value = "auto", value_parser = parse_policy)]
    policy: NamedPolicy,
    /// The format to compress to
    #[arg(long, value_name = "FORMAT", default_value = "csr", ignore_case = true)]
    to: Target,
    /// Drops elements up to this magnitude, too; NaN stays
    #[arg(long, value_name = "TOL", value_parser = parse_not_negative, allow_negative_numbers = true)]
    threshold: Option<f64>,
}

/// An element of `--devices`.
#[derive(Debug, Clone, Copy)]
enum NamedDevice {
    DefaultOf(BackendKind),
    Id(DeviceId),
}

/// A value of `--policy`; none of them is `auto`.
#[derive(Debug, Clone, Copy)]
struct NamedPolicy(Option<Policy>);

fn parse_device(name: &str) -> Result<NamedDevice, nnz::Error> {
    let name = name.to_ascii_lowercase();
    match name.contains(':') {
        true => name.parse().map(NamedDevice::Id),
        false => name.parse().map(NamedDevice::DefaultOf),
    }
}

fn parse_policy(name: &str) -> Result<NamedPolicy, nnz::Error> {
    match name.to_ascii_lowercase().as_str() {
        "auto" => Ok(NamedPolicy(None)),
        name => name.parse().map(|policy| NamedPolicy(Some(policy))),
    }
}

impl Distribute {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        file::check_npz_output(&self.out)?;
        let source = open(&self.inputs)?;
        check_shapes(&source)?;
        let dtype =
            context.dtype().unwrap_or_else(|| common_type(source.files().iter().map(|file| file.dtype())));
        if let Some(threshold) = self.threshold {
            check_factor("--threshold", threshold.into(), real(dtype))?;
        }
        let devices = self.open_devices(context)?;
        let (set, report) = self.compress(&devices, &source, dtype, context)?;
        let summary = Summary::new(&report, self.to);
        if !report.unfinished.is_empty() {
            context.report_beside_data(&summary)?;
            return Err(unfinished(&report, set.len()));
        }
        set.to_batch(&Context::host()?)?.write_as(file::output(&self.out), FileKind::Npz)?;
        if file::is_standard(&self.out) {
            context.report_beside_data(&summary)
        } else {
            context.report(&summary)
        }
    }

    fn compress(
        &self,
        devices: &[Device],
        source: &NpySource,
        dtype: DType,
        context: &Context,
    ) -> Result<(MatrixSet, Report)> {
        let bar = context.progress_in_bytes();
        let options = MatrixSetOptions {
            tolerance: self.threshold,
            policy: self.policy.0,
            progress: Some(&|progress| {
                bar.set_length(progress.total_bytes);
                bar.set_position(progress.bytes);
                bar.set_message(format!("{} of {} matrices", progress.items, progress.total_items));
            }),
            ..MatrixSetOptions::to(self.to.format(false), dtype)
        };
        Ok(MatrixSet::compress(devices, source, &options)?)
    }

    fn open_devices(&self, context: &Context) -> Result<Vec<Device>> {
        if self.devices.is_empty() {
            return Ok(vec![context.device()?]);
        }
        let open = |device: &NamedDevice| {
            let opened = match device {
                NamedDevice::DefaultOf(backend) => backend.open(),
                NamedDevice::Id(id) => id.open(),
            };
            context.prepare(opened.map_err(Unavailable)?)
        };
        self.devices.iter().map(open).collect()
    }
}

/// Opens the arrays, or all of a folder.
fn open(inputs: &[PathBuf]) -> Result<NpySource> {
    let is_folder = |path: &PathBuf| Path::is_dir(path);
    match inputs {
        [folder] if is_folder(folder) => Ok(NpySource::open_folder(folder)?),
        _ => match inputs.iter().find(|path| is_folder(path)) {
            Some(folder) => Err(usage(format_args!(
                "{}: one folder, or any number of files, is the input",
                folder.display()
            ))),
            None => Ok(NpySource::open_all(inputs)?),
        },
    }
}

/// Fails unless all matrices have the shape of the first, as the members of a batch do.
fn check_shapes(source: &NpySource) -> Result<()> {
    let shape = |item| Source::<f64>::shape(source, item);
    let Some(item) = (1..Source::<f64>::len(source)).find(|&item| shape(item) != shape(0)) else {
        return Ok(());
    };
    let ((rows, cols), (other_rows, other_cols)) = (shape(0), shape(item));
    bail!(
        "matrix 0 is {rows} x {cols}, matrix {item} {other_rows} x {other_cols}; those of one file have one shape"
    )
}

/// The error of a run that did not compress all matrices.
fn unfinished(report: &Report, all: usize) -> anyhow::Error {
    let count = all - report.items;
    let first =
        report.unfinished.iter().find_map(|unfinished| Some((unfinished.items.first()?, &unfinished.cause)));
    match first {
        Some((item, cause)) => {
            anyhow!("{count} of {all} matrices are not compressed; matrix {item}: {cause}")
        }
        None => anyhow!("{count} of {all} matrices are not compressed"),
    }
}

/// A run's work and time.
#[derive(Debug, Serialize)]
struct Summary {
    matrices: usize,
    entries: u64,
    format: &'static str,
    bytes_in: u64,
    bytes_out: u64,
    seconds: f64,
    policy: &'static str,
    scheme: &'static str,
    retries: usize,
    devices: Vec<DeviceSummary>,
}

/// The part of one device in a run.
#[derive(Debug, Serialize)]
struct DeviceSummary {
    device: String,
    matrices: usize,
    bytes_in: u64,
    seconds: f64,
    spills: usize,
    splits: usize,
    failure: Option<String>,
}

impl Summary {
    fn new(report: &Report, to: Target) -> Self {
        let device = |device: &nnz::distrib::DeviceReport| DeviceSummary {
            device: device.name.clone(),
            matrices: device.items,
            bytes_in: device.bytes_in,
            seconds: device.busy_seconds,
            spills: device.spills,
            splits: device.splits,
            failure: device.failure.clone(),
        };
        Self {
            matrices: report.items,
            entries: report.nnz,
            format: to.name(),
            bytes_in: report.bytes_in,
            bytes_out: report.bytes_out,
            seconds: report.seconds,
            policy: report.policy.name(),
            scheme: report.scheme.info().name,
            retries: report.retries,
            devices: report.devices.iter().map(device).collect(),
        }
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { matrices, entries, format, seconds, policy, scheme, .. } = self;
        writeln!(f, "matrices  {matrices}, {entries} entries")?;
        writeln!(f, "bytes     {} dense, {} as {format}", bytes(self.bytes_in), bytes(self.bytes_out))?;
        write!(f, "time      {seconds:.3} s, policy {policy}, scheme {scheme}")?;
        if self.retries > 0 {
            write!(f, ", {} tried again", self.retries)?;
        }
        for DeviceSummary { device, matrices, bytes_in, seconds, spills, splits, failure } in &self.devices {
            write!(f, "\n{device:<9} {matrices} matrices, {} in {seconds:.3} s", bytes(*bytes_in))?;
            if *spills > 0 {
                write!(f, ", {spills} parts moved to the host")?;
            }
            if *splits > 0 {
                write!(f, ", {splits} chunks halved")?;
            }
            if let Some(failure) = failure {
                write!(f, ", failed: {failure}")?;
            }
        }
        Ok(())
    }
}
