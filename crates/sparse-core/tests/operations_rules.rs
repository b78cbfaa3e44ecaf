//! The rules of `docs/semantics.md` on the serial reference, which defines what the other backends must do.
//!
//! Nothing here touches files or threads, so that all but one large case runs under Miri.

use sparse_core::op::vector::{axpby, dot, nrm2, scal};
use sparse_core::op::{Duplicates, Elementwise, ElementwisePlan, Keep, Op, Operations, Sampling, SddmmPlan};
use sparse_core::reference::Reference;
use sparse_core::{
    Coo, Csc, Csr, DenseView, DenseViewMut, Ell, EllLayout, Error, Host, Hyb, HybWidth, Order, PlanOptions,
    Result, Sell, SellLayout, c64, f16,
};

fn refusal<M: std::fmt::Debug>(result: Result<M>) -> String {
    result.expect_err("the operation was accepted").to_string()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// V1: the test for zero looks at bits.
#[test]
fn v1_compression_drops_zeros_of_either_sign_and_nothing_else() -> Result<()> {
    let subnormal = f64::from_bits(1);
    let line = [0.0, -0.0, f64::NAN, f64::INFINITY, subnormal, -subnormal, 1.0];
    let a: Csr<f64> = Reference.dense_to_csr(DenseView::<f64>::row_major(&line, 1, 7)?, Keep::NonZero)?;
    assert_eq!(a.col_idx(), &[2, 3, 4, 5, 6]);
    assert_eq!(bits(a.values()), bits(&line[2..]));
    Ok(())
}

#[test]
fn v1_a_threshold_keeps_nan_and_drops_what_equals_it() -> Result<()> {
    let line = [0.5, -0.5, 0.500001, f64::NAN, -f64::INFINITY, 0.0];
    let a: Csr<f64> = Reference.dense_to_csr(DenseView::<f64>::row_major(&line, 1, 6)?, Keep::Above(0.5))?;
    assert_eq!(a.col_idx(), &[2, 3, 4]);
    Ok(())
}

/// V2: only `prune` removes entries.
#[test]
fn v2_explicit_zeros_stay_until_they_are_pruned() -> Result<()> {
    let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![0.0, -0.0, 5.0])?;
    let coo: Coo<f64> = Reference.convert(&a, &())?;
    let csc: Csc<f64> = Reference.convert(&a, &())?;
    let ell: Ell<f64> = Reference.convert(&a, &EllLayout::default())?;
    let sell: Sell<f64> = Reference.convert(&a, &SellLayout::default())?;
    assert_eq!([coo.nnz(), csc.nnz(), ell.nnz(), sell.nnz()], [3; 4]);
    let back: Csr<f64> = Reference.convert(&coo, &Duplicates::Sum)?;
    assert_eq!(bits(back.values()), bits(a.values()));
    assert_eq!(Reference.prune(&a, Keep::NonZero)?, Csr::new(2, 3, vec![0, 0, 1], vec![1], vec![5.0])?);
    Ok(())
}

/// V3: a stored zero multiplies, what is not stored does not.
#[test]
fn v3_padding_never_touches_x() -> Result<()> {
    let a = Csr::<f64>::new(3, 3, vec![0, 2, 2, 3], vec![1, 2, 1], vec![1.0, 2.0, 3.0])?;
    let x = [f64::NAN, 1.0, 1.0];
    let expected = [3.0, 0.0, 3.0];
    let ell: Ell<f64> = Reference.convert(&a, &EllLayout { width: Some(3), max_bytes: None })?;
    let hyb: Hyb<f64> = Reference.convert(&a, &HybWidth::Width(2))?;
    let sell: Sell<f64> = Reference.convert(&a, &SellLayout::default())?;
    let mut y = [[f64::NAN; 3]; 4];
    Reference.spmv(Op::None, 1.0, &a, &x, 0.0, &mut y[0])?;
    Reference.spmv(Op::None, 1.0, &ell, &x, 0.0, &mut y[1])?;
    Reference.spmv(Op::None, 1.0, &hyb, &x, 0.0, &mut y[2])?;
    Reference.spmv(Op::None, 1.0, &sell, &x, 0.0, &mut y[3])?;
    assert_eq!(y, [expected; 4]);
    Ok(())
}

#[test]
fn v3_a_stored_zero_times_infinity_is_nan() -> Result<()> {
    let a = Csr::<f64>::new(1, 2, vec![0, 2], vec![0, 1], vec![0.0, 1.0])?;
    let mut y = [0.0];
    Reference.spmv(Op::None, 1.0, &a, &[f64::INFINITY, 1.0], 0.0, &mut y)?;
    assert!(y[0].is_nan());
    Ok(())
}

/// Entries (1,1) = 1, 2, 4 and (0,2) = 8, out of order.
fn with_duplicates() -> Result<Coo<f64>> {
    Coo::from_triplets(2, 3, [(1, 1, 1.0), (0, 2, 8.0), (1, 1, 2.0), (1, 0, -1.0), (1, 1, 4.0)])
}

#[test]
fn v4_duplicates_by_policy() -> Result<()> {
    let coo = with_duplicates()?;
    let csr = |duplicates| -> Result<Csr<f64>> { Reference.convert(&coo, &duplicates) };
    let expected = |last| Csr::new(2, 3, vec![0, 1, 3], vec![2, 0, 1], vec![8.0, -1.0, last]);
    assert_eq!(csr(Duplicates::Sum)?, expected(7.0)?);
    assert_eq!(csr(Duplicates::Last)?, expected(4.0)?);
    let with_duplicates_kept = csr(Duplicates::Keep)?;
    assert_eq!(with_duplicates_kept.row_ptr(), &[0, 1, 5]);
    assert_eq!(
        (with_duplicates_kept.col_idx().as_slice(), with_duplicates_kept.values().as_slice()),
        ([2, 0, 1, 1, 1].as_slice(), [8.0, -1.0, 1.0, 2.0, 4.0].as_slice())
    );
    assert!(with_duplicates_kept.order().sorted && !with_duplicates_kept.order().unique);
    assert_eq!(refusal(csr(Duplicates::Error)), "coo: row 1: column 1 stands 3 times");
    let csc: Csc<f64> = Reference.convert(&coo, &Duplicates::Sum)?;
    assert_eq!(csc, Csc::new(2, 3, vec![0, 1, 2, 3], vec![1, 1, 0], vec![-1.0, 7.0, 8.0])?);
    let csc: Result<Csc<f64>> = Reference.convert(&coo, &Duplicates::Error);
    assert_eq!(refusal(csc), "coo: row 1: column 1 stands 3 times");
    Ok(())
}

/// V4: in input order, in the accumulator's type: another order gives 0 or 2, f16 alone gives 2048.
#[test]
fn v4_sums_go_in_input_order_and_round_once() -> Result<()> {
    let coo = Coo::<f64>::from_triplets(1, 1, [(0, 0, 1e16), (0, 0, 1.0), (0, 0, -1e16), (0, 0, 1.0)])?;
    let csr: Csr<f64> = Reference.convert(&coo, &Duplicates::Sum)?;
    assert_eq!(csr.values(), &[1.0]);
    let halves = [2048.0, 1.0, 1.0].map(|v| (0, 0, f16::from_f32(v)));
    let csr: Csr<f16> = Reference.convert(&Coo::<f16>::from_triplets(1, 1, halves)?, &Duplicates::Sum)?;
    assert_eq!(csr.values(), &[f16::from_f32(2050.0)]);
    Ok(())
}

#[test]
fn v4_dense_adds_duplicates_and_moves_lone_entries_bit_for_bit() -> Result<()> {
    let mut dense = [f64::NAN; 8];
    let view = DenseViewMut::<f64>::new(&mut dense, 2, 3, 4, Order::RowMajor)?;
    Reference.to_dense(&with_duplicates()?, view)?;
    assert_eq!(dense[..3], [0.0, 0.0, 8.0]);
    assert_eq!(dense[4..7], [-1.0, 7.0, 0.0]);
    assert!(dense[3].is_nan() && dense[7].is_nan());
    let mut dense = [1.0; 1];
    let a = Coo::<f64>::from_triplets(1, 1, [(0, 0, -0.0)])?;
    Reference.to_dense(&a, DenseViewMut::<f64>::row_major(&mut dense, 1, 1)?)?;
    assert_eq!(bits(&dense), bits(&[-0.0]));
    Ok(())
}

/// O2: conversions keep the order within rows unless they document another one.
#[test]
fn o2_padded_formats_keep_the_order_of_entries_and_sort_sorts() -> Result<()> {
    let a =
        Csr::<f64>::new_unsorted(2, 4, vec![0, 4, 5], vec![3, 0, 3, 1, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0])?;
    let ell: Ell<f64> = Reference.convert(&a, &EllLayout::default())?;
    let hyb: Hyb<f64> = Reference.convert(&a, &HybWidth::Width(2))?;
    let sell: Sell<f64> = Reference.convert(&a, &SellLayout::default())?;
    let from_ell: Csr<f64> = Reference.convert(&ell, &())?;
    let from_hyb: Csr<f64> = Reference.convert(&hyb, &())?;
    let from_sell: Csr<f64> = Reference.convert(&sell, &())?;
    assert_eq!([&from_ell, &from_hyb, &from_sell], [&a; 3]);
    assert!(!ell.order().sorted && !sell.order().sorted && !from_ell.order().sorted);
    let sorted = Reference.sort(&a)?;
    assert_eq!(sorted.col_idx(), &[0, 1, 3, 3, 2]);
    assert_eq!(sorted.values(), &[2.0, 4.0, 1.0, 3.0, 5.0]);
    Ok(())
}

#[test]
fn e2_wrong_shapes_are_refused_before_anything_is_written() -> Result<()> {
    let a = Csr::<f64>::zeros(2, 3)?;
    let mut y = [7.0; 2];
    let result = Reference.spmv(Op::None, 1.0, &a, &[1.0; 2], 0.0, &mut y);
    assert_eq!(refusal(result), "spmv: the length of x is 2 where 3 is needed");
    let result = Reference.spmv(Op::Transpose, 1.0, &a, &[1.0; 2], 0.0, &mut y);
    assert_eq!(refusal(result), "spmv: the length of y is 2 where 3 is needed");
    assert_eq!(y, [7.0; 2]);
    Ok(())
}

#[test]
fn b1_beta_zero_does_not_read_y_and_b2_alpha_zero_does_not_read_x() -> Result<()> {
    let a = Csr::<f64>::identity(2)?;
    let nan = [f64::NAN; 2];
    let mut y = nan;
    Reference.spmv(Op::None, 2.0, &a, &[1.0, 3.0], 0.0, &mut y)?;
    assert_eq!(y, [2.0, 6.0]);
    Reference.spmv(Op::None, 0.0, &a, &nan, 0.5, &mut y)?;
    assert_eq!(y, [1.0, 3.0]);
    Reference.spmv(Op::None, 1.0, &Csr::zeros(2, 2)?, &nan, 3.0, &mut y)?;
    assert_eq!(y, [3.0, 9.0]);
    axpby(&Reference, 0.0, &nan, 1.0, &mut y)?;
    assert_eq!(y, [3.0, 9.0]);
    axpby(&Reference, 0.0, &nan, 0.0, &mut y)?;
    assert_eq!(y, [0.0; 2]);
    let mut y = nan;
    axpby(&Reference, 2.0, &[1.0, 2.0], 0.0, &mut y)?;
    assert_eq!(y, [2.0, 4.0]);
    let mut y = nan;
    scal(&Reference, 0.0, &mut y)?;
    assert_eq!(y, [0.0; 2]);
    Ok(())
}

/// T4: products of f16 are summed in f32; in f16 the sum would stay at 2048.
#[test]
fn t4_halves_are_accumulated_in_single_precision() -> Result<()> {
    let half = f16::from_f32;
    let a = Csr::<f16>::new(1, 3, vec![0, 3], vec![0, 1, 2], vec![half(2048.0), half(1.0), half(1.0)])?;
    let mut y = [half(0.0)];
    Reference.spmv(Op::None, 1.0, &a, &[half(1.0); 3], 0.0, &mut y)?;
    assert_eq!(y, [half(2050.0)]);
    Ok(())
}

#[test]
fn the_conjugate_transpose_conjugates_and_the_transpose_does_not() -> Result<()> {
    let i = c64::new(0.0, 1.0);
    let a = Csr::<c64>::new(1, 2, vec![0, 2], vec![0, 1], vec![i, 1.0 + 2.0 * i])?;
    let product = |op| -> Result<_> {
        let mut y = [c64::default(); 2];
        Reference.spmv(op, c64::from(1.0), &a, &[i], c64::from(0.0), &mut y)?;
        Ok(y)
    };
    assert_eq!(product(Op::Transpose)?, [c64::from(-1.0), i - 2.0]);
    assert_eq!(product(Op::ConjugateTranspose)?, [c64::from(1.0), i + 2.0]);
    Ok(())
}

#[test]
fn dot_conjugates_its_first_operand() -> Result<()> {
    let i = c64::new(0.0, 1.0);
    assert_eq!(dot(&Reference, &[i, 2.0 + i], &[1.0 + i, i])?, 2.0 + i);
    assert_eq!(dot::<_, f64>(&Reference, &[], &[])?, 0.0);
    Ok(())
}

#[test]
fn nrm2_neither_overflows_nor_underflows() -> Result<()> {
    let norm = |x: &[f64]| nrm2(&Reference, x);
    assert_eq!(norm(&[3.0, 0.0, -4.0])?, 5.0);
    assert_eq!(norm(&[3e300, -4e300])?.to_bits(), 5e300_f64.to_bits());
    assert_eq!(norm(&[f64::MAX])?, f64::MAX);
    let tiny = f64::from_bits(1);
    assert_eq!(norm(&[3.0 * tiny, 4.0 * tiny])?, 5.0 * tiny);
    assert_eq!(norm(&[tiny])?, tiny);
    assert_eq!(norm(&[f64::MAX, f64::MAX])?, f64::INFINITY);
    assert_eq!(norm(&[1.0, -f64::INFINITY])?, f64::INFINITY);
    assert!(norm(&[0.0, f64::NAN])?.is_nan());
    assert!(norm(&[f64::INFINITY, f64::NAN])?.is_nan());
    assert_eq!((norm(&[])?, norm(&[-0.0])?), (0.0, 0.0));
    assert_eq!(nrm2(&Reference, &[f32::MAX / 2.0, f32::MAX / 2.0])?, f32::MAX / 2.0 * 2.0_f32.sqrt());
    assert_eq!(nrm2(&Reference, &[c64::new(3e300, 4e300), c64::default()])?, 5e300);
    Ok(())
}

/// X6: in the plan, before anything is allocated.
#[test]
#[cfg_attr(miri, ignore = "half a million slots take minutes")]
fn x6_padded_formats_past_the_cap_are_refused() -> Result<()> {
    let rows = 1 << 15;
    let mut offsets = vec![1 << 14; rows + 1];
    offsets[0] = 0;
    let entries = 1 << 14;
    let a = Csr::<f64>::new(rows, 1 << 14, offsets, (0..entries).collect(), vec![1.0; entries as usize])?;
    let reason = "6442450944 bytes pass the cap of 268435456; the longest row has 16384 entries";
    let ell: Result<Ell<f64>> = Reference.convert(&a, &EllLayout::default());
    assert_eq!(refusal(ell), format!("ell is not supported: {reason}"));
    let hyb: Result<Hyb<f64>> = Reference.convert(&a, &HybWidth::Width(usize::MAX));
    assert_eq!(refusal(hyb), format!("hyb is not supported: {reason}"));
    let sell: Result<Sell<f64>> = Reference.convert(&a, &SellLayout { slice_height: rows, sort_window: 1 });
    assert!(refusal(sell).starts_with("sell is not supported: 6442582024 bytes pass the cap of 268435456"));
    let hyb: Hyb<f64> = Reference.convert(&a, &HybWidth::default())?;
    let sell: Sell<f64> = Reference.convert(&a, &SellLayout::default())?;
    assert_eq!((hyb.nnz(), sell.nnz()), (a.nnz(), a.nnz()));
    Ok(())
}

/// T3: elements of SELL past the offset type, found before they are allocated.
#[test]
fn t3_offsets_that_overflow_are_refused() -> Result<()> {
    let row = |n: i32| Csr::<f32>::new(1, n as usize, vec![0, n], (0..n).collect(), vec![1.0; n as usize]);
    let layout = SellLayout { slice_height: 1 << 10, sort_window: 1 };
    let sell: Result<Sell<f32>> = Reference.convert(&row(1 << 21)?, &layout);
    assert_eq!(refusal(sell), "slots of sell = 2147483648 does not fit i32");
    let layout = SellLayout { slice_height: usize::MAX, sort_window: 1 };
    let sell: Result<Sell<f32>> = Reference.convert(&row(2)?, &layout);
    assert_eq!(
        refusal(sell),
        "sell: the slice height is 18446744073709551615; with 1 rows it is at most 1024"
    );
    Ok(())
}

#[test]
fn an_unknown_algorithm_is_refused_by_name() -> Result<()> {
    use sparse_core::op::SpmvPlan;
    let a = Csr::<f64>::identity(2)?;
    let result = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::forced("merge_path"));
    assert_eq!(refusal(result), "spmv algorithm `merge_path` is not supported: this backend has sequential");
    let plan = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::forced("sequential"))?;
    assert_eq!((plan.choice().algorithm, plan.workspace_bytes()), ("sequential", 16));
    Ok(())
}

#[test]
fn a_plan_takes_new_values_and_refuses_another_pattern() -> Result<()> {
    use sparse_core::op::SpmvPlan;
    let a = Csr::<f64, Host>::identity(2)?;
    let mut plan = SpmvPlan::new(&Reference, &a, Op::None, &PlanOptions::default())?;
    let mut y = [0.0; 2];
    plan.run(1.0, &a.with_values(vec![2.0, 3.0])?, &[1.0; 2], 0.0, &mut y)?;
    assert_eq!(y, [2.0, 3.0]);
    let other = Csr::<f64>::identity(2)?;
    assert!(
        refusal(plan.run(1.0, &other, &[1.0; 2], 0.0, &mut y))
            .starts_with("spmv: the matrix has another pattern")
    );
    Ok(())
}

/// V2: the pattern of a sum depends on the patterns alone.
#[test]
fn v2_elements_that_become_zero_stay_stored() -> Result<()> {
    let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 1.0), (1, 0, f64::NAN)])?;
    let b = Csr::<f64>::from_triplets(2, 2, [(0, 0, 1.0), (0, 1, 0.0)])?;
    assert!(Reference.add(1.0, &a, -1.0, &b)?.triplets().take(2).eq([(0, 0, 0.0), (0, 1, -0.0)]));
    // A factor of 0 does not read NaN.
    assert!(Reference.add(0.0, &a, 2.0, &b)?.triplets().eq([(0, 0, 2.0), (0, 1, 0.0), (1, 0, 0.0)]));
    assert!(Reference.multiply(&a, &b)?.triplets().eq([(0, 0, 1.0)]));
    Ok(())
}

/// V4: duplicates count as their sum.
#[test]
fn v4_unsorted_operands_with_duplicates_are_added_up() -> Result<()> {
    let a = Csr::<f64>::new_unsorted(1, 3, vec![0, 3], vec![2, 0, 2], vec![1.0, 5.0, 2.0])?;
    let c = Reference.add(1.0, &a, 10.0, &a)?;
    assert_eq!((c.col_idx(), c.values()), (&vec![0, 2], &vec![55.0, 33.0]));
    assert!(c.order().sorted && c.order().unique);
    assert_eq!(Reference.multiply(&a, &a)?.values(), &[25.0, 9.0]);
    Ok(())
}

/// E2: shapes first, and a plan knows both of its patterns.
#[test]
fn e2_operands_of_other_shapes_and_patterns_are_refused() -> Result<()> {
    let (a, b) = (Csr::<f64>::identity(2)?, Csr::<f64>::zeros(2, 2)?);
    let wide = Csr::<f64>::zeros(2, 3)?;
    assert_eq!(
        refusal(Reference.add(1.0, &a, 1.0, &wide)),
        "add: the number of columns of B is 3 where 2 is needed"
    );
    let mut plan = ElementwisePlan::new(&Reference, Elementwise::Add, &a, &b, &PlanOptions::default())?;
    assert_eq!(plan.run(1.0, &a, 1.0, &b)?, a);
    assert!(refusal(plan.run(1.0, &a, 1.0, &a)).starts_with("add: the matrix has another pattern"));
    assert!(refusal(plan.run(1.0, &b, 1.0, &b)).starts_with("add: the matrix has another pattern"));
    Ok(())
}

#[test]
fn a_sampled_product_checks_every_operand_and_reads_nothing_that_counts_zero_times() -> Result<()> {
    let p = Csr::<f64>::new(2, 3, vec![0, 1, 2], vec![2, 0], vec![1.0, 2.0])?;
    let (two, three, nan) = ([1.0, 2.0], [1.0, 2.0, 3.0], [f64::NAN; 6]);
    let (u, v) = (DenseView::row_major(&two, 2, 1)?, DenseView::row_major(&three, 3, 1)?);
    let mut plan = SddmmPlan::new(&Reference, &p, Sampling::Values, 1, &PlanOptions::default())?;
    let mut c = [f64::NAN; 2];
    for (u, v, values, what) in [
        (v, v, 2, "rows of U is 3 where 2"),
        (u, u, 2, "rows of V is 2 where 3"),
        (DenseView::row_major(&nan, 2, 3)?, v, 2, "columns of U is 3 where 1"),
        (u, DenseView::row_major(&nan, 3, 2)?, 2, "columns of V is 2 where 1"),
        (u, v, 1, "values of C is 1 where 2"),
    ] {
        let error = plan.run(1.0, &p, u, v, 0.0, &mut c[..values]).unwrap_err();
        assert_eq!(error.to_string(), format!("sddmm: the number of {what} is needed"));
        assert!(c.iter().all(|c| c.is_nan()));
    }
    plan.run(0.0, &p.with_values(vec![f64::NAN; 2])?, u, v, 0.0, &mut c)?;
    assert_eq!(c, [0.0; 2]);
    let mut by_pattern = SddmmPlan::new(&Reference, &p, Sampling::Pattern, 1, &PlanOptions::default())?;
    by_pattern.run(1.0, &p.with_values(vec![f64::NAN; 2])?, u, v, 2.0, &mut c)?;
    assert_eq!(c, [3.0, 2.0]);
    let other = Csr::<f64>::new(2, 3, vec![0, 1, 2], vec![2, 0], vec![1.0, 2.0])?;
    assert!(matches!(plan.run(1.0, &other, u, v, 0.0, &mut c), Err(Error::PlanMismatch { .. })));
    Ok(())
}
