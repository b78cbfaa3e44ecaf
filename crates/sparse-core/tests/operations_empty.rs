//! Empty shapes work: shapes without rows, without columns and without entries, through every operation. Runs under
//! Miri.

use sparse_core::op::{
    DenseToCompressedPlan, Duplicates, Keep, Op, Operations, RowStatistics, ScanKind, ScanOrder, ScanPlan,
};
use sparse_core::reference::{Entries, Reference};
use sparse_core::{
    BatchCsc, BatchCsr, Col, Coo, Csc, Csr, Dense, DenseBatchView, Ell, EllLayout, Hyb, HybWidth, Order,
    PlanOptions, Result, Row, Sell, SellLayout,
};

const SHAPES: [(usize, usize); 6] = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 5), (5, 1)];

/// All products, `to_dense` and the row statistics of a matrix without entries.
fn multiply_and_expand<M>(a: &M) -> Result<()>
where
    M: Entries<Scalar = f64>,
{
    for op in Op::ALL {
        let (rows, cols) = op.shape(a);
        let mut y = vec![3.0; rows];
        Reference.spmv(op, 1.0, a, &vec![f64::NAN; cols], 2.0, &mut y)?;
        assert_eq!(y, vec![6.0; rows]);
        for columns in [0, 2] {
            let b = Dense::zeros(cols, columns, Order::ColMajor)?;
            let mut c = Dense::new(vec![f64::NAN; rows * columns], rows, columns, Order::RowMajor)?;
            Reference.spmm(op, 1.0, a, b.as_view(), 0.0, c.as_view_mut())?;
            assert_eq!(c.data(), &vec![0.0; rows * columns]);
        }
    }
    let (rows, cols) = (a.nrows(), a.ncols());
    let mut dense = Dense::new(vec![f64::NAN; rows * cols], rows, cols, Order::ColMajor)?;
    Reference.to_dense(a, dense.as_view_mut())?;
    assert_eq!(dense.data(), &vec![0.0; rows * cols]);
    let statistics = Reference.row_statistics(a)?;
    assert_eq!(statistics, RowStatistics::from_lengths(vec![0; rows]));
    assert_eq!((statistics.nnz, statistics.empty, statistics.longest), (0, rows, 0));
    Ok(())
}

#[test]
fn products_and_expansions_of_nothing_in_every_format() -> Result<()> {
    for (rows, cols) in SHAPES {
        multiply_and_expand(&Csr::zeros(rows, cols)?)?;
        multiply_and_expand(&Csc::zeros(rows, cols)?)?;
        multiply_and_expand(&Coo::zeros(rows, cols)?)?;
        multiply_and_expand(&Ell::zeros(rows, cols)?)?;
        multiply_and_expand(&Hyb::zeros(rows, cols)?)?;
        multiply_and_expand(&Sell::zeros(rows, cols)?)?;
    }
    Ok(())
}

#[test]
fn conversions_of_nothing() -> Result<()> {
    for (rows, cols) in SHAPES {
        let (csr, csc, coo) =
            (Csr::<f64>::zeros(rows, cols)?, Csc::zeros(rows, cols)?, Coo::zeros(rows, cols)?);
        assert_eq!(Reference.convert::<_, Csr<f64>>(&coo, &Duplicates::Error)?, csr);
        assert_eq!(Reference.convert::<_, Csc<f64>>(&coo, &Duplicates::Sum)?, csc);
        assert_eq!(Reference.convert::<_, Coo<f64>>(&csr, &())?, coo);
        assert_eq!(Reference.convert::<_, Coo<f64>>(&csc, &())?, coo);
        assert_eq!(Reference.convert::<_, Csc<f64>>(&csr, &())?, csc);
        assert_eq!(Reference.convert::<_, Csr<f64>>(&csc, &())?, csr);
        let ell: Ell<f64> = Reference.convert(&csr, &EllLayout::default())?;
        let hyb: Hyb<f64> = Reference.convert(&csr, &HybWidth::default())?;
        let sell: Sell<f64> = Reference.convert(&csr, &SellLayout::default())?;
        assert_eq!(
            (&ell, &hyb, &sell),
            (&Ell::zeros(rows, cols)?, &Hyb::zeros(rows, cols)?, &Sell::zeros(rows, cols)?)
        );
        assert_eq!(Reference.convert::<_, Csr<f64>>(&ell, &())?, csr);
        assert_eq!(Reference.convert::<_, Csr<f64>>(&hyb, &())?, csr);
        assert_eq!(Reference.convert::<_, Csr<f64>>(&sell, &())?, csr);
        let (rows, cols): (Vec<_>, Vec<_>) = ((0..rows).collect(), (0..cols).collect());
        assert_eq!(Reference.select(&csr, &rows, &cols)?, csr);
        assert_eq!(Reference.select(&csc, &rows, &cols)?, csc);
        assert_eq!((Reference.sort(&csr)?, Reference.prune(&csr, Keep::NonZero)?), (csr.clone(), csr));
        assert_eq!((Reference.sort(&csc)?, Reference.prune(&csc, Keep::NonZero)?), (csc.clone(), csc));
        assert_eq!((Reference.sort(&coo)?, Reference.prune(&coo, Keep::NonZero)?), (coo.clone(), coo));
    }
    Ok(())
}

#[test]
fn dense_zeros_and_empty_batches() -> Result<()> {
    for (rows, cols) in SHAPES {
        let zeros = vec![0.0; 3 * rows * cols];
        for count in [0, 1, 3] {
            let ld = cols;
            let dense =
                DenseBatchView::<f64>::new(&zeros, count, rows * cols, (rows, cols), ld, Order::RowMajor)?;
            let options = PlanOptions::once();
            let csr: BatchCsr<f64> =
                DenseToCompressedPlan::<_, Row, _, _, _>::new(&Reference, dense, Keep::NonZero, &options)?
                    .run_batch(dense)?;
            assert_eq!(
                csr,
                BatchCsr::new((rows, cols), vec![0; count + 1], vec![0; count * (rows + 1)], vec![], vec![])?
            );
            let csc: BatchCsc<f64> =
                DenseToCompressedPlan::<_, Col, _, _, _>::new(&Reference, dense, Keep::NonZero, &options)?
                    .run_batch(dense)?;
            assert_eq!(
                csc,
                BatchCsc::new((rows, cols), vec![0; count + 1], vec![0; count * (cols + 1)], vec![], vec![])?
            );
            multiply_and_expand(&csr)?;
            multiply_and_expand(&csc)?;
        }
    }
    Ok(())
}

#[test]
fn scans_of_nothing() -> Result<()> {
    for shape in [(0, 0), (0, 5), (5, 0)] {
        for order in [ScanOrder::Flat, ScanOrder::RowMajor, ScanOrder::ColumnMajor] {
            let plan =
                ScanPlan::<_, i64>::new(&Reference, shape, order, ScanKind::Exclusive, &PlanOptions::once());
            plan?.run(&[], &mut [])?;
        }
    }
    Ok(())
}
