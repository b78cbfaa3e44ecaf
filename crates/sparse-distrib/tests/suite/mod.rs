//! The tests of every transport, written for one rank: a program for each transport calls them on every rank.

pub(crate) mod distribution;
pub(crate) mod engine;
pub(crate) mod matrices;
pub(crate) mod reading;
pub(crate) mod solvers;
pub(crate) mod transport;
pub(crate) mod vectors;
