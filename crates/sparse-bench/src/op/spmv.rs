//! `y = A·x`.

use super::checked::{checked, of_library, planned};
use super::context::Context;
use crate::arguments::PeerName::{Faer, NalgebraSparse, Scipy, Sprs};
use crate::check::Expected;
use crate::measure::Contender;
use crate::peer::{faer, mkl, nalgebra, scipy, sprs};
use crate::product::Product;
use crate::report::{Case, Report};
use crate::traffic;
use crate::value::Value;
use crate::workload::{self, Pattern};
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{ConvertPlan, Op, SpmvKernel, SpmvPlan};
use sparse_core::{Csr, Host, PlanOptions, Scalar, Sell, SellLayout, SparseFormat};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_sparse::<T>(context.arguments, |name, a| compare(context, report, name, a))
}

fn compare<T: Value>(context: &Context<'_>, report: &mut Report, name: &str, a: &Csr<T>) -> Result<()> {
    let pattern = Pattern::new(1);
    let x = pattern.filled(a.ncols());
    let expected = Expected::new(a, &pattern, 1);
    let mut to_sell = ConvertPlan::new(&context.backend, a, &SellLayout::default(), &PlanOptions::once())?;
    let sell: Sell<T> = to_sell.run(a)?;

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
        op: &T::name_of("spmv"),
        workload: name,
        bytes: traffic::spmv(a),
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
    x: &'a [M::Scalar],
    expected: &Expected,
) -> Result<Vec<Contender<'a>>>
where
    M: SparseFormat<Scalar: Value, Space = Host>,
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
    x: &'a [M::Scalar],
    expected: &Expected,
) -> Result<Contender<'a>>
where
    M: SparseFormat<Scalar: Value, Space = Host>,
    Cpu: SpmvKernel<M>,
{
    let choice = plan.choice().clone();
    let product =
        Product::on_host(name, Some(seconds), move |y| plan.run(M::Scalar::ONE, a, x, M::Scalar::ZERO, y));
    checked(product.chosen(choice), expected)
}
