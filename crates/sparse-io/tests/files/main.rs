//! Files of every format: what is read, written and refused. One program, so that readers are compiled once.

mod fuzz_bodies;
mod fuzz_replay;
mod matrix_market_rules;
mod parts;
mod refusals;
mod round_trip;
mod row_ranges;
mod scipy_files;
mod shared_data;
mod streams;
