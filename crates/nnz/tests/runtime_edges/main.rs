//! Edges of the run-time layer: empty operands, sizes that fit no memory, entries out of order, memory of others.
#![cfg(feature = "cpu")]

mod arithmetic;
mod entries;
mod memory;
mod several;
mod sizes;
mod systems;
mod updates;

use nnz::prelude::*;
use nnz::{Layout, Method};

/// The methods that this build has.
fn methods() -> impl Iterator<Item = Method> {
    Method::ALL.iter().copied().filter(|&method| method != Method::Direct || cfg!(feature = "direct"))
}

fn cpu() -> Device {
    "cpu".parse().unwrap()
}

fn formats() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|&format| Layout::try_from(format).is_ok())
}

fn dense(a: &Matrix) -> Vec<f64> {
    a.to_dense().unwrap().values().to_vec().unwrap()
}
