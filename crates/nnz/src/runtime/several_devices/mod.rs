//! Matrices divided among devices or ranks, and sets of matrices.

pub(in crate::runtime) mod matrix_set;
pub(in crate::runtime) mod on_devices;
pub(in crate::runtime) mod on_ranks;
pub(in crate::runtime) mod rank;
