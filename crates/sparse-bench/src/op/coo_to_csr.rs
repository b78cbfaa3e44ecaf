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

/// The entries of `a` in an order that visits all of them, far from sorted.
fn shuffled(a: &Csr<f32>) -> Result<Coo<f32>> {
    let entries: Vec<_> = a.triplets().collect();
    let len = entries.len().max(1);
    let step = (0..).map(|k| (len as f64 * 0.618) as usize + k).find(|&s| gcd(s, len) == 1).unwrap_or(1);
    let order = (0..entries.len()).map(|k| entries[k * step % len]);
    Ok(Coo::from_triplets(a.rows(), a.cols(), order)?)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
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
