//! Seed 003: a product with CSR, ELL and HYB, the mean of many with one conversion from dense counted in, in f32.

use crate::check::Expected;
use crate::measure::Contender;
use crate::report::Case;
use crate::{Context, Report, workload};
use anyhow::{Context as _, Result};
use backend_cpu::Cpu;
use sparse_core::op::{
    Conversion, ConvertKernel, ConvertPlan, DenseToCompressedPlan, Keep, Op, SpmvKernel, SpmvPlan,
};
use sparse_core::{Csr, DenseView, Ell, EllLayout, Host, Hyb, HybWidth, Matrix, PlanOptions, Row};
use std::time::Instant;

/// Products with one converted matrix.
const PRODUCTS: usize = 100;

pub(crate) fn run(context: &Context<'_>, report: &mut Report) -> Result<()> {
    let n = if context.arguments.smoke { 64 } else { 8192 };
    for percent in [20, 10] {
        let name = format!("dense_{percent}%");
        if context.arguments.wants(&name) {
            compare(context, report, &name, n, &workload::dense(n, n, percent, percent))?;
        }
    }
    Ok(())
}

fn compare(context: &Context<'_>, report: &mut Report, name: &str, n: usize, dense: &[f32]) -> Result<()> {
    let dense = DenseView::row_major(dense, n, n)?;
    let backend = &context.backend;
    let to_csr = || -> sparse_core::Result<Csr<f32>> {
        let options = PlanOptions::once();
        DenseToCompressedPlan::<_, Row, f32, i32, i32>::new(backend, dense, Keep::NonZero, &options)?
            .run(dense)
    };
    let a = to_csr()?;
    let x = context.pattern.filled(n);
    let expected = Expected::new(&a, &context.pattern, 1);
    let sequential = PlanOptions::forced("sequential");
    let contenders = vec![
        contender(backend, "ours", to_csr, PlanOptions::default(), &x, &expected)?,
        contender(backend, "ours:csr:sequential", to_csr, sequential, &x, &expected)?,
        contender(
            backend,
            "ours:ell",
            || converted::<Ell<f32>>(backend, &to_csr()?, &EllLayout::default()),
            PlanOptions::default(),
            &x,
            &expected,
        )?,
        contender(
            backend,
            "ours:hyb",
            || converted::<Hyb<f32>>(backend, &to_csr()?, &HybWidth::Fraction(0.125)),
            PlanOptions::default(),
            &x,
            &expected,
        )?,
    ];
    let bytes = 8 * a.nnz() + 4 * (n + 1) + 8 * n + (4 * n * n + 8 * a.nnz()) / PRODUCTS;
    let case = Case { flops: 2 * a.nnz(), ..Case::streams("seed-003", name, bytes, a.nnz()) };
    report.compare(case, contenders)
}

fn converted<M>(
    backend: &Cpu,
    a: &Csr<f32>,
    layout: &<Csr<f32> as Conversion<M>>::Layout,
) -> sparse_core::Result<M>
where
    M: Matrix<Space = Host>,
    Csr<f32>: Conversion<M>,
    Cpu: ConvertKernel<Csr<f32>, M>,
{
    ConvertPlan::new(backend, a, layout, &PlanOptions::once())?.run(a)
}

/// The mean time of products with what `make` makes, which counts once.
fn contender<'a, M>(
    backend: &'a Cpu,
    name: &str,
    make: impl Fn() -> sparse_core::Result<M> + 'a,
    options: PlanOptions,
    x: &'a [f32],
    expected: &Expected,
) -> Result<Contender<'a>>
where
    M: Matrix<Scalar = f32, Space = Host>,
    Cpu: SpmvKernel<M>,
{
    let mut y = vec![f32::NAN; expected.elements()];
    let products = move |times: usize, y: &mut [f32]| -> Result<f64> {
        let start = Instant::now();
        let a = make()?;
        let mut plan = SpmvPlan::new(backend, &a, Op::None, &options)?;
        (0..times).try_for_each(|_| plan.run(1.0, &a, x, 0.0, y))?;
        Ok(start.elapsed().as_secs_f64() / times as f64)
    };
    products(1, &mut y)?;
    expected.check(&y).with_context(|| name.to_string())?;
    Ok(Contender::external(name, move || products(PRODUCTS, &mut y)))
}
