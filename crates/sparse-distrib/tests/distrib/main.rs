//! Partitions, wire formats, schemes, transports and schedules against literal vectors and one oracle: the reference's
//! compression of the whole matrix, cut into parts. Distributed products and solvers against those of one rank.

mod common;
mod corruption;
mod failures;
mod model;
mod products;
mod properties;
mod schedules;
mod solvers;
mod transport_suite;
mod transports;
mod vectors;
