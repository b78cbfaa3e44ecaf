//! Batches: many dense matrices to CSR in one call.

use super::context::Context;
use crate::arguments::PeerName::Scipy;
use crate::measure::Contender;
use crate::peer::scipy;
use crate::report::{Case, Report};
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::{Result, ensure};
use sparse_core::op::{DenseToCompressedPlan, Keep, Operations};
use sparse_core::reference::Reference;
use sparse_core::{BatchCsr, Csr, DenseBatchView, DenseView, Order, PlanOptions, Row};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    let sizes = if context.arguments.smoke { [(10, 32), (2, 64)] } else { [(1000, 128), (50, 1024)] };
    for (count, n) in sizes {
        for percent in [1, 10, 50] {
            let name = format!("{count}x{n}_{percent}%");
            if context.arguments.generates::<T>(&name) {
                let dense = workload::dense::<T>(count * n, n, percent, percent);
                compare(context, report, &name, (count, n), &dense)?;
            }
        }
    }
    Ok(())
}

fn compare<T: Value>(
    context: &Context<'_>,
    report: &mut Report,
    name: &str,
    (count, n): (usize, usize),
    dense: &[T],
) -> Result<()> {
    // The rows of all members, one below the other, are the rows of a matrix.
    let expected: Csr<T> =
        Operations::dense_to_csr(&Reference, DenseView::row_major(dense, count * n, n)?, Keep::NonZero)?;
    let batch = DenseBatchView::new(dense, count, n * n, (n, n), n, Order::RowMajor)?;
    let options = PlanOptions::default();
    let mut plan =
        DenseToCompressedPlan::<_, Row, _, _, i32>::new(&context.backend, batch, Keep::NonZero, &options)?;
    let made: BatchCsr<T> = plan.run_batch(batch)?;
    ensure!(
        made.indices() == expected.col_idx() && made.values() == expected.values(),
        "ours: the batch differs from the reference"
    );
    let ours = Contender::new("ours", move || {
        let made: BatchCsr<T> = plan.run_batch(batch)?;
        drop(made);
        Ok(())
    });
    let mut contenders = vec![ours];
    let input = scipy::Input::Dense { data: dense, n, count };
    contenders.extend(context.peer(Scipy, || scipy::contender("dense_to_csr", input, count)));
    let entries = expected.values().len();
    let bytes = traffic::compress::<T>(dense.len(), entries, count * (n + 1));
    report.compare(Case::streams(&T::name_of("seed-001"), name, bytes, entries), contenders)
}
