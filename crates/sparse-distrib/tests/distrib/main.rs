//! Partitions, wire formats, schemes, transports and schedules against literal vectors and one oracle: the reference's
//! compression of the whole matrix, cut into parts.

mod common;
mod corruption;
mod engine;
mod faulty;
mod model;
mod properties;
mod schedules;
#[path = "../suite/mod.rs"]
mod suite;
mod transports;
mod vectors;
