//! Partitions, wire formats, schemes, transports and schedules against literal vectors and one oracle: the reference's
//! compression of the whole matrix, cut into parts.

mod allocations;
mod common;
mod corruption;
mod model;
mod mutations;
mod properties;
mod schedules;
mod transport_suite;
mod transports;
mod vectors;
