//! `y = A·x` in f32.

use super::checked::{checked, of_library, planned};
use super::context::Context;
use crate::arguments::PeerName::{Faer, NalgebraSparse, Scipy, Sprs};
use crate::check::Expected;
use crate::measure::Contender;
use crate::peer::{faer, mkl, nalgebra, scipy, sprs};
use crate::product::Product;
use crate::report::{Case, Report};
use crate::workload;
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{ConvertPlan, Op, SpmvKernel, SpmvPlan};
use sparse_core::{Csr, Host, PlanOptions, Sell, SellLayout, SparseFormat};

pub(super) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse(context.arguments, |name, a| compare(context, report, name, a))
}

fn compare(context: &Context<'_>, report: &mut Report, name: &str, a: &Csr<f32>) -> Result<()> {
    let x = context.pattern.filled(a.ncols());
    let expected = Expected::new(a, &context.pattern, 1);
    let mut to_sell = ConvertPlan::new(&context.backend, a, &SellLayout::default(), &PlanOptions::once())?;
    let sell: Sell<f32> = to_sell.run(a)?;

    let options = PlanOptions::often();
    let automatic = planned(|| SpmvPlan::new(&context.backend, a, Op::None, &options))?;
    let mut contenders = vec![ours("ours".into(), automatic, a, &x, &expected)?];
    contenders.extend(every_algorithm(context, a, &x, &expected)?);
    contenders.extend(every_algorithm(context, &sell, &x, &expected)?);
    if let Some(library) = &context.mkl {
        contenders.extend(of_library(mkl::spmv(library, a, &x), &expected));
    }
    contenders.extend(context.peer(Sprs, || Ok([sprs::spmv(a, &x)?])));
    contenders.extend(context.peer(Faer, || Ok([faer::spmv(a, &x)])));
    contenders.extend(context.peer(NalgebraSparse, || Ok([nalgebra::spmv(a, &x)?])));
    contenders.extend(context.peer(Scipy, || scipy::contender("spmv", a.into(), 1)));

    let case = Case {
        op: "spmv",
        workload: name,
        bytes: 8 * a.nnz() + 4 * (a.nrows() + 1) + 4 * (a.nrows() + a.ncols()),
        entries: a.nnz(),
        flops: 2 * a.nnz(),
        gather: Some(context.machine.gathers(a.col_idx(), &x, 1)),
    };
    report.compare(case, contenders)
}

/// One contender for each algorithm that takes this pattern.
fn every_algorithm<'a, M>(
    context: &Context<'_>,
    a: &'a M,
    x: &'a [f32],
    expected: &Expected,
) -> Result<Vec<Contender<'a>>>
where
    M: SparseFormat<Scalar = f32, Space = Host>,
    Cpu: SpmvKernel<M>,
{
    let mut contenders = vec![];
    for algorithm in context.backend.spmv_algorithms(Op::None) {
        let options = PlanOptions::forced(algorithm.name).relaxed();
        if let Ok(plan) = planned(|| SpmvPlan::new(&context.backend, a, Op::None, &options)) {
            let name = format!("ours:{}:{}", M::FORMAT, algorithm.name);
            contenders.push(ours(name, plan, a, x, expected)?);
        }
    }
    Ok(contenders)
}

/// A plan as a contender.
fn ours<'a, M>(
    name: String,
    (mut plan, seconds): (SpmvPlan<Cpu, M>, f64),
    a: &'a M,
    x: &'a [f32],
    expected: &Expected,
) -> Result<Contender<'a>>
where
    M: SparseFormat<Scalar = f32, Space = Host>,
    Cpu: SpmvKernel<M>,
{
    let choice = plan.choice().clone();
    let product = Product::on_host(name, Some(seconds), move |y| plan.run(1.0, a, x, 0.0, y));
    checked(product.chosen(choice), expected)
}
