//! Sums and sampled products on every backend; products of sparse matrices and triangular solves on the host.

use crate::model::{Triplets, Value, scalar, triplets, value};
use crate::products::{Factors, factors, real};
use crate::{Cases, Property, for_types};
use nnz::op::{
    Aggregation, AllTypes, FullBackend, GalerkinPlan, Op, Operations, SpgemmKernel, SpmmReducePlan,
    SpmvKernel, Triangular, TrisolveKernel, VectorKernel,
};
use nnz::reference::Reference;
use nnz::{
    Backend, Cpu, Csc, Csr, DenseView, DenseViewMut, Host, Index, Order, PlanOptions, Result, Scalar, Space,
    SpaceOf, SparseFormat, c64,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// `alpha·A + beta·B`.
#[derive(Debug, Clone)]
pub(crate) struct Sum {
    a: Triplets,
    b: Triplets,
    factors: Factors,
}

impl Sum {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let (alpha, beta) = (real(self.factors.0), real(self.factors.1));
        let a = self.a.csr::<T, I, O>()?.to_device(backend)?;
        let b = self.b.csr::<T, I, O>()?.to_device(backend)?;
        let sum = backend.add(T::Acc::from_c64(alpha), &a, T::Acc::from_c64(beta), &b)?.to_host(backend)?;
        let (a, b) = (self.a.dense::<T>(), self.b.dense::<T>());
        for (i, (a, b)) in a.iter().zip(&b).enumerate() {
            for (j, (a, b)) in a.iter().zip(b).enumerate() {
                let expected = T::from_c64(alpha * a + beta * b);
                assert_eq!(sum.get(i, j).unwrap_or(T::ZERO), expected, "({i}, {j})");
            }
        }
        Ok(())
    }
}

impl Property for Sum {
    fn any() -> impl Strategy<Value = Self> {
        (triplets(), triplets(), factors()).prop_map(|(a, mut b, factors)| {
            b.reshape(a.rows, a.cols);
            Self { a, b, factors }
        })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// `P ∘ (U·Vᵀ)` for two columns of U and V.
#[derive(Debug, Clone)]
pub(crate) struct Sampled {
    p: Triplets,
    uv: Vec<(Value, Value)>,
}

impl Sampled {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let (u, v): (Vec<T>, Vec<T>) = self.uv.iter().map(|&(u, v)| (scalar::<T>(u), scalar::<T>(v))).unzip();
        let p = self.p.csr::<T, I, O>()?;
        let (rows, cols) = p.shape();
        let (u, v) = (&u[..2 * rows], &v[..2 * cols]);
        let (u_there, v_there) = (backend.upload(u)?, backend.upload(v)?);
        let view = |data, rows| DenseView::<T, SpaceOf<B>>::new(data, rows, 2, 2, nnz::Order::RowMajor);
        let u_view = view(SpaceOf::<B>::view(&u_there), rows)?;
        let v_view = view(SpaceOf::<B>::view(&v_there), cols)?;
        let sampled = Operations::sddmm(backend, &p.to_device(backend)?, u_view, v_view)?.to_host(backend)?;
        for ((i, j, sampled), (_, _, p)) in sampled.triplets().zip(p.triplets()) {
            let product: c64 = (0..2).map(|k| u[2 * i + k].to_c64() * v[2 * j + k].to_c64()).sum();
            assert_eq!(sampled, T::from_c64(p.to_c64() * product), "({i}, {j})");
        }
        Ok(())
    }
}

impl Property for Sampled {
    fn any() -> impl Strategy<Value = Self> {
        (triplets(), vec((value(), value()), 16)).prop_map(|(p, uv)| Self { p, uv })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// The largest products of each row of A with two columns of B: each is that of its argument.
#[derive(Debug, Clone)]
pub(crate) struct Aggregated {
    a: Triplets,
    b: Vec<Value>,
}

impl Aggregated {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        if T::DTYPE.is_complex() {
            return Ok(());
        }
        let a = self.a.csr::<T, I, O>()?;
        let (rows, cols) = a.shape();
        let b: Vec<T> = self.b[..2 * cols].iter().map(|&b| scalar(b)).collect();
        let (b_there, a_there) = (backend.upload(&b)?, a.to_device(backend)?);
        let (mut c, mut at) = (backend.zeros::<T>(2 * rows)?, backend.zeros::<i64>(2 * rows)?);
        let mut plan = SpmmReducePlan::new(backend, Aggregation::Max, &a_there, 2, &PlanOptions::once())?;
        let by_rows = Order::RowMajor;
        plan.run(
            &a_there,
            DenseView::new(SpaceOf::<B>::view(&b_there), cols, 2, 2, by_rows)?,
            DenseViewMut::new(SpaceOf::<B>::view_mut(&mut c), rows, 2, 2, by_rows)?,
            Some(DenseViewMut::new(SpaceOf::<B>::view_mut(&mut at), rows, 2, 2, by_rows)?),
        )?;
        let (c, at) = (backend.download(&c)?, backend.download(&at)?);
        let product =
            |k: usize, t: usize| a.values()[k].to_c64().re * b[2 * a.indices()[k].as_usize() + t].to_c64().re;
        for (k, (&c, &at)) in c.iter().zip(&at).enumerate() {
            let (entries, t) = (a.pattern().range(k / 2), k % 2);
            let largest = entries.clone().map(|k| product(k, t)).fold(f64::NEG_INFINITY, f64::max);
            let first = entries.clone().find(|&k| product(k, t) == largest);
            let expected = if entries.is_empty() { 0.0 } else { largest };
            assert_eq!((c.to_c64().re, at as usize), (expected, first.unwrap_or(a.nnz())), "element {k}");
        }
        Ok(())
    }
}

impl Property for Aggregated {
    fn any() -> impl Strategy<Value = Self> {
        (triplets(), vec(value(), 16)).prop_map(|(a, b)| Self { a, b })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// The softmax of rows: its ratios are exponentials of differences, and each row adds up to 1.
#[derive(Debug, Clone)]
pub(crate) struct Softmax(Triplets);

impl Softmax {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        if T::DTYPE.is_complex() {
            return Ok(());
        }
        let a = self.0.csr::<T, I, O>()?;
        let y = Operations::softmax(backend, &a.to_device(backend)?)?.to_host(backend)?;
        let near = |a: f64, b: f64| (a - b).abs() <= 0.02 * (a.abs() + b.abs());
        for row in 0..a.nrows() {
            let entries = a.pattern().range(row);
            let of = |values: &[T]| values[entries.clone()].iter().map(|v| v.to_c64().re).collect::<Vec<_>>();
            let (x, y) = (of(a.values()), of(y.values()));
            assert!(x.is_empty() || near(y.iter().sum(), 1.0), "row {row}: {y:?}");
            let agree = |k: usize| near(y[k], y[0] * (x[k] - x[0]).exp());
            assert!((0..x.len()).all(agree), "row {row}: {y:?} of {x:?}");
        }
        Ok(())
    }
}

impl Property for Softmax {
    fn any() -> impl Strategy<Value = Self> {
        triplets().prop_map(Self)
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// A, B of the shape of Aᵀ, and x.
type Factorized = (Triplets, Triplets, Vec<Value>);

fn factorized() -> impl Strategy<Value = Factorized> {
    (triplets(), triplets(), vec(value(), 9)).prop_map(|(a, mut b, x)| {
        b.reshape(a.cols, a.rows);
        (a, b, x)
    })
}

fn times<B, M>(backend: &B, a: &M, x: &[M::Scalar]) -> Result<Vec<M::Scalar>>
where
    B: Backend<Space = Host> + SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = Host>,
{
    let (one, zero) = (M::Scalar::from_c64(c64::ONE).to_acc(), M::Scalar::ZERO.to_acc());
    let mut y = vec![M::Scalar::ZERO; a.nrows()];
    Operations::spmv(backend, Op::None, one, a, x, zero, &mut y)?;
    Ok(y)
}

/// (A·B)·x = A·(B·x), and the same of A·B·A by one plan, whose result is that of any run.
fn associates<B, M>(backend: &B, a: &M, b: &M, x: &[M::Scalar]) -> Result<()>
where
    B: Backend<Space = Host> + SpgemmKernel<M> + SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = Host>,
{
    let bx = times(backend, b, &x[..b.ncols()])?;
    assert_eq!(
        times(backend, &Operations::spgemm(backend, a, b)?, &x[..b.ncols()])?,
        times(backend, a, &bx)?
    );
    let mut plan = GalerkinPlan::new(backend, a, b, a, &PlanOptions::default())?;
    let mut c = plan.run(a, b, a)?;
    let ax = times(backend, a, &x[..a.ncols()])?;
    let expected = times(backend, a, &times(backend, b, &ax)?)?;
    assert_eq!(times(backend, &c, &x[..a.ncols()])?, expected);
    plan.run_into(a, b, a, &mut c)?;
    assert_eq!(times(backend, &c, &x[..a.ncols()])?, expected);
    Ok(())
}

fn check_products<B>(backend: &B, (a, b, x): &Factorized) -> Result<()>
where
    B: Backend<Space = Host> + SpgemmKernel<Csr<c64>> + SpmvKernel<Csr<c64>>,
    B: SpgemmKernel<Csc<c64>> + SpmvKernel<Csc<c64>> + VectorKernel<c64>,
{
    let x: Vec<c64> = x.iter().map(|&x| scalar(x)).collect();
    let (a, b) = (a.csr::<c64, i32, i32>()?, b.csr::<c64, i32, i32>()?);
    associates(backend, &a, &b, &x)?;
    let by_columns = |matrix| Reference.convert::<_, Csc<c64>>(matrix, &());
    associates(backend, &by_columns(&a)?, &by_columns(&b)?, &x)
}

/// op(L)·x = b for the lower triangle of A, with a diagonal of 2 that divides without rounding.
fn check_triangles<B>(backend: &B, (a, x): &(Triplets, Vec<Value>)) -> Result<()>
where
    B: Backend<Space = Host> + TrisolveKernel<Csr<c64>> + SpmvKernel<Csr<c64>> + VectorKernel<c64>,
{
    let mut a = a.clone();
    a.reshape(a.rows, a.rows);
    let lower = a.canonical::<c64>().into_iter().filter(|&(i, j, _)| j < i);
    let diagonal = (0..a.rows).map(|k| (k, k, c64::new(2.0, 0.0)));
    let l = Csr::<c64>::from_triplets(a.rows, a.rows, lower.chain(diagonal))?;
    let x: Vec<c64> = x[..a.rows].iter().map(|&x| scalar(x)).collect();
    for op in Op::ALL {
        let (mut b, mut found) = (vec![c64::ZERO; a.rows], vec![c64::new(f64::NAN, 0.0); a.rows]);
        Operations::spmv(backend, op, c64::ONE, &l, &x, c64::ZERO, &mut b)?;
        Operations::trisolve(backend, Triangular::lower().with_op(op), &l, &b, &mut found)?;
        assert_eq!(found, x, "{op:?}");
    }
    Ok(())
}

impl Cases {
    fn on_the_host<V: std::fmt::Debug>(
        &self,
        operands: &impl Strategy<Value = V>,
        check: impl Fn(&V) -> Result<()>,
    ) {
        let config = Config { cases: self.0, failure_persistence: None, ..Config::default() };
        let checked = |operands: V| check(&operands).map_err(|error| TestCaseError::fail(error.to_string()));
        if let Err(error) = TestRunner::new(config).run(operands, checked) {
            panic!("{error}");
        }
    }
}

#[test]
fn products_of_sparse_matrices_associate() {
    let cpu = Cpu::new().unwrap();
    Cases(crate::HOST).on_the_host(&factorized(), |operands| {
        check_products(&Reference, operands)?;
        check_products(&cpu, operands)
    });
}

#[test]
fn triangular_systems_have_the_solution_that_they_were_made_of() {
    let cpu = Cpu::new().unwrap();
    Cases(crate::HOST).on_the_host(&(triplets(), vec(value(), 9)), |operands| {
        check_triangles(&Reference, operands)?;
        check_triangles(&cpu, operands)
    });
}
