//! SpMV and SpMM in every format, SpMV of batches, and the vector operations.

use crate::model::{Triplets, Value, scalar, triplets, value};
use crate::{Property, for_types, in_every_format};
use nnz::backend::Buf;
use nnz::op::vector::{axpby, dot, nrm2, scal};
use nnz::op::{AllTypes, FullBackend, Op, Operations, RealOf, SpmmKernel, SpmvKernel, VectorKernel};
use nnz::reference::Reference;
use nnz::{
    BatchCsr, DenseView, DenseViewMut, Host, Index, Order, Result, Scalar, Space, SpaceOf, SparseFormat, c64,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// `alpha` and `beta`.
pub(crate) type Factors = (i32, i32);

fn factor<T: Scalar>(factor: i32) -> T::Acc {
    T::Acc::from_c64(real(factor))
}

pub(crate) fn real(factor: i32) -> c64 {
    c64::from(f64::from(factor))
}

/// Row `i` of op(A)·x, with A written out.
fn row_product<T: Scalar>(op: Op, dense: &[Vec<c64>], i: usize, x: impl Iterator<Item = T>) -> c64 {
    let element = |j: usize| if op.transposes() { dense[j][i] } else { dense[i][j] };
    x.enumerate().map(|(j, x)| op.apply(element(j)) * x.to_c64()).sum()
}

/// x and y, of scalars of a type.
fn unzipped<T: Scalar>(xy: &[(Value, Value)]) -> (Vec<T>, Vec<T>) {
    xy.iter().map(|&(x, y)| (scalar::<T>(x), scalar::<T>(y))).unzip()
}

fn multiplies<B, M>(
    backend: &B,
    a: &M,
    dense: &[Vec<c64>],
    (x, y0): (&[M::Scalar], &[M::Scalar]),
    (alpha, beta): Factors,
) -> Result<()>
where
    B: SpmvKernel<M> + VectorKernel<M::Scalar>,
    M: SparseFormat<Space = SpaceOf<B>>,
{
    for op in Op::ALL {
        let (rows, cols) = op.shape(a);
        let (x, y0) = (&x[..cols], &y0[..rows]);
        let (device, mut y) = (backend.upload(x)?, backend.upload(y0)?);
        let (alpha_acc, beta_acc) = (factor::<M::Scalar>(alpha), factor::<M::Scalar>(beta));
        Operations::spmv(
            backend,
            op,
            alpha_acc,
            a,
            SpaceOf::<B>::view(&device),
            beta_acc,
            SpaceOf::<B>::view_mut(&mut y),
        )?;
        for (i, y) in backend.download(&y)?.into_iter().enumerate() {
            let product = row_product(op, dense, i, x.iter().copied());
            let expected = product * real(alpha) + y0[i].to_c64() * real(beta);
            assert_eq!(y, M::Scalar::from_c64(expected), "{} {op:?}: element {i}", M::FORMAT);
        }
    }
    Ok(())
}

/// `alpha·op(A)·x + beta·y`.
#[derive(Debug, Clone)]
pub(crate) struct Spmv {
    a: Triplets,
    xy: Vec<(Value, Value)>,
    factors: Factors,
}

impl Spmv {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let (x, y) = unzipped::<T>(&self.xy);
        let dense = self.a.dense::<T>();
        in_every_format!(backend, self.a.csr::<T, I, O>()?, |a| {
            multiplies(backend, a, &dense, (&x, &y), self.factors)
        });
        Ok(())
    }
}

impl Property for Spmv {
    fn any() -> impl Strategy<Value = Self> {
        (triplets(), vec((value(), value()), 8), factors()).prop_map(|(a, xy, factors)| Self {
            a,
            xy,
            factors,
        })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// `alpha·op(A)·B + beta·C`, where lines of B and C are padded by three elements.
#[derive(Debug, Clone)]
pub(crate) struct Spmm {
    a: Triplets,
    values: Vec<Value>,
    columns: usize,
    orders: (Order, Order),
    factors: Factors,
}

impl Spmm {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let values: Vec<T> = self.values.iter().map(|&v| scalar(v)).collect();
        let dense = self.a.dense::<T>();
        in_every_format!(backend, self.a.csr::<T, I, O>()?, |a| {
            self.multiplies(backend, a, &dense, &values)
        });
        Ok(())
    }

    /// Multiplies, and checks that C's padding stays.
    fn multiplies<B, M>(&self, backend: &B, a: &M, dense: &[Vec<c64>], values: &[M::Scalar]) -> Result<()>
    where
        B: SpmmKernel<M> + VectorKernel<M::Scalar>,
        M: SparseFormat<Space = SpaceOf<B>>,
    {
        let Self { columns, orders: (order_b, order_c), factors: (alpha, beta), .. } = *self;
        let line = |order, rows| 3 + if order == Order::RowMajor { columns } else { rows };
        let (alpha_acc, beta_acc) = (factor::<M::Scalar>(alpha), factor::<M::Scalar>(beta));
        for op in Op::ALL {
            let (rows, cols) = op.shape(a);
            let device = backend.upload(values)?;
            let mut product: Buf<B, M::Scalar> = backend.upload(values)?;
            let b = DenseView::<M::Scalar, SpaceOf<B>>::new(
                SpaceOf::<B>::view(&device),
                cols,
                columns,
                line(order_b, cols),
                order_b,
            )?;
            let c = DenseViewMut::<M::Scalar, SpaceOf<B>>::new(
                SpaceOf::<B>::view_mut(&mut product),
                rows,
                columns,
                line(order_c, rows),
                order_c,
            )?;
            Operations::spmm(backend, op, alpha_acc, a, b, beta_acc, c)?;

            let b = DenseView::<M::Scalar>::new(values, cols, columns, line(order_b, cols), order_b)?;
            let mut expected = values.to_vec();
            let mut c =
                DenseViewMut::<M::Scalar>::new(&mut expected, rows, columns, line(order_c, rows), order_c)?;
            for i in 0..rows {
                for k in 0..columns {
                    let product = row_product(op, dense, i, (0..cols).map(|j| b.at(j, k)));
                    let c = c.at_mut(i, k);
                    *c = M::Scalar::from_c64(product * real(alpha) + c.to_c64() * real(beta));
                }
            }
            assert_eq!(backend.download(&product)?, expected, "{} {op:?}", M::FORMAT);
        }
        Ok(())
    }
}

impl Property for Spmm {
    fn any() -> impl Strategy<Value = Self> {
        (triplets(), vec(value(), 11 * 11), 0..5_usize, (order(), order()), factors())
            .prop_map(|(a, values, columns, orders, factors)| Self { a, values, columns, orders, factors })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// SpMV of a batch of A twice, which is the block-diagonal matrix (A, A).
#[derive(Debug, Clone)]
pub(crate) struct BatchSpmv {
    a: Triplets,
    xy: Vec<(Value, Value)>,
    factors: Factors,
}

impl BatchSpmv {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let Self { a: t, factors, .. } = self;
        let (x, y) = unzipped::<T>(&self.xy);
        let (offsets, indices, values) = t.csr::<T, I, O>()?.into_parts();
        let nnz = values.len();
        let batch: BatchCsr<T, Host, I, O> = BatchCsr::new(
            (t.rows, t.cols),
            vec![0, nnz, 2 * nnz],
            [offsets.clone(), offsets].concat(),
            [indices.clone(), indices].concat(),
            [values.clone(), values].concat(),
        )?;
        let mut diagonal = vec![vec![c64::default(); 2 * t.cols]; 2 * t.rows];
        for (i, row) in t.dense::<T>().into_iter().enumerate() {
            diagonal[i][..t.cols].copy_from_slice(&row);
            diagonal[t.rows + i][t.cols..].copy_from_slice(&row);
        }
        multiplies(backend, &batch.to_device(backend)?, &diagonal, (&x, &y), *factors)?;
        // As CSC the same arrays are (Aᵀ, Aᵀ).
        let transposed: Vec<Vec<c64>> =
            (0..2 * t.cols).map(|j| diagonal.iter().map(|row| row[j]).collect()).collect();
        let batch = batch.into_transpose().to_device(backend)?;
        multiplies(backend, &batch, &transposed, (&x, &y), *factors)
    }
}

impl Property for BatchSpmv {
    fn any() -> impl Strategy<Value = Self> {
        (triplets(), vec((value(), value()), 16), factors()).prop_map(|(a, xy, factors)| Self {
            a,
            xy,
            factors,
        })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// `axpby`, `scal`, `dot` and `nrm2`.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    xy: Vec<(Value, Value)>,
    factors: Factors,
}

impl Vectors {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let (alpha, beta) = self.factors;
        let (x, y) = unzipped::<T>(&self.xy);
        let exact = |values: &[T]| values.iter().map(|v| v.to_c64()).collect::<Vec<_>>();
        let (x64, y64) = (exact(&x), exact(&y));
        let (x, mut y) = (backend.upload(&x)?, backend.upload(&y)?);
        let (view, view_mut) = (SpaceOf::<B>::view::<T>, SpaceOf::<B>::view_mut::<T>);

        let expected: c64 = x64.iter().zip(&y64).map(|(x, y)| x.conj() * y).sum();
        assert_eq!(dot::<B, T>(backend, view(&x), view(&y))?.to_c64(), expected);

        axpby::<B, T>(backend, factor::<T>(alpha), view(&x), factor::<T>(beta), view_mut(&mut y))?;
        let expected: Vec<c64> =
            x64.iter().zip(&y64).map(|(x, y)| x * real(alpha) + y * real(beta)).collect();
        assert_eq!(exact(&backend.download(&y)?), expected);

        // A device may round a square root otherwise in the last places.
        let norm = x64.iter().map(|x| x.norm_sqr()).sum::<f64>().sqrt();
        let expected = RealOf::<T>::from_c64(norm.into()).to_c64().re;
        let found = nrm2::<B, T>(backend, view(&x))?.to_c64().re;
        let ulp = 0.5f64.powi(T::Acc::PRECISION as i32 - 1);
        assert!((found - expected).abs() <= 4.0 * ulp * expected, "{found} {expected}");

        let mut x = x;
        scal::<B, T>(backend, factor::<T>(alpha), view_mut(&mut x))?;
        assert_eq!(exact(&backend.download(&x)?), x64.iter().map(|x| x * real(alpha)).collect::<Vec<_>>());
        Ok(())
    }
}

impl Property for Vectors {
    fn any() -> impl Strategy<Value = Self> {
        (vec((value(), value()), 0..20), factors()).prop_map(|(xy, factors)| Self { xy, factors })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::RowMajor), Just(Order::ColMajor)]
}

pub(crate) fn factors() -> impl Strategy<Value = Factors> {
    (-2..3, -2..3)
}
