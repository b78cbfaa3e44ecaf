//! Reading, writing and refusing files of every format. One test program, so that readers are compiled once.

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
