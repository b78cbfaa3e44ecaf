//! The matrices of the CPU suite.

use crate::Context;
use anyhow::Result;
use sparse_core::{Csr, generate};

/// A named matrix, built when it is needed.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    build: fn(smoke: bool) -> sparse_core::Result<Csr<f32>>,
}

/// Regular and irregular matrices; the stand-ins are those that `performance.md` runs whole on two cores.
const SPARSE: &[Workload] = &[
    Workload { name: "stencil_5", build: |smoke| side(smoke, 1200, |n| generate::stencil_5(n, n)) },
    Workload { name: "stencil_27", build: |smoke| side(smoke, 64, |n| generate::stencil_27(n, n, n)) },
    Workload { name: "band_40", build: |smoke| side(smoke, 300_000, |n| generate::band(n, 20, 20, 1)) },
    Workload { name: "uniform_8", build: |smoke| side(smoke, 1_000_000, |n| generate::uniform(n, n, 8, 1)) },
    Workload { name: "arxiv", build: |smoke| stand_in("arxiv", if smoke { 64 } else { 1 }) },
    Workload { name: "ddi", build: |smoke| stand_in("ddi", if smoke { 4 } else { 1 }) },
    Workload { name: "yelp", build: |smoke| stand_in("yelp", if smoke { 64 } else { 1 }) },
];

fn side(
    smoke: bool,
    n: usize,
    build: fn(usize) -> sparse_core::Result<Csr<f32>>,
) -> sparse_core::Result<Csr<f32>> {
    build(if smoke { n.min(20) } else { n })
}

fn stand_in(name: &str, divisor: usize) -> sparse_core::Result<Csr<f32>> {
    generate::stand_in::find(name)?.generate(divisor)
}

/// Calls `work` for every sparse matrix that is wanted.
pub(crate) fn for_each_sparse(
    context: &Context,
    mut work: impl FnMut(&str, &Csr<f32>) -> Result<()>,
) -> Result<()> {
    for workload in SPARSE.iter().filter(|w| context.wants(w.name)) {
        work(workload.name, &(workload.build)(context.smoke)?)?;
    }
    Ok(())
}

/// Random numbers, the same for the same seed (Marsaglia: Xorshift RNGs, 2003).
pub(crate) fn random(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    }
}

/// A dense row-major matrix of `n²` elements, each non-zero with a probability of `percent` / 100.
pub(crate) fn dense(n: usize, percent: u32, seed: u32) -> Vec<f32> {
    let mut next = random(seed);
    (0..n * n).map(|_| if next() % 100 < percent { 1.0 + (next() % 8) as f32 } else { 0.0 }).collect()
}

/// Small integers, so that sums are exact in every order and contenders can be compared to the bit.
pub(crate) fn small_integers(len: usize) -> Vec<f32> {
    (0..len).map(|k| ((k * 7 + k / 11) % 9) as f32 - 4.0).collect()
}
