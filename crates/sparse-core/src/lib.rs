//! Formats, plans, traits and the serial reference of [nnz](https://docs.rs/nnz).
//!
//! - [`mod@format`]: COO, CSR, CSC, ELL, HYB, SELL-C-σ, batches and dense views, with checked constructors.
//! - [`op`]: one file per operation, with the trait that a backend implements and the plan that a user runs.
//! - [`mod@reference`]: every operation, serially and simply, which all backends are compared with.
//! - [`catalog`]: the one list of formats, types and operations.
//! - [`interop`]: conversions from and to other crates, behind features.
//!
//! There is no I/O here, no thread and no device.

pub mod backend;
pub mod catalog;
mod checks;
pub mod error;
pub mod format;
pub mod graph;
mod huge_pages;
pub mod index;
pub mod interop;
pub mod op;
pub mod peer;
pub mod plan;
pub mod reference;
pub mod scalar;
pub mod space;

pub use backend::{Backend, Caps, Probe, SpaceOf};
pub use error::{Error, Result};
pub use format::*;
pub use half::{bf16, f16};
#[doc(hidden)]
pub use huge_pages::advise_huge_pages;
pub use index::Index;
#[cfg(feature = "proptest_1")]
pub use interop::proptest as strategy;
pub use plan::{Algorithm, AlgorithmSet, Choice, Determinism, KernelPlan, PlanOptions};
pub use scalar::{Accumulator, DType, Real, Scalar, c32, c64};
pub use space::{ContextId, Element, Host, Space};
