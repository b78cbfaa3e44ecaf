//! A sorted copy of a CSR matrix whose rows are reversed, planned and run. Bytes: A once and the copy once, 8·nnz +
//! 4·(rows + 1) each.

use crate::bench::Bench;
use crate::workload::{csr_bytes, matrices};
use sparse_core::op::{AllTypes, Operations};
use sparse_core::{Csr, SparseFormat};

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    let backend = bench.backend;
    for (name, host) in matrices() {
        let bytes = 2 * csr_bytes(&host);
        let a = backwards(host).to_device(backend).expect("a matrix");
        bench.time(&format!("sort/csr/f32/{name}"), bytes, || Operations::sort(backend, &a).map(drop));
    }
}

/// The matrix with the entries of each row in reverse order.
fn backwards(a: Csr<f32>) -> Csr<f32> {
    let (rows, cols) = (a.nrows(), a.ncols());
    let (offsets, mut indices, mut values) = a.into_parts();
    for row in offsets.windows(2) {
        let row = row[0] as usize..row[1] as usize;
        indices[row.clone()].reverse();
        values[row].reverse();
    }
    Csr::new_unsorted(rows, cols, offsets, indices, values).expect("a matrix")
}
