//! A copy of a CSR matrix without the values up to 1, planned and run. Bytes: A once and the copy once, 8·nnz +
//! 4·(rows + 1) each.

use crate::bench::Bench;
use crate::workload::{csr_bytes, matrices};
use sparse_core::SparseFormat;
use sparse_core::op::{AllTypes, Keep, Operations};
use sparse_core::reference::Reference;

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    let backend = bench.backend;
    for (name, host) in matrices() {
        let keep = Keep::Above(1.0);
        let bytes = csr_bytes(&host) + csr_bytes(&Reference.prune(&host, keep).expect("a copy"));
        let a = host.to_device(backend).expect("a matrix");
        bench
            .time(&format!("prune/csr/f32/{name}"), bytes, || Operations::prune(backend, &a, keep).map(drop));
    }
}
