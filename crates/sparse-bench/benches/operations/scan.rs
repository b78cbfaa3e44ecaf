//! Prefix sums of a square array of integers, in each order. Bytes: 4 read and 4 written for each element.

use crate::bench::{Bench, algorithms};
use crate::workload::{WORD, size};
use sparse_core::op::{AllTypes, ScanKernel, ScanKind, ScanOrder, ScanPlan};
use sparse_core::{Space, SpaceOf};

pub(crate) fn run<B: AllTypes>(bench: &mut Bench<'_, B>) {
    let (backend, n) = (bench.backend, size(2048, 64));
    let input = backend.upload(&vec![1_i32; n * n]).expect("the array");
    let mut output = backend.zeros::<i32>(n * n).expect("the sums");
    for (order, name) in
        [(ScanOrder::Flat, "tps"), (ScanOrder::RowMajor, "hps"), (ScanOrder::ColumnMajor, "vps")]
    {
        let table = ScanKernel::<i32>::scan_algorithms(backend, order);
        for (name, options) in algorithms(&format!("scan/{name}/i32/{n}x{n}"), table) {
            let plan = ScanPlan::<B, i32>::new(backend, (n, n), order, ScanKind::Inclusive, &options);
            let Some(mut plan) = bench.available(&name, plan) else { continue };
            bench.time(&name, 2 * WORD * n * n, || {
                plan.run(SpaceOf::<B>::view(&input), SpaceOf::<B>::view_mut(&mut output))
            });
        }
    }
}
