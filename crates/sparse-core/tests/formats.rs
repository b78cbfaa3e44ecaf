//! The checked constructors: what they accept, and how they report what they refuse.
//!
//! Everything here is small and touches neither files nor threads, so that it runs under Miri:
//! `cargo +nightly miri test -p sparse-core --test formats`.

use sparse_core::graph::Graph;
use sparse_core::reference::Reference;
use sparse_core::{
    BatchCsc, BatchCsr, Coo, Csc, Csr, Dense, DenseBatchView, DenseView, Ell, EllLayout, Error, Host, Hyb,
    IndexOrder, Order, Result, Sell, SellLayout, SparseFormat, kron,
};
use std::fmt::Debug;

/// The message of the constructor's error.
fn refusal<M: Debug>(result: Result<M>) -> String {
    result.expect_err("the constructor accepted a broken matrix").to_string()
}

/// Length, first offset, monotone, last offset, index range, sortedness, duplicates: each repair brings up the next
/// violation.
#[test]
fn csr_names_the_first_violation_in_the_documented_order() -> Result<()> {
    let new = |offsets: &[i32], indices: [i32; 4], values: &[f64]| {
        Csr::<f64>::new(2, 3, offsets.to_vec(), indices.to_vec(), values.to_vec())
    };
    let v = [1.0, 2.0, 3.0, 4.0];
    let steps = [
        (new(&[1, 6, 5, 9], [1, 1, 7, 0], &v[..3]), "csr: values has 3 elements where 4 are needed"),
        (new(&[1, 6, 5, 9], [1, 1, 7, 0], &v), "csr: offsets has 4 elements where 3 are needed"),
        (new(&[1, 6, 5], [1, 1, 7, 0], &v), "csr: the first offset is 1, not 0"),
        (new(&[0, 6, 5], [1, 1, 7, 0], &v), "csr: row 1: the offset falls from 6 to 5"),
        (new(&[0, 2, 5], [1, 1, 7, 0], &v), "csr: the last offset is 5, the number of indices 4"),
        (new(&[0, 2, 4], [1, 1, 7, 0], &v), "csr: row 1: column 7 is not below 3"),
        (new(&[0, 2, 4], [1, 1, 2, 0], &v), "csr: row 1: column 0 stands out of order after 2"),
        (new(&[0, 2, 4], [1, 1, 0, 2], &v), "csr: row 0: column 1 stands twice"),
    ];
    for (result, message) in steps {
        assert_eq!(refusal(result), message);
    }
    assert_eq!(new(&[0, 2, 4], [0, 1, 0, 2], &v)?.order(), IndexOrder::CANONICAL);
    Ok(())
}

#[test]
fn csc_speaks_of_columns() {
    let new = |offsets: &[i32], indices: &[i32]| {
        Csc::<f64>::new(3, 2, offsets.to_vec(), indices.to_vec(), vec![1.0; indices.len()])
    };
    assert_eq!(refusal(new(&[0, 2, 1], &[0])), "csc: column 1: the offset falls from 2 to 1");
    assert_eq!(refusal(new(&[0, 1, 2], &[0, 3])), "csc: column 1: row 3 is not below 3");
    assert_eq!(refusal(new(&[0, 2, 2], &[0, -1])), "csc: column 0: row -1 is negative");
    assert_eq!(refusal(new(&[0, 2, 2], &[2, 1])), "csc: column 0: row 1 stands out of order after 2");
    assert_eq!(refusal(new(&[0, 2, 2], &[2, 2])), "csc: column 0: row 2 stands twice");
}

#[test]
fn negative_offsets_are_refused() {
    let new = |offsets: &[i32]| Csr::<f64>::new(2, 2, offsets.to_vec(), vec![0], vec![1.0]);
    assert_eq!(refusal(new(&[-1, 0, 1])), "csr: the first offset is -1, not 0");
    assert_eq!(refusal(new(&[0, -1, 1])), "csr: row 0: the offset falls from 0 to -1");
}

#[test]
fn an_unsorted_matrix_knows_what_it_is() -> Result<()> {
    let order = |indices: &[i32]| {
        let values = vec![1.0; indices.len()];
        Csr::<f64>::new_unsorted(1, 4, vec![0, indices.len() as i32], indices.to_vec(), values)
            .map(|a| a.order())
    };
    let expected = |sorted, unique| IndexOrder { major_sorted: true, sorted, unique };
    assert_eq!(order(&[0, 1, 3])?, IndexOrder::CANONICAL);
    assert_eq!(order(&[0, 1, 1])?, expected(true, false));
    assert_eq!(order(&[1, 0, 3])?, expected(false, false));
    assert_eq!(refusal(order(&[1, 0, 4])), "csr: row 0: column 4 is not below 4");
    Ok(())
}

#[test]
fn extents_that_do_not_fit_the_index_type_are_refused_before_anything_is_allocated() {
    let huge = 1_usize << 31;
    assert_eq!(refusal(Csr::<f64>::zeros(huge, 1)), "rows = 2147483648 does not fit i32");
    assert_eq!(refusal(Csr::<f64>::zeros(usize::MAX, 1)), format!("rows = {} does not fit i32", usize::MAX));
    assert_eq!(refusal(Csc::<f64>::zeros(1, huge)), "columns = 2147483648 does not fit i32");
    assert_eq!(refusal(Coo::<f64>::zeros(huge, 1)), "rows = 2147483648 does not fit i32");
    assert_eq!(refusal(Ell::<f64>::zeros(1, huge)), "columns = 2147483648 does not fit i32");
    assert_eq!(refusal(Sell::<f64>::zeros(huge, 1)), "rows = 2147483648 does not fit i32");
    assert_eq!(refusal(Csr::<f64>::identity(huge)), "n = 2147483648 does not fit i32");
}

#[test]
fn coo_names_the_entry() -> Result<()> {
    let new = |row_idx: &[i32], col_idx: &[i32], values: &[f64]| {
        Coo::<f64>::new(2, 3, row_idx.to_vec(), col_idx.to_vec(), values.to_vec())
    };
    assert_eq!(refusal(new(&[0, 9], &[0], &[1.0])), "coo: col_idx has 1 elements where 2 are needed");
    assert_eq!(refusal(new(&[0, 9], &[0, 0], &[1.0])), "coo: values has 1 elements where 2 are needed");
    assert_eq!(refusal(new(&[0, 2], &[9, 0], &[1.0; 2])), "coo: entry 0: column 9 is not below 3");
    assert_eq!(refusal(new(&[0, 2], &[2, 0], &[1.0; 2])), "coo: entry 1: row 2 is not below 2");
    assert_eq!(refusal(new(&[0, -1], &[2, 0], &[1.0; 2])), "coo: entry 1: row -1 is negative");
    let order = |row_idx: &[i32], col_idx: &[i32]| new(row_idx, col_idx, &[1.0; 3]).map(|a| a.order());
    assert_eq!(order(&[0, 0, 1], &[0, 1, 0])?, IndexOrder::CANONICAL);
    assert_eq!(order(&[0, 0, 1], &[1, 1, 0])?, IndexOrder { unique: false, ..IndexOrder::CANONICAL });
    let by_rows_only = IndexOrder { major_sorted: true, sorted: false, unique: false };
    assert_eq!(order(&[0, 0, 1], &[1, 0, 0])?, by_rows_only);
    assert_eq!(order(&[1, 0, 1], &[1, 0, 0])?, IndexOrder { major_sorted: false, ..by_rows_only });
    Ok(())
}

#[test]
fn ell_wants_padding_last() -> Result<()> {
    let new =
        |width, col_idx: &[i32]| Ell::<f64>::new(2, 3, width, col_idx.to_vec(), vec![1.0; col_idx.len()]);
    assert_eq!(refusal(new(2, &[0, 1, 2])), "ell: col_idx has 3 elements where 4 are needed");
    assert_eq!(refusal(new(2, &[0, -1, 1, 2])), "ell: row 1: slot 1 follows padding");
    assert_eq!(refusal(new(2, &[0, 1, 3, -1])), "ell: row 0: column 3 is not below 3");
    assert_eq!(refusal(new(2, &[0, 1, -2, -1])), "ell: row 0: column -2 is negative");
    assert_eq!(
        refusal(new(usize::MAX, &[])),
        format!("rows x width (2 x {}) = {} does not fit usize", usize::MAX, 2 * usize::MAX as u128)
    );
    let a = new(2, &[0, 1, 2, -1])?;
    assert_eq!((a.nnz(), a.order()), (3, IndexOrder::CANONICAL));
    Ok(())
}

#[test]
fn ell_states_its_bytes_and_refuses_past_the_cap() -> Result<()> {
    let resolve =
        |layout: EllLayout| layout.resolve(&[1, 5, 0], sparse_core::estimate::Sizes::of::<f64, i32, i32>());
    assert_eq!(resolve(EllLayout::default())?, 5);
    assert_eq!(resolve(EllLayout { width: Some(7), max_bytes: None })?, 7);
    assert_eq!(
        refusal(resolve(EllLayout { width: Some(4), max_bytes: None })),
        "ell of width 4 is not supported: the longest row has 5 entries"
    );
    assert_eq!(
        refusal(resolve(EllLayout { width: None, max_bytes: Some(100) })),
        "ell is not supported: 180 bytes pass the cap of 100; the longest row has 5 entries"
    );
    Ok(())
}

#[test]
fn hyb_wants_parts_of_one_shape_and_an_overflow_by_rows() -> Result<()> {
    let coo = Coo::<f64>::new(2, 3, vec![1, 0], vec![0, 0], vec![1.0; 2])?;
    assert_eq!(
        refusal(Hyb::new(Ell::<f64>::zeros(2, 4)?, coo.clone())),
        "hyb: the ell part is 2 x 4, the coo part 2 x 3"
    );
    assert_eq!(
        refusal(Hyb::new(Ell::<f64>::zeros(2, 3)?, coo)),
        "hyb: the rows of the coo part are not in order"
    );
    Ok(())
}

#[test]
fn sell_checks_slices_row_order_and_columns() -> Result<()> {
    let new = |height, slice_ptr: &[i32], row_order: &[i32], col_idx: &[i32]| {
        let values = vec![1.0; col_idx.len()];
        Sell::<f64>::new((3, 4), height, slice_ptr.to_vec(), row_order.to_vec(), col_idx.to_vec(), values)
    };
    let cols = [0, 1, 2, -1, 3, -1];
    let steps = [
        (new(0, &[0, 6], &[0, 1, 2], &cols), "sell: the slice height is at least 1"),
        (new(2, &[0, 6], &[0, 1, 2], &cols), "sell: offsets has 2 elements where 3 are needed"),
        (new(2, &[2, 4, 6], &[0, 1, 2], &cols), "sell: the first offset is 2, not 0"),
        (new(2, &[0, 4, 2], &[0, 1, 2], &cols), "sell: row 1: the offset falls from 4 to 2"),
        (new(2, &[0, 4, 5], &[0, 1, 2], &cols), "sell: the last offset is 5, the number of indices 6"),
        (new(2, &[0, 4, 6], &[0, 1], &cols), "sell: row_order has 2 elements where 3 are needed"),
        (
            new(2, &[0, 4, 6], &[0, 1, 1], &cols),
            "sell: row_order: row 1 at position 2 is repeated or not below 3",
        ),
        (
            new(2, &[0, 4, 6], &[0, 1, 3], &cols),
            "sell: row_order: row 3 at position 2 is repeated or not below 3",
        ),
        (new(2, &[0, 3, 6], &[0, 1, 2], &cols), "sell: slice 0: 3 slots are no multiple of 2"),
        (new(2, &[0, 4, 6], &[0, 1, 2], &[0, -1, 2, 1, 3, -1]), "sell: position 1: slot 3 follows padding"),
        (new(2, &[0, 4, 6], &[0, 1, 2], &[0, 1, 2, -1, 3, 0]), "sell: position 3: slot 5 follows padding"),
        (new(2, &[0, 4, 6], &[0, 2, 1], &[0, 4, 2, -1, 3, -1]), "sell: row 2: column 4 is not below 4"),
    ];
    for (result, message) in steps {
        assert_eq!(refusal(result), message);
    }
    let a = new(2, &[0, 4, 6], &[2, 0, 1], &cols)?;
    assert_eq!((a.nnz(), a.order()), (4, IndexOrder::CANONICAL));
    Ok(())
}

/// Products visit every lane, with a row or without.
#[test]
fn sell_refuses_slices_of_far_more_lanes_than_rows() -> Result<()> {
    let one = |height| Sell::<f64>::new((1, 1), height, vec![0, 0], vec![0], vec![], vec![]);
    assert_eq!(one(1024)?.nnz(), 0);
    let message = "sell: the slice height is 1025; with 1 rows it is at most 1024";
    assert_eq!(refusal(one(1025)), message);
    assert_eq!(refusal(SellLayout { slice_height: 1025, sort_window: 1 }.row_order(&[1])), message);
    let layout = SellLayout { slice_height: 8192, sort_window: 1 };
    assert_eq!(layout.row_order(&[1; 5000])?.len(), 5000);
    let layout = SellLayout { slice_height: 0, sort_window: 1 };
    let message = "sell: the slice height and the sort window are at least 1";
    assert_eq!(refusal(layout.row_order(&[1])), message);
    Ok(())
}

/// Rows without elements are not walked: this would take 2^62 steps.
#[test]
fn ell_of_width_zero_is_checked_at_once() -> Result<()> {
    let a = Ell::<f64, Host, i64>::new(1 << 62, 1, 0, vec![], vec![])?;
    assert_eq!((a.nnz(), a.order()), (0, IndexOrder::CANONICAL));
    Ok(())
}

#[test]
fn batch_names_the_member() -> Result<()> {
    let new = |member_ptr: &[usize], offsets: &[i32], indices: &[i32]| {
        let values = vec![1.0; indices.len()];
        BatchCsr::<f64>::new((2, 3), member_ptr.to_vec(), offsets.to_vec(), indices.to_vec(), values)
    };
    let rises = "batch_csr: member_ptr does not rise from 0 to the number of indices, 3";
    assert_eq!(refusal(new(&[], &[], &[0, 1, 2])), rises);
    assert_eq!(refusal(new(&[0, 4, 3], &[0; 6], &[0, 1, 2])), rises);
    assert_eq!(
        refusal(new(&[0, 1, 3], &[0, 1, 1, 0, 1], &[0, 1, 2])),
        "batch_csr: offsets has 5 elements where 6 are needed"
    );
    assert_eq!(
        refusal(new(&[0, 1, 3], &[0, 1, 1, 1, 1, 2], &[0, 1, 2])),
        "batch_csr: member 1: csr: the first offset is 1, not 0"
    );
    assert_eq!(
        refusal(new(&[0, 1, 3], &[0, 1, 1, 0, 1, 2], &[0, 1, 3])),
        "batch_csr: member 1: csr: row 1: column 3 is not below 3"
    );
    let a = new(&[0, 1, 3], &[0, 1, 1, 0, 1, 2], &[0, 1, 2])?;
    assert_eq!((a.count(), a.nrows(), a.ncols(), a.nnz()), (2, 4, 6, 3));
    assert_eq!(a.member(1).to_owned()?, Csr::new(2, 3, vec![0, 1, 2], vec![1, 2], vec![1.0; 2])?);
    Ok(())
}

/// Otherwise `cols()` would wrap around, and a short `x` would pass the check of lengths.
#[test]
fn batch_of_an_extent_that_overflows_is_refused() {
    let minor = 1_usize << 62;
    let message = "count x minor extent (4 x 4611686018427387904) = 18446744073709551616 does not fit usize";
    let csr = BatchCsr::<f32, Host, i64, i64>::new((0, minor), vec![0; 5], vec![0; 4], vec![], vec![]);
    assert_eq!(refusal(csr), message);
    let csc = BatchCsc::<f32, Host, i64, i64>::new((minor, 0), vec![0; 5], vec![0; 4], vec![], vec![]);
    assert_eq!(refusal(csc), message);
}

#[test]
fn dense_views_check_the_leading_dimension_and_the_length() -> Result<()> {
    let data = [0.0_f64; 11];
    let view = |rows, cols, ld, order| DenseView::<f64>::new(&data, rows, cols, ld, order);
    assert_eq!(
        refusal(view(2, 4, 3, Order::RowMajor)),
        "dense: the leading dimension 3 is below 4, the length of a row"
    );
    assert_eq!(
        refusal(view(4, 2, 3, Order::ColMajor)),
        "dense: the leading dimension 3 is below 4, the length of a column"
    );
    assert_eq!(refusal(view(4, 2, 10, Order::ColMajor)), "dense: 11 elements where 4 x 2 needs 14");
    assert_eq!(view(3, 3, 4, Order::RowMajor)?.position(2, 2), 10);
    assert_eq!(view(3, 3, 4, Order::RowMajor)?.transposed().position(2, 0), 2);
    assert!(view(usize::MAX, 2, usize::MAX, Order::RowMajor).is_err());
    assert_eq!(
        refusal(Dense::<f64>::new(vec![0.0; 5], 2, 3, Order::RowMajor)),
        "dense: data has 5 elements where 6 are needed"
    );
    let batch = |count, stride| DenseBatchView::<f64>::new(&data, count, stride, (2, 2), 2, Order::RowMajor);
    assert_eq!(refusal(batch(2, 3)), "dense batch: the stride 3 is below 4, the size of a member");
    assert_eq!(refusal(batch(3, 4)), "dense: 3 elements where 2 x 2 needs 4");
    assert_eq!(batch(2, 7)?.member(1).data().len(), 4);
    Ok(())
}

/// Plans outlive changes of values, not of patterns.
#[test]
fn new_values_keep_the_pattern_and_copies_of_arrays_do_not() -> Result<()> {
    let a = Csr::<f64>::identity(3)?;
    assert_eq!(a.with_values(vec![1.0_f32; 3])?.pattern_id(), a.pattern_id());
    assert_eq!(a.clone().into_transpose().pattern_id(), a.pattern_id());
    assert_ne!(Csr::<f64>::identity(3)?.pattern_id(), a.pattern_id());
    assert_eq!(refusal(a.with_values(vec![1.0; 2])), "csr: values has 2 elements where 3 are needed");
    Ok(())
}

/// The same arrays and the same knowledge of their order, under a pattern of its own.
#[test]
fn copies_to_a_device_and_back_are_equal() -> Result<()> {
    fn there_and_back<M>(a: &M) -> Result<()>
    where
        M: SparseFormat<Space = Host, In<Host> = M> + PartialEq,
    {
        let copy = a.to_device(&Reference)?.to_host(&Reference)?;
        assert_eq!(&copy, a);
        assert_eq!((copy.nrows(), copy.ncols(), copy.nnz()), (a.nrows(), a.ncols(), a.nnz()));
        assert_ne!(copy.pattern_id(), a.pattern_id());
        Ok(())
    }
    let coo = || Coo::<f64>::new(2, 3, vec![0, 1], vec![2, 0], vec![1.0, 2.0]);
    let ell = || Ell::<f64>::new(2, 3, 1, vec![2, -1], vec![1.0, 0.0]);
    there_and_back(&Csr::<f64>::new(2, 3, vec![0, 1, 2], vec![2, 0], vec![1.0, 2.0])?)?;
    there_and_back(&Csc::<f64>::new(2, 3, vec![0, 1, 1, 2], vec![1, 0], vec![1.0, 2.0])?)?;
    there_and_back(&coo()?)?;
    there_and_back(&ell()?)?;
    there_and_back(&Hyb::new(ell()?, coo()?)?)?;
    there_and_back(&Sell::<f64>::new((2, 3), 2, vec![0, 2], vec![1, 0], vec![2, -1], vec![1.0, 0.0])?)?;
    there_and_back(&BatchCsr::<f64>::new((1, 3), vec![0, 0, 1], vec![0, 0, 0, 1], vec![2], vec![1.0])?)
}

/// Shapes that claim more offsets or elements than memory has are errors of every function.
#[test]
#[cfg_attr(miri, ignore = "Miri has no limit of memory")]
fn what_no_memory_holds_is_an_error() -> Result<()> {
    fn is_out_of_memory<M: Debug>(result: Result<M>) -> bool {
        matches!(result, Err(Error::OutOfMemory { .. }))
    }
    for rows in [1 << 50, i64::MAX as usize] {
        assert!(is_out_of_memory(Csr::<f64, Host, i64, i64>::from_triplets(rows, 1, [])));
    }
    assert!(is_out_of_memory(Coo::<f64>::with_capacity(3, 3, usize::MAX)));
    assert!(is_out_of_memory(Dense::<f64>::zeros(1 << 25, 1 << 25, Order::RowMajor)));
    assert!(is_out_of_memory(Graph::from_edges(1 << 50, vec![])));
    // `Debug` is what a program prints whose `main` returns the error; the available memory of the host is unknown.
    let error = Coo::<f64>::with_capacity(3, 3, 1 << 50).unwrap_err();
    assert_eq!(format!("{error:?}"), "out of memory: 4503599627370496 bytes needed");
    let tall = Csr::<f64, Host, i64, i64>::new(1 << 20, 1, vec![0; (1 << 20) + 1], vec![], vec![])?;
    let taller = Csr::<f64, Host, i64, i64>::new(1 << 24, 1, vec![0; (1 << 24) + 1], vec![], vec![])?;
    assert!(is_out_of_memory(kron(&tall, &taller)));
    let wide = Csr::<f64, Host, i64, i64>::new(1, 1 << 50, vec![0, 1], vec![3], vec![1.0])?;
    assert_eq!((wide.select(&[0], &[5])?.nnz(), wide.select(&[0], 1..1 << 50)?.nnz()), (0, 1));
    assert!(wide.permute(&[0], &[]).is_err());
    Ok(())
}

#[test]
#[should_panic(expected = "element (0, 3) of a 2 x 2 matrix")]
fn an_element_outside_is_not_another_one() {
    let elements = [1.0, 2.0, 3.0, 4.0];
    let _ = DenseView::row_major(&elements, 2, 2).unwrap().at(0, 3);
}

#[test]
#[should_panic(expected = "there is no matrix 1 among 1")]
fn a_batch_of_dense_matrices_lends_no_matrix_that_it_does_not_have() {
    let data = [1.0, 2.0, 3.0, 4.0];
    let view = DenseView::<f64>::new(&data, 2, 2, 2, Order::RowMajor).unwrap();
    let _ = DenseBatchView::from(view).member(1);
}
