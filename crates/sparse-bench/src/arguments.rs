//! The arguments of the command.

use crate::measure::Rounds;
use crate::value::{Value, ValueType};
use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use std::path::{Path, PathBuf};

/// A set of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Suite {
    /// Dense → CSR.
    Compress,
    /// COO → CSR.
    Convert,
    /// SpMV, on devices of COO too.
    Spmv,
    /// SpMM.
    Spmm,
    /// SDDMM.
    Sddmm,
    /// SpGEMM: A·A, and the Galerkin product R·A·P.
    Spgemm,
    /// A + Aᵀ.
    Add,
    /// Triangular solves.
    Trisolve,
    /// Conjugate gradients on the 5-point Laplacian.
    Cg,
    /// Matrix Market files to CSR; CPU only.
    Io,
    /// Batches of dense matrices to CSR.
    Batches,
    /// The figures of a compressor of any amount of dense matrices, on all devices that are here.
    #[value(name = "seed-001")]
    Seed001,
    /// CSR, ELL and HYB of a denser matrix, with one conversion in the time.
    #[value(name = "seed-003")]
    Seed003,
    /// SpMM on the stand-ins of 13 graphs.
    #[value(name = "seed-004")]
    Seed004,
    /// All but `batches` and `seed-…`, on the CPU.
    Cpu,
    /// All but `batches` and `seed-…`, on a CUDA device.
    Cuda,
    /// All but `batches` and `seed-…`, on an OpenCL device.
    Opencl,
    /// The chosen algorithm's time beside the best one's and the best of another library, on many matrices: SpMV
    /// and SpMM.
    Choice,
    /// Everything that the backend has, but `choice` and `seed-001`.
    All,
}

impl Suite {
    fn includes(self, op: &str) -> bool {
        match self {
            Self::Compress => op == "dense_to_csr",
            Self::Convert => op == "coo_to_csr",
            Self::Spmv => ["spmv", "coo_spmv"].contains(&op),
            Self::Spmm => op == "spmm",
            Self::Sddmm => op == "sddmm",
            Self::Spgemm => ["spgemm", "galerkin"].contains(&op),
            Self::Add => op == "add",
            Self::Trisolve => op == "trisolve",
            Self::Cg => op == "cg",
            Self::Io => op == "io",
            Self::Batches => op == "seed-001",
            Self::Seed001 => false,
            Self::Seed003 => op == "seed-003",
            Self::Seed004 => op == "seed-004",
            Self::Choice => ["spmv", "spmm"].contains(&op),
            Self::Cpu | Self::Cuda | Self::Opencl => !op.starts_with("seed"),
            Self::All => true,
        }
    }
}

/// A figure of suite `seed-001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FigureName {
    /// Total time by the ratio of nonzeros.
    Ratio,
    /// Total time by the order of matrices.
    Size,
    /// Total time by the amount of matrices.
    Amount,
    /// Total time of matrices in pinned memory, by ratio and scheme.
    Pinned,
    /// Shares of copy and compression.
    Shares,
    /// SFC, CFS, ED and bitmaps.
    Schemes,
    /// With and without prefix sums.
    Prefix,
    /// CRS and CCS by rows and by columns.
    Dispatch,
    /// Inter- and intra-task.
    Tasks,
    /// Prefix sums with and without padding.
    Scan,
    /// Compressing and scanning by the part of a multiprocessor's memory that is shared.
    Carveout,
    /// Total time and speed-up by the number of devices.
    Devices,
    /// Total time of large amounts with a ratio of 0.5.
    Large,
    /// Products of a matrix of 10⁸ entries by the number of CUDA devices that have its rows.
    Products,
    /// Iterations of conjugate gradients by the order and the number of CUDA devices.
    Iterations,
    /// Policies that give matrices to devices.
    Policies,
    /// The simulator beside measurements, and for more devices.
    Simulation,
}

/// The backend of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// The processor.
    Cpu,
    /// The CUDA device that NNZ_CUDA_DEVICE names.
    Cuda,
    /// The OpenCL device that NNZ_OPENCL_DEVICE names.
    Opencl,
    /// The SYCL device that NNZ_SYCL_DEVICE names.
    #[cfg(feature = "sycl")]
    Sycl,
}

/// A library to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PeerName {
    Mkl,
    Scipy,
    Sprs,
    NalgebraSparse,
    Faer,
    Cusparse,
    Cupy,
    Viennacl,
}

/// Runs a suite beside its peers and prints its table. Exits with 3 where the suite's device is missing.
#[derive(Debug, Parser)]
#[command(name = "sparse-bench", max_term_width = 110)]
pub(crate) struct Arguments {
    /// The suite.
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) suite: Suite,
    /// The backend of suites that do not name one.
    #[arg(long, value_enum, default_value = "cpu")]
    backend: Target,
    /// Only beside this library, where it is; may be repeated.
    #[arg(long, value_enum, value_name = "LIBRARY")]
    peer: Vec<PeerName>,
    /// The type of all values; in a complex type real matrices get imaginary parts, in a real one complex matrices
    /// have the magnitudes. `f32` by default, also for files of real values, and SpMV on devices in `f64` too; complex
    /// files run in their own type. Suite `seed-001` is in `f32`.
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(crate) value_type: Option<ValueType>,
    /// Only the workload of this name, or the matrix of a file (.mtx, .mtx.gz, .npz, .npy); may be repeated.
    #[arg(long, value_name = "FILE|NAME")]
    matrix: Vec<String>,
    /// Suite `choice`: the matrices of this folder too, with their transposes and leading quarters.
    #[arg(long, value_name = "DIR")]
    pub(crate) corpus: Option<PathBuf>,
    /// Only this operation of the suite; may be repeated.
    #[arg(long, value_name = "OP")]
    op: Vec<String>,
    /// Columns of the dense operands of SpMM and SDDMM; may be repeated. 32 and 256 by default; 8, 32, 64, 128 and 256
    /// in suite `choice`.
    #[arg(long, value_name = "K")]
    k: Vec<usize>,
    /// Suite `choice`: begin no matrix after so many seconds. Suite `seed-001`: begin no point, 200 by default.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) seconds: Option<u64>,
    /// Suite `choice` on devices: time single launches, each after other data went through the cache.
    #[arg(long)]
    pub(crate) cold: bool,
    /// Suite `seed-001`: only this figure; may be repeated.
    #[arg(long, value_enum, value_name = "NAME")]
    figure: Vec<FigureName>,
    /// Suite `seed-001`: the part of the amounts of matrices that is measured.
    #[arg(long, value_name = "PART", default_value_t = 1.0)]
    pub(crate) scale: f64,
    /// Timed runs of each contender.
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Threads of our CPU backend and of MKL; all by default.
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// Small workloads and few runs: shows that everything runs, not how fast.
    #[arg(long)]
    pub(crate) smoke: bool,
    /// Write the figures as JSON Lines.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw them: SVG files in this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) plot: Option<PathBuf>,
    /// Measure nothing: sum up, compare and draw the JSON of earlier runs; may be repeated.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["suite", "backend", "json"])]
    pub(crate) from: Vec<PathBuf>,
    /// Compare with the JSON of an earlier run, and mark what got slower by more than the noise.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
}

impl Arguments {
    /// The backend of the suite.
    pub(crate) fn target(&self) -> Target {
        match self.suite {
            Suite::Cpu => Target::Cpu,
            Suite::Cuda => Target::Cuda,
            Suite::Opencl => Target::Opencl,
            _ => self.backend,
        }
    }

    /// True if the operation is selected.
    pub(crate) fn wants_op(&self, op: &str) -> bool {
        self.suite.includes(op) && (self.op.is_empty() || self.op.iter().any(|name| name == op))
    }

    /// True if the figure is selected.
    pub(crate) fn wants_figure(&self, figure: FigureName) -> bool {
        self.figure.is_empty() || self.figure.contains(&figure)
    }

    /// True if the library is selected.
    pub(crate) fn wants_peer(&self, peer: PeerName) -> bool {
        self.peer.is_empty() || self.peer.contains(&peer)
    }

    /// True if the workload is selected.
    pub(crate) fn wants(&self, workload: &str) -> bool {
        self.matrix.is_empty() || self.matrix.iter().any(|name| name == workload)
    }

    /// The selected files: names with an extension.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.matrix.iter().map(String::as_str).filter(|name| sparse_io::FileKind::of(name).is_ok())
    }

    /// The type in which a file runs.
    pub(crate) fn type_of(&self, path: impl AsRef<Path>) -> Result<ValueType> {
        let stored = || Ok(ValueType::of_file(sparse_io::value_type(path)?));
        self.value_type.map_or_else(stored, Ok)
    }

    /// The types in which the suite runs: that of generated matrices, then others of files.
    pub(crate) fn types(&self) -> Result<Vec<ValueType>> {
        let mut types = vec![self.value_type.unwrap_or(ValueType::F32)];
        for file in self.files() {
            let of_file = self.type_of(file)?;
            if !types.contains(&of_file) {
                types.push(of_file);
            }
        }
        Ok(types)
    }

    /// True if generated workloads run in this type.
    pub(crate) fn runs_generated<T: Value>(&self) -> bool {
        self.value_type.unwrap_or(ValueType::F32) == T::TYPE
    }

    /// True if SpMV in this type is measured in double precision, too.
    pub(crate) fn also_in_double<T: Value>(&self) -> bool {
        self.value_type.is_none() && T::TYPE == ValueType::F32
    }

    /// True if the generated workload is selected and runs in this type.
    pub(crate) fn generates<T: Value>(&self, workload: &str) -> bool {
        self.runs_generated::<T>() && self.wants(workload)
    }

    /// The columns of SpMM.
    pub(crate) fn columns(&self) -> &[usize] {
        match (&self.k[..], self.suite) {
            ([], _) if self.smoke => &[8],
            ([], Suite::Choice) => &[8, 32, 64, 128, 256],
            ([], _) => &[32, 256],
            (asked, _) => asked,
        }
    }

    /// The number of runs of contenders, with `budget` seconds for each.
    pub(crate) fn rounds(&self, budget: f64) -> Rounds {
        Rounds::new(if self.smoke { 3 } else { self.rounds }, budget)
    }

    /// An error unless a selected operation is among `known`.
    pub(crate) fn check_ops(&self, known: &[&str]) -> Result<()> {
        ensure!(
            known.iter().any(|op| self.wants_op(op)),
            "nothing of what is asked for runs on this backend, whose operations are {}",
            known.join(", ")
        );
        Ok(())
    }
}
