//! A product with CSR, ELL and HYB: the mean of many, with one conversion from dense in the time.

use super::context::Context;
use crate::arguments::Arguments;
use crate::check::{Answer, Expected};
use crate::measure::Contender;
use crate::report::{Case, Report};
use crate::traffic;
use crate::value::Value;
use crate::workload::{self, Pattern};
use anyhow::{Context as _, Result};
use sparse_core::backend::{Buf, SpaceOf, ViewOf};
use sparse_core::op::{
    Conversion, ConvertKernel, ConvertPlan, DenseToCompressedPlan, FullBackend, Keep, Op, Operations,
    SpmvKernel, SpmvPlan,
};
use sparse_core::reference::Reference;
use sparse_core::{
    Backend, Csr, DenseView, Ell, EllLayout, Hyb, HybWidth, Order, PlanOptions, Row, Space, SparseFormat,
};
use std::time::Instant;

/// Products with one converted matrix.
const PRODUCTS: usize = 100;

/// Simple algorithms of CSR: one work-item for all rows, or for each.
const SIMPLE: [&str; 2] = ["sequential", "row_per_thread"];

/// Returns the seconds of the work.
type Clock<'a> = dyn Fn(&mut dyn FnMut() -> sparse_core::Result<()>) -> sparse_core::Result<f64> + 'a;

pub(super) fn run<T: Value>(context: &Context<'_>, report: &mut Report) -> Result<()> {
    let clock = |work: &mut dyn FnMut() -> sparse_core::Result<()>| {
        let start = Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64())
    };
    compare::<_, T>(&context.backend, &clock, context.arguments, report)
}

/// The formats on a backend whose work a clock times.
pub(crate) fn compare<B: FullBackend<T, i32, i32>, T: Value>(
    backend: &B,
    clock: &Clock<'_>,
    arguments: &Arguments,
    report: &mut Report,
) -> Result<()> {
    let n = if arguments.smoke { 64 } else { 8192 };
    for percent in [20, 10] {
        let name = format!("dense_{percent}%");
        if !arguments.generates::<T>(&name) {
            continue;
        }
        let dense = workload::dense(n, n, percent, percent);
        let pattern = Pattern::new(1);
        let a: Csr<T> =
            Operations::dense_to_csr(&Reference, DenseView::row_major(&dense, n, n)?, Keep::NonZero)?;
        let (elements, x) = (backend.upload(&dense)?, backend.upload(&pattern.filled(n))?);
        let products = Products {
            backend,
            clock,
            dense: DenseView::new(SpaceOf::<B>::view(&elements), n, n, n, Order::RowMajor)?,
            x: SpaceOf::<B>::view(&x),
            expected: &Expected::new(&a, &pattern, 1),
        };
        let bytes = traffic::spmv(&a) + traffic::compress::<T>(n * n, a.nnz(), 0) / PRODUCTS;
        let op = T::name_of("seed-003");
        let case = Case { flops: 2 * a.nnz(), ..Case::streams(&op, &name, bytes, a.nnz()) };
        report.compare(case, products.contenders()?)?;
    }
    Ok(())
}

/// The operands of every product.
struct Products<'a, B: Backend, T: Value> {
    backend: &'a B,
    clock: &'a Clock<'a>,
    dense: DenseView<'a, T, SpaceOf<B>>,
    x: ViewOf<'a, B, T>,
    expected: &'a Expected,
}

impl<'a, B: FullBackend<T, i32, i32>, T: Value> Products<'a, B, T> {
    fn contenders(&self) -> Result<Vec<Contender<'a>>> {
        let (backend, dense) = (self.backend, self.dense);
        let to_csr = move || -> sparse_core::Result<Csr<T, SpaceOf<B>>> {
            let options = PlanOptions::once();
            DenseToCompressedPlan::<_, Row, T, i32, i32>::new(backend, dense, Keep::NonZero, &options)?
                .run(dense)
        };
        let to_ell = move || converted::<B, _, Ell<_, _>>(backend, &to_csr()?, &EllLayout::default());
        let to_hyb = move || converted::<B, _, Hyb<_, _>>(backend, &to_csr()?, &HybWidth::Fraction(0.125));
        let mut contenders = vec![
            self.contender("ours".into(), to_csr, PlanOptions::default())?,
            self.contender("ours:ell".into(), to_ell, PlanOptions::default())?,
            self.contender("ours:hyb".into(), to_hyb, PlanOptions::default())?,
        ];
        let algorithms = SpmvKernel::<Csr<T, SpaceOf<B>>>::spmv_algorithms(backend, Op::None).iter();
        for simple in algorithms.filter(|algorithm| SIMPLE.contains(&algorithm.name)) {
            let name = format!("ours:csr:{}", simple.name);
            contenders.push(self.contender(name, to_csr, PlanOptions::forced(simple.name))?);
        }
        Ok(contenders)
    }

    /// The mean time of products with the matrix of `make`, whose time counts once.
    fn contender<M>(
        &self,
        name: String,
        make: impl Fn() -> sparse_core::Result<M> + 'a,
        options: PlanOptions,
    ) -> Result<Contender<'a>>
    where
        M: SparseFormat<Scalar = T, Space = SpaceOf<B>>,
        B: SpmvKernel<M>,
    {
        let &Self { backend, clock, x, .. } = self;
        let mut y = backend.upload(&vec![T::from_c64(f64::NAN.into()); self.expected.elements()])?;
        let products = move |times: usize, y: &mut Buf<B, T>| {
            let mut work = || {
                let a = make()?;
                let mut plan = SpmvPlan::new(backend, &a, Op::None, &options)?;
                (0..times).try_for_each(|_| plan.run(T::ONE, &a, x, T::ZERO, SpaceOf::<B>::view_mut(y)))
            };
            Ok(clock(&mut work)? / times as f64)
        };
        products(1, &mut y)?;
        self.expected.check(&backend.download(&y)?).with_context(|| name.clone())?;
        Ok(Contender::external(name, move || products(PRODUCTS, &mut y)))
    }
}

fn converted<B, A, M>(backend: &B, a: &A, layout: &<A as Conversion<M>>::Layout) -> sparse_core::Result<M>
where
    B: ConvertKernel<A, M>,
    A: Conversion<M> + SparseFormat<Space = SpaceOf<B>>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    ConvertPlan::new(backend, a, layout, &PlanOptions::once())?.run(a)
}
