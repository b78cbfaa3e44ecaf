//! `nnz distribute`: any amount of dense arrays to CSR or CSC, on several devices at once.

mod summary;

use crate::claim;
use crate::command::compress::{Target, real};
use crate::context::Context;
use crate::failure::usage;
use crate::file;
use crate::named_device::{self, NamedDevice};
use crate::operand;
use crate::option_values::{check_factor, parse_not_negative};
use crate::ranks::Ranks;
use crate::rounding;
use crate::text::parse_bytes;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use nnz::distrib::schedule::Policy;
use nnz::distrib::{ArrayReading, NpySource, Parallelism, Partition, Report, Scheme};
use nnz::io::FileKind;
use nnz::io::npy::MappedArray;
use nnz::{DType, Device, Error, Index, MatrixSet, MatrixSetOptions, with_dtype};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use summary::{Explained, Summary, Work};

/// Compresses many dense arrays to CSR or CSC, on several devices at once
///
/// A 2-D array is one matrix, a 3-D array of shape (count, rows, cols) is `count` matrices, and with --ekmr an array of
/// 3 or 4 dimensions is one matrix. Arrays are read one by one, so that together they may be larger than memory. Each
/// device compresses some of the matrices and stores the results until they are written. If a device fails, the others
/// do its work. A matrix too large for every device is compressed in parts, which are joined in the output.
///
/// The output is one batch, in the order of the input: an .npz file as `nnz compress` writes it, or a folder of parts,
/// in which matrices may have unequal shapes. Other commands read such a folder like a file; matrices of unequal shapes
/// are read as one block-diagonal matrix. With --partition each matrix is written in its parts.
///
/// With MPI (`mpirun -n 4 nnz distribute …`, built with the feature mpi), the matrices, or the parts of --partition,
/// are divided among ranks. Each rank uses the device of its number on its host and reads only its own matrices. Rank 0
/// gathers and writes them; the output has the same bytes as that of one process.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nnz distribute dense.npy -o all.npz --devices cpu
  nnz distribute dense.npy -o parts --partition row:4")]
pub(crate) struct Distribute {
    /// Dense arrays (.npy), or one folder, whose .npy files are read in the order of their names
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Reads an array of three or four dimensions as one matrix (EKMR): element A[k][i][j] is at row i and column
    /// j·n_k + k, and element A[l][k][i][j] at row i·n_l + l and column j·n_k + k
    #[arg(long)]
    ekmr: bool,
    /// File to write (.npz), or a folder (a name without ending); - is stdout, and the report goes to stderr
    #[arg(short = 'o', long = "out", value_name = "OUT")]
    out: PathBuf,
    /// Devices, as in cpu,cuda:0,cuda:1 [default: that of --backend and --device]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = named_device::parse,
          conflicts_with_all = ["backend", "device"])]
    devices: Vec<NamedDevice>,
    /// Scheduling of matrices to devices: auto, pull, lpt, type1, type2 (type2_by_bytes) or type2_by_count
    #[arg(long, value_name = "POLICY", default_value = "auto", value_parser = parse_or_auto::<Policy>)]
    policy: OrAuto<Policy>,
    /// Form in which matrices are sent to the devices: sfc (dense), or compressed by the host to cfs, ed1, ed2 or
    /// bitmap; auto takes the fastest by the rates of this machine, which are measured once
    #[arg(long, value_name = "SCHEME", default_value = "auto", value_parser = parse_or_auto::<Scheme>)]
    scheme: OrAuto<Scheme>,
    /// Parallelism of the compression: inter_task (one warp or thread per matrix), intra_task (the whole device on one
    /// matrix after the other) or batch (one launch for all matrices of a chunk; on the CPU one thread per matrix, and
    /// all threads on each matrix above 4 MiB)
    #[arg(long, value_name = "NAME", default_value = "batch", value_parser = parse_parallelism)]
    parallel: Parallelism,
    /// Prints the predicted time of every scheme beside the time of the run, for each rank
    #[arg(long)]
    explain: bool,
    /// Cuts every matrix into parts, as in row:4, col:2 or mesh:2x3; parts are distributed like matrices and written to
    /// a folder
    #[arg(long, value_name = "PARTITION")]
    partition: Option<Partition>,
    /// Memory to use on each device, as in 512MiB or 4GiB [default: nearly all]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    memory: Option<u64>,
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "csr", ignore_case = true)]
    to: Target,
    /// Also drops elements of magnitude at most TOL; NaN is never dropped
    #[arg(long, value_name = "TOL", value_parser = parse_not_negative, allow_negative_numbers = true)]
    threshold: Option<f64>,
}

/// Bytes that the engine takes for each matrix, or part of one, in addition to its arrays.
const PART_BYTES: usize = 256;

/// A value of `--policy` or `--scheme`; none is `auto`.
#[derive(Debug, Clone, Copy)]
struct OrAuto<T>(Option<T>);

/// The destination of the result.
enum Output {
    File,
    Folder,
}

fn parse_or_auto<T: FromStr<Err = nnz::Error>>(name: &str) -> Result<OrAuto<T>, nnz::Error> {
    match name.to_ascii_lowercase().as_str() {
        "auto" => Ok(OrAuto(None)),
        name => match name.parse() {
            Ok(value) => Ok(OrAuto(Some(value))),
            Err(nnz::Error::Unsupported { what, reason }) => {
                Err(nnz::Error::unsupported(what, format_args!("{reason}, or auto")))
            }
            Err(other) => Err(other),
        },
    }
}

fn parse_parallelism(name: &str) -> Result<Parallelism, nnz::Error> {
    name.to_ascii_lowercase().parse()
}

/// The devices and the input of this rank, and the destination of the result at the root.
struct Prepared {
    devices: Vec<Device>,
    source: NpySource,
    dtype: DType,
    output: Option<Output>,
}

impl Distribute {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let ranks = Ranks::join()?;
        let prepared = ranks.agree(self.prepare(&ranks, context))?;
        let (set, report) = self.compress(&ranks, &prepared, context).map_err(|error| ranks.report(error))?;
        let explanation = report.explanation.as_ref().filter(|_| self.explain);
        let work = ranks.gather((Work::new(&report), explanation.map(Explained::new)));
        ranks.agree(match set.zip(prepared.output) {
            Some((set, output)) => work.and_then(|work| self.finish(&set, output, &report, work, context)),
            None => work.map(drop),
        })
    }

    fn prepare(&self, ranks: &Ranks, context: &Context) -> Result<Prepared> {
        let output = if ranks.is_root() { Some(self.check_output()?) } else { None };
        let reading = if self.ekmr { ArrayReading::Ekmr } else { ArrayReading::Stack };
        let source = open(&self.inputs, reading)?;
        if let Some(Output::File) = output {
            check_shapes(&source)?;
        }
        self.check_sizes(&source)?;
        let dtype =
            context.dtype().unwrap_or_else(|| DType::common(source.files().iter().map(|file| file.dtype())));
        source.files().iter().try_for_each(|file| check_complex(file, dtype))?;
        if ranks.is_root() {
            source.files().iter().try_for_each(|file| check_rounding(file, dtype, context))?;
        }
        if let Some(threshold) = self.threshold {
            check_factor("--threshold", threshold.into(), real(dtype))?;
        }
        Ok(Prepared { devices: self.open_devices(context)?, source, dtype, output })
    }

    /// Fails if matrices or their parts have more rows or columns than 32-bit indices count, or if their number, or
    /// that of their offsets, would take far more memory than their elements.
    fn check_sizes(&self, source: &NpySource) -> Result<()> {
        let partition = self.partition.unwrap_or(Partition::WHOLE);
        check_partition(partition, source)?;
        let (row_blocks, col_blocks) = partition.grid();
        let (mut parts, mut offsets, mut elements) = (0_usize, 0_usize, 0_usize);
        for (file, (count, (rows, cols))) in source.files().iter().zip(source.stacks()) {
            check_extent(file, "rows", rows.div_ceil(row_blocks))?;
            check_extent(file, "columns", cols.div_ceil(col_blocks))?;
            let (lines, across) = match self.to {
                Target::Csr => (rows, col_blocks),
                Target::Csc => (cols, row_blocks),
            };
            let of_file = count.saturating_mul(partition.parts());
            let lines = lines.saturating_mul(across).saturating_mul(count);
            parts = parts.saturating_add(of_file);
            offsets = offsets.saturating_add(lines).saturating_add(of_file);
            elements = elements.saturating_add(count.saturating_mul(rows.saturating_mul(cols)));
        }
        let data = elements.saturating_mul(size_of::<f64>());
        claim::check("the offsets of all matrices", offsets.saturating_mul(size_of::<i32>()), data)?;
        claim::check("the list of all matrices", parts.saturating_mul(PART_BYTES), data)
    }

    /// Compresses all matrices, or on several ranks this rank's share. The root has the set.
    fn compress(
        &self,
        ranks: &Ranks,
        Prepared { devices, source, dtype, .. }: &Prepared,
        context: &Context,
    ) -> Result<(Option<MatrixSet>, Report)> {
        let bar = context.progress_in_bytes();
        let options = MatrixSetOptions {
            tolerance: self.threshold,
            policy: self.policy.0,
            scheme: self.scheme.0,
            parallelism: self.parallel,
            explain: self.explain,
            partition: self.partition,
            memory: self.memory,
            progress: Some(&|progress| {
                bar.set_length(progress.total_bytes);
                bar.set_position(progress.bytes);
                bar.set_message(format!("{} of {} matrices", progress.items, progress.total_items));
            }),
            ..MatrixSetOptions::new(self.to.format(false), *dtype)
        };
        if let Some(ranks) = ranks.transport() {
            return Ok(MatrixSet::compress_on_ranks(ranks, devices, source, &options)?);
        }
        let (set, report) = MatrixSet::compress(devices, source, &options)?;
        Ok((Some(set), report))
    }

    /// Writes the set and reports the work of all ranks.
    fn finish(
        &self,
        set: &MatrixSet,
        output: Output,
        report: &Report,
        work: Vec<(Work, Option<Explained>)>,
        context: &Context,
    ) -> Result<()> {
        let (mut work, explained): (Vec<_>, Vec<_>) = work.into_iter().unzip();
        let work = if work.len() == 1 { work.remove(0) } else { Work::of_ranks(work) };
        let explained = explained.into_iter().flatten().collect();
        let summary = Summary::new(set, self.to, report, work, explained);
        if !report.unfinished.is_empty() {
            context.report_beside_data(&summary)?;
            return Err(unfinished(report, set.len()));
        }
        self.write(set, output)?;
        if file::is_standard(&self.out) {
            context.report_beside_data(&summary)
        } else {
            context.report(&summary)
        }
    }

    /// Fails early if the output cannot be written.
    fn check_output(&self) -> Result<Output> {
        let out = &self.out;
        if out.is_dir() || out.extension().is_none() && !file::is_standard(out) {
            let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
            if parent.is_some_and(|parent| !parent.is_dir()) || out.exists() && !out.is_dir() {
                bail!("{}: a folder of this name cannot be made", out.display());
            }
            return Ok(Output::Folder);
        }
        if let Some(partition) = self.partition {
            let out = out.display();
            return Err(usage(format_args!(
                "--partition {partition}: {out}: parts need the name of a folder"
            )));
        }
        file::check_npz_output(out)?;
        Ok(Output::File)
    }

    fn write(&self, set: &MatrixSet, output: Output) -> Result<()> {
        let out = &self.out;
        match (output, self.partition) {
            (Output::File, _) => {
                set.to_batch(&Context::host()?)?.write_as(file::output(out), FileKind::Npz)?;
            }
            (Output::Folder, None) => set.write_folder(out)?,
            (Output::Folder, Some(_)) => set.write_all_blocks(out)?,
        }
        Ok(())
    }

    fn open_devices(&self, context: &Context) -> Result<Vec<Device>> {
        if self.devices.is_empty() {
            return Ok(vec![context.device()?]);
        }
        let devices = named_device::open(&self.devices, context)?;
        for (position, device) in devices.iter().enumerate() {
            if devices[..position].iter().any(|other| other.to_string() == device.to_string()) {
                return Err(usage(format_args!("--devices: {device} is named twice")));
            }
        }
        Ok(devices)
    }
}

/// Opens the arrays, or all of a folder.
fn open(inputs: &[PathBuf], reading: ArrayReading) -> Result<NpySource> {
    let is_folder = |path: &PathBuf| Path::is_dir(path);
    match inputs {
        [folder] if is_folder(folder) => Ok(NpySource::open_folder_as(folder, reading)?),
        _ => match inputs.iter().find(|path| is_folder(path)) {
            Some(folder) => Err(usage(format_args!(
                "{}: one folder, or any number of files, is the input",
                folder.display()
            ))),
            None => {
                inputs.iter().try_for_each(|path| operand::check_kind(path))?;
                Ok(NpySource::open_all_as(inputs, reading)?)
            }
        },
    }
}

/// Fails unless all matrices have the shape of the first, as the members of a batch do.
fn check_shapes(source: &NpySource) -> Result<()> {
    let mut first = None;
    let mut item = 0;
    for (count, shape) in source.stacks().filter(|&(count, _)| count > 0) {
        let ((rows, cols), (other_rows, other_cols)) = (*first.get_or_insert(shape), shape);
        if (rows, cols) != shape {
            bail!(
                "matrix 0 is {rows} x {cols}, matrix {item} {other_rows} x {other_cols}; those of one file have one shape, name a folder"
            );
        }
        item += count;
    }
    Ok(())
}

/// Fails if there are more blocks than the largest matrix has rows or columns: all others would be empty.
fn check_partition(partition: Partition, source: &NpySource) -> Result<()> {
    let shapes = source.stacks().map(|(_, shape)| shape);
    let (rows, cols) = shapes.fold((0, 0), |(rows, cols), shape| (rows.max(shape.0), cols.max(shape.1)));
    let (row_blocks, col_blocks) = partition.grid();
    if row_blocks <= rows.max(1) && col_blocks <= cols.max(1) {
        return Ok(());
    }
    Err(usage(format_args!(
        "--partition {partition}: the matrices have at most {rows} rows and {cols} columns, which make no more blocks"
    )))
}

/// Fails if a matrix or part of a file has more rows or columns than its 32-bit indices count.
fn check_extent(file: &MappedArray, what: &str, extent: usize) -> Result<()> {
    match i32::try_new(what, extent) {
        Ok(_) => Ok(()),
        Err(error) => Err(file_error(file, error).into()),
    }
}

/// Fails if a file has complex values, and `dtype` does not.
fn check_complex(file: &MappedArray, dtype: DType) -> Result<()> {
    if file.dtype().is_complex() && !dtype.is_complex() {
        return Err(file_error(file, format_args!("the values are complex, {dtype} is not")).into());
    }
    Ok(())
}

/// Warns of integers of a file that `dtype` rounds, or refuses them.
fn check_rounding(file: &MappedArray, dtype: DType, context: &Context) -> Result<()> {
    let rounded = with_dtype!(dtype, T => file.rounded_integers::<T>());
    rounding::check(context, file.path(), rounded, dtype)
}

fn file_error(file: &MappedArray, reason: impl Display) -> Error {
    Error::File { path: file.path().into(), line: None, reason: reason.to_string() }
}

/// The error of a run that did not compress all matrices.
fn unfinished(report: &Report, all: usize) -> anyhow::Error {
    let count = all - report.items;
    let first =
        report.unfinished.iter().find_map(|unfinished| Some((unfinished.items.first()?, &unfinished.cause)));
    let are = if count == 1 { "is" } else { "are" };
    match first {
        Some((item, cause)) => {
            anyhow!("{count} of {all} matrices {are} not compressed; matrix {item}: {cause}")
        }
        None => anyhow!("{count} of {all} matrices {are} not compressed"),
    }
}
