//! The solvers on the serial reference.

mod common;
mod outcomes;
mod real_matrices;
