//! The solvers on the serial reference.

mod any_backend;
mod common;
mod convergence;
mod enqueued;
mod hard_systems;
mod large_systems;
mod outcomes;
mod preconditioners;
mod real_matrices;
