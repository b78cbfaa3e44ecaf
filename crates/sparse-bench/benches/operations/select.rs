//! Every second row and column of a CSR matrix, planned and run. Bytes: the chosen rows of A once and the copy once.

use crate::bench::Bench;
use crate::workload::{csr_bytes, matrices};
use sparse_core::SparseFormat;
use sparse_core::op::{AllTypes, Operations};
use sparse_core::reference::Reference;

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    let backend = bench.backend;
    for (name, host) in matrices() {
        let every_second = |extent| (0..extent).step_by(2).collect::<Vec<_>>();
        let (rows, cols) = (every_second(host.nrows()), every_second(host.ncols()));
        let bytes = csr_bytes(&host) / 2 + csr_bytes(&Reference.select(&host, &rows, &cols).expect("a copy"));
        let a = host.to_device(backend).expect("a matrix");
        bench.time(&format!("select/csr/f32/{name}"), bytes, || {
            Operations::select(backend, &a, &rows, &cols).map(drop)
        });
    }
}
