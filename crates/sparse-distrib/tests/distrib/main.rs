//! Partitions, wire formats, schemes, transports and schedules against literal vectors and one oracle: the reference's
//! compression of the whole matrix, cut into parts. Distributed products and solvers against those of one rank.

mod allocations;
mod common;
mod corruption;
mod ekmr_files;
mod engine;
mod engine_failures;
mod engine_handles;
mod engine_lending;
mod engine_parallelism;
mod engine_ranks;
mod engine_schemes;
mod engine_streams;
mod failing;
mod failures;
mod faulty;
mod host_peers;
mod model;
mod mutations;
mod products;
mod properties;
mod schedules;
mod solvers;
#[path = "../suite/mod.rs"]
mod suite;
mod transports;
mod vectors;
