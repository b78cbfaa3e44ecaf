//! Methods of `Matrix` that solve systems: methods, options, preconditioners, direct solvers.

#[cfg(feature = "direct")]
pub(in crate::runtime) mod direct;
pub(in crate::runtime) mod method;
pub(in crate::runtime) mod preconditioner;
pub(in crate::runtime) mod preconditioner_kind;
mod same_pattern;
pub(in crate::runtime) mod solve;
pub(in crate::runtime) mod solver_matrix;
mod typed_solver;
