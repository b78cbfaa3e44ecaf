//! The solvers on the serial reference.

mod any_backend;
mod common;
mod convergence;
mod enqueued;
mod hard_systems;
mod krylov_spaces;
mod large_systems;
mod least_squares;
mod outcomes;
mod preconditioners;
mod real_matrices;
