//! Formats, plans, traits and the serial reference of [nnz](https://docs.rs/nnz).
//!
//! There is no I/O here, no thread and no device. In the order to read:
//!
//! - [`scalar`], [`index`]: the types of values, of column indices and of row offsets.
//! - [`space`]: memory of the host or of a device, its buffers and their views.
//! - [`mod@format`]: COO, CSR, CSC, ELL, HYB, SELL-C-σ, batches and dense views, with checked constructors.
//! - [`backend`]: a context and its queue, which allocates, copies and computes.
//! - [`op`]: one file per operation, with the trait that a backend implements and the plan that a user runs.
//! - [`plan`]: the common part of plans: options, tables of algorithms, the choice and its reason.
//! - [`mod@reference`]: every operation, serially and simply, which all backends are compared with.
//! - [`catalog`]: the one list of formats, types and operations.
//! - [`graph`]: orderings and components; [`peer`]: exchanges among devices; [`interop`]: conversions from and to
//!   other crates, behind features; [`error`]: the one error type.
//!
//! ```
//! use sparse_core::op::{Op, SpmvPlan};
//! use sparse_core::reference::Reference;
//! use sparse_core::{Csr, PlanOptions};
//!
//! let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 1.0), (1, 1, 3.0)])?;
//! let mut plan = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::default())?;
//! let mut y = [0.0; 2];
//! plan.run(1.0, &a, &[1.0, 2.0], 0.0, &mut y)?; // y = 1·A·x + 0·y
//! assert_eq!(y, [6.0, 6.0]);
//! # Ok::<(), sparse_core::Error>(())
//! ```

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
