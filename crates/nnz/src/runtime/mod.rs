//! Values whose format, types and device are known at run time: [`Matrix`], [`Vector`] and [`DenseMatrix`].
//!
//! They hide the typed formats of this crate behind one type, for programs that learn formats and types from a file, a
//! user or another language. Every operation is a method; operands that do not fit together are an error, never a
//! panic:
//!
//! ```
//! use nnz::prelude::*;
//!
//! let device = Device::host()?;
//! let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
//! let a = Matrix::from_typed(&device, a)?; // uploaded, where the device has memory of its own
//! let x = Vector::from_slice(&device, &[1.0, 1.0, 1.0])?;
//! assert_eq!((&a * &x)?.to_vec::<f64>()?, [3.0, 3.0]);
//! assert_eq!(a.to_format(Format::Sell)?.matvec(&x)?.to_vec::<f64>()?, [3.0, 3.0]);
//!
//! let single = x.cast(DType::F32)?;
//! let error = a.matvec(&single).unwrap_err().to_string();
//! assert_eq!(error, "spmv: the matrix is f64 on cpu, x is f32 on cpu; x as f64 would fit");
//! # Ok::<(), Error>(())
//! ```
//!
//! | method | operation of the typed layer |
//! |---|---|
//! | [`matvec`](Matrix::matvec), [`spmv`](Matrix::spmv), [`plan_spmv`](Matrix::plan_spmv) | [`SpmvPlan`](crate::op::SpmvPlan) |
//! | [`matmul`](Matrix::matmul), [`spmm`](Matrix::spmm), [`plan_spmm`](Matrix::plan_spmm) | [`SpmmPlan`](crate::op::SpmmPlan) |
//! | [`sddmm`](Matrix::sddmm), [`sddmm_into`](Matrix::sddmm_into), [`sddmm_heads`](Matrix::sddmm_heads), [`plan_sddmm`](Matrix::plan_sddmm), [`scaled_by`](Matrix::scaled_by) | [`SddmmPlan`](crate::op::SddmmPlan) |
//! | [`softmax`](Matrix::softmax) | [`SoftmaxPlan`](crate::op::SoftmaxPlan) |
//! | [`matmul_reduce`](Matrix::matmul_reduce), [`matmul_reduce_arg`](Matrix::matmul_reduce_arg) | [`SpmmReducePlan`](crate::op::SpmmReducePlan) |
//! | [`matmul_sparse`](Matrix::matmul_sparse), [`matmul_masked`](Matrix::matmul_masked), [`matmul_pattern`](Matrix::matmul_pattern), [`matmul_in_chunks`](Matrix::matmul_in_chunks), [`matmul_masked_in_chunks`](Matrix::matmul_masked_in_chunks), [`plan_spgemm`](Matrix::plan_spgemm) | [`SpgemmPlan`](crate::op::SpgemmPlan) |
//! | [`galerkin`](Matrix::galerkin), [`plan_galerkin`](Matrix::plan_galerkin) | [`GalerkinPlan`](crate::op::GalerkinPlan) |
//! | [`to_format`](Matrix::to_format), [`to_layout`](Matrix::to_layout), [`transpose`](Matrix::transpose) | [`ConvertPlan`](crate::op::ConvertPlan) |
//! | [`to_dense`](Matrix::to_dense), [`to_dense_into`](Matrix::to_dense_into), [`to_sparse`](DenseMatrix::to_sparse), [`plan_compress`](DenseMatrix::plan_compress) | [`ToDensePlan`](crate::op::ToDensePlan), [`DenseToCompressedPlan`](crate::op::DenseToCompressedPlan) |
//! | [`from_members`](Matrix::from_members), [`member`](Matrix::member), [`to_batch`](Matrix::to_batch), [`to_block_diagonal`](Matrix::to_block_diagonal) | [`BatchCompressed`](crate::BatchCompressed) |
//! | [`sort`](Matrix::sort), [`prune`](Matrix::prune) | [`SortPlan`](crate::op::SortPlan), [`PrunePlan`](crate::op::PrunePlan) |
//! | [`add`](Matrix::add), [`multiply`](Matrix::multiply), [`symmetrize`](Matrix::symmetrize) | [`ElementwisePlan`](crate::op::ElementwisePlan) |
//! | [`reduce`](Matrix::reduce), [`norm`](Matrix::norm) | [`SpmvPlan`](crate::op::SpmvPlan), [`ReducePlan`](crate::op::ReducePlan) |
//! | [`select`](Matrix::select), [`permute`](Matrix::permute) | [`SelectPlan`](crate::op::SelectPlan) |
//! | [`vstack`](Matrix::vstack), [`hstack`](Matrix::hstack), [`block_diag`](Matrix::block_diag), [`kron`](Matrix::kron), [`kron_with`](Matrix::kron_with) | [`vstack`](crate::vstack()), [`hstack`](crate::hstack()), [`block_diag`](crate::block_diag()), [`kron`](crate::kron()), [`kron_with`](crate::kron_with()) |
//! | [`diagonal`](Matrix::diagonal) | [`Compressed::diagonal`](crate::Compressed::diagonal), [`ElementwisePlan`](crate::op::ElementwisePlan) |
//! | [`row_statistics`](Matrix::row_statistics) | [`RowStatisticsPlan`](crate::op::RowStatisticsPlan) |
//! | [`solve_triangular`](Matrix::solve_triangular), [`solve_triangular_many`](Matrix::solve_triangular_many) | [`TrisolvePlan`](crate::op::TrisolvePlan) |
//! | [`solve`](Matrix::solve), [`solve_from`](Matrix::solve_from), [`solver`](Matrix::solver), [`solver_with`](Matrix::solver_with) a [`preconditioner`](Matrix::preconditioner), [`Solver::update`] | [`Cg`], [`BiCgStab`], [`EnqueuedCg`], [`Gmres`], [`Minres`], [`LeastSquares`] |
//! | `factorize`, `refactor` with the feature `direct` | `Factorization` |
//! | [`graph`](Matrix::graph), [`reverse_cuthill_mckee`](Matrix::reverse_cuthill_mckee), [`connected_components`](Matrix::connected_components) | [`Graph`](crate::graph::Graph) |
//! | [`distribute`](Matrix::distribute) to several devices, [`from_root`](MatrixOnRanks::from_root) to ranks, or [`read`](MatrixOnRanks::read) by them | [`DistributedMatrix`](crate::distrib::DistributedMatrix) |
//! | [`read`](Matrix::read), [`read_csr`](Matrix::read_csr), [`read_coo`](Matrix::read_coo), [`read_batch`](Matrix::read_batch), [`write`](Matrix::write) | [`io`](crate::io) |
//! | [`to_device`](Matrix::to_device), [`cast`](Matrix::cast), [`copy`](Matrix::copy) | [`SparseFormat`], [`cast_slice`](crate::cast_slice) |
//! | [`values`](Matrix::values), [`with_values`](Matrix::with_values), [`map_values`](Matrix::map_values) | [`Compressed::values`](crate::Compressed::values), [`Compressed::with_values`](crate::Compressed::with_values), [`Compressed::map_values`](crate::Compressed::map_values) |
//!
//! # Cost
//! A call checks types and devices, and is then the typed call: see `examples/call_overhead.rs`. A matrix caches the
//! plans of its products, so that a second [`matvec`](Matrix::matvec) does not inspect the pattern again; threads that
//! multiply with one matrix at the same time do not wait for each other.
//!
//! # Borrowed memory
//! [`Vector::borrow`] and [`Matrix::wrap`] of a [`HostCsr`](crate::HostCsr) borrow arrays of the host, for programs in
//! C or Python that call this layer; they are `unsafe`, since they cannot check how long the arrays live.
//!
//! # Types
//! [`Matrix::from_typed`] takes every triple of value, index and offset type of
//! [`for_all_types`](crate::for_all_types) in every format, batches among them, and [`Matrix::downcast_ref`] gives the
//! typed matrix back. Factors and the results of reductions are [`c64`](crate::c64) and `f64`, which hold the
//! accumulators of all types exactly.

// A method of `Matrix` is in the file of its operation, such as `operation/products.rs`. It calls the object-safe trait
// of `dispatch/any_matrix.rs`, which `dispatch/typed_matrix.rs` implements for all typed matrices; what differs from
// format to format is in `dispatch/runtime_format/`.
mod batch;
mod dense;
mod dense_stack;
mod dispatch;
mod display;
mod elements;
mod entries;
mod file;
mod format;
mod ipc;
mod matrix;
mod operation;
mod several_devices;
mod solver;
mod vector;

pub use dense::DenseMatrix;
pub use dense_stack::DenseStack;
pub use entries::Symmetry;
pub use format::{Format, IndexType, Layout};
pub use ipc::IpcArray;
pub use matrix::Matrix;
pub use operation::compress::{CompressOptions, CompressPlan};
pub use operation::galerkin::MatrixGalerkinPlan;
pub use operation::hypersparse::are_mostly_empty;
pub use operation::matmul_reduce::Aggregation;
pub use operation::plan::{MatrixSpmmPlan, MatrixSpmvPlan};
pub use operation::reduce::{Each, Norm, Reduction};
pub use operation::sddmm::MatrixSddmmPlan;
pub use operation::spgemm_plan::MatrixSpgemmPlan;
pub use operation::tune::{Tuned, TunedChange, Tuner};
pub use several_devices::matrix_set::{MatrixSet, MatrixSetOptions};
pub use several_devices::on_devices::{MatrixOnDevices, VectorOnDevices};
pub use several_devices::on_ranks::MatrixOnRanks;
pub use solver::method::Method;
pub use solver::preconditioner::Preconditioner;
pub use solver::preconditioner_kind::PreconditionerKind;
pub use solver::solve::{SolveOptions, Solver};
pub use vector::Vector;

#[cfg(doc)]
use crate::{
    SparseFormat,
    solvers::{BiCgStab, Cg, EnqueuedCg, Gmres, LeastSquares, Minres},
};
