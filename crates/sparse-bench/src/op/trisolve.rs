//! `L·x = b` in f32, L the lower triangle of a matrix in CSR.

use super::checked::{checked, of_library, planned};
use super::context::Context;
use crate::arguments::PeerName::{Faer, Scipy, Sprs};
use crate::check::Exact;
use crate::peer::{faer, mkl, scipy, sprs};
use crate::product::Product;
use crate::report::{Case, Report};
use crate::workload;
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{Op, Operations, Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::{Csr, Host, PlanOptions};

pub(super) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_square(context.arguments, workload::TRIANGLES, |name, a| {
        compare(context, report, name, &workload::lower_triangle(a)?)
    })
}

fn compare(context: &Context<'_>, report: &mut Report, name: &str, l: &Csr<f32>) -> Result<()> {
    let n = l.nrows();
    let x = Exact(workload::solution(n));
    let mut b = vec![0.0; n];
    Operations::spmv(&context.backend, Op::None, 1.0, l, &x.0, 0.0, &mut b)?;
    let mut contenders = vec![];
    for product in ours(&context.backend, l, &b)? {
        contenders.push(checked(product, &x)?);
    }
    if let Some(library) = &context.mkl {
        contenders.extend(of_library(mkl::trisolve(library, l, &b), &x));
    }
    contenders.extend(context.peer(Sprs, || Ok([sprs::trisolve(l, &b)?])));
    contenders.extend(context.peer(Faer, || Ok([faer::trisolve(l, &b)?])));
    contenders.extend(context.peer(Scipy, || scipy::contender("trisolve", l.into(), 1)));
    let bytes = 8 * l.nnz() + 4 * (n + 1) + 8 * n;
    report.compare(Case::streams("trisolve", name, bytes, l.nnz()), contenders)
}

/// The automatic choice, then every algorithm.
fn ours<'a>(backend: &Cpu, l: &'a Csr<f32>, b: &'a [f32]) -> Result<Vec<Product<'a, f32, Host>>> {
    let product = |name: String, options: &PlanOptions| -> sparse_core::Result<_> {
        let (mut plan, seconds) = planned(|| TrisolvePlan::new(backend, l, Triangular::lower(), options))?;
        let choice = plan.choice().clone();
        let run = move |x: &mut [f32]| plan.run(l, b, x);
        Ok(Product::on_host(name, Some(seconds), run).chosen(choice))
    };
    let automatic = PlanOptions::often();
    let mut products = vec![product("ours".into(), &automatic)?];
    for algorithm in TrisolveKernel::<Csr<f32>>::trisolve_algorithms(backend) {
        products.push(product(format!("ours:{}", algorithm.name), &PlanOptions::forced(algorithm.name))?);
    }
    Ok(products)
}
