//! The conformance table of [nnz](https://docs.rs/nnz): cases × checks × backends.
//!
//! A backend, ours or anyone's, registers what it has in a [`Suite`]; [`Run`] takes it through the [`table`], and a
//! [`Listener`] hears how each cell ended. What an operation must do is written once, in terms of triplets in double
//! precision; the backend, the format and the types are erased behind [`Subject`].
//!
//! - Exact class: operands of integers, so that every order of summation gives the same bits (rule A2). Small answers
//!   stand in [`Snapshots`] without a backend's name, which only the serial reference may bless.
//! - Real class: random, badly scaled and real-world matrices, within the componentwise bound of rule A1.
//!
//! `examples/toy.rs` shows a third party's backend.
//!
//! Rule B4 is held by the types: an output is `&mut`, so that it cannot be an input too.
//!
//! ```compile_fail,E0502
//! use sparse_core::op::{Op, Operations};
//! use sparse_core::{Csr, reference::Reference};
//! let a = Csr::<f64>::identity(2).unwrap();
//! let mut y = vec![1.0, 2.0];
//! Reference.spmv(Op::None, 1.0, &a, &y, 0.0, &mut y).unwrap();
//! ```

mod build;
mod case;
mod check;
mod digest;
mod examine;
mod held;
mod matrix_subject;
mod memory;
mod numbers;
mod portrait;
mod process;
mod product;
mod report;
mod runner;
mod snapshot;
mod subject;
mod suite;
mod triplets;

pub use build::Build;
pub use case::{Case, Operands, Problem, Tier, corpus, corpus_folder, repository_corpus, table};
pub use check::{Check, Expected};
pub use held::{HeldMatrix, Values};
pub use memory::{Cell, Frame, Memory};
pub use portrait::Portrait;
pub use process::{Ending, Reporter, Supervisor};
pub use product::Bounded;
pub use report::{Listener, Record, Status};
pub use runner::{Filter, Run};
pub use snapshot::Snapshots;
pub use subject::{Call, Given, Key, Outcome, Setting, Subject, Trial};
pub use suite::Suite;
pub use triplets::{Triplet, Triplets};
