//! The conformance table of [nnz](https://docs.rs/nnz): cases × checks × backends.
//!
//! A backend, ours or anyone's, registers its operations in a [`Suite`]; [`Run`] takes it through the [`table`], and a
//! [`Listener`] gets the result of each cell. The expected results are written once, in terms of triplets in double
//! precision; the backend, the format and the types are erased behind [`Subject`].
//!
//! - Exact class: operands of integers, so that every order of summation gives the same bits. Small answers are stored
//!   in [`Snapshots`] without a backend's name; only the serial reference may write them.
//! - Real class: random, badly scaled and real-world matrices, within a componentwise bound of the error.
//!
//! | file | contents |
//! |---|---|
//! | `case/` | the test matrices: `rules.rs` by rule of `docs/semantics.md`, `shapes.rs`, random ones, files |
//! | `check/` | for each operation the settings, operands and expected results |
//! | `examine.rs` | the rules that every operation must satisfy: the same bits on a second run, guard words, refusals |
//! | `error_bound.rs`, `scalar_properties.rs` | componentwise bounds of real results, by the rounding and range of a type |
//! | `runner.rs`, `process.rs` | running the table, in this process or in children that may crash |
//!
//! `examples/toy.rs` shows a third party's backend.
//!
//! The types refuse aliased operands: an output is `&mut`, so that it cannot be an input too.
//!
//! ```compile_fail,E0502
//! use sparse_core::op::{Op, Operations};
//! use sparse_core::{Csr, reference::Reference};
//! let a = Csr::<f64>::identity(2).unwrap();
//! let mut y = vec![1.0, 2.0];
//! Reference.spmv(Op::None, 1.0, &a, &y, 0.0, &mut y).unwrap();
//! ```

mod answer;
mod array_dump;
mod build;
mod call;
mod case;
mod check;
mod comparison;
mod device_matrix;
mod digest;
mod equations;
mod error_bound;
mod examine;
mod filter;
mod guarded_operand;
mod key;
mod matrix_subject;
mod process;
mod registration;
mod report;
mod runner;
mod scalar_properties;
mod setting;
mod snapshot;
mod subject;
mod suite;
mod table;
mod triplets;

pub use array_dump::ArrayDump;
pub use build::Build;
pub use call::{Call, Outcome};
pub use case::{Case, Operands, Problem, Tier, corpus, corpus_folder, repository_corpus};
pub use device_matrix::{PlannedMatrix, ValueSet};
pub use equations::Equations;
pub use error_bound::Bounded;
pub use filter::Filter;
pub use guarded_operand::{Cell, Frame, GuardedOperand};
pub use key::Key;
pub use process::{Ending, Reporter, Supervisor};
pub use report::{Listener, Record, Status};
pub use runner::Run;
pub use setting::{EntryOrder, RightFactor, SampledProduct, Setting};
pub use snapshot::Snapshots;
pub use subject::{Check, Expected, Given, PlannedOperation, Subject};
pub use suite::Suite;
pub use table::table;
pub use triplets::{Triplet, Triplets};
