//! Partitions, wire formats, schemes, transports and schedules against literal vectors and one oracle: the reference's
//! compression of the whole matrix, cut into parts.

mod allocations;
mod common;
mod corruption;
mod engine;
mod faulty;
mod model;
mod mutations;
mod properties;
mod schedules;
#[path = "../suite/mod.rs"]
mod suite;
mod transports;
mod vectors;
