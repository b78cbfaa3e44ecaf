//! `y = A·x` in f32.

use super::check_equal;
use crate::measure::Contender;
use crate::peer::{faer, nalgebra, scipy, sprs};
use crate::{Context, Report, workload};
use anyhow::Result;
use sparse_core::op::{ConvertPlan, Op, Operations, SpmvKernel, SpmvPlan};
use sparse_core::reference::Reference;
use sparse_core::{Csr, Matrix, PlanOptions, Sell, SellLayout};

pub(crate) fn run(context: &Context, report: &mut Report) -> Result<()> {
    workload::for_each_sparse(context, |name, a| compare(context, report, name, a))
}

fn compare(context: &Context, report: &mut Report, name: &str, a: &Csr<f32>) -> Result<()> {
    let x = workload::small_integers(a.cols());
    let mut expected = vec![f32::NAN; a.rows()];
    Reference.spmv(Op::None, 1.0, a, &x, 0.0, &mut expected)?;

    let options = PlanOptions { expected_calls: 1000, ..PlanOptions::default() };
    let mut automatic = SpmvPlan::new(&context.backend, a, Op::None, &options)?;
    let mut y = vec![f32::NAN; a.rows()];
    let mut contenders = vec![Contender::new("ours", || Ok(automatic.run(1.0, a, &x, 0.0, &mut y)?))];

    let algorithms = SpmvKernel::<Csr<f32>>::spmv_algorithms(&context.backend, Op::None);
    let mut forced = vec![];
    for algorithm in algorithms {
        let options = PlanOptions::forced(algorithm.name).relaxed();
        if let Ok(plan) = SpmvPlan::new(&context.backend, a, Op::None, &options) {
            forced.push((algorithm.name, plan, vec![f32::NAN; a.rows()]));
        }
    }
    for (algorithm, plan, y) in &mut forced {
        contenders.push(Contender::new(format!("ours:csr:{algorithm}"), || Ok(plan.run(1.0, a, &x, 0.0, y)?)));
    }

    let mut to_sell = ConvertPlan::new(&context.backend, a, &SellLayout::default(), &PlanOptions::once())?;
    let sell: Sell<f32> = to_sell.run(a)?;
    let mut sells = vec![];
    for algorithm in SpmvKernel::<Sell<f32>>::spmv_algorithms(&context.backend, Op::None) {
        let options = PlanOptions::forced(algorithm.name).relaxed();
        if let Ok(plan) = SpmvPlan::new(&context.backend, &sell, Op::None, &options) {
            sells.push((algorithm.name, plan, vec![f32::NAN; a.rows()]));
        }
    }
    for (algorithm, plan, y) in &mut sells {
        contenders
            .push(Contender::new(format!("ours:sell:{algorithm}"), || Ok(plan.run(1.0, &sell, &x, 0.0, y)?)));
    }

    let mut outputs = [vec![f32::NAN; a.rows()], vec![f32::NAN; a.rows()]];
    let [y_sprs, y_faer] = &mut outputs;
    contenders.push(sprs::spmv(a, &x, y_sprs)?);
    contenders.push(faer::spmv(a, &x, y_faer)?);
    contenders.push(nalgebra::spmv(a, &x)?);
    let scipy = scipy::Peer::start("spmv", a.into(), 1)?;
    contenders.extend(scipy.as_ref().map(|peer| peer.contender()));

    let bytes = 8 * a.nnz() + 4 * (a.rows() + 1) + 4 * (a.rows() + a.cols());
    report.compare("spmv", name, bytes, contenders)?;
    check_equal("ours", &y, &expected)?;
    for (algorithm, _, y) in &forced {
        check_equal(algorithm, y, &expected)?;
    }
    for (algorithm, _, y) in &sells {
        check_equal(algorithm, y, &expected)?;
    }
    for y in &outputs {
        check_equal("a peer", y, &expected)?;
    }
    Ok(())
}
