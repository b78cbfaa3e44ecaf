//! `L·x = b`, L the lower triangle of a matrix in CSR.

use super::checked::{checked, of_library, planned};
use super::context::Context;
use crate::arguments::PeerName::{Faer, Scipy, Sprs};
use crate::check::Exact;
use crate::peer::{faer, mkl, scipy, sprs};
use crate::product::{Product, by_each_algorithm};
use crate::report::{Case, Report};
use crate::value::Value;
use crate::{traffic, workload};
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::op::{Op, Operations, Triangular, TrisolveKernel, TrisolvePlan};
use sparse_core::{Csr, Host, PlanOptions};

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    workload::for_each_square::<T>(context.arguments, workload::TRIANGLES, |name, a| {
        compare(context, report, name, &workload::lower_triangle(a)?)
    })
}

fn compare<T: Value>(context: &Context<'_>, report: &mut Report, name: &str, l: &Csr<T>) -> Result<()> {
    let n = l.nrows();
    let x = Exact(workload::small_integers::<T>(n));
    let mut b = vec![T::ZERO; n];
    Operations::spmv(&context.backend, Op::None, T::ONE, l, &x.0, T::ZERO, &mut b)?;
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
    let bytes = traffic::spmv(l);
    report.compare(Case::streams(&T::name_of("trisolve"), name, bytes, l.nnz()), contenders)
}

/// The automatic choice, then every algorithm.
fn ours<'a, T: Value>(backend: &Cpu, l: &'a Csr<T>, b: &'a [T]) -> Result<Vec<Product<'a, T, Host>>> {
    let product = |name: String, options: &PlanOptions| -> sparse_core::Result<_> {
        let (mut plan, seconds) = planned(|| TrisolvePlan::new(backend, l, Triangular::lower(), options))?;
        let choice = plan.choice().clone();
        let run = move |x: &mut [T]| plan.run(l, b, x);
        Ok(Product::on_host(name, Some(seconds), run).chosen(choice))
    };
    Ok(by_each_algorithm(TrisolveKernel::<Csr<T>>::trisolve_algorithms(backend), product)?)
}
