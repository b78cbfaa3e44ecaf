//! The solvers on the serial reference.

mod common;
mod convergence;
mod outcomes;
mod real_matrices;
