//! Conversions, dense matrices, batches, sort, prune and statistics.

use crate::model::{Triplets, scalar, triplets};
use crate::{Property, for_types, in_every_format};
use nnz::backend::Buf;
use nnz::op::{
    AllTypes, DenseToCompressedPlan, Duplicates, FullBackend, Keep, Operations, RowStatistics, ToDenseKernel,
};
use nnz::reference::Reference;
use nnz::{
    BatchCsc, BatchCsr, Col, Coo, Csc, Csr, DenseBatchView, DenseView, DenseViewMut, Ell, EllLayout, Host,
    Hyb, HybWidth, Index, Order, PlanOptions, Result, Row, Scalar, Sell, SellLayout, Space, SpaceOf,
    SparseFormat,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// CSR in another format and back, and every conversion between CSR, CSC and COO.
#[derive(Debug, Clone)]
pub(crate) struct RoundTrip {
    a: Triplets,
    width: usize,
    layout: (usize, usize),
}

impl RoundTrip {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let (slice_height, sort_window) = self.layout;
        let (csr, sorted) = (self.a.csr::<T, I, O>()?, self.a.sorted_csr::<T, I, O>()?);
        let device = csr.to_device(backend)?;
        let ell: Ell<T, SpaceOf<B>, I> = Operations::convert(backend, &device, &EllLayout::default())?;
        let hyb: Hyb<T, SpaceOf<B>, I> = Operations::convert(backend, &device, &HybWidth::Width(self.width))?;
        let sell: Sell<T, SpaceOf<B>, I, O> =
            Operations::convert(backend, &device, &SellLayout { slice_height, sort_window })?;
        let back = |csr: Result<Csr<T, SpaceOf<B>, I, O>>| csr?.to_host(backend);
        assert_eq!(back(Operations::convert(backend, &ell, &()))?, csr);
        assert_eq!(back(Operations::convert(backend, &hyb, &()))?, csr);
        assert_eq!(back(Operations::convert(backend, &sell, &()))?, csr);
        let overflow: usize = csr.row_lengths().iter().map(|n| n.saturating_sub(self.width)).sum();
        assert_eq!(
            (hyb.coo().nnz(), hyb.nnz(), ell.nnz(), sell.nnz()),
            (overflow, csr.nnz(), csr.nnz(), csr.nnz())
        );

        let coo: Coo<T, SpaceOf<B>, I> = Operations::convert(backend, &device, &())?;
        let csc: Csc<T, SpaceOf<B>, I, O> = Operations::convert(backend, &device, &())?;
        let by_columns: Coo<T, SpaceOf<B>, I> = Operations::convert(backend, &csc, &())?;
        assert!(coo.to_host(backend)?.triplets().eq(csr.triplets()));
        assert!(by_columns.to_host(backend)?.triplets().eq(csc.to_host(backend)?.triplets()));
        assert_eq!(back(Operations::convert(backend, &coo, &Duplicates::Keep))?, sorted);
        assert_eq!(back(Operations::convert(backend, &csc, &()))?, sorted);
        let from_coo: Csc<T, SpaceOf<B>, I, O> = Operations::convert(backend, &coo, &Duplicates::Keep)?;
        assert_eq!(from_coo.to_host(backend)?, csc.to_host(backend)?);

        assert_eq!(back(Operations::sort(backend, &device))?, sorted);
        assert_eq!(Operations::sort(backend, &csc)?.to_host(backend)?, csc.to_host(backend)?);
        let sorted_coo: Coo<T, Host, I> = Reference.convert(&sorted, &())?;
        assert_eq!(Operations::sort(backend, &coo)?.to_host(backend)?, sorted_coo);
        Ok(())
    }
}

impl Property for RoundTrip {
    fn any() -> impl Strategy<Value = Self> {
        (triplets(), 0..6_usize, (1..9_usize, 1..20_usize)).prop_map(|(a, width, layout)| Self {
            a,
            width,
            layout,
        })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// COO to CSR under every policy for entries that occur twice.
#[derive(Debug, Clone)]
pub(crate) struct DuplicatesByPolicy(Triplets);

impl DuplicatesByPolicy {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let mut of_coordinate = BTreeMap::<(usize, usize), Vec<T>>::new();
        for (i, j, value) in self.0.entries::<T>() {
            of_coordinate.entry((i, j)).or_default().push(value);
        }
        let coo = self.0.coo::<T, I>()?.to_device(backend)?;
        let csr = |duplicates| -> Result<Csr<T, Host, I, O>> {
            Operations::convert::<_, Csr<T, SpaceOf<B>, I, O>>(backend, &coo, &duplicates)?.to_host(backend)
        };
        let sum = |values: &Vec<T>| T::from_c64(values.iter().map(|v| v.to_c64()).sum());
        let each = |value: &dyn Fn(&Vec<T>) -> T| -> Vec<_> {
            of_coordinate.iter().map(|(&(i, j), values)| (i, j, value(values))).collect()
        };
        assert!(csr(Duplicates::Sum)?.triplets().eq(each(&sum)));
        assert!(csr(Duplicates::Last)?.triplets().eq(each(&|values| values[values.len() - 1])));
        assert_eq!(csr(Duplicates::Keep)?, self.0.sorted_csr()?);
        match of_coordinate.iter().find(|(_, values)| values.len() > 1) {
            None => assert!(csr(Duplicates::Error)?.triplets().eq(each(&|values| values[0]))),
            Some(((i, j), values)) => {
                let message = format!("coo: row {i}: column {j} stands {} times", values.len());
                assert_eq!(csr(Duplicates::Error).unwrap_err().to_string(), message);
            }
        }
        Ok(())
    }
}

impl Property for DuplicatesByPolicy {
    fn any() -> impl Strategy<Value = Self> {
        triplets().prop_map(Self)
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// The arrays of a dense matrix whose lines are padded by two elements.
struct Strided<T> {
    data: Vec<T>,
    ld: usize,
    order: Order,
}

/// The value of padding.
const PADDING: (i32, i32) = (99, 0);

impl<T: Scalar> Strided<T> {
    fn new(t: &Triplets, order: Order) -> Self {
        let (lines, line) = if order == Order::RowMajor { (t.rows, t.cols) } else { (t.cols, t.rows) };
        Self { data: vec![scalar(PADDING); lines * (line + 2)], ld: line + 2, order }
    }

    fn of(t: &Triplets, order: Order) -> Result<Self> {
        let mut strided = Self::new(t, order);
        let mut view = DenseViewMut::<T>::new(&mut strided.data, t.rows, t.cols, strided.ld, order)?;
        for (i, row) in t.dense::<T>().into_iter().enumerate() {
            for (j, value) in row.into_iter().enumerate() {
                *view.at_mut(i, j) = T::from_c64(value);
            }
        }
        Ok(strided)
    }
}

/// Dense matrices, as every format writes them and as they are compressed.
#[derive(Debug, Clone)]
pub(crate) struct DenseAndBack(Triplets);

impl DenseAndBack {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let t = &self.0;
        in_every_format!(backend, t.csr::<T, I, O>()?, |a| self.expands(backend, a));
        for order in [Order::RowMajor, Order::ColMajor] {
            let Strided { data, ld, order } = Strided::<T>::of(t, order)?;
            let device: Buf<B, T> = backend.upload(&data)?;
            let view =
                DenseView::<T, SpaceOf<B>>::new(SpaceOf::<B>::view(&device), t.rows, t.cols, ld, order)?;
            let csr: Csr<T, SpaceOf<B>, I, O> = Operations::dense_to_csr(backend, view, Keep::NonZero)?;
            let csr = csr.to_host(backend)?;
            assert!(csr.triplets().eq(t.canonical()));
            let options = PlanOptions::once();
            let mut by_rows =
                DenseToCompressedPlan::<_, Row, T, I, O>::new(backend, view, Keep::NonZero, &options)?;
            assert!(by_rows.run_coo(view)?.to_host(backend)?.triplets().eq(t.canonical()));
            let csc = DenseToCompressedPlan::<_, Col, T, I, O>::new(backend, view, Keep::NonZero, &options)?
                .run(view)?;
            assert_eq!(csc.to_host(backend)?, Reference.convert(&csr, &())?);
        }
        Ok(())
    }

    fn expands<B, M>(&self, backend: &B, a: &M) -> Result<()>
    where
        B: ToDenseKernel<M>,
        M: SparseFormat<Space = SpaceOf<B>>,
    {
        let t = &self.0;
        for order in [Order::RowMajor, Order::ColMajor] {
            let Strided { data, ld, order } = Strided::<M::Scalar>::new(t, order);
            let mut written = backend.upload(&data)?;
            let view = SpaceOf::<B>::view_mut(&mut written);
            Operations::to_dense(
                backend,
                a,
                DenseViewMut::<_, SpaceOf<B>>::new(view, t.rows, t.cols, ld, order)?,
            )?;
            assert_eq!(backend.download(&written)?, Strided::of(t, order)?.data, "{}", M::FORMAT);
        }
        Ok(())
    }
}

impl Property for DenseAndBack {
    fn any() -> impl Strategy<Value = Self> {
        triplets().prop_map(Self)
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// The members of a batch, one after the other with a gap, which compress as each does by itself.
#[derive(Debug, Clone)]
pub(crate) struct BatchOfMembers(Vec<Triplets>);

impl BatchOfMembers {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let members = &self.0;
        let shape = (members[0].rows, members[0].cols);
        let mut data = vec![];
        for member in members {
            data.extend(member.dense::<T>().into_iter().flatten().map(T::from_c64));
            data.push(scalar(PADDING));
        }
        let (device, stride) = (backend.upload(&data)?, shape.0 * shape.1 + 1);
        let view = DenseBatchView::<T, SpaceOf<B>>::new(
            SpaceOf::<B>::view(&device),
            members.len(),
            stride,
            shape,
            shape.1,
            Order::RowMajor,
        )?;
        let options = PlanOptions::once();
        let csr: BatchCsr<T, SpaceOf<B>, I, O> =
            DenseToCompressedPlan::<_, Row, _, _, _>::new(backend, view, Keep::NonZero, &options)?
                .run_batch(view)?;
        let csc: BatchCsc<T, SpaceOf<B>, I, O> =
            DenseToCompressedPlan::<_, Col, _, _, _>::new(backend, view, Keep::NonZero, &options)?
                .run_batch(view)?;
        let (csr, csc) = (csr.to_host(backend)?, csc.to_host(backend)?);
        for (k, member) in members.iter().enumerate() {
            let expected: Csr<T, Host, I, O> = csr.member(k).to_owned()?;
            assert!(expected.triplets().eq(member.canonical()));
            assert_eq!(csc.member(k).to_owned()?, Reference.convert(&expected, &())?);
        }
        Ok(())
    }
}

impl Property for BatchOfMembers {
    /// Up to three matrices of one shape.
    fn any() -> impl Strategy<Value = Self> {
        prop::collection::vec(triplets(), 1..4).prop_map(|mut members| {
            let (rows, cols) = (members[0].rows, members[0].cols);
            members.iter_mut().for_each(|member| member.reshape(rows, cols));
            Self(members)
        })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// Matrices without their zeros.
#[derive(Debug, Clone)]
pub(crate) struct Pruned(Triplets);

impl Pruned {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let (csr, coo) = (self.0.csr::<T, I, O>()?, self.0.coo::<T, I>()?);
        let pruned = |entries: Vec<(usize, usize, T)>| entries.into_iter().filter(|e| !e.2.is_zero());
        let found = Operations::prune(backend, &csr.to_device(backend)?, Keep::NonZero)?.to_host(backend)?;
        assert!(found.triplets().eq(pruned(csr.triplets().collect())));
        let found = Operations::prune(backend, &coo.to_device(backend)?, Keep::NonZero)?.to_host(backend)?;
        assert!(found.triplets().eq(pruned(coo.triplets().collect())));
        Ok(())
    }
}

impl Property for Pruned {
    fn any() -> impl Strategy<Value = Self> {
        triplets().prop_map(Self)
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// Rows and columns by lists, which are taken modulo the extents.
#[derive(Debug, Clone)]
pub(crate) struct Selected {
    a: Triplets,
    rows: Vec<usize>,
    cols: Vec<usize>,
}

impl Selected {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let below = |list: &[usize], extent: usize| match extent {
            0 => vec![],
            _ => list.iter().map(|k| k % extent).collect(),
        };
        let (rows, cols) = (below(&self.rows, self.a.rows), below(&self.cols, self.a.cols));
        let csr = self.a.csr::<T, I, O>()?;
        let mut expected = vec![];
        for (k, &row) in rows.iter().enumerate() {
            for (_, j, value) in csr.triplets().filter(|entry| entry.0 == row) {
                let places = (0..cols.len()).filter(|&place| cols[place] == j);
                expected.extend(places.map(|place| (k, place, value)));
            }
        }
        let a = csr.to_device(backend)?;
        let found = Operations::select(backend, &a, &rows, &cols)?.to_host(backend)?;
        assert!(found.triplets().eq(expected.iter().copied()));
        let found = Operations::select(backend, &a.into_transpose(), &cols, &rows)?.to_host(backend)?;
        assert!(found.triplets().eq(expected.iter().map(|&(k, place, value)| (place, k, value))));
        Ok(())
    }
}

impl Property for Selected {
    fn any() -> impl Strategy<Value = Self> {
        let list = || proptest::collection::vec(0..9_usize, 0..12);
        (triplets(), list(), list()).prop_map(|(a, rows, cols)| Self { a, rows, cols })
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}

/// Statistics of the lengths of rows.
#[derive(Debug, Clone)]
pub(crate) struct Statistics(Triplets);

impl Statistics {
    fn of<B: FullBackend<T, I, O>, T: Scalar, I: Index, O: Index>(&self, backend: &B) -> Result<()> {
        let t = &self.0;
        let entries = t.entries::<T>();
        let length = |row| entries.iter().filter(|e| e.0 == row).count();
        let expected = RowStatistics::from_lengths((0..t.rows).map(length));
        let csr = t.csr::<T, I, O>()?;
        assert_eq!(Operations::row_statistics(backend, &csr.to_device(backend)?)?, expected);
        // Only the reference computes row statistics of the other formats.
        in_every_format!(&Reference, csr, |a| {
            assert_eq!(Reference.row_statistics(a)?, expected);
            Result::Ok(())
        });
        assert_eq!(expected.histogram.iter().sum::<usize>(), t.rows);
        assert_eq!((expected.nnz, expected.rows), (entries.len(), t.rows));
        Ok(())
    }
}

impl Property for Statistics {
    fn any() -> impl Strategy<Value = Self> {
        triplets().prop_map(Self)
    }

    fn check<B: AllTypes>(&self, backend: &B) -> Result<()> {
        for_types!(self.of(backend))
    }
}
