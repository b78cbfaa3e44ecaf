//! The operands of the benchmarks, and the bytes of their parts.

use sparse_core::Csr;
use sparse_generate::{stand_in, stencil_5};

/// Bytes of a value, an index or an offset.
pub(crate) const WORD: usize = 4;

/// True for `--test`, which runs everything once.
pub(crate) fn is_test() -> bool {
    std::env::args().any(|argument| argument == "--test")
}

/// `size`, or `small` for a test.
pub(crate) fn size(size: usize, small: usize) -> usize {
    if is_test() { small } else { size }
}

/// A regular matrix, and one with long and empty rows.
pub(crate) fn matrices() -> [(&'static str, Csr<f32>); 2] {
    let side = size(500, 20);
    let arxiv = stand_in::find("arxiv").and_then(|graph| graph.generate(size(4, 64)));
    [("stencil_5", stencil_5(side, side).expect("a stencil")), ("arxiv", arxiv.expect("a graph"))]
}

/// Bytes of the values and indices of a compressed matrix.
pub(crate) fn entry_bytes(nnz: usize) -> usize {
    2 * WORD * nnz
}

/// Bytes of a CSR matrix.
pub(crate) fn csr_bytes(a: &Csr<f32>) -> usize {
    entry_bytes(a.nnz()) + WORD * (a.nrows() + 1)
}

/// An array of which every tenth element is not zero.
pub(crate) fn dense(len: usize) -> Vec<f32> {
    (0..len).map(|k| if k * 7 % 10 == 0 { 1.0 } else { 0.0 }).collect()
}
