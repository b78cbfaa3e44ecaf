//! COO in random order to CSR, duplicates added, in f32.

use crate::measure::Contender;
use crate::peer::{faer, nalgebra, scipy, sprs};
use crate::{Context, Report, workload};
use anyhow::{Result, ensure};
use sparse_core::op::{ConvertPlan, Duplicates, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Coo, Csr, Matrix, PlanOptions};
use std::hint::black_box;

pub(crate) fn run(context: &Context, report: &mut Report) -> Result<()> {
    workload::for_each_sparse(context, |name, a| compare(context, report, name, &shuffled(a)?))
}

/// The entries of `a` in random order (Durstenfeld: Algorithm 235, 1964).
fn shuffled(a: &Csr<f32>) -> Result<Coo<f32>> {
    let mut entries: Vec<_> = a.triplets().collect();
    let mut next = workload::random(1);
    for end in (1..entries.len()).rev() {
        let drawn = (u64::from(next()) << 32 | u64::from(next())) % (end as u64 + 1);
        entries.swap(end, drawn as usize);
    }
    Ok(Coo::from_triplets(a.rows(), a.cols(), entries)?)
}

fn compare(context: &Context, report: &mut Report, name: &str, coo: &Coo<f32>) -> Result<()> {
    let expected: Csr<f32> = Reference.convert(coo, &Duplicates::Sum)?;
    let mut plan = ConvertPlan::<_, Coo<f32>, Csr<f32>>::new(
        &context.backend,
        coo,
        &Duplicates::Sum,
        &PlanOptions::default(),
    )?;
    let mut found = None;
    let mut contenders = vec![
        Contender::new("ours", || {
            found = Some(plan.run(coo)?);
            Ok(())
        }),
        sprs::coo_to_csr(coo),
        nalgebra::coo_to_csr(coo)?,
        faer::coo_to_csr(coo),
    ];
    contenders.extend(scipy::contender("coo_to_csr", coo.into(), 1)?);
    report.compare("coo_to_csr", name, 12 * coo.nnz() + 8 * expected.nnz() + 4 * coo.rows(), contenders)?;
    ensure!(black_box(found).as_ref() == Some(&expected), "ours: the CSR differs from the reference");
    Ok(())
}
