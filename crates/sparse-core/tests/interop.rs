//! Conversions from and to other crates, each behind its feature: every entry arrives, and what the other side does not
//! take is refused with a reason.
//!
//! `cargo test -p sparse-core --all-features --test interop`

use sparse_core::{Csr, Result};

/// Sorted and without duplicates; a zero is stored, and a row is empty.
fn canonical() -> Result<Csr<f64>> {
    Csr::from_triplets(3, 4, [(0, 1, 1.5), (0, 3, -2.0), (2, 0, 0.0), (2, 2, 4.0)])
}

fn unsorted() -> Result<Csr<f64>> {
    Csr::new_unsorted(1, 3, vec![0, 3], vec![2, 0, 2], vec![1.0, 2.0, 3.0])
}

#[test]
fn the_matrices_are_what_the_tests_need() -> Result<()> {
    assert!(canonical()?.order().unique && !unsorted()?.order().sorted);
    Ok(())
}

#[cfg(feature = "serde")]
mod serde {
    use super::{canonical, unsorted};
    use sparse_core::{Coo, Csc, Csr, Dense, Host, Order, Result, c32, f16};

    #[test]
    fn what_is_written_is_read_again() -> Result<()> {
        for a in [canonical()?, unsorted()?, Csr::from_triplets(0, 3, [])?] {
            let text = serde_json::to_string(&a).unwrap();
            assert_eq!(serde_json::from_str::<Csr<f64>>(&text).unwrap(), a);
            assert_eq!(
                serde_json::from_str::<Csr<f64, Host, i64, i64>>(&text).unwrap().triplets().count(),
                a.nnz()
            );
        }
        let text = r#"{"format":"csr","nrows":1,"ncols":2,"offsets":[0,1],"indices":[1],"values":[0.5]}"#;
        assert_eq!(serde_json::to_string(&Csr::<f64>::from_triplets(1, 2, [(0, 1, 0.5)])?).unwrap(), text);

        let coo = Coo::<c32>::from_triplets(2, 2, [(1, 0, c32::new(1.0, -1.0)), (0, 0, c32::new(2.0, 0.0))])?;
        assert_eq!(serde_json::from_str::<Coo<c32>>(&serde_json::to_string(&coo).unwrap()).unwrap(), coo);
        let half = Csr::<f16>::from_triplets(1, 1, [(0, 0, f16::from_f32(0.5))])?;
        assert_eq!(serde_json::from_str::<Csr<f16>>(&serde_json::to_string(&half).unwrap()).unwrap(), half);
        let dense = Dense::new(vec![1.0, 2.0], 2, 1, Order::ColMajor)?;
        assert_eq!(
            serde_json::from_str::<Dense<f64>>(&serde_json::to_string(&dense).unwrap()).unwrap(),
            dense
        );
        Ok(())
    }

    #[test]
    fn what_breaks_an_invariant_is_refused() -> Result<()> {
        let csr = |fields: &str| {
            let text = format!(r#"{{"format":"csr","nrows":1,"ncols":2,{fields},"values":[0.5]}}"#);
            serde_json::from_str::<Csr<f64>>(&text).unwrap_err().to_string()
        };
        assert!(csr(r#""offsets":[0,1],"indices":[2]"#).starts_with("csr: row 0: column 2 is not below 2"));
        assert!(csr(r#""offsets":[0,1],"indices":[-1]"#).starts_with("csr: row 0: column -1 is negative"));
        assert!(csr(r#""offsets":[0,2],"indices":[1]"#).starts_with("csr: the last offset is 2"));
        assert!(
            csr(r#""offsets":[],"indices":[1]"#)
                .starts_with("csr: offsets has 0 elements where 2 are needed")
        );
        assert!(csr(r#""indices":[1]"#).contains("missing field `offsets`"));
        let transposed = serde_json::from_str::<Csc<f64>>(&serde_json::to_string(&canonical()?).unwrap());
        assert!(transposed.unwrap_err().to_string().starts_with("csc: the format is `csr`, not `csc`"));
        let short = r#"{"format":"dense","nrows":2,"ncols":2,"order":"row_major","values":[1.0]}"#;
        assert!(serde_json::from_str::<Dense<f64>>(short).is_err());
        Ok(())
    }
}

#[cfg(feature = "ndarray_0_17")]
mod ndarray {
    use ndarray::{Array2, ArrayView2, array, s};
    use sparse_core::{Csr, Dense, DenseView, Order, Result};

    #[test]
    fn views_share_memory() -> Result<()> {
        let array = array![[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]];
        for (view, order) in [(array.view(), Order::RowMajor), (array.t(), Order::ColMajor)] {
            let dense = DenseView::try_from(view)?;
            assert_eq!((dense.shape(), dense.order()), (view.dim(), order));
            assert_eq!(dense.data().as_ptr(), array.as_ptr());
            assert_eq!(ArrayView2::try_from(dense)?, view);
        }
        let a = Csr::<f64>::from_dense(array.view().try_into()?)?;
        assert!(a.triplets().eq([(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)]));
        assert_eq!(Array2::try_from(a.to_dense()?)?, array);

        let gaps = DenseView::try_from(array.slice(s![.., ..2]));
        assert!(gaps.unwrap_err().to_string().contains("as_standard_layout"));
        let strided = DenseView::<f64>::new(&[1.0, 9.0, 2.0], 2, 1, 2, Order::RowMajor)?;
        assert_eq!(ArrayView2::try_from(strided)?, array![[1.0], [2.0]]);
        let empty = Dense::<f64>::zeros(0, 3, Order::ColMajor)?;
        assert_eq!(ArrayView2::try_from(empty.as_view())?.dim(), (0, 3));
        Ok(())
    }

    #[test]
    fn owned_arrays_keep_their_elements() -> Result<()> {
        let array = array![[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]];
        for owned in [array.clone(), array.clone().reversed_axes(), array.slice(s![..;-1, 1..]).to_owned()] {
            let dense = Dense::try_from(owned.clone())?;
            assert_eq!(Array2::try_from(dense)?, owned);
        }
        let dense = Dense::new(vec![1.0, 2.0, 3.0, 4.0], 2, 2, Order::ColMajor)?;
        assert_eq!(Array2::try_from(dense)?, array![[1.0, 3.0], [2.0, 4.0]]);
        Ok(())
    }
}

#[cfg(feature = "sprs_0_11")]
mod sprs {
    use super::{canonical, unsorted};
    use sparse_core::{Coo, Csc, Csr, Result};
    use sprs::{CsMatI, CsMatViewI, TriMatI};

    #[test]
    fn matrices_are_shared_and_moved() -> Result<()> {
        let a = canonical()?;
        let view = CsMatViewI::try_from(&a)?;
        assert_eq!((view.shape(), view.data().as_ptr()), ((3, 4), a.values().as_ptr()));
        assert_eq!((view.is_csr(), view.get(2, 2)), (true, Some(&4.0)));
        assert_eq!(Csr::try_from(view.to_owned())?, a);
        let by_columns = Csc::<f64>::try_from(view.to_owned())?;
        assert_eq!(by_columns.to_dense()?, a.to_dense()?);
        assert!(CsMatViewI::try_from(&by_columns)?.is_csc());
        let values = a.values().as_ptr();
        let moved = CsMatI::try_from(a)?;
        assert_eq!(moved.data().as_ptr(), values);
        Ok(())
    }

    #[test]
    fn unsorted_matrices_are_refused_and_triplets_are_not() -> Result<()> {
        let refused = CsMatViewI::try_from(&unsorted()?).unwrap_err().to_string();
        assert!(refused.starts_with("csr: sprs: "), "{refused}");
        let coo = Coo::<f64>::from_triplets(2, 3, [(1, 2, 1.0), (0, 0, 2.0), (1, 2, 4.0)])?;
        let triplets = TriMatI::from(coo.clone());
        assert_eq!(triplets.to_csr::<i32>().get(1, 2), Some(&5.0));
        assert_eq!(Coo::try_from(&triplets)?, coo);
        Ok(())
    }
}

#[cfg(feature = "nalgebra_0_35")]
mod nalgebra {
    use super::{canonical, unsorted};
    use nalgebra::{DMatrix, DMatrixView};
    use nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};
    use sparse_core::{Coo, Csc, Csr, Dense, DenseView, Order, Result};

    #[test]
    fn sparse_matrices_are_copied() -> Result<()> {
        let a = canonical()?;
        let copy = CsrMatrix::try_from(&a)?;
        assert_eq!((copy.nrows(), copy.ncols(), copy.nnz()), (3, 4, 4));
        assert_eq!(Csr::<f64>::try_from(&copy)?, a);
        let csc = Csc::<f64>::from_triplets(3, 4, a.triplets())?;
        assert_eq!(Csc::<f64>::try_from(&CscMatrix::try_from(&csc)?)?, csc);
        let coo = Coo::<f64>::from_triplets(2, 3, [(1, 2, 1.0), (0, 0, 2.0), (1, 2, 4.0)])?;
        assert_eq!(Coo::<f64>::try_from(&CooMatrix::try_from(&coo)?)?, coo);
        let refused = CsrMatrix::try_from(&unsorted()?).unwrap_err().to_string();
        assert!(refused.starts_with("csr: nalgebra-sparse: "), "{refused}");
        let wide = CsrMatrix::<f64>::zeros(1, 1 << 31);
        let refused = Csr::<f64>::try_from(&wide).unwrap_err().to_string();
        assert_eq!(refused, "columns = 2147483648 does not fit i32");
        Ok(())
    }

    #[test]
    fn dense_views_share_memory() -> Result<()> {
        let matrix = DMatrix::from_row_slice(2, 3, &[1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
        let view = DenseView::try_from(&matrix)?;
        assert_eq!(
            (view.shape(), view.order(), view.data().as_ptr()),
            ((2, 3), Order::ColMajor, matrix.as_ptr())
        );
        assert_eq!(DMatrixView::try_from(view)?, matrix);
        let by_rows = Csr::<f64>::from_dense(view)?.to_dense()?;
        assert!(DMatrixView::try_from(by_rows.as_view()).is_err());
        assert_eq!(DMatrix::from(&by_rows), matrix);
        let strided = DenseView::<f64>::new(&[1.0, 9.0, 2.0], 1, 2, 2, Order::ColMajor)?;
        assert!(DMatrixView::try_from(strided).is_err());
        assert_eq!(DMatrix::from(strided), DMatrix::from_row_slice(1, 2, &[1.0, 2.0]));
        let empty = Dense::<f64>::zeros(0, 3, Order::ColMajor)?;
        assert_eq!(DMatrixView::try_from(empty.as_view())?.shape(), (0, 3));
        Ok(())
    }
}

#[cfg(feature = "faer_0_24")]
mod faer {
    use super::{canonical, unsorted};
    use faer::MatRef;
    use faer::sparse::{SparseColMatRef, SparseRowMatRef, SymbolicSparseRowMat};
    use sparse_core::{Csc, Csr, Dense, DenseView, Host, Order, Result};

    #[test]
    fn sparse_matrices_are_shared() -> Result<()> {
        for a in [canonical()?, unsorted()?, Csr::from_triplets(0, 3, [])?] {
            let view = SparseRowMatRef::<u32, f64>::from(&a);
            assert_eq!(view.val().as_ptr(), a.values().as_ptr());
            assert_eq!(Csr::<f64>::try_from(view)?, a);
            let wide: Csr<f64, Host, i64, i64> = a.try_cast_indices()?;
            let columns = wide.into_transpose();
            let view = SparseColMatRef::<u64, f64>::from(&columns);
            assert_eq!(Csc::<f64, Host, i64, i64>::try_from(view)?, columns);
        }
        assert_eq!(SparseRowMatRef::<u32, f64>::from(&canonical()?).get(2, 2), Some(&4.0));
        Ok(())
    }

    /// faer can leave space after the entries of a row.
    #[test]
    fn reserved_space_is_left_out() -> Result<()> {
        let pattern =
            SymbolicSparseRowMat::<u32>::new_checked(2, 3, vec![0, 2, 4], Some(vec![1, 2]), vec![1, 0, 0, 2]);
        let values = [1.0, 9.0, 2.0, 3.0];
        let a = Csr::<f64>::try_from(SparseRowMatRef::new(pattern.as_ref(), &values))?;
        assert!(a.triplets().eq([(0, 1, 1.0), (1, 0, 2.0), (1, 2, 3.0)]));
        Ok(())
    }

    #[test]
    fn dense_views_share_memory() -> Result<()> {
        let data = [1.0, 9.0, 2.0, 9.0, 3.0];
        for (order, expected) in [(Order::RowMajor, (3, 1)), (Order::ColMajor, (1, 3))] {
            let view = DenseView::<f64>::new(&data, expected.0, expected.1, 2, order)?;
            let mat = MatRef::from(view);
            assert_eq!((mat.shape(), mat.as_ptr()), (expected, data.as_ptr()));
            assert_eq!(mat[(expected.0 - 1, expected.1 - 1)], 3.0);
        }
        let empty = Dense::<f64>::zeros(3, 0, Order::RowMajor)?;
        assert_eq!(MatRef::from(empty.as_view()).shape(), (3, 0));
        Ok(())
    }
}

#[cfg(feature = "proptest_1")]
mod proptest {
    use proptest::prelude::*;
    use sparse_core::{Csc, strategy};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn matrices_are_as_large_as_asked_for(
            coo in strategy::coo(0..5, 2..7, 3..9, -1.0..1.0),
            csc in strategy::compressed(0..5, 2..7, 3..9, Just(1.0)),
        ) {
            let csc: Csc<f64> = csc;
            prop_assert!(coo.nrows() < 5 && (2..7).contains(&coo.ncols()));
            prop_assert_eq!((3..9).contains(&coo.nnz()), coo.nrows() > 0);
            prop_assert!(csc.order().unique && csc.nnz() <= 8);
        }
    }
}
