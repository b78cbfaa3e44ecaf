//! Sparse matrices that run the same, checked operations on CPUs, OpenCL devices, SYCL queues and CUDA GPUs.
//!
//! This crate is the one to depend on: it re-exports the parts and chooses a [`Device`] at run time.
//!
//! - [`Matrix`], [`Vector`] and [`DenseMatrix`]: values whose format, types and device are known at run time, with
//!   every operation as a method ([`runtime`]);
//! - formats, plans and operations that are generic in types and backends: everything of [`sparse_core`], here at the
//!   root;
//! - [`generate`]: seeded test matrices;
//! - [`io`]: Matrix Market, `.npz` and `.npy` files;
//! - [`solvers`]: CG, BiCGSTAB, GMRES, MINRES, LSQR and LSMR; direct solvers with the feature `direct`;
//! - [`graph`]: orderings and components;
//! - [`distrib`]: one matrix over several devices or processes, and many matrices compressed by several devices;
//! - [`foreign`]: arrays of other libraries in a device's memory, by DLPack or the CUDA array interface.
//!
//! A matrix in CSR times a vector, and the system solved back:
//!
//! ```
//! use nnz::{Method, SolveOptions, prelude::*};
//!
//! let device = Device::best()?; // or "cuda:0".parse()?
//! let triplets = [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)];
//! let a = Csr::<f64>::from_triplets(2, 2, triplets)?; // rows, columns, (row, column, value)
//! let a = Matrix::from_typed(&device, a)?; // `Matrix::read(&device, "a.mtx")?` reads one from a file
//! let b = (&a * &Vector::from_slice(&device, &[1.0, 2.0])?)?;
//! assert_eq!(b.to_vec::<f64>()?, [6.0, 7.0]);
//!
//! let (x, solution) = a.solve(&b, &SolveOptions::new(Method::Cg))?;
//! let x = x.to_vec::<f64>()?;
//! assert!(solution.converged() && (x[0] - 1.0).abs() < 1e-9 && (x[1] - 2.0).abs() < 1e-9);
//! # Ok::<(), Error>(())
//! ```
//!
//! The same with types known at compile time: operands are slices, and there is no dispatch at run time.
//!
//! ```
//! use nnz::prelude::*;
//!
//! let cpu = Cpu::new()?;
//! let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 1.0), (1, 1, 3.0)])?;
//! let mut y = [f64::NAN; 2];
//! cpu.spmv(Op::None, 1.0, &a, &[1.0, 2.0], 0.0, &mut y)?; // beta = 0 never reads y
//! assert_eq!(y, [6.0, 6.0]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Common tasks
//! ```
//! use nnz::prelude::*;
//! use nnz::{Each, Method, Norm, Reduction, SolveOptions};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("a.npz");
//! let device = Device::best()?; // the best that starts; Device::host()? is the CPU
//!
//! // Make a matrix: from coordinates, from the arrays of CSR, from a dense one, or from a file.
//! let triplets = [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0)];
//! let a = Matrix::from_typed(&device, Csr::<f64>::from_triplets(2, 2, triplets)?)?;
//! let arrays = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
//! let rectangular = Matrix::from_typed(&device, arrays)?;
//! let again = a.to_dense()?.to_sparse(Format::Csr, None)?;
//! a.write(&path)?; // .npz, .npy or .mtx
//! let read = Matrix::read(&device, &path)?;
//! assert_eq!((read.shape(), read.nnz(), again.nnz()), ((2, 2), 4, 4));
//!
//! // Convert it, and take parts of it.
//! let csc = a.to_format(Format::Csc)?;
//! let (transpose, first_row) = (rectangular.transpose()?, a.select(..1, ..)?);
//! assert_eq!((csc.format(), transpose.shape(), first_row.shape()), (Format::Csc, (3, 2), (1, 2)));
//!
//! // Multiply: with a vector, with a dense matrix, with a sparse one; add.
//! let y = (&a * &Vector::from_slice(&device, &[1.0, 2.0])?)?;
//! let dense = (&a * &rectangular.to_dense()?)?;
//! let sparse = (&a * &rectangular)?;
//! let sum = (&a + &csc)?; // 2·A
//! assert_eq!((y.to_vec::<f64>()?, dense.shape(), sparse.shape()), (vec![6.0, 7.0], (2, 3), (2, 3)));
//!
//! // Sums of rows or columns, and norms.
//! assert_eq!(sum.reduce(Each::Row, Reduction::Sum)?.to_vec::<f64>()?, [10.0, 8.0]);
//! assert_eq!(a.norm(Norm::Infinity)?, 5.0);
//!
//! // Solve.
//! let (x, solution) = a.solve(&y, &SolveOptions::new(Method::Cg))?;
//! assert!(solution.converged() && (x.to_vec::<f64>()?[1] - 2.0).abs() < 1e-9);
//! # Ok::<(), Error>(())
//! ```
//!
//! The folder `examples` has a program for each of a dozen tasks, and `docs/for-scipy-users.md` puts SciPy's calls
//! beside ours.
//!
//! # Which layer
//! | you know the types and formats | use | an operation is |
//! |---|---|---|
//! | at run time: from a file, a user, another language | [`Matrix`], [`Vector`], [`DenseMatrix`] | a method: `a.matvec(&x)` |
//! | at compile time | [`Csr`], [`Coo`], … with a backend | a method of the backend: `cpu.spmv(…)` |
//! | at compile time, and it runs often for one pattern | [`op::SpmvPlan`] and other plans | `plan.run(…)`; the pattern is inspected once |
//!
//! Vector operations ([`op::vector`]) take and return numbers of the host, and wait for a device. With an
//! [`op::VectorPlan`] numbers stay on the device: a dot product leaves its result there, and the quotient of two such
//! results is a factor of an update ([`op::Coefficient`]). So an iteration of a solver is enqueued as a whole, as
//! [`solvers::EnqueuedCg`] does.
//!
//! # From cuSPARSE
//! A plan is inspection, choice of an algorithm and workspace in one object; matrices and vectors know their device.
//!
//! | cuSPARSE | nnz |
//! |---|---|
//! | `cusparseCreate`, `cusparseSetStream` | [`Device`]: `"cuda:0".parse()?`, or `cuda::on_stream` for a caller's stream |
//! | `cusparseCreateCsr`, `cusparseCreateCoo` | [`Csr::new`], [`Coo::new`], which check the arrays; [`Matrix::from_typed`] copies them to the device |
//! | `cusparseCreateDnVec`, `cusparseCreateDnMat` | [`Vector`], [`DenseMatrix`]; [`foreign`] for memory of other libraries |
//! | `cusparseSpMV_bufferSize`, `cusparseSpMV_preprocess` | [`Matrix::plan_spmv`] |
//! | `cusparseSpMV`, `cusparseSpMM` | [`MatrixSpmvPlan::run`], [`MatrixSpmmPlan::run`]; [`Matrix::spmv`] and [`Matrix::spmm`] cache their plans |
//! | `cusparseSDDMM` | [`Matrix::sddmm`], [`Matrix::plan_sddmm`] |
//! | `cusparseSpGEMM`, `cusparseSpGEMMreuse` | [`Matrix::matmul_sparse`], [`Matrix::plan_spgemm`] |
//! | `cusparseSpSV`, `cusparseSpSM` | [`Matrix::solve_triangular`], [`Matrix::solve_triangular_many`]; [`op::TrisolvePlan`] reuses the analysis |
//! | `cusparseDenseToSparse`, `cusparseSparseToDense` | [`DenseMatrix::to_sparse`], [`Matrix::to_dense`] |
//! | `cusparseXcoosort`, `cusparseCsr2cscEx2` | [`Matrix::to_format`] |
//! | `CUSPARSE_SPMV_CSR_ALG2`, … | [`PlanOptions::algorithm`]; by default the plan chooses, and results have the same bits on every run |
//!
//! ```
//! use nnz::prelude::*;
//!
//! let device = Device::best()?;
//! let a = Csr::<f32>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
//! let a = Matrix::from_typed(&device, a)?;
//! let x = Vector::from_slice(&device, &[1.0_f32, 1.0, 1.0])?;
//! let mut y = Vector::zeros(&device, DType::F32, a.nrows())?;
//! let mut plan = a.plan_spmv(Op::None, &PlanOptions::often())?; // inspects the pattern
//! for _ in 0..100 {
//!     plan.run(1.0, &a, &x, 0.0, &mut y)?; // enqueued, like a kernel
//! }
//! assert_eq!(y.to_vec::<f32>()?, [3.0, 3.0]); // waits for the device
//! # Ok::<(), Error>(())
//! ```
//!
//! # Features
//! | feature | what it adds |
//! |---|---|
//! | `cpu` (default), `opencl`, `sycl`, `cuda` | the backends |
//! | `cuda-aot` | CUDA kernels that nvcc compiles when this crate is built, for machines without NVRTC |
//! | `direct` | [`Method::Direct`], factorizations by the crate faer |
//! | `mpi` | ranks that are the processes of `mpirun` |
//! | `serde` | `Serialize`, and a `Deserialize` that checks |
//! | `proptest_1` | strategies that generate matrices |
//! | `ndarray_0_17`, `sprs_0_11`, `nalgebra_0_35`, `faer_0_24` | conversions from and to the types of these crates ([`interop`]) |
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg_attr(
    not(any(feature = "cpu", feature = "opencl", feature = "cuda")),
    allow(unused_variables, reason = "without a backend there is no device")
)]
mod device;
pub mod runtime;
/// Runs the example of the crate's README as a test.
#[cfg(all(doctest, feature = "cpu"))]
#[doc = include_str!("../README.md")]
mod readme {}

pub use device::{BackendKind, Device, DeviceId, ExchangePath};
// Inlined, so that the front page has a line for each.
#[doc(inline)]
pub use runtime::{
    Aggregation, CompressOptions, CompressPlan, DenseMatrix, DenseStack, Each, Format, IndexType, IpcArray,
    Layout, Matrix, MatrixGalerkinPlan, MatrixOnDevices, MatrixOnRanks, MatrixSddmmPlan, MatrixSet,
    MatrixSetOptions, MatrixSpgemmPlan, MatrixSpmmPlan, MatrixSpmvPlan, Method, Norm, Preconditioner,
    PreconditionerKind, Reduction, SolveOptions, Solver, Symmetry, Tuned, TunedChange, Tuner, Vector,
    VectorOnDevices, are_mostly_empty,
};
pub use sparse_core::*;
pub use sparse_device::{Device as Accelerator, Library, THRESHOLDS_VARIABLE, Thresholds, foreign};
#[doc(inline)]
pub use {
    sparse_distrib as distrib, sparse_generate as generate, sparse_io as io, sparse_solvers as solvers,
};

#[cfg(feature = "cpu")]
pub use backend_cpu::{Cpu, Simd};

#[cfg(feature = "opencl")]
pub use backend_opencl::OPENCL;
#[cfg(feature = "sycl")]
pub use backend_opencl::sycl::SYCL;

#[cfg(feature = "cuda")]
pub use backend_cuda::{CUDA, PinnedVec};

/// Streams and memory that are shared with other libraries of CUDA.
#[cfg(feature = "cuda")]
pub mod cuda {
    pub use backend_cuda::{Event, address, borrow, on_stream, stream, synchronize_all};
}

/// The names that most programs need; the rest of [`op`] can be imported beside them.
///
/// ```
/// use nnz::op::*;
/// use nnz::prelude::*;
///
/// let cpu = Cpu::new()?;
/// let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 1.0), (1, 1, 3.0)])?;
/// let (mut y, mut sums) = ([0.0; 2], [0.0; 2]);
/// cpu.spmv(Op::None, 1.0, &a, &[1.0, 2.0], 0.0, &mut y)?;
/// cpu.reduce(Reduction::Sum, &a, &mut sums)?;
/// assert_eq!((y, sums), ([6.0, 6.0], [5.0, 3.0]));
/// let square = cpu.sort(&cpu.spgemm(&a, &a)?)?;
/// assert_eq!(*square.values(), [16.0, 7.0, 9.0]);
/// # Ok::<(), Error>(())
/// ```
pub mod prelude {
    #[cfg(feature = "cpu")]
    pub use crate::Cpu;
    pub use crate::op::{
        AllTypes, Coefficient, ConvertPlan, Duplicates, Keep, Op, Operations, SpgemmPlan, SpmmPlan, SpmvPlan,
        Triangular, TrisolvePlan, VectorPlan, WithBackend,
    };
    pub use crate::{
        Backend, Coo, Csc, Csr, DType, Dense, DenseMatrix, DenseView, DenseViewMut, Device, Ell, Error,
        Format, Hyb, Matrix, Order, PlanOptions, Result, Scalar, Sell, Space, SpaceOf, SparseFormat, Vector,
        c32, c64,
    };
}
