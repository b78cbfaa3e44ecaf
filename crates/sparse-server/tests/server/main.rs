//! A server on the loopback, from upload to result.

mod access;
#[allow(dead_code, reason = "each test file uses a part")]
#[path = "../common/mod.rs"]
mod common;
mod compression;
mod durability;
mod fairness;
mod http;
mod matrices;
mod members;
mod operations;
mod programs;
mod requests;
#[path = "../common/tls.rs"]
mod tls;
mod transfers;

use common::mtx;

/// [[4, 1, 0], [1, 3, 0], [0, 0, 2]]
fn matrix() -> Vec<u8> {
    mtx(3, 3, &[(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 3.0), (2, 2, 2.0)])
}
