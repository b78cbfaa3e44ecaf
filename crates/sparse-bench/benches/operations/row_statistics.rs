//! Statistics of the lengths of rows, planned and run. Bytes: 4·(rows + 1), the offsets once.

use crate::bench::Bench;
use crate::workload::{WORD, matrices};
use sparse_core::SparseFormat;
use sparse_core::op::{AllTypes, Operations};

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    let backend = bench.backend;
    for (name, host) in matrices() {
        let a = host.to_device(backend).expect("a matrix");
        bench.time(&format!("row_statistics/csr/f32/{name}"), WORD * (a.nrows() + 1), || {
            Operations::row_statistics(backend, &a).map(drop)
        });
    }
}
